"""What a colleague at the same desk would know: system, shell, directory, branch, time and last command.

Pure: takes facts, returns text. A fact is said again only when it has changed, so that a message stays short and the
messages before it stay as they are.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from aish.values.invisible import visible
from aish.values.patterns import pattern
from aish.values.turns import SURROUNDINGS_MARK, Turn

NONE = "none"  # a fact that held before and does not hold any more
MOST_CHARS = 700
MOST_NAMES = 320  # characters of names of files, about a hundred tokens
TIME, FILES = "time", "files"
_MINUTES = pattern(r"(?<=\d\d):\d\d")
_PLAIN = pattern(r"[\w@%+=:,./-]+")

Facts = Mapping[str, str]
"""Facts by name, in the order in which they are said. A value is one line; an empty one is not known."""


def news(facts: Facts, said: Facts) -> dict[str, str]:
    """Return the facts that are not said yet, or have changed since.

    The time is news once an hour, and names of files are news in another directory: commands tell what they change.
    """
    if FILES in facts and said.get("directory") == facts["directory"]:
        facts = {name: value for name, value in facts.items() if name != FILES}
    else:  # those of two directories may be the same
        said = {name: value for name, value in said.items() if name != FILES}
    new = {name: value for name, value in facts.items() if value and _changed(name, value, said.get(name, ""))}
    gone = {name: NONE for name, value in said.items() if value != NONE and not facts.get(name)}
    return {**new, **{name: value for name, value in gone.items() if name in facts}}


def _changed(name: str, value: str, said: str) -> bool:
    if name == TIME:
        return _MINUTES.sub("", value, count=1) != _MINUTES.sub("", said, count=1)
    return value != said


def file_list(names: Sequence[str], inside: Callable[[str], Sequence[str]], *, more: bool = False) -> str:
    """Return names of files as one line. Instead of a directory, which ends in a slash, what is in it, if that fits.

    `more`: there are names that were not read. Names with blanks, quotes or invisible characters are quoted.
    """
    room = MOST_NAMES - sum(len(name) + 1 for name in names)
    rows = list[str]()
    for name in names:
        below = [f"{name}{one}" for one in inside(name)] if name.endswith("/") and room > 0 else []
        size = sum(len(one) + 1 for one in below)
        if below and size <= room + len(name):
            rows += below
            room -= size - len(name) - 1
        else:
            rows.append(name)
    text, shown = "", 0
    for row in rows:
        word = _word(row)
        if len(text) + len(word) > MOST_NAMES:
            break
        text, shown = f"{text} {word}", shown + 1
    left = len(rows) - shown
    if more:
        return f"{text} and many more".lstrip() if text else "many"
    if left:
        return f"{text} and {left} more".lstrip() if text else f"{left} with long names"
    return text.lstrip()


def _word(name: str) -> str:
    """Return a name as a shell takes it for one word, in one line.

    `shlex.quote` would also quote letters outside ASCII, which a shell takes as they are.
    """
    shown = visible(name).replace("\n", "⟨U+000A⟩").replace("\t", "⟨U+0009⟩")
    return shown if _PLAIN.fullmatch(shown) else "'" + shown.replace("'", "'\"'\"'") + "'"


def as_text(facts: Facts) -> str:
    """Return the facts for the model, each in a line; nothing if there are none. What does not fit is said later."""
    rows, room = [SURROUNDINGS_MARK], MOST_CHARS - len(SURROUNDINGS_MARK)
    for name, value in facts.items():
        row = f"{name}: {value}"
        if len(row) < room:
            rows.append(row)
            room -= len(row) + 1
    return "\n".join(rows) if len(rows) > 1 else ""


def said_in(turns: Iterable[Turn]) -> dict[str, str]:
    """Return what the messages of a prompt say about the surroundings: of each fact, what was said last."""
    said: dict[str, str] = {}
    for turn in turns:
        if turn.role == "user" and turn.content.startswith(SURROUNDINGS_MARK):
            block = turn.content.partition("\n\n")[0]
            said |= dict(row.split(": ", 1) for row in block.split("\n")[1:] if ": " in row)
    return said
