"""Commands that maintain memory: purge, pending items, export and import."""

from aish.commands.files import read_whole, write_new
from aish.commands.items import YES, agreed, as_table, changed, pending_ids, read_records
from aish.commands.memory_scope import MEMORY_COMMANDS, MemoryScope
from aish.intake.commands import Arguments, Option
from aish.memory.notes import NoteFiles
from aish.values.errors import BadUsage
from aish.values.replies import Reply
from aish.values.text import counted, json_text, one_line


@MEMORY_COMMANDS.add("memory purge", argument="ID|WORDS", options=(YES,))
async def purge(scope: MemoryScope, arguments: Arguments) -> Reply:
    """Erase for good, from every file of ours.

    From memory, from every conversation, from what you typed, and from everything made of them. Only the id and a
    salted hash stay, so that it is not learned or imported again. There is no undo. WORDS are erased wherever they
    stand, and items that have them in their text are erased whole.
    """
    memory, places = scope.memory, scope.places
    phrases, items = memory.phrases(arguments.text)
    named = list(dict.fromkeys(f"{item.id} ({one_line(item.content, 40)})" for item in items))
    what = ", ".join(named[:5]) or one_line(arguments.text, 60)
    if not arguments.has("yes") and not await agreed(scope.person, f"erase {what} for good, everywhere?"):
        return Reply("nothing was changed", data={"places": 0, "files": 0}, found=False)
    scope.finder.drop()  # a purge cannot search it, and another process may write it again before the words are gone
    directories = (places.data, places.sessions, places.state, places.indexes)
    erased = memory.purge(phrases, directories, [places.salt], NoteFiles(places.workspace))
    scope.erase_from_prompt(phrases)
    scope.finder.drop()
    where = f"erased in {counted(erased.places, 'place')} of {counted(erased.files, 'file')}"
    text = f"{where if erased.places else 'not found'}; it will not be learned again"
    if erased.busy:
        text += "\nanother shell is giving an answer that has the words; purge them again when it is done"
    return changed(scope, Reply(text, data={"places": erased.places, "files": erased.files, "busy": erased.busy}))


@MEMORY_COMMANDS.add("memory pending")
async def pending(scope: MemoryScope, arguments: Arguments) -> Reply:
    """List what waits for your yes: proposals of models, and imports.

    `:memory accept ID` keeps one, `:memory reject ID` drops it; `all` means every one of them.
    """
    return as_table(scope, list(scope.memory.pending_items()), "nothing waits for your yes")


@MEMORY_COMMANDS.add("memory accept", argument="ID|all")
async def accept(scope: MemoryScope, arguments: Arguments) -> Reply:
    """Keep what waited; where it came from stays written with it."""
    memory = scope.memory
    kept = [memory.accept(id) for id in pending_ids(scope, arguments.text)]
    lines = [f"{'remembered' if one.new else 'already known'} (id {one.item.id}): {one.item.content}" for one in kept]
    text = "\n".join(one_line(line, 100) for line in lines) or "nothing waits for your yes"
    data = [{"id": one.item.id, "new": one.new} for one in kept]
    return changed(scope, Reply(text, data=data, found=bool(kept)))


@MEMORY_COMMANDS.add("memory reject", argument="ID|all")
async def reject(scope: MemoryScope, arguments: Arguments) -> Reply:
    """Drop what waited."""
    dropped = [scope.memory.reject(id) for id in pending_ids(scope, arguments.text)]
    text = "\n".join(f"dropped: {one_line(item.content, 80)}" for item in dropped) or "nothing waits for your yes"
    return Reply(text, data={"dropped": [item.id for item in dropped]}, found=bool(dropped))


@MEMORY_COMMANDS.add("memory export", argument="[FILE]", options=(Option("all"),))
async def export(scope: MemoryScope, arguments: Arguments) -> Reply:
    """Write the items out as JSON lines, to FILE or the screen.

    With `--all` in front every change there ever was.
    """
    memory = scope.memory
    records = memory.records() if arguments.has("all") else [item.record for item in memory.items()][::-1]
    lines = "".join(json_text(record) + "\n" for record in records)
    file = arguments.text.strip()
    if not file:
        return Reply(lines.rstrip("\n"), data=records, found=bool(records))
    said = write_new(file, [lines])
    return Reply(f"{counted(len(records), 'line')} {said}", data={"lines": len(records), "file": file})


@MEMORY_COMMANDS.add("memory import", argument="FILE", options=(Option("trust"),))
async def import_items(scope: MemoryScope, arguments: Arguments) -> Reply:
    """Take items in from JSON lines, such as `:memory export` writes.

    They wait for your yes. With `--trust` in front they are kept at once, as from a backup of your own. What is known
    already is not taken twice.
    """
    file = arguments.text.strip()
    if not file:
        raise BadUsage("a file is missing: :memory import FILE")
    records = list(read_records(read_whole(file)))
    bad = sum(record is None for record in records)
    whole = ({"kind": "fact", **record} for record in records if record is not None)
    new, known, refused = scope.memory.take_in(whole, trusted=arguments.has("trust"))
    where = "taken in" if arguments.has("trust") else "now waiting for your yes (:memory pending)"
    text = f"{counted(new, 'item')} {where}, {known} known already, {bad + refused} could not be taken"
    return changed(scope, Reply(text, data={"new": new, "known": known, "refused": bad + refused}, found=new > 0))
