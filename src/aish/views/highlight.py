"""Syntax highlighting for code that streams line by line.

Pure: lines in, styled spans out.
"""

from functools import lru_cache
from typing import Any

from pygments import lexers, styles, token, util  # type: ignore[import-untyped]  # pygments comes without types

from aish.views.spans import StyledSpan

# Only the sixteen standard colours, readable on dark and light backgrounds.
_DEFAULT: dict[Any, str] = {
    token.Comment: "2;3",
    token.Comment.Preproc: "35",
    token.Keyword: "35",
    token.Keyword.Constant: "33",
    token.Operator.Word: "35",
    token.String: "32",
    token.String.Escape: "33",
    token.String.Interpol: "33",
    token.Number: "33",
    token.Name.Function: "34",
    token.Name.Class: "34;1",
    token.Name.Decorator: "36",
    token.Name.Builtin: "36",
    token.Name.Tag: "34",
    token.Name.Attribute: "36",
    token.Name.Variable: "36",
    token.Name.Exception: "31",
    token.Generic.Deleted: "31",
    token.Generic.Inserted: "32",
    token.Generic.Heading: "1",
    token.Generic.Subheading: "35",
    token.Generic.Prompt: "2",
    token.Generic.Output: "",
}
# Appended to a line to see whether the x is in code, or in a string or comment that is still open. Some lexers
# recognise an open comment only by its end, so the probe also contains the ends.
_PROBE, _PROBE_SHELL = "\nx */ -->\n", "\nx '\n"
_SHELLS = ("bash", "sh", "shell", "zsh", "ksh", "console")
_MOST_CONTEXT = 2000


class Highlighter:
    """Highlights one block of code. It remembers the line that opened a multi-line string or comment."""

    def __init__(self, language: str, theme: str = "default") -> None:
        self._lexer = _lexer(language.strip().lower())
        self._theme = theme
        self._probe = _PROBE_SHELL if language.lower() in _SHELLS else _PROBE
        self._context = ""  # lines that opened a string or comment; parsed again before each line, not shown
        self._drawn: tuple[str, list[StyledSpan]] = ("", [])  # the last shown line
        self._read: tuple[str, list[tuple[int, Any, str]]] = ("", [])  # the last parsed text and its tokens
        self._braces = language.lower() in ("css", "scss", "less")

    def spans(self, line: str, *, live: bool = False) -> list[StyledSpan]:
        """Return one highlighted line; while it streams, only the part after its last plain gap is parsed again."""
        if self._lexer is None:
            return [StyledSpan(line, "36")]
        before, known = self._drawn if live and line.startswith(self._drawn[0]) else ("", [])
        if line[len(before) :].isalnum() and before[-1:].isalnum():
            spans = [*known[:-1], StyledSpan(known[-1].text + line[len(before) :], known[-1].style)]
            self._drawn = (line, spans)  # the same word goes on: keep its style
            return spans
        while known and (known[-1].style or known[-1].text[-1].isalnum()):
            known = known[:-1]
        start = sum(len(span.text) for span in known)
        spans = [*known, *self._colored(line[start:])]
        self._drawn = (line, spans)
        return spans

    def _colored(self, line: str) -> list[StyledSpan]:
        start, end = len(self._context), len(self._context) + len(line)
        spans = []
        for place, kind, text in self._tokens(line):
            if part := text[max(start - place, 0) : max(end - place, 0)]:
                spans.append(StyledSpan(part, style_of(kind, self._theme)))
        return spans

    def line_done(self, line: str) -> None:
        """Remember a string or comment that the line leaves open."""
        if self._lexer is None:
            return
        start, end = len(self._context), len(self._context) + len(line)
        opened = end + 1
        for place, kind, text in self._tokens(line):
            inside = kind in token.String or kind in token.Comment
            if place <= end + 1 < place + len(text):
                if not inside:
                    self._context = self._block(line)
                elif opened >= start:  # it was opened in this line
                    self._context = (self._context + line + "\n")[-_MOST_CONTEXT:]
                return
            opened = min(opened, place) if inside else end + 1

    def _block(self, line: str) -> str:
        """Return the context of a style sheet: words have another meaning inside braces."""
        if not self._braces or line.rstrip().endswith("}"):
            return ""
        return line + "\n" if line.rstrip().endswith("{") else self._context

    def _tokens(self, line: str) -> list[tuple[int, Any, str]]:
        text = self._context + line + self._probe
        if self._lexer and text != self._read[0]:
            try:
                tokens = list(self._lexer.get_tokens_unprocessed(text))
            except Exception:  # a lexer that fails must not end the answer; show no colours then
                tokens = [(0, token.Token, text)]
            self._read = (text, tokens)
        return self._read[1]


@lru_cache(maxsize=32)
def _lexer(language: str) -> Any:
    try:
        return lexers.get_lexer_by_name(language, startinline=True) if language else None
    except util.ClassNotFound:
        return None


@lru_cache(maxsize=1024)
def style_of(kind: Any, theme: str) -> str:
    """Return the SGR style of a kind of token, from a pygments style or from the default if that is unknown."""
    try:
        found = styles.get_style_by_name(theme).style_for_token(kind) if theme != "default" else None
    except util.ClassNotFound:
        found = None
    if found is None:
        while kind not in _DEFAULT and kind.parent:
            kind = kind.parent
        return _DEFAULT.get(kind, "")
    parts = ["1"] * found["bold"] + ["3"] * found["italic"] + ["4"] * found["underline"]
    if shade := found["color"]:
        parts.append("38;2;" + ";".join(str(int(shade[place : place + 2], 16)) for place in (0, 2, 4)))
    return ";".join(parts)
