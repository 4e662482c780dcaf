"""Commands about what is remembered on purpose. `aish memory VERB` runs the same ones."""

from itertools import islice
from typing import Any

from aish.commands.items import (
    KEY,
    KIND,
    LIMIT,
    TAG,
    YES,
    agreed,
    as_table,
    changed,
    keep_said,
    matching,
    nothing_after,
    read_id,
    read_ids,
    read_limit,
    say_kept,
)
from aish.commands.memory_scope import MEMORY_COMMANDS, MemoryScope
from aish.intake.commands import Arguments
from aish.values.errors import BadUsage
from aish.values.items import KINDS
from aish.values.replies import Reply, Table
from aish.values.text import counted, one_line
from aish.values.times import local, read_moment


@MEMORY_COMMANDS.add("remember", argument="TEXT")
async def remember(scope: MemoryScope, arguments: Arguments) -> Reply:
    """Remember TEXT for good; the model knows it from the next turn on.

    The same as `:memory add fact TEXT`. A secret is not kept without asking.
    """
    return await keep_said(scope, arguments.text, "fact")


@MEMORY_COMMANDS.add("memory")
async def overview(scope: MemoryScope, arguments: Arguments) -> str | Reply:
    """Show what is remembered; what else can be done with it follows below."""
    return await show_list(scope, arguments)


@MEMORY_COMMANDS.add("memory list", argument="[KIND] [WORDS]", options=(KIND, TAG, LIMIT))
async def show_list(scope: MemoryScope, arguments: Arguments) -> Reply:
    """List what is remembered, the newest first.

    Only items of a kind (`fact`, `pref`, `context`), with a tag (`--tag TAG` in front), or with all the words, if you
    say so. `--limit N` shows the newest N.
    """
    kind, rest = _kind_and_rest(arguments)
    found = matching(scope.memory.items(), kind, arguments.values("tag"), rest.text)
    items = list(islice(found, read_limit(arguments)))
    narrowed = arguments.words or arguments.options
    return as_table(scope, items, "nothing like that is remembered" if narrowed else "nothing is remembered")


@MEMORY_COMMANDS.add("memory add", argument="[KIND] TEXT", options=(KIND, TAG, KEY))
async def add(scope: MemoryScope, arguments: Arguments) -> Reply:
    """Remember TEXT. KIND is `fact` (unless you say), `pref` or `context`.

    What is known already is not written again. `--tag TAG` in front gives it a tag, `--key KEY` a key: an item with a
    key takes the place of the one that had it before.
    """
    kind, rest = _kind_and_rest(arguments)
    fields: dict[str, Any] = {"tags": list(arguments.values("tag")), "key": arguments.value("key")}
    return await keep_said(scope, rest.text, kind or "fact", fields)


@MEMORY_COMMANDS.add("memory set", argument="KEY = VALUE", options=(KIND,))
async def set_key(scope: MemoryScope, arguments: Arguments) -> Reply:
    """Remember a value under a key, such as `:memory set editor = helix`.

    The value that the key had before is superseded: it stays in the history, but no prompt has it any more.
    """
    key, sign, value = arguments.text.partition("=")
    if not sign:
        raise BadUsage("expected KEY = VALUE, such as: :memory set editor = helix")
    kept = scope.memory.set(key, value, arguments.value("kind", "fact"), source="user", **scope.said_where())
    return say_kept(scope, kept)


@MEMORY_COMMANDS.add("memory forget", argument="ID")
async def forget(scope: MemoryScope, arguments: Arguments) -> Reply:
    """Forget an item: no prompt has it any more.

    The line stays in the file, and `:memory undo` brings it back. `:memory purge ID` erases it for good.
    """
    memory = scope.memory
    items = [memory.active(id) for id in dict.fromkeys(read_ids(arguments.text))]
    gone = memory.forget(item.id for item in items)
    text = "\n".join(f"forgotten (id {item.id}): {one_line(item.content, 60)}" for item in items if item.id in gone)
    return changed(scope, Reply(text or "nothing was changed", data={"forgotten": gone}, found=bool(gone)))


@MEMORY_COMMANDS.add("memory clear", options=(YES,))
async def clear(scope: MemoryScope, arguments: Arguments) -> Reply:
    """Forget everything, after a question. `:memory undo` brings it back."""
    memory = scope.memory
    nothing_after("clear", arguments.text)
    ids = list(memory.ids())
    if not ids:
        return Reply("nothing is remembered", data={"forgotten": []}, found=False)
    if not arguments.has("yes") and not await agreed(scope.person, f"forget all {counted(len(ids), 'item')}?"):
        return Reply("nothing was changed", data={"forgotten": []}, found=False)
    gone = memory.forget(ids)
    return changed(scope, Reply(f"forgot {counted(len(gone), 'item')}; :memory undo", data={"forgotten": gone}))


@MEMORY_COMMANDS.add("memory edit", argument="ID [TEXT]")
async def edit(scope: MemoryScope, arguments: Arguments) -> Reply:
    """Change the text of an item, in the line editor or to TEXT.

    A new item is written, which supersedes the old one.
    """
    number, _, text = arguments.text.strip().partition(" ")
    memory = scope.memory
    item = memory.active(read_id(number))
    text = text.strip() or await scope.person.edit(item.content)
    if not text.strip():
        return Reply("nothing was changed", found=False)
    kept = memory.edit(item.id, text)
    return say_kept(scope, kept, "unchanged" if kept.item.id == item.id else "")


@MEMORY_COMMANDS.add("memory undo")
async def undo(scope: MemoryScope, arguments: Arguments) -> Reply:
    """Take the last change back: an add, a forget, a clear or an edit.

    Again takes back the one before it. Nothing is rewritten: what undoes a change is a change itself, and `:memory log`
    shows both. A purge is for good.
    """
    nothing_after("undo", arguments.text)
    said = scope.memory.undo()
    return changed(scope, Reply(f"taken back: {one_line(said, 100)}", data={"undone": said}))


@MEMORY_COMMANDS.add("memory log", argument="[N]", options=(LIMIT,))
async def show_log(scope: MemoryScope, arguments: Arguments) -> Reply:
    """Show every change, the newest first, or the last N."""
    limit = read_id(arguments.text) if arguments.words else read_limit(arguments)
    changes = list(islice(scope.memory.log(), limit))
    rows = [(str(c.id), c.ts.replace("T", " ")[:19], c.what, c.text) for c in changes]
    table = Table(("change", "time (UTC)", "what", ""), rows, [""] * len(rows), wide=3)
    data = [change._asdict() for change in changes]
    return Reply("" if rows else "nothing was ever changed", table, data, found=bool(rows))


@MEMORY_COMMANDS.add("memory at", argument="DATE")
async def show_at(scope: MemoryScope, arguments: Arguments) -> Reply:
    """Show what was remembered at a time.

    `2026-11-15` means the end of that day; `2026-11-15 18:30`, `yesterday` and `3 days ago` are understood too.
    """
    if not arguments.text.strip():
        raise BadUsage("a date is missing: :memory at 2026-11-15")
    time = read_moment(arguments.text, scope.now())
    return as_table(scope, scope.memory.at(time), f"nothing was remembered at {local(time)}")


@MEMORY_COMMANDS.add("memory why", argument="ID")
async def show_why(scope: MemoryScope, arguments: Arguments) -> Reply:
    """Tell where an item came from, when it was in a prompt, and what it superseded."""
    found = scope.memory.explain(read_id(arguments.text), scope.conversations)
    lines = [f"{name:<14} {value}" for name, value in found.items() if name != "record"]
    return Reply("\n".join(lines), data=found)


@MEMORY_COMMANDS.add("memory inject")
async def inject(scope: MemoryScope, arguments: Arguments) -> Reply:
    """Bring what is remembered into the prompt anew.

    After an edit of the file by hand, or a change in another shell.
    """
    text, ids, notices = scope.read_background()
    summary = f"{counted(len(ids), 'item')} in the prompt, {len(text):,} characters"
    lines = [*(notice.text for notice in notices), summary]
    return Reply("\n".join(lines), data={"ids": list(ids), "text": text})


def _kind_and_rest(arguments: Arguments) -> tuple[str, Arguments]:
    """The kind, as an option or as the first word, and the other words."""
    kind = arguments.value("kind")
    return (kind, arguments) if kind else arguments.take_word(KINDS)
