"""Suggest completions for the line being typed, and tell whether a command is complete.

Pure: takes the text before the cursor and the known names, returns suggestions. A suggestion is a word, the number of
typed characters it replaces, and a hint.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

from aish.intake.commands import Commands
from aish.values.errors import NotFound
from aish.values.named_tuple import NamedTuple

Suggestion = tuple[str, int, str]
Source = Iterable[str] | Callable[[str], Iterable[Suggestion]]  # the typed part of the argument → suggestions

_STAY = frozenset("if then elif else while until do ! { coproc".split())  # a command follows these,
_BEFORE = frozenset("sudo doas command builtin exec env nohup nice xargs time".split())  # and after these with options
_VALUED = frozenset("-u -g -C -I -P -L -d".split())  # options of `_BEFORE` that take a value
_OPENING = frozenset("if case for while until select {".split())
_CLOSING = frozenset("fi esac done }".split())
_SPECIAL = frozenset(" \t!\"#$&'()*;<>?[\\]^`{|}")


class TypedWord(NamedTuple):
    """A word of a command line: its position, its text without quotes, and the quote that is still open."""

    start: int
    end: int
    text: str
    first: bool = False  # it names a command
    redirect: bool = False  # it is the target of a redirection
    quote: str = ""


class Scan(NamedTuple):
    """A parsed command line up to the cursor: the words of its last simple command, and the names of all commands."""

    words: tuple[TypedWord, ...]  # the last one ends at the cursor; it is empty after a blank
    names: tuple[TypedWord, ...]
    unfinished: str  # why it is incomplete: quote, backslash, here-document, operator, block; else empty
    comment: bool

    @property
    def arguments(self) -> list[str]:
        """Return the last simple command from its name on, without redirections; empty while the name is typed."""
        start = self.names[-1].start if self.names else 0
        plain = [word for word in self.words if word.start >= start and not word.redirect]
        return [] if self.words[-1].first or self.words[-1].redirect else [word.text for word in plain]


def suggest(text: str, commands: Commands[Any], words: Mapping[str, Source]) -> list[Suggestion]:
    """Return suggestions for a line that starts with a colon.

    `words` maps the full name of a command to the possible values of its argument.
    """
    if not text.startswith(":"):
        return []
    name, space, typed = text[1:].partition(" ")
    if not space:
        found = [(c.name, c.summary) for c in commands if c.name.startswith(name) and " " not in c.name]
        return [(known, len(name), summary) for known, summary in found]
    try:
        name = commands.find(name).name
    except NotFound:
        pass  # `words` may still have an entry for it
    verb, space, rest = typed.partition(" ")
    if space and f"{name} {verb}" in {command.name for command in commands.below(name)}:
        return _argument(words.get(f"{name} {verb}", ()), rest)
    below = [(c.name.removeprefix(f"{name} "), len(typed), c.summary) for c in commands.below(name)]
    return [one for one in below if one[0].startswith(typed)] + _argument(words.get(name, ()), typed)


def _argument(source: Source, typed: str) -> list[Suggestion]:
    if callable(source):
        return list(source(typed))
    return [(word, len(typed), "") for word in source if word.startswith(typed)]


def matching(typed: str, pairs: Iterable[tuple[str, str]]) -> list[Suggestion]:
    """Return the pairs of word and hint where the word, or a word of the hint, starts with `typed`."""
    wanted = typed.casefold()
    return [
        (word, len(typed), hint)
        for word, hint in pairs
        if word.startswith(typed) or any(part.startswith(wanted) for part in hint.casefold().split())
    ]


def quoted(name: str, quote: str = "") -> str:
    """Quote a file name for a command line; `quote` is the quote that is already open before it.

    A leading `~` is not escaped: only the caller knows whether it means a home directory.
    """
    if not name.isprintable():  # only $'…' can write these characters, and it makes them visible
        raw = name.encode("utf-8", "surrogateescape")
        return "$'" + "".join(chr(b) if 32 <= b < 127 and b not in b"'\\" else f"\\x{b:02x}" for b in raw) + "'"
    if quote == "'":
        return "'" + name.replace("'", "'\\''") + "'"
    if quote == '"':
        return '"' + re.sub(r'(["$`\\])', r"\\\1", name) + '"'
    escaped = "".join(f"\\{letter}" if letter in _SPECIAL else letter for letter in name)
    return re.sub(r"(?<=[=:])~", r"\\~", escaped)  # bash expands `~` there, as in an assignment


def break_words(words: Iterable[str]) -> list[str]:
    """Split words as bash does for completion functions: `--a=b` and `a:b` become three words."""
    return [part for word in words for part in re.findall(r"[=:]+|[^=:]+", word) or [""]]


def read_command(text: str) -> Scan:
    """Parse a partly typed command line by the lexical rules of bash."""
    reader = _Reader(text)
    for piece in _pieces().finditer(text):
        reader.take(piece)
    return reader.result()


@cache
def _pieces() -> re.Pattern[str]:
    """Return the token pattern. Compiled on first use, to keep start-up fast."""
    return re.compile(
        r"""(?P<comment>(?<![^\s;|&()])\#[^\n]*)
        |(?P<blank>[ \t]+|\\\n)
        |(?P<newline>\n)
        |(?P<open>\$\(|[<>]\(|\()
        |(?P<close>\))
        |(?P<tick>`)
        |(?P<here><<-?(?!<))
        |(?P<redirect>&>>?|<<<|[<>]&|>>|<>|>\||[<>])
        |(?P<operator>\|\||&&|;;&?|;&|\|&|[;|&])
        |(?P<single>'[^']*(?:'|\Z))
        |(?P<double>"(?:\\.|[^"\\])*(?:"|\\?\Z))
        |(?P<escaped>\\(?:.|\Z))
        |(?P<plain>\$\{[^}]*\}?|[^\s'"\\$`;|&()<>]+|.)""",
        re.VERBOSE | re.DOTALL,
    )


class _Reader:
    """Reads the tokens of a line. A command name is expected at the start and after an operator."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._words: list[TypedWord] = []
        self._names: list[TypedWord] = []
        self._word: TypedWord | None = None
        self._wants_name, self._redirected = True, False
        self._nested: list[str] = []
        self._depth = 0
        self._here: list[str] = []  # delimiters of pending here-documents
        self._skip_to = 0
        self._last = ""
        self._unfinished = ""
        self._comment = self._valued = False

    def take(self, piece: re.Match[str]) -> None:
        kind, start, end = piece.lastgroup or "", piece.start(), piece.end()
        if start < self._skip_to:
            return
        if kind in ("single", "double", "escaped", "plain"):
            self._grow(kind, piece[0], start, end)
        else:
            self._finish_word(end)
            if kind == "newline" and self._here:
                self._skip_here(end)
            self._separate(kind, piece[0])
        if kind not in ("blank", "comment", "newline"):
            self._last = piece[0]
        self._comment = kind == "comment"

    def _grow(self, kind: str, piece: str, start: int, end: int) -> None:
        """Add a token to the current word."""
        word = self._word or TypedWord(start, start, "", self._wants_name and not self._redirected, self._redirected)
        quote, text = "", piece
        if kind in ("single", "double"):
            whole = len(piece) > 1 and piece[-1] == piece[0] and not (kind == "double" and _escaped_end(piece))
            quote = "" if whole else piece[0]
            text = piece[1:-1] if whole else piece[1:]
            text = re.sub(r'\\(["$`\\])', r"\1", text) if kind == "double" else text
            self._unfinished = "" if whole else "quote"
        elif kind == "escaped":
            text = piece[1:]
            self._unfinished = "" if text else "backslash"
        self._word = word._replace(end=end, text=word.text + text, quote=quote)

    def _finish_word(self, end: int) -> None:
        word, self._word = self._word, None
        if word is None:
            return
        if self._here and self._here[-1] == "":
            self._here[-1] = word.text
        elif word.first:
            self._name(word)
        self._words.append(word)
        self._redirected = False

    def _name(self, word: TypedWord) -> None:
        """Decide whether a command name follows this word, and count the open blocks."""
        value, self._valued = self._valued, word.text in _VALUED
        if value or word.text.startswith("-") or re.fullmatch(r"\d+|\w+\+?=.*", word.text, re.DOTALL):
            return  # an assignment, or an option of a prefix such as sudo
        if word.text in _OPENING:
            self._depth += 1
        elif word.text in _CLOSING:
            self._depth = max(0, self._depth - 1)
        if word.text not in _STAY | _OPENING | _CLOSING:
            self._names.append(word)
        self._wants_name = word.text in _STAY or word.text in _BEFORE

    def _separate(self, kind: str, piece: str) -> None:
        """Handle an operator, redirection, parenthesis or newline."""
        if kind in ("redirect", "here"):
            self._redirected = True
            self._here += [""] if kind == "here" else []
        elif kind in ("operator", "newline"):
            self._begin(name=True)
        elif kind == "open" or (kind == "tick" and piece not in self._nested):
            self._nested.append(piece if kind == "tick" else "(")
            self._begin(name=True)
        elif kind in ("close", "tick"):
            closed = bool(self._nested) and bool(self._nested.pop())
            self._begin(name=not closed or self._last == "(")  # after a `case` pattern, or before a function body

    def _begin(self, *, name: bool) -> None:
        self._words.clear()
        self._wants_name, self._redirected = name, False

    def _skip_here(self, start: int) -> None:
        """Skip the here-documents that start after this line."""
        for delimiter in self._here:
            end = re.compile(rf"^\t*{re.escape(delimiter)}$\n?", re.MULTILINE).search(self._text, start)
            if not end:
                self._unfinished, start = "here-document", len(self._text)
                break
            start = end.end()
        self._here.clear()
        self._skip_to = start

    def result(self) -> Scan:
        end = len(self._text)
        typing = self._word
        if typing is None:
            typing = TypedWord(end, end, "", self._wants_name and not self._redirected, self._redirected)
        words = (*self._words, typing)
        if typing.text:
            self._finish_word(end)
        unfinished = self._unfinished or ("here-document" if self._here else "")
        if not unfinished and self._last in ("|", "||", "&&", "|&"):
            unfinished = "operator"
        if not unfinished and (self._depth or self._nested):
            unfinished = "block"
        return Scan(words, tuple(self._names), unfinished, self._comment)


def _escaped_end(piece: str) -> bool:
    """Is the last quote of a double-quoted token escaped?"""
    return (len(piece[1:-1]) - len(piece[1:-1].rstrip("\\"))) % 2 == 1
