"""The words of a command line, with all texts that the shell may expand them to.

Pure: nodes of the parse tree in, values out.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import product

from tree_sitter import Node

from aish.values.named_tuple import NamedTuple
from aish.values.patterns import pattern

UNKNOWN = "\0"  # placeholder in a text for a part that is only known at run time
_MOST_TEXTS = 64
_MOST_ORIGINS = 8
_SPECIAL = "#?$!"  # $#, $?, $$ and $! are numbers
_MARKS = frozenset("$`\"';|&<>()")
_EXPANSION = pattern(
    r"\$\{#?[A-Za-z_]\w*(\[(@|\*|\d+)\])?"
    r"((:?[-+]|%%?|##?|//?)[^$`'\"\\{}()<>&|;\n]*|:\d+(:\d+)?|\^\^?|,,?)?\}"
)
_ESCAPED = pattern(r"\\(.)", re.DOTALL)
_BRACES = pattern(r"\{([^{}]*+)\}")
_MOST_LETTERS = 4000  # in all texts of a word together
_MOST_GROUPS = 8  # braces in one word: each of them multiplies the words it becomes
_MOST_IN_RANGE = 5  # digits of the numbers in {1..9}


class UnreadableCommand(Exception):
    """The command contains something that its text alone does not explain; the message says what."""


class CommandWord(NamedTuple):
    """A word as typed, and all texts it may become.

    `loose`: it may become an option, several words, or none. `unknown_file`: the file it names is not known.
    `glob`: its texts are file name patterns. `origins`: the command lines whose output is part of it.
    """

    raw: str
    texts: tuple[str, ...]
    loose: bool = False
    unknown_file: bool = False
    glob: bool = False
    origins: tuple[object, ...] = ()

    @property
    def plain(self) -> str | None:
        """The text of the word, if there is only one possible text."""
        certain = len(self.texts) == 1 and UNKNOWN not in self.texts[0] and not (self.loose or self.glob)
        return self.texts[0] if certain else None

    def _from(self, others: Iterable["CommandWord"]) -> "CommandWord":
        """Return the word with the origins of all the others; too many of them count as an unknown file."""
        origins = tuple({id(one): one for other in others for one in other.origins}.values())
        if len(origins) > _MOST_ORIGINS:
            return self._replace(unknown_file=True)
        return self._replace(origins=origins) if origins else self


NUMBER = CommandWord("", ("0",))
OPEN = CommandWord("", (UNKNOWN,), loose=True, unknown_file=True)


def source(node: Node) -> str:
    return (node.text or b"").decode("utf-8")


def literal(node: Node) -> CommandWord:
    """Read an unquoted word. Raise if it contains syntax characters that the parser took for plain text."""
    raw = source(node)
    if raw.replace("-", "").replace(".", "").replace("/", "").isalnum():  # the fast path for most words
        return CommandWord(raw, (raw,))
    raw = raw.replace("\\\n", "")
    bare = _ESCAPED.sub("", raw)
    if _MARKS.intersection(bare) or bare.startswith("#") or re.search(r"\s", bare):
        raise UnreadableCommand(f"{raw!r} is ambiguous")
    glob = any(mark in bare for mark in "*?[")
    return CommandWord(raw, (_ESCAPED.sub(r"\1", raw),), loose=glob and bare[0] in "*?[", glob=glob)


def single_quoted(node: Node) -> CommandWord:
    return CommandWord(source(node), (source(node)[1:-1],))


def ansi_quoted(node: Node) -> CommandWord:
    """Read $'…' with no escapes except newline and tab; others are usually there to hide something."""
    raw = source(node)
    text = raw[2:-1].replace("\\n", "\n").replace("\\t", "\t")
    if "\\" in text:
        raise UnreadableCommand(f"{raw} contains character escapes")
    return CommandWord(raw, (text,))


def joined(raw: str, pieces: Iterable[CommandWord], *, quoted: bool = False) -> CommandWord:
    """Return one word made of adjacent pieces."""
    pieces = list(pieces)
    if len(texts := _products([piece.texts for piece in pieces])) > _MOST_TEXTS:
        return OPEN._replace(raw=raw)
    first_is_open = bool(pieces) and pieces[0].loose
    return CommandWord(
        raw,
        tuple(texts),
        loose=first_is_open if quoted else any(piece.loose for piece in pieces),
        unknown_file=any(piece.unknown_file for piece in pieces),
        glob=any(piece.glob for piece in pieces),
    )._from(pieces)


def _products(texts: Sequence[Sequence[str]]) -> list[str]:
    size = 1
    for some in texts:
        size *= len(some)
    letters = sum(max(map(len, some), default=0) for some in texts)
    if size > _MOST_TEXTS or (size > 1 and size * letters > _MOST_LETTERS):
        return [""] * (_MOST_TEXTS + 1)
    return ["".join(parts) for parts in product(*texts)]


def unquoted_string(text: str) -> str:
    """Return the text between double quotes without the backslashes that the shell removes."""
    return re.sub(r'\\([$`"\\\n])', lambda found: "" if found[1] == "\n" else found[1], text)


def hides_expansion(text: str) -> bool:
    """Does text that the parser took for plain contain something that the shell would expand?"""
    return bool(re.search(r"`|\$[\w({*@#?$!'\"-]", re.sub(r"\\.", "", text, flags=re.DOTALL)))


def braces(word: CommandWord) -> CommandWord:
    """Expand `src/{a,b}.c`; a word with ranges or nested braces becomes unknown. Raises `UnreadableCommand`."""
    text = word.texts[0]
    inside = _BRACES.findall(text)
    if any(re.search(rf"\d{{{_MOST_IN_RANGE + 1},}}", one) for one in inside if ".." in one):
        raise UnreadableCommand(f"{word.raw} is a very long list")
    if any(".." in one for one in inside):
        return OPEN._replace(raw=word.raw)
    if not any("," in one for one in inside):
        return word
    if text.count("{") > _MOST_GROUPS:
        raise UnreadableCommand(f"{word.raw} is a very long list")
    parts: list[list[str]] = [[]]
    for odd, part in enumerate(_BRACES.split(text)):
        choices = part.split(",") if odd % 2 else [part]
        if "{" in part or "}" in part:
            return OPEN._replace(raw=word.raw)
        parts.append(choices if len(choices) > 1 or not odd % 2 else [f"{{{part}}}"])
    if len(word.texts) > 1 or len(texts := _products(parts[1:])) > _MOST_TEXTS:
        return OPEN._replace(raw=word.raw)
    return word._replace(texts=tuple(texts))


def variable(raw: str) -> tuple[str, bool]:
    """Return the name in `$x` or `${x…}`, and whether the value is used unchanged. Raises `UnreadableCommand`."""
    if re.fullmatch(r"\$([A-Za-z_]\w*|[0-9@*#?$!-])", raw, re.ASCII):
        return raw[1:], True
    if not _EXPANSION.fullmatch(raw):
        raise UnreadableCommand(f"{raw} can run commands or set variables")
    name = re.sub(r"^\$\{|\W.*$", "", raw, flags=re.DOTALL)
    return name, raw == f"${{{name}}}"


def is_number(raw: str) -> bool:
    """Does the expansion always give a number?"""
    return (len(raw) == 2 and raw[1] in _SPECIAL) or raw.startswith("${#")


def from_values(raw: str, values: Sequence[CommandWord], *, quoted: bool) -> CommandWord:
    """Return the word for a variable that got these values in the same command line."""
    texts = tuple(dict.fromkeys(text for value in values for text in value.texts))
    unknown_file = any(value.unknown_file for value in values)
    odd = any(text.startswith("-") or (not quoted and (not text or re.search(r"\s", text))) for text in texts)
    if odd or len(texts) > _MOST_TEXTS or any(UNKNOWN in text for text in texts):
        return OPEN._replace(raw=raw, unknown_file=unknown_file or odd or len(texts) > _MOST_TEXTS)._from(values)
    return CommandWord(
        raw,
        texts,
        loose=any(value.loose for value in values),
        unknown_file=unknown_file,
        glob=any(value.glob for value in values),
    )._from(values)
