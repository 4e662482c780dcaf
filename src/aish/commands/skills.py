"""Commands about skills: list them, look at one, trust one of a project, and bring one with the next question."""

from pathlib import Path

from aish.commands.items import YES, agreed
from aish.commands.shell import COMMANDS, Shell
from aish.intake.commands import Arguments
from aish.prompt.skills import SkillsLayer, SkillTextsLayer
from aish.values.errors import BadUsage, Declined, NotFound
from aish.values.replies import Reply, Table
from aish.values.skills import Skill
from aish.values.text import clip, exactly, for_terminal, one_line

_NONE = "no skills; a skill is a folder with a SKILL.md in {} or in .aish/skills of a project"
_MOST_SHOWN = 4_000  # characters of a text


@COMMANDS.add("skills")
async def list_skills(shell: Shell, arguments: Arguments) -> Reply:
    """List the skills: where each is, whether it is in use, what it is for, and its problems.

    A skill is a folder with a `SKILL.md`: in `skills` of the workspace or of the channel, or in `.aish/skills`,
    `.claude/skills` or `.agents/skills` of the project. Those of a project count after you trust them. The model is
    told about each in one line, and reads the rest when it needs it.
    """
    skills = shell.program.skills.read(shell.session)
    if not skills:
        return Reply(_NONE.format(shell.program.places.workspace / "skills"), data=[], found=False)
    rows, problems, data = [], [], []
    for skill in skills:
        about = shell.session.services.redaction.text(skill.about)
        rows.append((exactly(skill.name), skill.place, _state(skill), one_line(for_terminal(about), 200)))
        problems += [f"{exactly(skill.name)} ({skill.place}): {for_terminal(one)}" for one in skill.problems]
        data.append(
            {
                "name": skill.name,
                "place": skill.place,
                "folder": skill.folder,
                "state": _state(skill),
                "description": about,
                "problems": list(skill.problems),
            }
        )
    table = Table(("skill", "where", "state", "for"), rows, [""] * len(rows), wide=3)
    return Reply("\n".join(problems), table=table, data=data)


@COMMANDS.add("skills list")
async def list_skills_again(shell: Shell, arguments: Arguments) -> str | Reply:
    """The same as `:skills`."""
    return await list_skills(shell, arguments)


@COMMANDS.add("skills show", argument="NAME")
async def show(shell: Shell, arguments: Arguments) -> Reply:
    """Show a skill: its fields, its hooks, and its text."""
    skill = _find(shell, arguments.text)
    return Reply(_shown(shell, skill), data={"name": skill.name, "body": skill.body})


@COMMANDS.add("skills trust", argument="[--yes] NAME", options=(YES,))
async def trust(shell: Shell, arguments: Arguments) -> Reply:
    """Trust a skill with all its files as they are now, after showing it.

    Its line goes into the prompt, and its hooks run. A skill of your own needs this only for hooks that do more than
    read. If a file in its folder changes, you are asked again.
    """
    skill, session = _find(shell, arguments.text), shell.session
    _must_keep(shell)
    if not skill.readable:
        raise Declined(f"{skill.name} cannot be used: {skill.problems[0]}")
    if skill.agreed:
        return Reply(f"{skill.name} is already trusted as it is", found=False)
    folder, kept = Path(skill.folder), session.services.trust
    digest = kept.digest(folder)
    question = f"{_shown(shell, skill)}\n\ntrust {exactly(skill.name)} with all files in {exactly(str(folder))}?"
    if not arguments.has("yes") and not await agreed(shell.person, question):
        return Reply("nothing was changed", data={"trusted": []}, found=False)
    kept.give(folder, digest)
    session.layer(SkillsLayer).read(session, again=True)
    if not _find(shell, skill.name).agreed:
        kept.take(folder)
        raise Declined(f"{skill.name} changed while you were asked, so it is not trusted; try again")
    return Reply(f"trusted as it is now: {skill.name}", data={"trusted": [skill.name]})


@COMMANDS.add("skills distrust", argument="NAME")
async def distrust(shell: Shell, arguments: Arguments) -> Reply:
    """Stop trusting a skill of a project; for one of your own, stop hooks that do more than read."""
    skill, session = _find(shell, arguments.text), shell.session
    _must_keep(shell)
    if not skill.agreed:
        return Reply(f"{skill.name} was not trusted", data={"distrusted": []}, found=False)
    session.services.trust.take(Path(skill.folder))
    session.layer(SkillsLayer).read(session, again=True)
    return Reply(f"no longer trusted: {skill.name}", data={"distrusted": [skill.name]})


@COMMANDS.add("skill", argument="NAME")
async def bring(shell: Shell, arguments: Arguments) -> str:
    """Bring the text of a skill with your next question.

    Models with tools read skills themselves, and a skill also comes by itself if its `paths` or its `when_to_use` match
    the question.
    """
    if not arguments.text.strip():
        raise BadUsage("which skill? :skills lists them")
    session = shell.session
    session.layer(SkillsLayer).read(session)
    skill = shell.program.skills.usable(session, arguments.text)
    layer = session.layer(SkillTextsLayer)
    layer.chosen = list(dict.fromkeys([*layer.chosen, skill.name]))
    return f"the next question brings the skill {exactly(skill.name)}"


def _find(shell: Shell, name: str) -> Skill:
    """Return the skill with this name; the one that counts, if there are several. Raises `NotFound` and `BadUsage`."""
    wanted = name.strip().casefold()
    if not wanted:
        raise BadUsage("which skill? :skills lists them")
    found = [skill for skill in shell.program.skills.read(shell.session) if skill.name.casefold() == wanted]
    if not found:
        raise NotFound(f"there is no skill {one_line(name, 40)!r}; :skills lists them")
    return next((skill for skill in found if not skill.hidden_by), found[0])


def _must_keep(shell: Shell) -> None:
    if not shell.session.remembers:
        raise BadUsage("trust cannot be changed in a run without memory (--no-memory)")


def _state(skill: Skill) -> str:
    if not skill.readable:
        return "cannot be used"
    if skill.hidden_by:
        return "another one counts"
    return "in use" if skill.trusted else "not trusted"


def _shown(shell: Shell, skill: Skill) -> str:
    """Describe a skill, with every command that it would run."""
    mask, session = shell.session.services.redaction.text, shell.session
    lines = [f"{exactly(skill.name)} ({skill.place}, {_state(skill)}): {exactly(skill.folder)}"]
    told = {
        "description": skill.description,
        "when_to_use": skill.when_to_use,
        "paths": ", ".join(skill.paths),
        "allowed_tools": ", ".join(skill.allowed_tools),
        "memory_scope": skill.memory_scope if skill.memory_scope != "all" else "",
    }
    lines += [f"{name}: {for_terminal(mask(one_line(text, 500)))}" for name, text in told.items() if text]
    for hook in skill.hooks:
        permit, reason = shell.program.skills.judge(hook, session.cwd, agreed=True)
        runs = "" if permit else "does not run; "
        lines.append(f"hook {hook.event}: {exactly(mask(hook.command))}\n  {runs}{for_terminal(reason)}")
        if permit and not skill.agreed and not shell.program.skills.judge(hook, session.cwd, agreed=False)[0]:
            lines.append(f"  waits for your consent (:skills trust {exactly(skill.name)})")
    lines += [f"problem: {for_terminal(problem)}" for problem in skill.problems]
    return "\n".join([*lines, "", clip(for_terminal(mask(skill.body)), _MOST_SHOWN)]).rstrip()
