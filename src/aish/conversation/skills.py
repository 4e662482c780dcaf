"""The skills of a conversation: which there are, which a question calls for, and what their hooks say.

Loaded when there is a folder with skills.
"""

import asyncio
import json
import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from aish.action.workspace import read_inside
from aish.conversation.project import root_of
from aish.conversation.session import Session
from aish.conversation.skill_files import find_skills
from aish.conversation.skill_matching import named_files, reason_for
from aish.values.errors import Declined, NotFound
from aish.values.events import Notice, notice
from aish.values.invisible import visible
from aish.values.named_tuple import NamedTuple
from aish.values.skills import Hook, HookEvent, Skill
from aish.values.text import for_keeping, one_line

MOST_BROUGHT = 2  # skills that a question gets by itself
MOST_HOOKS = 10  # of one event
_MOST_FILE = 1 << 20
_MOST_GIVEN = 20_000  # characters of a question or answer that a hook gets
_LONGEST_NOTE = 500


class HookRun(NamedTuple):
    """What a hook printed, and what went wrong."""

    text: str
    trouble: str = ""


class HookOutput(NamedTuple):
    """What a hook said, ready to be shown or sent."""

    skill: Skill
    event: HookEvent
    text: str

    @property
    def notice(self) -> Notice:
        """What the hook said, as a note for the user."""
        text = f"{self.skill.name}: {one_line(self.text, _LONGEST_NOTE)}"
        return notice("skills.hook_said", text, skill=self.skill.name, event=self.event)


class RunHook(Protocol):
    """Runs one hook in a thread, where it is judged and fenced; `acting/skill_hooks.py` does."""

    def __call__(
        self, skill: Skill, hook: Hook, given: bytes, directory: Path, is_over: Callable[[], bool]
    ) -> HookRun: ...


class JudgeHook(Protocol):
    """Says whether a hook would run, as something that is not None, and why."""

    def __call__(self, hook: Hook, directory: Path, *, agreed: bool) -> tuple[Any, str]: ...


class SkillPart(NamedTuple):
    """A part of a text of a skill. `rest` says what was left out and how to get it."""

    text: str
    rest: str = ""


class Skills:
    """The skills of one program."""

    def __init__(self, run: RunHook, judge: JudgeHook) -> None:
        self._run, self.judge = run, judge
        self._known: dict[tuple[str, Path], list[Skill]] = {}

    def read(self, session: Session) -> list[Skill]:
        """Read all skills that there are for a conversation, also those that cannot be used."""
        trust = session.services.trust
        known = trust.known()
        folders = session.services.skill_folders(session.channel, session.cwd)
        found = find_skills(folders, lambda folder: trust.held(folder, known))
        self._known[session.channel, (root_of(session.cwd) or session.cwd)] = found
        return found

    def known(self, session: Session) -> list[Skill]:
        """Return the skills as they were read last."""
        found = self._known.get((session.channel, (root_of(session.cwd) or session.cwd)))
        return self.read(session) if found is None else found

    def usable(self, session: Session, name: str) -> Skill:
        """Return a skill as it is now. Raises `NotFound`, and `Declined` if it cannot be used."""
        there = [skill for skill in self.read(session) if skill.name.casefold() == name.strip().casefold()]
        found = next((skill for skill in there if skill.is_usable), None)
        if found:
            return found
        if there and there[0].readable:
            raise Declined(f"the skill {there[0].name} is not trusted yet: the user can do that with :skills trust")
        if there:
            raise Declined(f"the skill {there[0].name} cannot be used: {there[0].problems[0]}")
        raise NotFound(f"there is no skill {one_line(name, 40)!r}; :skills lists them")

    def matching(self, session: Session, question: str, skills: Sequence[Skill]) -> list[tuple[Skill, str]]:
        """Return the skills that a question calls for, and why."""
        files = _files(session, question) if any(skill.paths for skill in skills) else []
        found = ((skill, reason_for(skill, question, files)) for skill in skills)
        return [(skill, reason) for skill, reason in found if reason][:MOST_BROUGHT]

    def part(self, session: Session, skill: Skill, file: str = "", start: int = 0, *, shared_by: int = 1) -> SkillPart:
        """Return a part of the text of a skill, or of a file in its folder. Raises `Declined` and `NotFound`.

        `shared_by` is the number of skills that share the room.
        """
        text = skill.body if not file else _file_text(skill, file)
        text = session.services.redaction.text(for_keeping(text))
        most = max(session.settings.skills.body_chars // shared_by, 1)
        part, end = text[start : start + most], min(start + most, len(text))
        if end < len(text):
            cut = part.rfind("\n", len(part) // 2) + 1  # whole lines, if that leaves enough
            end = start + (cut or len(part))
            of = f", file={json.dumps(file, ensure_ascii=False)}" if file else ""
            rest = (
                f"{len(text) - end:,} characters left out; read on with use_skill(name={skill.name!r}{of}, start={end})"
            )
            return SkillPart(visible(text[start:end]), rest)
        return SkillPart(visible(part))

    async def run_hooks(
        self, session: Session, event: HookEvent, skills: Sequence[Skill], **facts: str
    ) -> tuple[list[HookOutput], list[Notice]]:
        """Run the hooks of an event side by side. A hook that fails is one line, once in a conversation."""
        wanted = [(skill, hook) for skill in skills for hook in skill.hooks_of(event)]
        outputs: list[HookOutput] = []
        notices: list[Notice] = []
        if not wanted or not session.settings.skills.hooks:
            return outputs, notices
        if len(wanted) > MOST_HOOKS:
            text = f"only the first {MOST_HOOKS} of {len(wanted)} hooks {event} run; remove some skills"
            notices += session.say_once(f"skills.many_hooks.{event}", text)
        clipped = session.services.redaction.clipped
        told = {name: clipped(text, _MOST_GIVEN) for name, text in facts.items()}
        about = {"event": event, "channel": session.channel, "conversation": session.recorder.conversation, **told}
        runs = (self._in_thread(session, skill, hook, about) for skill, hook in wanted[:MOST_HOOKS])
        for (skill, _), done in zip(wanted, await asyncio.gather(*runs), strict=False):
            if done.trouble:
                trouble = one_line(clipped(done.trouble, 1_000), 200)
                text = f"the hook {event} of the skill {skill.name}: {trouble}"
                notices += session.say_once(f"skills.hook.{skill.name}.{event}", text)
            elif said := visible(clipped(done.text, session.settings.skills.hook_chars)).strip():
                outputs.append(HookOutput(skill, event, said))
        return outputs, notices

    async def hold(self, session: Session, event: HookEvent, **facts: str) -> list[Notice]:
        """Run the hooks of an event between two questions. The user sees what they say; the next question brings it."""
        wanted = [skill for skill in self.known(session) if skill.hooks_of(event)]
        outputs, notices = await self.run_hooks(session, event, wanted, **facts)
        for one in outputs:
            session.history.hold(f"[aish] hook {event} of the skill {one.skill.name} printed:\n{one.text}")
        return [*notices, *(one.notice for one in outputs)]

    async def _in_thread(self, session: Session, skill: Skill, hook: Hook, about: dict[str, str]) -> HookRun:
        """Run a hook outside the event loop. If the turn is stopped, so is the hook."""
        given = json.dumps({"skill": skill.name, **about}, ensure_ascii=False).encode("utf-8", "replace")
        stopped = threading.Event()
        try:
            return await asyncio.to_thread(self._run, skill, hook, given, session.cwd, stopped.is_set)
        finally:
            stopped.set()


def _files(session: Session, question: str) -> list[str]:
    """Return the files that a question names, relative to the project. A mere name counts only if it is there."""
    project, found = Path(os.path.realpath(root_of(session.cwd) or session.cwd)), list[str]()
    for name in named_files(question):
        try:
            path = Path(os.path.realpath(session.cwd / name))
            there = path.exists()
        except (OSError, ValueError):
            continue
        if (there or "/" in name) and path.is_relative_to(project):
            found.append(str(path.relative_to(project)))
        elif there and path.is_file():
            found.append(path.name)
    return found


def _file_text(skill: Skill, file: str) -> str:
    try:
        data, _ = read_inside(Path(skill.folder), file, _MOST_FILE)
    except OSError as error:
        raise Declined(f"{one_line(file, 80)} cannot be read: {error.strerror or error}") from None
    if b"\0" in data:
        raise Declined(f"{one_line(file, 80)} is not a text")
    return data.decode("utf-8", "replace")
