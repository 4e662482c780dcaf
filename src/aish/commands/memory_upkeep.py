"""Commands that tend memory: what waits for a yes, what is learned, what goes in and out, what is erased."""

from typing import Any

from aish.commands.files import read_whole, write_new
from aish.commands.items import agreed, as_table, changed, pending_ids, read_options, read_records
from aish.commands.shell import COMMANDS, Shell
from aish.conversation.learning import find_candidates
from aish.memory.curation import Kept
from aish.memory.notes import NoteFiles
from aish.values.errors import BadUsage, Declined
from aish.values.replies import Reply
from aish.values.text import counted, json_text, one_line


@COMMANDS.add("memory purge", argument="ID|WORDS")
async def purge(shell: Shell, words: str) -> Reply:
    """Erase for good, from every file of ours.

    From memory, from every conversation, from what you typed, and from everything made of them. Only the id and a
    salted hash stay, so that it is not learned or imported again. There is no undo. WORDS are erased wherever they
    stand, and items that have them in their text are erased whole.
    """
    options, rest = read_options(words)
    memory, places = shell.memory, shell.program.places
    phrases, items = memory.phrases(rest)
    named = list(dict.fromkeys(f"{item.id} ({one_line(item.content, 40)})" for item in items))
    what = ", ".join(named[:5]) or one_line(rest, 60)
    if not options.get("yes") and not await agreed(shell, f"erase {what} for good, everywhere?"):
        return Reply("nothing was changed", data={"places": 0, "files": 0}, found=False)
    shell.program.finder.drop()  # a purge cannot look into it, and who writes it anew meanwhile may still see the words
    directories = (places.data, places.sessions, places.state, places.indexes)
    erased = memory.purge(phrases, directories, [places.salt], NoteFiles(places.workspace))
    shell.session.erase(phrases)
    shell.program.finder.drop()
    where = f"erased in {counted(erased.places, 'place')} of {counted(erased.files, 'file')}"
    text = f"{where if erased.places else 'it stood nowhere'}; it is not learned again"
    if erased.busy:
        text += "\nanother shell is giving an answer that has the words; purge them again when it is done"
    return changed(shell, Reply(text, data={"places": erased.places, "files": erased.files, "busy": erased.busy}))


@COMMANDS.add("memory pending")
async def pending(shell: Shell, words: str) -> Reply:
    """List what waits for your yes: proposals of models, and imports.

    `:memory accept ID` keeps one, `:memory reject ID` drops it; `all` means every one of them.
    """
    return as_table(shell, list(shell.memory.pending_items()), "nothing waits for your yes")


@COMMANDS.add("memory accept", argument="ID|all")
async def accept(shell: Shell, words: str) -> Reply:
    """Keep what waited; where it came from stays written with it."""
    memory = shell.memory
    kept = [memory.accept(id) for id in pending_ids(shell, words)]
    lines = [f"{'remembered' if one.new else 'already known'} (id {one.item.id}): {one.item.content}" for one in kept]
    text = "\n".join(one_line(line, 100) for line in lines) or "nothing waits for your yes"
    data = [{"id": one.item.id, "new": one.new} for one in kept]
    return changed(shell, Reply(text, data=data, found=bool(kept)))


@COMMANDS.add("memory reject", argument="ID|all")
async def reject(shell: Shell, words: str) -> Reply:
    """Drop what waited."""
    dropped = [shell.memory.reject(id) for id in pending_ids(shell, words)]
    text = "\n".join(f"dropped: {one_line(item.content, 80)}" for item in dropped) or "nothing waits for your yes"
    return Reply(text, data={"dropped": [item.id for item in dropped]}, found=bool(dropped))


@COMMANDS.add("memory summarize")
async def summarize(shell: Shell, words: str) -> Reply:
    """Let the model look for what is worth keeping of this conversation.

    You decide about each line. It reads the journal, not the prompt. Nothing is written without your yes.
    """
    session = shell.session
    memory = shell.memory
    found, read, trouble = await find_candidates(session, session.journal)
    kept: list[Kept] = []
    for candidate in found:
        answer = (await shell.person.line(f"{candidate.kind}: {candidate.content}\nkeep? [y/N/edit] ")).strip().lower()
        content = candidate.content
        if answer in ("e", "edit"):
            content = await shell.person.edit(content)
        elif answer not in ("y", "yes"):
            continue
        if content.strip():
            fields: dict[str, Any] = {"source": session.journal.id, "origin": read.origin, "confirmed": True}
            try:
                kept.append(memory.remember(content, candidate.kind, **fields))
            except (BadUsage, Declined) as error:
                trouble = str(error)
    added = [one.item.id for one in kept if one.new]
    lines = [trouble] if trouble else []
    lines += [f"already known (id {one.item.id})" for one in kept if not one.new]
    lines += sorted({one.masked for one in kept if one.masked})
    text = "\n".join([*lines, f"[aish] memory: added {len(added)} candidates"])
    return changed(shell, Reply(text, data={"added": added, "candidates": len(found)}))


@COMMANDS.add("memory export", argument="[FILE]")
async def export(shell: Shell, words: str) -> Reply:
    """Write the items out as JSON lines, to FILE or the screen.

    With `--all` in front every change there ever was.
    """
    options, rest = read_options(words)
    memory = shell.memory
    records = memory.records() if options.get("all") else [item.record for item in memory.items()][::-1]
    lines = "".join(json_text(record) + "\n" for record in records)
    if not rest.strip():
        return Reply(lines.rstrip("\n"), data=records, found=bool(records))
    said = write_new(rest.strip(), [lines])
    return Reply(f"{counted(len(records), 'line')} {said}", data={"lines": len(records), "file": rest.strip()})


@COMMANDS.add("memory import", argument="FILE")
async def import_items(shell: Shell, words: str) -> Reply:
    """Take items in from JSON lines, such as `:memory export` writes.

    They wait for your yes. With `--trust` in front they are kept at once, as from a backup of your own. What is known
    already is not taken twice.
    """
    options, rest = read_options(words)
    if not rest.strip():
        raise BadUsage("a file is missing: :memory import FILE")
    records = list(read_records(read_whole(rest.strip())))
    bad = sum(record is None for record in records)
    whole = ({"kind": "fact", **record} for record in records if record is not None)
    new, known, refused = shell.memory.take_in(whole, trusted=bool(options.get("trust")))
    where = "taken in" if options.get("trust") else "now waiting for your yes (:memory pending)"
    text = f"{counted(new, 'item')} {where}, {known} known already, {bad + refused} could not be taken"
    return changed(shell, Reply(text, data={"new": new, "known": known, "refused": bad + refused}, found=new > 0))
