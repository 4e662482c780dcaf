"""Commands about the project: show what the model is told about it, and trust its files."""

from collections.abc import Iterable

from aish.commands.items import YES, agreed
from aish.commands.shell import COMMANDS, Shell
from aish.context.blocks import Block
from aish.conversation.project import Project, Source, look
from aish.intake.commands import Arguments
from aish.prompt.project import ProjectLayer
from aish.settings.layers import read_file
from aish.settings.preview import preview
from aish.values.errors import BadUsage, Declined
from aish.values.replies import Reply
from aish.values.text import one_line

_NONE = "no project here: no git repository, no instructions, no known build file"


@COMMANDS.add("project")
async def show_project(shell: Shell, arguments: Arguments) -> Reply:
    """Show what the model is told about this directory, and its size.

    The project is the nearest folder with `.git` or `.aish.toml`, from the current folder upwards, or else the current
    folder. The model always gets its name, its languages and tools, and the git state. It gets the text of files only
    after you trust them: instructions (`AGENTS.md`, `CLAUDE.md` or `.github/copilot-instructions.md`) and the beginning
    of the README. The text stays the same until you enter another project or type `:project refresh`.
    `project.max_chars` limits its size.
    """
    shell.session.layer(ProjectLayer).read(shell.session)
    return await _shown(shell)


@COMMANDS.add("project trust", argument="[--yes]", options=(YES,))
async def trust(shell: Shell, arguments: Arguments) -> Reply:
    """Trust the files of this project in their current state, after showing what that changes.

    Settings in `.aish.toml` take effect the next time aish starts here. Instructions and README go into the prompt at
    once. A file that changes must be trusted again.
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
        return Reply("everything here is already trusted" if known else "nothing here to trust", found=False)
    if not arguments.has("yes") and not await agreed(shell.person, f"{_switched_on(shell, offered, new)}\ntrust this?"):
        return Reply("nothing was changed", data={"trusted": []}, found=False)
    for one in new:
        session.services.trust.give(one.path)
    again = look(session.cwd, session.settings.project, session.services.trust.holds, session.services.redaction.text)
    seen = {one.path: one.digest for one in again.sources} if again else {}
    moved = [one for one in new if seen.get(one.path) != one.digest]  # changed while the user was asked
    for one in moved:
        session.services.trust.take(one.path)
    session.layer(ProjectLayer).read(session, again=True)
    if moved:
        raise Declined(f"{_names(moved)} changed while you were asked, so it is not trusted; try again: :project trust")
    later = (
        "; its settings take effect the next time aish starts here" if any(o.role == "settings" for o in new) else ""
    )
    return Reply(f"trusted as it is now: {_names(new)}{later}", data={"trusted": [one.name for one in new]})


@COMMANDS.add("project distrust")
async def distrust(shell: Shell, arguments: Arguments) -> Reply:
    """Stop trusting the files of this project."""
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
    """Tell the model nothing about the directory, until `:project on` or until you quit.

    `project.max_chars = 0` in the settings switches it off permanently.
    """
    _nothing_after("off", arguments.text)
    shell.session.layer(ProjectLayer).on = False
    return "the model is told nothing about this directory"


@COMMANDS.add("project on")
async def switch_on(shell: Shell, arguments: Arguments) -> Reply:
    """Tell the model about the directory again."""
    _nothing_after("on", arguments.text)
    shell.session.layer(ProjectLayer).on = True
    shell.session.layer(ProjectLayer).read(shell.session, again=True)
    return await _shown(shell)


@COMMANDS.add("project refresh")
async def refresh(shell: Shell, arguments: Arguments) -> Reply:
    """Read the directory again: branch, changed files, instructions.

    This changes the beginning of the prompt, so the model server cannot use its prompt cache for the next question.
    """
    _nothing_after("refresh", arguments.text)
    shell.session.layer(ProjectLayer).read(shell.session, again=True)
    return await _shown(shell)


async def _shown(shell: Shell) -> Reply:
    session = shell.session
    layer = session.layer(ProjectLayer)
    if not layer.on:
        return Reply("the model is told nothing about this directory (:project on)", data={"on": False}, found=False)
    if not session.settings.project.max_chars:
        return Reply("the model is told nothing about this directory: project.max_chars is 0", found=False)
    block, project = layer.block(session, None), layer.project
    if project is None:
        return Reply(_NONE, data={"on": True, "root": None}, found=False)
    [counted] = await session.token_counts.blocks(session.backend.tokenizer, [block])
    room = f"{len(block.text):,} of {project.limit:,} characters, {counted.tokens:,} tokens"
    lines = [_place(project), "", block.text or "(project.max_chars is too small for any text)", "", room]
    lines += [f"{one.name}: {_state(shell, one, block)}" for one in project.sources]
    return Reply("\n".join(lines), data=_data(project, counted))


def _data(project: Project, block: Block) -> dict[str, object]:
    sources = [
        {"name": one.name, "role": one.role, "trusted": one.trusted, "trouble": one.trouble} for one in project.sources
    ]
    size = {"characters": len(block.text), "most": project.limit, "tokens": block.tokens}
    return {"on": True, "root": str(project.root), "text": block.text, **size, "sources": sources}


def _state(shell: Shell, source: Source, block: Block) -> str:
    """Describe how a file is used."""
    if source.trouble:
        return f"left out because it {source.trouble}"
    if not source.trusted:
        return "not trusted yet (:project trust)"
    if source.role != "settings":
        return "in the prompt" if f"\n{source.name} (" in block.text else "left out because it is empty or does not fit"
    in_effect = str(source.path) in shell.program.loaded.origins.values()
    return "in effect" if in_effect else "trusted; its settings take effect the next time aish starts here"


def _switched_on(shell: Shell, offered: Project, new: list[Source]) -> str:
    """Describe what trust would change: the settings with their values, and the text for the model."""
    lines = [f"in {_place(offered)}"]
    for one in new:
        if one.role == "settings":
            lines += [
                f"{one.name} would set, the next time aish starts here:",
                *preview(*read_file(one.path), shell.session.services.redaction.text),
            ]
    words = [one for one in new if one.role != "settings"]
    if words and offered.block.text:
        lines += [
            f"the prompt would include {_names(words)}:",
            "",
            offered.block.text,
            "",
        ]
    if offered.uncounted:
        lines.append("git would be run to count changed files")
    return "\n".join(lines)


def _place(project: Project) -> str:
    return str(project.root).replace("\n", "\N{SYMBOL FOR LINE FEED}")


def _names(sources: Iterable[Source]) -> str:
    return " and ".join(one.name for one in sources)


def _must_keep(shell: Shell) -> None:
    if not shell.session.remembers:
        raise BadUsage("this run writes nothing (--no-memory), so trust cannot be changed")


def _nothing_after(name: str, words: str) -> None:
    if words.strip():
        raise BadUsage(f":project {name} takes no argument, but got {one_line(words, 40)!r}; nothing was changed")
