"""Commands about what is remembered on purpose. `aish memory VERB` runs the same ones."""

from itertools import islice

from aish.commands.items import (
    agreed,
    as_table,
    changed,
    keep_said,
    matching,
    nothing_after,
    read_id,
    read_ids,
    read_limit,
    read_options,
    said_where,
    say_kept,
)
from aish.commands.shell import COMMANDS, Shell
from aish.prompt.background import BackgroundLayer
from aish.values.errors import BadUsage, NotFound
from aish.values.items import KINDS
from aish.values.replies import Reply, Table
from aish.values.text import counted, one_line
from aish.values.times import local, read_moment


@COMMANDS.add("remember", argument="TEXT")
async def remember(shell: Shell, words: str) -> Reply:
    """Remember TEXT for good; the model knows it from the next turn on.

    The same as `:memory add fact TEXT`. A secret is not kept without asking.
    """
    return await keep_said(shell, words, "fact", {})


@COMMANDS.add("memory")
async def overview(shell: Shell, words: str) -> str | Reply:
    """Show what is remembered; what else can be done with it follows below."""
    if words:
        verbs = ", ".join(command.name.removeprefix("memory ") for command in COMMANDS.below("memory"))
        raise NotFound(f"there is no :memory {words.split()[0]}; there are: {verbs}")
    return await show_list(shell, "")


@COMMANDS.add("memory list", argument="[KIND] [WORDS]")
async def show_list(shell: Shell, words: str) -> Reply:
    """List what is remembered, the newest first.

    Only items of a kind (`fact`, `pref`, `context`), with a tag (`--tag TAG` in front), or with all the words, if you
    say so. `--limit N` shows the newest N.
    """
    options, rest = read_options(words)
    if not options.get("kind") and rest.split(" ")[0] in KINDS:
        options["kind"], _, rest = rest.partition(" ")
    items = islice(matching(shell.memory.items(), options, rest), read_limit(options))
    return as_table(shell, list(items), "nothing is remembered" if not words else "nothing like that is remembered")


@COMMANDS.add("memory add", argument="[KIND] TEXT")
async def add(shell: Shell, words: str) -> Reply:
    """Remember TEXT. KIND is `fact` (unless you say), `pref` or `context`.

    What is known already is not written again. `--tag TAG` in front gives it a tag, `--key KEY` a key: an item with a
    key takes the place of the one that had it before.
    """
    options, rest = read_options(words)
    kind = options.pop("kind", "")
    if not kind:
        first, _, more = rest.partition(" ")
        kind, rest = (first, more) if first in KINDS else ("fact", rest)
    return await keep_said(shell, rest, kind, options)


@COMMANDS.add("memory set", argument="KEY = VALUE")
async def set_key(shell: Shell, words: str) -> Reply:
    """Remember a value under a key, such as `:memory set editor = helix`.

    The value that the key had before is superseded: it stays in the history, but no prompt has it any more.
    """
    options, rest = read_options(words)
    key, sign, value = rest.partition("=")
    if not sign:
        raise BadUsage("expected KEY = VALUE, such as: :memory set editor = helix")
    kept = shell.memory.set(key, value, options.get("kind", "fact"), source="user", **said_where(shell))
    return say_kept(shell, kept)


@COMMANDS.add("memory forget", argument="ID")
async def forget(shell: Shell, words: str) -> Reply:
    """Forget an item: no prompt has it any more.

    The line stays in the file, and `:memory undo` brings it back. `:memory purge ID` erases it for good.
    """
    memory = shell.memory
    items = [memory.active(id) for id in dict.fromkeys(read_ids(words))]
    gone = memory.forget(item.id for item in items)
    text = "\n".join(f"forgotten (id {item.id}): {one_line(item.content, 60)}" for item in items if item.id in gone)
    return changed(shell, Reply(text or "nothing was changed", data={"forgotten": gone}, found=bool(gone)))


@COMMANDS.add("memory clear")
async def clear(shell: Shell, words: str) -> Reply:
    """Forget everything, after a question. `:memory undo` brings it back."""
    memory = shell.memory
    options, rest = read_options(words)
    nothing_after("clear", rest)
    ids = list(memory.ids())
    if not ids:
        return Reply("nothing is remembered", data={"forgotten": []}, found=False)
    if not options.get("yes") and not await agreed(shell, f"forget all {counted(len(ids), 'item')}?"):
        return Reply("nothing was changed", data={"forgotten": []}, found=False)
    gone = memory.forget(ids)
    return changed(shell, Reply(f"forgot {counted(len(gone), 'item')}; :memory undo", data={"forgotten": gone}))


@COMMANDS.add("memory edit", argument="ID [TEXT]")
async def edit(shell: Shell, words: str) -> Reply:
    """Change the text of an item, in the line editor or to TEXT.

    A new item is written, which supersedes the old one.
    """
    number, _, text = words.strip().partition(" ")
    memory = shell.memory
    item = memory.active(read_id(number))
    text = text.strip() or await shell.person.edit(item.content)
    if not text.strip():
        return Reply("nothing was changed", found=False)
    kept = memory.edit(item.id, text)
    return say_kept(shell, kept, "unchanged" if kept.item.id == item.id else "")


@COMMANDS.add("memory undo")
async def undo(shell: Shell, words: str) -> Reply:
    """Take the last change back: an add, a forget, a clear or an edit.

    Again takes back the one before it. Nothing is rewritten: what undoes a change is a change itself, and `:memory log`
    shows both. A purge is for good.
    """
    nothing_after("undo", words)
    said = shell.memory.undo()
    return changed(shell, Reply(f"taken back: {one_line(said, 100)}", data={"undone": said}))


@COMMANDS.add("memory log", argument="[N]")
async def show_log(shell: Shell, words: str) -> Reply:
    """Show every change, the newest first, or the last N."""
    options, rest = read_options(words)
    limit = read_limit(options) if not rest else read_id(rest)
    changes = list(islice(shell.memory.log(), limit))
    rows = [(str(c.id), c.ts.replace("T", " ")[:19], c.what, c.text) for c in changes]
    table = Table(("change", "time (UTC)", "what", ""), rows, [""] * len(rows), wide=3)
    data = [change._asdict() for change in changes]
    return Reply("" if rows else "nothing was ever changed", table, data, found=bool(rows))


@COMMANDS.add("memory at", argument="DATE")
async def show_at(shell: Shell, words: str) -> Reply:
    """Show what was remembered at a time.

    `2026-11-15` means the end of that day; `2026-11-15 18:30`, `yesterday` and `3 days ago` are understood too.
    """
    if not words.strip():
        raise BadUsage("a date is missing: :memory at 2026-11-15")
    time = read_moment(words, shell.program.now())
    return as_table(shell, shell.memory.at(time), f"nothing was remembered at {local(time)}")


@COMMANDS.add("memory why", argument="ID")
async def show_why(shell: Shell, words: str) -> Reply:
    """Tell where an item came from, when it was in a prompt, and what it superseded."""
    found = shell.memory.explain(read_id(words), shell.program.conversations)
    lines = [f"{name:<14} {value}" for name, value in found.items() if name != "record"]
    return Reply("\n".join(lines), data=found)


@COMMANDS.add("memory inject")
async def inject(shell: Shell, words: str) -> Reply:
    """Bring what is remembered into the prompt anew.

    After an edit of the file by hand, or a change in another shell.
    """
    background = shell.session.layer(BackgroundLayer)
    notices = background.read(shell.session, again=True)
    block, ids = background.text(shell.session, None), background.ids
    text = f"{counted(len(ids), 'item')} in the prompt, {len(block):,} characters"
    lines = [notice.text for notice in notices] + [text]
    return Reply("\n".join(lines), data={"ids": list(ids), "text": block})
