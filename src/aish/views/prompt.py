"""The prompt: fill the user's template with current values, and fit it to the window.

The values come from outside (names of directories and branches), so they are neutralised like other text.
"""

import re
import stat
from pathlib import Path

from aish.places import home_directory
from aish.storage.git_files import git_directory, mode_of, read_head
from aish.values.named_tuple import NamedTuple
from aish.values.snippets import cells
from aish.values.text import for_terminal

SIGN = "\ufdd0"  # placeholder for the sign; a noncharacter, so no template contains it
OWN_SIGN = "\ufdd1"  # placeholder before the sign of the user's own prompt, which stays for commands
FROM_SHELL = "shell"  # the template that stands for the prompt of the user's shell
_UNTIL_READY = "{cwd} {sign} "  # in place of it, as long as the shell starts
_SIGNS = {"": ">", "command": "$", "question": "?", "ask": "⁇", "colon": ":"}
_OTHER_SEQUENCES = r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"
_LONGEST = 24  # maximum columns of a name
_TYPING_ROOM = 12  # columns that stay free for typing


class PromptFacts(NamedTuple):
    """The values that a prompt can show."""

    model: str = ""
    directory: str = ""
    home: str = ""
    branch: str = ""
    tokens: int = 0  # in the model's prompt now
    window: int = 0  # the token budget; 0: unknown
    cost: float = 0.0  # dollars in this conversation
    status: int = 0  # of the last command


def fill(template: str, facts: PromptFacts, columns: int = 80) -> str:
    """Return the prompt as text, with `SIGN` as the placeholder for the sign. Unknown names stay unchanged.

    A name without a value is dropped together with the space after it.
    """
    template = _UNTIL_READY if template == FROM_SHELL else template
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
    """Return the prompt of a shell that has just started."""
    facts = PromptFacts(model, str(directory), str(home_directory()), git_branch(directory))
    return "" if template == FROM_SHELL else plain_sign(fill(template, facts, columns))


def signs(*, unicode: bool = True) -> dict[str, str]:
    """Return the sign for each kind of line; the empty kind is an empty line."""
    return _SIGNS if unicode else _SIGNS | {"ask": "??"}


def plain_sign(prompt: str) -> str:
    """Return a prompt with a fixed sign, for terminals where it cannot change during typing."""
    return prompt.replace(SIGN, _SIGNS[""]).replace(OWN_SIGN, "")


def from_shell(prompt: str) -> tuple[str, str]:
    """Return the prompt of the user's shell as text with colours, and the other sequences in it (window titles).

    Its last sign (`$`, `%`, `❯`) stays for commands, and changes while something else is typed.
    """
    text = re.sub("[\x01\x02]", "", prompt)  # they enclose sequences without width
    others = "".join(re.findall(_OTHER_SEQUENCES, text))
    text = re.sub(_OTHER_SEQUENCES, "", text).expandtabs().replace("\r", "")
    text = re.sub(r"\x1b\[[0-?]*[ -/]*[@-ln-~]", "", text)
    text = re.sub(r"\x1b(?!\[[0-?]*m)|[\0-\x09\x0b-\x1a\x1c-\x1f\x7f]", "", text)
    if sign := re.search(r"[^\s\w\x1b](?=(?:\s|\x1b\[[0-?]*m)*\Z)", text):
        text = f"{text[: sign.start()]}{OWN_SIGN}{text[sign.start() :]}"
    return text, others


def short_directory(directory: str, home: str) -> str:
    """Shorten a directory: ~ stands for the home directory."""
    home = home.rstrip("/")
    if home and (directory == home or directory.startswith(f"{home}/")):
        return "~" + directory[len(home) :]
    return directory


def git_branch(directory: Path) -> str:
    """Return the checked-out branch, or the beginning of the commit id."""
    for folder in (directory, *directory.parents):
        git = git_directory(folder)
        if git and stat.S_ISDIR(mode_of(git)):
            head = read_head(git)
            return head.branch or head.commit[:7] if head else ""
    return ""


def cut_left(text: str, columns: int) -> str:
    """Return the end of a text in at most `columns` columns. Names mostly differ at their end."""
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
