"""Commands that maintain memory: purge, pending items, export and import."""

from aish.commands.files import read_whole, write_new
from aish.commands.items import YES, agreed, as_table, changed, pending_ids, read_records
from aish.commands.memory_scope import MEMORY_COMMANDS, MemoryScope
from aish.intake.commands import Arguments, CommandOption
from aish.memory.notes.files import NoteFiles
from aish.storage.files import remove_all
from aish.values.errors import BadUsage, StoreTrouble
from aish.values.replies import Reply
from aish.values.text import counted, json_text, one_line


@MEMORY_COMMANDS.add("memory purge", argument="ID|WORDS", options=(YES,))
async def purge(scope: MemoryScope, arguments: Arguments) -> Reply:
    """Erase permanently, from every file of aish.

    Erases from memory, all conversations, the input history, and all data derived from them. Only the id and a salted
    hash remain, so that the text is not learned or imported again. This cannot be undone. WORDS are erased everywhere;
    items that contain them are erased completely.
    """
    memory, places = scope.memory, scope.places
    phrases, items = memory.phrases(arguments.text)
    named = list(dict.fromkeys(f"{item.id} ({one_line(item.content, 40)})" for item in items))
    what = ", ".join(named[:5]) or one_line(arguments.text, 60)
    if not arguments.has("yes") and not await agreed(scope.person, f"permanently erase {what} everywhere?"):
        return Reply("nothing was changed", data={"places": 0, "files": 0}, found=False)
    scope.finder.drop()  # a purge cannot search the index, and another process may rebuild it before the words are gone
    directories = (places.data, places.sessions, places.state, places.indexes)
    erased = memory.purge(phrases, directories, [places.salt], NoteFiles(places.workspace))
    scope.erase_from_prompt(phrases)
    try:
        remove_all(places.prompt_states)  # what a model has read; it is read again
    except StoreTrouble as error:
        left = f"\nwhat an embedded model has read is left: {error}; remove it, and purge again"
    else:
        left = ""
    scope.finder.drop()
    where = f"erased in {counted(erased.places, 'place')} of {counted(erased.files, 'file')}"
    text = f"{where if erased.places else 'not found'}; it will not be learned again"
    text += left
    if erased.busy:
        text += "\nanother aish is streaming an answer that contains the words; purge them again when it has finished"
    return changed(scope, Reply(text, data={"places": erased.places, "files": erased.files, "busy": erased.busy}))


@MEMORY_COMMANDS.add("memory pending")
async def pending(scope: MemoryScope, arguments: Arguments) -> Reply:
    """List the pending items: proposals of models, and imports.

    `:memory accept ID` saves an item, `:memory reject ID` drops it; `all` stands for all pending items.
    """
    return as_table(scope, list(scope.memory.pending_items()), "nothing is pending")


@MEMORY_COMMANDS.add("memory accept", argument="ID|all")
async def accept(scope: MemoryScope, arguments: Arguments) -> Reply:
    """Save pending items. Each keeps its origin."""
    memory = scope.memory
    kept = [memory.accept(id) for id in pending_ids(scope, arguments.text)]
    lines = [f"{'remembered' if one.new else 'already known'} (id {one.item.id}): {one.item.content}" for one in kept]
    text = "\n".join(one_line(line, 100) for line in lines) or "nothing is pending"
    data = [{"id": one.item.id, "new": one.new} for one in kept]
    return changed(scope, Reply(text, data=data, found=bool(kept)))


@MEMORY_COMMANDS.add("memory reject", argument="ID|all")
async def reject(scope: MemoryScope, arguments: Arguments) -> Reply:
    """Drop pending items."""
    dropped = [scope.memory.reject(id) for id in pending_ids(scope, arguments.text)]
    text = "\n".join(f"dropped: {one_line(item.content, 80)}" for item in dropped) or "nothing is pending"
    return Reply(text, data={"dropped": [item.id for item in dropped]}, found=bool(dropped))


@MEMORY_COMMANDS.add("memory export", argument="[FILE]", options=(CommandOption("all"),))
async def export(scope: MemoryScope, arguments: Arguments) -> Reply:
    """Write the items as JSON lines, to FILE or to the screen.

    With `--all` before FILE, write all changes, also of forgotten items.
    """
    memory = scope.memory
    records = memory.records() if arguments.has("all") else [item.record for item in memory.items()][::-1]
    lines = "".join(json_text(record) + "\n" for record in records)
    file = arguments.text.strip()
    if not file:
        return Reply(lines.rstrip("\n"), data=records, found=bool(records))
    said = write_new(file, [lines])
    return Reply(f"{counted(len(records), 'line')} {said}", data={"lines": len(records), "file": file})


@MEMORY_COMMANDS.add("memory import", argument="FILE", options=(CommandOption("trust"),))
async def import_items(scope: MemoryScope, arguments: Arguments) -> Reply:
    """Import items from JSON lines, such as those from `:memory export`.

    They are pending until you accept them. With `--trust` before FILE they are saved at once, for example from your own
    backup. Items that are already known are not imported again.
    """
    file = arguments.text.strip()
    if not file:
        raise BadUsage("missing file: :memory import FILE")
    records = list(read_records(read_whole(file)))
    bad = sum(record is None for record in records)
    whole = ({"kind": "fact", **record} for record in records if record is not None)
    new, known, refused = scope.memory.take_in(whole, trusted=arguments.has("trust"))
    where = "imported" if arguments.has("trust") else "pending (see :memory pending)"
    text = f"{counted(new, 'item')} {where}, {known} already known, {bad + refused} rejected"
    return changed(scope, Reply(text, data={"new": new, "known": known, "refused": bad + refused}, found=new > 0))
