"""Commands for curated memory. `aish memory VERB` runs the same ones."""

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
from aish.values.invisible import visible
from aish.values.items import KINDS
from aish.values.replies import Reply, Table
from aish.values.text import counted, one_line
from aish.values.times import local, read_moment


@MEMORY_COMMANDS.add("remember", argument="TEXT")
async def remember(scope: MemoryScope, arguments: Arguments) -> Reply:
    """Remember TEXT permanently; the model knows it from the next turn on.

    The same as `:memory add fact TEXT`. If TEXT contains a secret, aish asks before it saves it.
    """
    return await keep_said(scope, arguments.text, "fact")


@MEMORY_COMMANDS.add("memory")
async def overview(scope: MemoryScope, arguments: Arguments) -> str | Reply:
    """List the remembered items. More memory commands follow below."""
    return await show_list(scope, arguments)


@MEMORY_COMMANDS.add("memory list", argument="[KIND] [WORDS]", options=(KIND, TAG, LIMIT))
async def show_list(scope: MemoryScope, arguments: Arguments) -> Reply:
    """List the remembered items, newest first.

    KIND (`fact`, `pref` or `context`) shows only items of this kind, WORDS only items that contain all of the words.
    Options come first: `--tag TAG` shows only items with this tag, `--limit N` only the newest N.
    """
    kind, rest = _kind_and_rest(arguments)
    found = matching(scope.memory.items(), kind, arguments.values("tag"), rest.text)
    items = list(islice(found, read_limit(arguments)))
    narrowed = arguments.words or arguments.options
    return as_table(scope, items, "no matching items" if narrowed else "no items yet")


@MEMORY_COMMANDS.add("memory add", argument="[KIND] TEXT", options=(KIND, TAG, KEY))
async def add(scope: MemoryScope, arguments: Arguments) -> Reply:
    """Remember TEXT. KIND is `fact` (the default), `pref` or `context`.

    An item that is already known is not saved again. Options come first: `--tag TAG` adds a tag, `--key KEY` sets a
    key. A new item with a key replaces the item that had this key before.
    """
    kind, rest = _kind_and_rest(arguments)
    fields: dict[str, Any] = {"tags": list(arguments.values("tag")), "key": arguments.value("key")}
    return await keep_said(scope, rest.text, kind or "fact", fields)


@MEMORY_COMMANDS.add("memory set", argument="KEY = VALUE", options=(KIND,))
async def set_key(scope: MemoryScope, arguments: Arguments) -> Reply:
    """Remember a value for a key, such as `:memory set editor = helix`.

    The old value of the key is superseded: it stays in the history, but is no longer in any prompt.
    """
    key, sign, value = arguments.text.partition("=")
    if not sign:
        raise BadUsage("expected KEY = VALUE, such as: :memory set editor = helix")
    kept = scope.memory.set(key, value, arguments.value("kind", "fact"), source="user", **scope.said_where())
    return say_kept(scope, kept)


@MEMORY_COMMANDS.add("memory forget", argument="ID")
async def forget(scope: MemoryScope, arguments: Arguments) -> Reply:
    """Forget an item, so that it is no longer in any prompt.

    The line stays in the file, and `:memory undo` restores the item. `:memory purge ID` erases it permanently.
    """
    memory = scope.memory
    items = [memory.active(id) for id in dict.fromkeys(read_ids(arguments.text))]
    gone = memory.forget(item.id for item in items)
    text = "\n".join(f"forgotten (id {item.id}): {one_line(item.content, 60)}" for item in items if item.id in gone)
    return changed(scope, Reply(text or "nothing was changed", data={"forgotten": gone}, found=bool(gone)))


@MEMORY_COMMANDS.add("memory clear", options=(YES,))
async def clear(scope: MemoryScope, arguments: Arguments) -> Reply:
    """Forget all items, after asking. `:memory undo` restores them."""
    memory = scope.memory
    nothing_after("clear", arguments.text)
    ids = list(memory.ids())
    if not ids:
        return Reply("no items yet", data={"forgotten": []}, found=False)
    if not arguments.has("yes") and not await agreed(scope.person, f"forget all {counted(len(ids), 'item')}?"):
        return Reply("nothing was changed", data={"forgotten": []}, found=False)
    gone = memory.forget(ids)
    return changed(
        scope, Reply(f"forgot {counted(len(gone), 'item')}; undo with :memory undo", data={"forgotten": gone})
    )


@MEMORY_COMMANDS.add("memory edit", argument="ID [TEXT]")
async def edit(scope: MemoryScope, arguments: Arguments) -> Reply:
    """Change the text of an item, in the line editor or to TEXT.

    The result is saved as a new item that supersedes the old one.
    """
    number, _, text = arguments.text.strip().partition(" ")
    memory = scope.memory
    item = memory.active(read_id(number))
    text = text.strip() or await scope.person.edit(visible(item.content))
    if not text.strip():
        return Reply("nothing was changed", found=False)
    kept = memory.edit(item.id, text)
    return say_kept(scope, kept, "unchanged" if kept.item.id == item.id else "")


@MEMORY_COMMANDS.add("memory undo")
async def undo(scope: MemoryScope, arguments: Arguments) -> Reply:
    """Undo the last change: an add, a forget, a clear or an edit.

    Repeat it to undo earlier changes. The history is not rewritten: undoing is a change too, and `:memory log` shows
    both. A purge cannot be undone.
    """
    nothing_after("undo", arguments.text)
    said, back = scope.memory.undo()
    ids = f"; back as id {', '.join(map(str, back))}" if back else ""
    return changed(scope, Reply(f"undone: {one_line(said, 100)}{ids}", data={"undone": said, "restored": list(back)}))


@MEMORY_COMMANDS.add("memory log", argument="[N]", options=(LIMIT,))
async def show_log(scope: MemoryScope, arguments: Arguments) -> Reply:
    """Show all changes, newest first, or the last N."""
    limit = read_id(arguments.text) if arguments.words else read_limit(arguments)
    changes = list(islice(scope.memory.log(), limit))
    rows = [(str(c.id), c.ts.replace("T", " ")[:19], c.what, c.text) for c in changes]
    table = Table(("change", "time (UTC)", "what", ""), rows, [""] * len(rows), wide=3)
    data = [change._asdict() for change in changes]
    return Reply("" if rows else "no changes yet", table, data, found=bool(rows))


@MEMORY_COMMANDS.add("memory at", argument="DATE")
async def show_at(scope: MemoryScope, arguments: Arguments) -> Reply:
    """Show the items that memory had at a past time.

    `2026-11-15` means the end of that day; `2026-11-15 18:30`, `yesterday` and `3 days ago` work too.
    """
    if not arguments.text.strip():
        raise BadUsage("missing date: :memory at 2026-11-15")
    time = read_moment(arguments.text, scope.now())
    return as_table(scope, scope.memory.at(time), f"no items at {local(time)}")


@MEMORY_COMMANDS.add("memory why", argument="ID")
async def show_why(scope: MemoryScope, arguments: Arguments) -> Reply:
    """Show where an item came from, which prompts contained it, and what it superseded."""
    found = scope.memory.explain(read_id(arguments.text), scope.conversations)
    lines = [f"{name:<14} {value}" for name, value in found.items() if name != "record"]
    return Reply("\n".join(lines), data=found)


@MEMORY_COMMANDS.add("memory inject")
async def inject(scope: MemoryScope, arguments: Arguments) -> Reply:
    """Load memory into the prompt again.

    Use it after you edited the file by hand, or after a change in another shell.
    """
    text, ids, notices = scope.read_background()
    summary = f"{counted(len(ids), 'item')} in the prompt, {len(text):,} characters"
    lines = [*(notice.text for notice in notices), summary]
    return Reply("\n".join(lines), data={"ids": list(ids), "text": text})


def _kind_and_rest(arguments: Arguments) -> tuple[str, Arguments]:
    """Return the kind, given as an option or as the first word, and the remaining arguments."""
    kind = arguments.value("kind")
    return (kind, arguments) if kind else arguments.take_word(KINDS)
