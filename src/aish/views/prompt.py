"""The prompt: a template of the user's, filled with what is true now, never wider than the window allows.

What is filled in comes from outside (names of directories and branches), so it is neutralised like any other text.
"""

import re
import stat
from pathlib import Path
from typing import NamedTuple

from aish.places import git_directory, home_directory, mode_of, read_small
from aish.values.snippets import cells
from aish.values.text import for_terminal

SIGN = "\ufdd0"  # where the sign goes; no character of any language, so no template has it by itself
_SIGNS = {"": ">", "command": "$", "question": "?", "ask": "⁇", "colon": ":"}
_LONGEST = 24  # columns of a name
_TYPING_ROOM = 12  # columns that stay free for what is typed


class PromptFacts(NamedTuple):
    """What a prompt can tell."""

    model: str = ""
    directory: str = ""
    home: str = ""
    branch: str = ""
    tokens: int = 0  # in the prompt of the model now
    window: int = 0  # that it may have; 0: not known
    cost: float = 0.0  # dollars in this conversation
    status: int = 0  # of the last command


def fill(template: str, facts: PromptFacts, columns: int = 80) -> str:
    """The prompt as text, with `SIGN` where the sign goes. A name that is not known stays as it is.

    What has no value now takes the blank after it along, so that no gap is left.
    """
    values = _values(facts, min(_LONGEST, max(4, columns // 4)))

    def value(match: re.Match[str]) -> str:
        if match[1] not in values:
            return match[0]
        return values[match[1]] + (match[2] if values[match[1]] else "")

    text = re.sub(r"\{(\w+)\}( ?)", value, template)
    *above, last = text.split("\n")
    return "\n".join([*above, cut_left(last, max(columns - _TYPING_ROOM, 2))])


def _values(facts: PromptFacts, longest: int) -> dict[str, str]:
    percent = f"{100 * facts.tokens // facts.window}%" if facts.window > 0 else ""
    return {
        "model": cut_left(_clean(facts.model), longest),
        "cwd": cut_left(_clean(short_directory(facts.directory, facts.home)), longest),
        "git": cut_left(_clean(facts.branch), longest),
        "ctx_used": _thousands(facts.tokens),
        "ctx_pct": percent,
        "cost": f"${facts.cost:.2f}" if facts.cost >= 0.995 else f"${facts.cost:.3f}" if facts.cost else "",
        "status": f"✗{facts.status}" if facts.status else "",
        "sign": SIGN,
    }


def first_prompt(template: str, model: str, directory: Path, columns: int) -> str:
    """The prompt of a shell that has just begun."""
    facts = PromptFacts(model, str(directory), str(home_directory()), git_branch(directory))
    return plain_sign(fill(template, facts, columns))


def signs(*, unicode: bool = True) -> dict[str, str]:
    """The sign for each kind of line; the empty kind is a line that has not begun."""
    return _SIGNS if unicode else _SIGNS | {"ask": "??"}


def plain_sign(prompt: str) -> str:
    """A prompt for where nothing can change while one types."""
    return prompt.replace(SIGN, _SIGNS[""])


def short_directory(directory: str, home: str) -> str:
    """A directory as people write it, with ~ for their home."""
    home = home.rstrip("/")
    if home and (directory == home or directory.startswith(f"{home}/")):
        return "~" + directory[len(home) :]
    return directory


def git_branch(directory: Path) -> str:
    """The branch that is checked out here, or the beginning of a commit."""
    for folder in (directory, *directory.parents):
        git = git_directory(folder)
        if git and stat.S_ISDIR(mode_of(git)):
            head = read_small(git / "HEAD")
            return head.removeprefix("ref: refs/heads/") if head.startswith("ref: ") else head[:7]
    return ""


def cut_left(text: str, columns: int) -> str:
    """The end of a text in so many columns; what tells names apart is mostly at their end."""
    if cells(text) <= columns:
        return text
    start, room = len(text), columns - 1
    while start and (room := room - cells(text[start - 1])) >= 0:
        start -= 1
    return "…" + text[start:]


def _clean(text: str) -> str:
    return for_terminal(" ".join(text.split()))


def _thousands(number: int) -> str:
    if number < 1000:
        return str(number)
    return f"{number / 1000:.1f}k" if number < 99_950 else f"{number // 1000}k"
