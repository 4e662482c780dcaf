"""The definition of a sub-agent: a Markdown file with front matter, whose text are its instructions.

Pure: text in, a definition or the reasons why there is none out.
"""

import math
import re
from typing import Any, Literal, get_args

from aish.values.front_matter import FrontMatter, read_front_matter
from aish.values.invisible import is_visible, visible
from aish.values.named_tuple import NamedTuple
from aish.values.text import clip, one_line
from aish.values.tool_names import names_here

AgentContext = Literal["isolated", "contextual"]
AgentMemory = Literal["none", "relevant", "session", "channel"]
MOST_INSTRUCTIONS = 16_000  # characters
_LONGEST_LINE = 200
_LIMITS = ("steps", "tokens", "dollars", "minutes")
_INHERIT = ("", "inherit", "default")  # words of other tools for the current model


class AgentBudget(NamedTuple):
    """What a sub-agent may use up before it must answer. None: the setting decides."""

    steps: float | None = None
    tokens: float | None = None
    dollars: float | None = None
    minutes: float | None = None


class AgentDefinition(NamedTuple):
    """A sub-agent: what it is for, what it is told, and what it may use. `tools` is None for those that only read."""

    name: str
    description: str
    instructions: str
    when_to_use: str = ""
    tools: tuple[str, ...] | None = None
    model: str = ""
    context: AgentContext = "isolated"
    memory: AgentMemory = "none"
    budget: AgentBudget = AgentBudget()
    origin: str = "built in"  # the file that defines it

    @property
    def purpose(self) -> str:
        """What the agent is for and when, in one line."""
        when = f"; when to use it: {self.when_to_use}" if self.when_to_use else ""
        return one_line(visible(f"{self.description}{when}"), _LONGEST_LINE)

    @property
    def runs_commands(self) -> bool:
        """May commands of its answers be offered to the user?"""
        return self.tools is not None and "run_command" in self.tools


HELPER = AgentDefinition(
    "helper",
    "reads and searches files of the project and reports what it found",
    "Use the tools to look things up instead of guessing. Report what you found, with the names of files and lines, "
    "and say what you could not find out.",
    when_to_use="to keep long reading and searching out of a conversation",
)


class ReadDefinition(NamedTuple):
    """A definition, or why there is none; `problems` may also be about a definition that can be used."""

    definition: AgentDefinition | None
    problems: tuple[str, ...] = ()


def read_definition(text: str, file_name: str, origin: str) -> ReadDefinition:
    """Read a file. A definition with a mistake is not used: without the part that is wrong it could do more."""
    front = read_front_matter(text)
    problems = list(front.problems)
    name = front.text("name") or file_name
    if not is_agent_name(name):
        shown = one_line(visible(name), 40)
        problems.append(f"{shown!r} is not a valid name; use at most 40 letters, digits, - and _")
    tools = _tools(front, problems)
    context = _choice(front, "context", get_args(AgentContext), "isolated", problems)
    default = "relevant" if context == "contextual" else "none"
    memory = _choice(front, "memory", get_args(AgentMemory), default, problems)
    if context == "isolated" and memory != "none":
        problems.append(f"memory: {memory} needs context: contextual")
    budget = _budget(front.fields.get("budget"), problems)
    instructions = front.body.strip()
    description = front.text("description")
    if not (instructions or description):
        problems.append("it has neither a description nor instructions")
    if problems:
        return ReadDefinition(None, tuple(problems))
    told = [f"its instructions are cut to {MOST_INSTRUCTIONS:,} characters"] * (len(instructions) > MOST_INSTRUCTIONS)
    model = front.text("model")
    definition = AgentDefinition(
        name,
        description or one_line(instructions, _LONGEST_LINE),
        clip(visible(instructions), MOST_INSTRUCTIONS),
        front.text("when_to_use"),
        tools,
        "" if model.lower() in _INHERIT else model,
        context,  # type: ignore[arg-type]  # one of its values
        memory,  # type: ignore[arg-type]  # one of its values
        budget,
        origin,
    )
    return ReadDefinition(definition, tuple(told))


def is_agent_name(name: str) -> bool:
    """Can this be the name of a sub-agent? It is typed after `:agent` and shown in front of questions."""
    return re.fullmatch(r"\w[\w-]{0,39}", name) is not None and is_visible(name)


def _tools(front: FrontMatter, problems: list[str]) -> tuple[str, ...] | None:
    value = front.fields.get("tools")
    if value is None:
        return None
    if not isinstance(value, list | str) or (
        isinstance(value, list) and not all(isinstance(one, str) for one in value)
    ):
        problems.append("tools must be a list of names, such as [read_file, list_files]")
        return None
    return tuple(dict.fromkeys(name for word in front.words("tools") for name in names_here(word)))


def _choice(front: FrontMatter, name: str, values: tuple[str, ...], default: str, problems: list[str]) -> str:
    if front.fields.get(name) is None:
        return default
    value = front.text(name).lower()
    if value not in values:
        problems.append(f"{name} must be one of {', '.join(values)}")
        return default
    return value


def _budget(value: Any, problems: list[str]) -> AgentBudget:
    if value is None:
        return AgentBudget()
    if not isinstance(value, dict) or set(value) - set(_LIMITS):
        problems.append("budget must be a mapping of steps, tokens, dollars or minutes, such as {steps: 5}")
        return AgentBudget()
    limits: dict[str, float] = {}
    for name, given in value.items():
        try:
            number = float(str(given).replace("_", ""))
        except ValueError:
            number = math.nan
        if not 0 < number < math.inf:
            problems.append(f"budget: {name} must be a number above 0")
        limits[name] = number
    return AgentBudget(**limits)
