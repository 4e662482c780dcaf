"""Skills: what is known of a folder with a `SKILL.md`.

Pure: plain values.
"""

from typing import Literal

from aish.values.named_tuple import NamedTuple

SkillPlace = Literal["workspace", "channel", "project"]
HookEvent = Literal["before_prompt", "after_response", "before_compact", "after_subagent"]
MemoryScope = Literal["none", "session", "channel", "all"]
HOOK_EVENTS: tuple[HookEvent, ...] = ("before_prompt", "after_response", "before_compact", "after_subagent")
SCOPES: tuple[MemoryScope, ...] = ("none", "session", "channel", "all")  # from narrow to wide
SKILL_DIR = "AISH_SKILL_DIR"  # in the environment of a hook: the folder of its skill


class Hook(NamedTuple):
    """A command that runs at an event. If it `changes` something, it runs where it may change the project."""

    event: HookEvent
    command: str
    changes: bool = False


class Skill(NamedTuple):
    """A skill. Each problem is one line that says what to do.

    `trusted`: its text may go into the prompt. `agreed`: the user has seen its hooks, and trusts its files as they are.
    `hidden_by`: where another skill of the same name is, which counts.
    """

    name: str
    place: SkillPlace
    folder: str
    description: str = ""
    when_to_use: str = ""
    allowed_tools: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    memory_scope: MemoryScope = "all"
    hooks: tuple[Hook, ...] = ()
    body: str = ""
    problems: tuple[str, ...] = ()
    readable: bool = True
    trusted: bool = False
    agreed: bool = False
    hidden_by: str = ""
    digest: str = ""  # of all its files

    @property
    def is_usable(self) -> bool:
        return self.readable and self.trusted and not self.hidden_by

    @property
    def about(self) -> str:
        """What the prompt says about it, in one line."""
        return self.description or self.when_to_use

    def hooks_of(self, event: HookEvent) -> list[Hook]:
        return [hook for hook in self.hooks if hook.event == event] if self.is_usable else []

    def allows(self, tool: str) -> bool:
        """May a tool be used while this skill is active? A skill without a list does not narrow anything."""
        return not self.allowed_tools or bool({tool, "*"}.intersection(self.allowed_tools))


def narrowest(scopes: list[MemoryScope]) -> MemoryScope:
    """Return the narrowest of these scopes."""
    return min(scopes, key=SCOPES.index, default="all")
