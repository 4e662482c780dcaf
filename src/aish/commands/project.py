"""Commands about the project: what the model is told of it, and what of it the user trusts."""

from collections.abc import Iterable

from aish.commands.items import YES, agreed
from aish.commands.shell import COMMANDS, Shell
from aish.context.blocks import Block
from aish.conversation.project import Project, Source, look
from aish.intake.commands import Arguments
from aish.prompt.project import ProjectLayer
from aish.settings.layers import flatten, mismatch, read_file, type_of
from aish.settings.template import toml_value
from aish.values.errors import BadUsage, Declined
from aish.values.replies import Reply
from aish.values.text import one_line

MOST_SETTINGS = 40  # that are shown before they are trusted
_NONE = "there is no project here: no git, no instructions, no file that tells what it is made with"


@COMMANDS.add("project")
async def show_project(shell: Shell, arguments: Arguments) -> Reply:
    """Show what the model is told of this directory, and how much room that takes.

    A project is the nearest folder with `.git` or `.aish.toml`, or the one you are in. Its name, what it is made with
    and the state of git are always told. What its files say is told only once you trust them: instructions
    (`AGENTS.md`, or `CLAUDE.md`, or `.github/copilot-instructions.md`) and the beginning of the README. It stays
    as it is until you enter another project or type `:project refresh`. `project.max_chars` limits the room.
    """
    shell.session.layer(ProjectLayer).read(shell.session)
    return await _shown(shell)


@COMMANDS.add("project trust", argument="[--yes]", options=(YES,))
async def trust(shell: Shell, arguments: Arguments) -> Reply:
    """Trust the files of this project as they are now, after a look at what that switches on.

    Settings of `.aish.toml` take effect when aish is started here the next time; instructions and README are told to
    the model at once. A file that changes has to be trusted again.
    """
    _nothing_after("trust", arguments.text)
    _must_keep(shell)
    session = shell.session
    offered = look(session.cwd, session.settings.project, lambda _: True, session.services.redaction.text)
    new = (
        [one for one in offered.sources if one.trusted and not session.services.trust.holds(one.path)]
        if offered
        else []
    )
    if not offered or not new:
        known = offered and any(one.trusted for one in offered.sources)
        return Reply("all of it is trusted already" if known else "there is nothing here to trust", found=False)
    if not arguments.has("yes") and not await agreed(shell.person, f"{_switched_on(shell, offered, new)}\ntrust this?"):
        return Reply("nothing was changed", data={"trusted": []}, found=False)
    for one in new:
        session.services.trust.give(one.path)
    again = look(session.cwd, session.settings.project, session.services.trust.holds, session.services.redaction.text)
    seen = {one.path: one.digest for one in again.sources} if again else {}
    moved = [one for one in new if seen.get(one.path) != one.digest]  # between the look and the yes
    for one in moved:
        session.services.trust.take(one.path)
    session.layer(ProjectLayer).read(session, again=True)
    if moved:
        raise Declined(f"{_names(moved)} changed while you looked, so it is not trusted; look again: :project trust")
    later = "; its settings take effect when aish starts here again" if any(o.role == "settings" for o in new) else ""
    return Reply(f"trusted as it is now: {_names(new)}{later}", data={"trusted": [one.name for one in new]})


@COMMANDS.add("project distrust")
async def distrust(shell: Shell, arguments: Arguments) -> Reply:
    """Trust the files of this project no longer."""
    _nothing_after("distrust", arguments.text)
    _must_keep(shell)
    session = shell.session
    found = look(session.cwd, session.settings.project, session.services.trust.holds, session.services.redaction.text)
    trusted = [one for one in found.sources if one.trusted] if found else []
    for one in trusted:
        session.services.trust.take(one.path)
    session.layer(ProjectLayer).read(session, again=True)
    text = f"no longer trusted: {_names(trusted)}" if trusted else "nothing here was trusted"
    return Reply(text, data={"distrusted": [one.name for one in trusted]}, found=bool(trusted))


@COMMANDS.add("project off")
async def switch_off(shell: Shell, arguments: Arguments) -> str:
    """Tell the model nothing of the directory, until `:project on` or the end of the shell.

    `project.max_chars = 0` in the settings does it for good.
    """
    _nothing_after("off", arguments.text)
    shell.session.layer(ProjectLayer).on = False
    return "the model is told nothing of the directory"


@COMMANDS.add("project on")
async def switch_on(shell: Shell, arguments: Arguments) -> Reply:
    """Tell the model of the directory again."""
    _nothing_after("on", arguments.text)
    shell.session.layer(ProjectLayer).on = True
    shell.session.layer(ProjectLayer).read(shell.session, again=True)
    return await _shown(shell)


@COMMANDS.add("project refresh")
async def refresh(shell: Shell, arguments: Arguments) -> Reply:
    """Look at the directory again: branch, changed files, instructions.

    The next question sends a new beginning of the prompt, which a server has to read anew.
    """
    _nothing_after("refresh", arguments.text)
    shell.session.layer(ProjectLayer).read(shell.session, again=True)
    return await _shown(shell)


async def _shown(shell: Shell) -> Reply:
    session = shell.session
    layer = session.layer(ProjectLayer)
    if not layer.on:
        return Reply("the model is told nothing of the directory (:project on)", data={"on": False}, found=False)
    if not session.settings.project.max_chars:
        return Reply("the model is told nothing of the directory: project.max_chars is 0", found=False)
    block, project = layer.block(session, None), layer.project
    if project is None:
        return Reply(_NONE, data={"on": True, "root": None}, found=False)
    [counted] = await session.token_counts.blocks(session.backend.tokenizer, [block])
    room = f"{len(block.text):,} of {project.limit:,} characters, {counted.tokens:,} tokens"
    lines = [_place(project), "", block.text or "(not even the first facts fit)", "", room]
    lines += [f"{one.name}: {_state(shell, one, block)}" for one in project.sources]
    return Reply("\n".join(lines), data=_data(project, counted))


def _data(project: Project, block: Block) -> dict[str, object]:
    sources = [
        {"name": one.name, "role": one.role, "trusted": one.trusted, "trouble": one.trouble} for one in project.sources
    ]
    size = {"characters": len(block.text), "most": project.limit, "tokens": block.tokens}
    return {"on": True, "root": str(project.root), "text": block.text, **size, "sources": sources}


def _state(shell: Shell, source: Source, block: Block) -> str:
    """What comes of a file, in words."""
    if source.trouble:
        return f"left out, because it {source.trouble}"
    if not source.trusted:
        return "waits for your trust (:project trust)"
    if source.role != "settings":
        return (
            "told to the model"
            if f"\n{source.name} (" in block.text
            else "left out, because it is empty or has no room"
        )
    in_force = str(source.path) in shell.program.loaded.origins.values()
    return "in force" if in_force else "trusted; its settings take effect when aish starts here again"


def _switched_on(shell: Shell, offered: Project, new: list[Source]) -> str:
    """What the user says yes to: settings by name and value, and the block as the model would read it."""
    lines = [f"in {_place(offered)}"]
    for one in new:
        if one.role == "settings":
            lines += [f"{one.name} would set, when aish starts here again:", *_settings(shell, one)]
    words = [one for one in new if one.role != "settings"]
    if words and offered.block.text:
        lines += [
            f"the model would be told what {_names(words)} say{'s' * (len(words) == 1)}:",
            "",
            offered.block.text,
            "",
        ]
    if offered.uncounted:
        lines.append("git would be run to count changed files")
    return "\n".join(lines)


def _settings(shell: Shell, source: Source) -> Iterable[str]:
    layer, problems = read_file(source.path)
    values = list(flatten(layer.values)) if layer else []
    for key, value in values[:MOST_SETTINGS]:
        wanted = type_of(key)
        wrong = "unknown, ignored" if wanted is None else mismatch(value, wanted)
        yield f"  {one_line(shell.session.services.redaction.text(f'{key} = {wrong or toml_value(value)}'), 200)}"
    if len(values) > MOST_SETTINGS:
        yield f"  and {len(values) - MOST_SETTINGS:,} more: read the file before you trust it"
    yield from (f"  {problem}" for problem in problems)
    if not values and not problems:
        yield "  nothing"


def _place(project: Project) -> str:
    return str(project.root).replace("\n", "\N{SYMBOL FOR LINE FEED}")


def _names(sources: Iterable[Source]) -> str:
    return " and ".join(one.name for one in sources)


def _must_keep(shell: Shell) -> None:
    if not shell.session.remembers:
        raise BadUsage("nothing is written in this run (--no-memory), so trust cannot change")


def _nothing_after(name: str, words: str) -> None:
    if words.strip():
        raise BadUsage(f":project {name} takes nothing after it, but got {one_line(words, 40)!r}; nothing was changed")
