"""Commands for the notes of a channel. `aish notes VERB` runs the same ones."""

from collections.abc import Iterator
from textwrap import fill
from typing import Any

from aish.commands.notes_scope import NOTES_COMMANDS, NotesScope
from aish.intake.commands import Arguments
from aish.memory.notes.channel_notes import ChannelNotes
from aish.memory.notes.document import Document
from aish.memory.notes.review_log import SESSION, NoteChange
from aish.memory.trust import is_trusted
from aish.values.errors import BadUsage, StoreTrouble
from aish.values.invisible import visible
from aish.values.items import read_time
from aish.values.replies import Reply
from aish.values.text import counted, for_terminal, one_line
from aish.values.times import local

_ABOUT = {
    "session": "working state",
    "memory": "lasting facts",
    "history": "what was done, by date",
    "archive": "older history in full",
    "soul": "who the assistant is (yours)",
    "agents": "how it works (yours)",
    "workspace": "notes for all projects (yours)",
}
_WITHOUT_ENTRIES = ("soul", "agents")  # the prompt has them whole
_LONGEST_ROW = 400  # characters
_EDITABLE = ("session", "memory", "history")


@NOTES_COMMANDS.add("notes")
async def overview(scope: NotesScope, arguments: Arguments) -> Reply:
    """List the notes of this channel: each file, its entries, and what needs your attention.

    The files are Markdown; you may edit them at any time. aish changes single entries and keeps the last five texts of
    each file. It never writes those marked `yours`. More notes commands follow below.
    """
    notes = scope.notes
    rows, data = [f"channel {scope.channel}, in {notes.place}"], list[dict[str, Any]]()
    for name, about in _ABOUT.items():
        try:
            document, there = notes.read(name), notes.exists(name)
        except StoreTrouble as error:  # for example a directory in its place
            document, there = Document(problem=str(error)), True
        count = counted(len(document.entries), "entry") if there else "-"
        if there and name in _WITHOUT_ENTRIES:
            count = counted(len(document.text.splitlines()), "line")
        rows.append(f"  {name:<10} {count:>11}  {about}")
        if document.problem:
            rows.append(f"{'':15}{_problem(document)}")
        data.append({"name": name, "exists": there, "entries": len(document.entries), "problem": document.problem})
    return Reply("\n".join(rows + _attention(notes)), data={"channel": scope.channel, "notes": data})


@NOTES_COMMANDS.add("notes show", argument="[NOTE]")
async def show(scope: NotesScope, arguments: Arguments) -> Reply:
    """Show one note (default: memory). Each entry ends with the id that other notes commands take.

    NOTE is session, memory, history, archive, soul, agents or workspace. `unconfirmed` marks what is based on output of
    commands or on files: it is not brought to questions by itself. `until DATE` marks an entry on probation: it is
    removed then, unless it is recalled before.
    """
    name = _name(arguments.text or "memory", tuple(_ABOUT))
    reply = _page(scope.notes.read(name))
    return reply if reply.found else reply._replace(text=f"there is no note {name!r} yet")


@NOTES_COMMANDS.add("session")
async def show_session(scope: NotesScope, arguments: Arguments) -> Reply:
    """Show the working state of this channel: goal, state, files, commands, decisions, errors and next steps."""
    if arguments.text:
        raise BadUsage(":session takes no argument; :sessions lists conversations")
    reply = _page(scope.notes.read("session"))
    return reply if reply.found else reply._replace(text="no working state yet; it is written after some work")


@NOTES_COMMANDS.add("notes log", argument="[N]")
async def show_log(scope: NotesScope, arguments: Arguments) -> Reply:
    """Show what was done with the notes, skipped and failed, newest first (default: 20)."""
    text = arguments.text.strip()
    if text and not (text.isdecimal() and 0 < int(text) <= 10_000):
        raise BadUsage(f"expected a number from 1 to 10000, got {text!r}")
    limit = int(text or 20)
    log = scope.notes.notebook.log(limit)
    changes = [
        (change.time, describe(change))
        for change, newer in zip(log, [None, *log], strict=False)
        if not (newer and _is_first_half(change, newer))
    ]
    events = [
        (event.time, f"{event.job}: {event.outcome}{event.reason and f', {event.reason}'}")
        for event in scope.notes.events()
        if event.outcome in ("skipped", "failed") or (event.outcome == "tidied" and event.reason)
    ]
    newest = sorted([*changes, *events], reverse=True)[:limit]
    rows = [f"{local(read_time(time))}  {one_line(what, _LONGEST_ROW)}" for time, what in newest]
    width, indent = max(scope.width, 60), " " * 18  # the reason is at the end, so a long row is wrapped and not cut
    shown = for_terminal("\n".join(fill(row, width, subsequent_indent=indent, break_on_hyphens=False) for row in rows))
    return Reply(
        shown or "nothing yet", data=[{"time": time, "what": what} for time, what in newest], found=bool(newest)
    )


@NOTES_COMMANDS.add("notes undo")
async def undo(scope: NotesScope, arguments: Arguments) -> Reply:
    """Take back the last change that aish made to MEMORY.md and HISTORY.md. What you edited since then stays."""
    told = scope.notes.notebook.undo()
    (change,) = scope.notes.notebook.log(1)
    return Reply(for_terminal("\n".join([told, *(f"  {row}" for row in _changed_entries(change))])))


@NOTES_COMMANDS.add("notes forget", argument="ID")
async def forget(scope: NotesScope, arguments: Arguments) -> Reply:
    """Remove an entry. It is not learned again from the same conversation, however it is worded."""
    return Reply(f"forgotten: {one_line(scope.notes.forget(_id(arguments)).text, 80)}")


@NOTES_COMMANDS.add("notes keep", argument="ID")
async def keep(scope: NotesScope, arguments: Arguments) -> Reply:
    """Confirm an entry: it stays, and it is trusted as if you had said it."""
    return Reply(f"kept: {one_line(scope.notes.confirm(_id(arguments)).text, 80)}")


@NOTES_COMMANDS.add("notes why", argument="ID")
async def why(scope: NotesScope, arguments: Arguments) -> Reply:
    """Explain an entry: who said it and when, how often it was recalled, and what became of it."""
    id = _id(arguments)
    entry, name = scope.notes.find(id)
    facts = {"entry": entry.text, "note": f"{name}, {entry.section}", "from": entry.origin or "you"}
    if entry.source:
        conversation, _, turns = entry.source.partition("/")
        facts["said in"] = f"turns {turns} of {conversation} (:thread {conversation}/{turns.partition('-')[0]})"
    if entry.made:
        facts["made"] = entry.made
    if entry.until:
        facts["probation"] = f"until {entry.until}, unless it is recalled before"
    recalls = [event.time[:10] for event in scope.notes.events() if event.outcome == "recalled" and id in event.ids]
    facts["recalled"] = f"{counted(len(recalls), 'time')}, last {recalls[0]}" if recalls else "never"
    log = [change for change in scope.notes.notebook.log(1_000) if any(row.id == id for row in change.rows)]
    if log:
        facts["changes"] = "; ".join(f"{change.time[:10]} {change.reason}" for change in log[:5])
    rows = [f"{label:<10} {one_line(value, 200)}" for label, value in facts.items()]
    return Reply(for_terminal("\n".join(rows)), data=facts)


@NOTES_COMMANDS.add("notes merge", argument="[ID mine|theirs]")
async def merge(scope: NotesScope, arguments: Arguments) -> Reply:
    """List entries that both you and aish changed, or decide about one.

    Your text is in the file. `mine` keeps it, `theirs` takes the text of aish.
    """
    book, words = scope.notes.notebook, arguments.text.split()
    if not words:
        found = [one.conflict for one in book.conflicts()]
        rows = [f"{one.id}  yours: {_shown(one.theirs)}\n       aish:  {_shown(one.mine)}" for one in found]
        data = [{"id": one.id, "mine": one.theirs, "theirs": one.mine} for one in found]
        return Reply(for_terminal("\n".join(rows)) or "no conflicts", data=data, found=bool(found))
    if len(words) != 2 or words[1] not in ("mine", "theirs"):
        raise BadUsage("use :notes merge, or :notes merge ID mine|theirs")
    book.resolve(words[0], take="theirs" if words[1] == "mine" else "mine")  # to the notebook, the person is the other
    return Reply(f"resolved: {words[0]}")


@NOTES_COMMANDS.add("notes edit", argument="[NOTE]")
async def edit(scope: NotesScope, arguments: Arguments) -> Reply:
    """Edit a note in your editor (default: memory). What aish changes meanwhile is merged, entry by entry.

    NOTE is session, memory or history. You can also edit the file directly.
    """
    wanted = _name(arguments.text or "memory", tuple(_ABOUT))
    if wanted not in _EDITABLE:
        raise BadUsage(f"only {', '.join(_EDITABLE)} can be edited here; open the file of {wanted} itself")
    name = scope.notes.names[wanted]
    document = scope.notes.notebook.read(name)
    if document.problem and not document.parts:
        raise BadUsage(f"{name.file} cannot be edited here: {document.problem}; open the file itself")
    base = document.text
    edited = scope.edit_text(name.file, base)
    if edited == base:
        return Reply("nothing was changed", data={"changed": False}, found=False)
    saved = scope.notes.notebook.save_edited(name, base, edited)
    told = f"; {counted(len(saved.conflicts), 'conflict')}, your text was kept" if saved.conflicts else ""
    return Reply(f"saved {name.file}{told}", data={"changed": True, "conflicts": len(saved.conflicts)})


def _is_first_half(change: NoteChange, newer: NoteChange) -> bool:
    """Is it the same refresh of SESSION.md? The program writes its part at once, and all of it after the answer."""
    return change.what == newer.what == SESSION and change.reason == newer.reason and change.reason.startswith("turns ")


def describe(change: NoteChange) -> str:
    """Return one line about a change."""
    parts = [*_changed_entries(change), *(f"refused {name}: {reason}" for name, reason in change.refused)]
    what = "SESSION.md" if change.what == SESSION else ""
    undone = "(undone)" if change.undone else ""
    return " · ".join(part for part in (what, "; ".join(parts), change.reason, undone) if part)


def _changed_entries(change: NoteChange) -> Iterator[str]:
    for row in change.rows:
        if row.before is None and row.after:
            yield f"{row.note} + {one_line(row.after.text, 60)}"
        elif row.after is None and row.before:
            yield f"{row.note} - {one_line(row.before.text, 60)}"
        elif row.after:
            yield f"{row.note} ~ {one_line(row.after.text, 60)}"


def _problem(document: Document) -> str:
    """Say what aish does not do with a note that has a problem: change it, or even read it."""
    return f"{'not changed by aish' if document.parts else 'not readable'}: {document.problem}"


def _page(document: Document) -> Reply:
    if not document.text.strip() and not document.problem:
        return Reply("", data=[], found=False)
    lines = [_problem(document)] if document.problem else []
    for part in document.parts:
        entry = part.entry
        if entry is None:
            lines.append(part.block.raw.rstrip("\n"))
            continue
        marks = [entry.id, f"until {entry.until}" if entry.until else ""]
        marks.append("" if is_trusted(entry.origin) else "unconfirmed")
        shown = ", ".join(filter(None, marks))
        lines.append(f"- {entry.text}" + (f"  [{shown}]" if shown else ""))
    return Reply(visible("\n".join(lines).strip("\n")), data=[entry._asdict() for entry in document.entries])


def _attention(notes: ChannelNotes) -> list[str]:
    """Return one line for each thing that waits for the user or for a model."""
    waiting, given_up, conflicts = notes.queue.waiting(), notes.queue.given_up(), notes.notebook.conflicts()
    rows = []
    if conflicts:
        rows.append(f"{counted(len(conflicts), 'entry')} changed by you and by aish: :notes merge")
    if waiting:
        turns = sum(one.last - one.first + 1 for one in waiting)
        rows.append(f"{counted(turns, 'turn')} wait until a model has looked for lasting facts")
    if given_up:
        rows.append(f"no lasting facts from {counted(len(given_up), 'part')} of conversations: :notes log")
    return rows


def _shown(text: str) -> str:
    return one_line(text, 100) or "(removed)"


def _name(word: str, allowed: tuple[str, ...]) -> str:
    name = word.strip().casefold().removesuffix(".md")
    if name not in allowed:
        raise BadUsage(f"there is no note {word.strip()!r}; there are: {', '.join(allowed)}")
    return name


def _id(arguments: Arguments) -> str:
    """Return the id that was typed, also as other commands show it: `[k7f2p]`, `memory:k7f2p`."""
    id = arguments.text.strip()
    if not id or " " in id:
        raise BadUsage("expected the id of one entry; :notes show lists them")
    return id.strip("[]").rpartition(":")[2].casefold()
