"""Read what a `SKILL.md` says about itself.

Pure: fields of front matter in, a skill out. A field that cannot be used is a problem, and the rest counts.
"""

import shlex
from typing import Any

from aish.values.front_matter import FrontMatter
from aish.values.patterns import pattern
from aish.values.skills import HOOK_EVENTS, SCOPES, SKILL_DIR, Hook, Skill, SkillPlace
from aish.values.text import for_keeping, one_line
from aish.values.tool_names import names_here

_NAME = pattern(r"[^\W_][\w.-]{0,63}")
_LONGEST_TEXT, _LONGEST_COMMAND, _MOST_WORDS = 2_000, 2_000, 100


def described(place: SkillPlace, folder: str, front: FrontMatter) -> Skill:
    """Return the skill that a file describes. A field that cannot be used is a problem, and the rest counts."""
    problems = list(front.problems)
    given = for_keeping(front.text("name"))
    name = given if _NAME.fullmatch(given) else folder.rpartition("/")[2]
    if given and name != given:
        problems.append(f"the name {one_line(given, 40)!r} is not used: take letters, digits and hyphens")
    if not _NAME.fullmatch(name):
        problems.append("it has no name that can be used: rename its folder to letters, digits and hyphens")
    about = _line(front, "description", problems)
    when = _line(front, "when_to_use", problems)
    if not about and not when and not front.problems:
        problems.append("it has no description, so the model is not told about it: add a field description")
    scope = front.text("memory_scope").lower() or "all"
    if scope not in SCOPES:
        problems.append(f"memory_scope {one_line(scope, 20)!r} is not one of {', '.join(SCOPES)}, so it is none")
        scope = "none"  # somebody wanted less than all
    tools = front.words("allowed_tools")[:_MOST_WORDS]
    return Skill(
        name=name,
        place=place,
        folder=folder,
        description=about,
        when_to_use=when,
        allowed_tools=tuple(dict.fromkeys(known for tool in tools for known in _tool_names(tool))),
        paths=front.words("paths")[:_MOST_WORDS],
        memory_scope=next(one for one in SCOPES if one == scope),
        hooks=tuple(_hooks(front.fields.get("hooks"), problems)),
        body=front.body,
        problems=tuple(one_line(for_keeping(problem), 200) for problem in problems),
        readable=bool(_NAME.fullmatch(name)),
    )


def _line(front: FrontMatter, name: str, problems: list[str]) -> str:
    value = front.fields.get(name)
    if isinstance(value, list):
        value = "; ".join(one for one in value if isinstance(one, str))
    if value is not None and not isinstance(value, str):
        problems.append(f"{name} is not a text: write it as {name}: TEXT")
        return ""
    return one_line(for_keeping(value or ""), _LONGEST_TEXT)


def _tool_names(tool: str) -> tuple[str, ...]:
    """Return a tool as it is called here; `Bash(git:*)` is the tool that runs commands, and each of them is judged."""
    return names_here(tool.partition("(")[0].strip())


def _hooks(value: Any, problems: list[str]) -> list[Hook]:
    if value is None:
        return []
    if not isinstance(value, dict):
        problems.append("hooks cannot be read: write one line for each, such as before_prompt: git status")
        return []
    found: list[Hook] = []
    for name, given in value.items():
        event = next((one for one in HOOK_EVENTS if one == name.replace("-", "_")), None)
        if event is None:
            known = ", ".join(HOOK_EVENTS)
            problems.append(f"the hook {one_line(name, 40)!r} never runs: there are {known}")
            continue
        changes = isinstance(given, dict) and given.get("changes") is True
        command = _command(given.get("command") if isinstance(given, dict) else given)
        if not command or len(command) > _LONGEST_COMMAND or "\0" in command:
            problems.append(f"the hook {event} cannot run: give a command of at most {_LONGEST_COMMAND:,} characters")
            continue
        found.append(Hook(event, command, changes))
    return found


def _command(given: Any) -> str:
    """Return a command as text; a list is a program and its arguments, which may start with the folder of the skill."""
    if isinstance(given, str):
        return given.strip()
    if not isinstance(given, list) or not all(isinstance(word, str) for word in given):
        return ""
    start = f"${SKILL_DIR}/"
    return " ".join(
        f'"${SKILL_DIR}"/{shlex.quote(word.removeprefix(start))}' if word.startswith(start) else shlex.quote(word)
        for word in given
    )
