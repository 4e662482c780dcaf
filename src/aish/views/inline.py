"""Inline Markdown: emphasis, code, links. Formulas and HTML stay unchanged.

Pure: source in, styled spans out.
"""

import re
from functools import cache, lru_cache

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from aish.views.spans import StyledSpan, harmless

_STYLES = {"strong": "1", "em": "3", "s": "9", "link": "4"}
_FORMULA = r"\$\$.+?\$\$|\$(?![\s$])[^$\n]*?(?<![\s\\])\$(?!\d)|\\\(.+?\\\)|\\\[.+?\\\]"
_OPENING = r"[`\[$]|\*(?=\S)|(?<!\w)_(?=\S)|~~(?=\S)"  # characters that later text may turn into a mark


class _Parser(MarkdownIt):
    """Shows every address unchanged. Nothing can be clicked here, so no address needs to be refused."""

    def normalizeLink(self, url: str) -> str:
        return url

    def validateLink(self, url: str) -> bool:
        return True


def _formula(state: StateInline, silent: bool) -> bool:
    """Parse a formula as plain text, so that stars and underscores in it are not marks."""
    if state.src[state.pos] not in "$\\":
        return False
    match = re.compile(_FORMULA, re.DOTALL).match(state.src, state.pos)
    if not match:
        return False
    if not silent:
        state.push("formula", "", 0).content = match[0]
    state.pos = match.end()
    return True


@cache
def _parser() -> MarkdownIt:
    parser = _Parser("commonmark", {"html": False}).enable("strikethrough")
    parser.inline.ruler.before("escape", "formula", _formula)
    return parser


@lru_cache(maxsize=8)  # the same part is parsed to check it, to cut it and to draw it
def _tokens(source: str) -> list[Token]:
    return _parser().parseInline(harmless(source).replace("\t", " "))[0].children or []


def inline(source: str, *, color: bool, style: str = "") -> list[StyledSpan]:
    """Return the spans of a piece of prose. Without colours, code and strikethrough keep their marks to be visible."""
    spans: list[StyledSpan] = []
    styles, links = [style] if style else [], [("", 0)]
    for token in _tokens(source):
        kind, _, side = token.type.rpartition("_")
        if token.type == "link_open":
            links.append((str(token.attrGet("href")), len(spans)))
        elif token.type == "link_close":
            address, start = links.pop()
            spans += _address(address, "".join(span.text for span in spans[start:]))
        if kind == "s" and not color:
            spans.append(StyledSpan("~~"))
        elif side == "open":
            styles.append(_STYLES.get(kind, ""))
        elif side == "close":
            styles.pop()
        elif token.type in ("softbreak", "hardbreak"):
            spans.append(StyledSpan("\n"))
        elif token.type == "code_inline":
            text = token.content if color else f"{token.markup}{token.content}{token.markup}"
            spans.append(StyledSpan(_leaf(text), ";".join([*styles, "36"])))
        elif token.type == "image":
            spans += [StyledSpan(_leaf(token.content), ";".join(styles)), *_address(str(token.attrGet("src")), "")]
        elif token.content:
            spans.append(StyledSpan(_leaf(token.content), ";".join(filter(None, styles))))
    return spans


def _leaf(text: str) -> str:
    """Neutralise text again before output: decoded entities may be control characters."""
    return harmless(text).replace("\n", " ").replace("\t", " ")


def _address(address: str, text: str) -> list[StyledSpan]:
    shown = _leaf(address)
    return [] if not shown or text in (shown, shown.removeprefix("mailto:")) else [StyledSpan(f" ({shown})", "2")]


def is_settled(source: str) -> bool:
    """Return whether text after the next space cannot change how this source looks."""
    text = "".join(token.content if token.type == "text" else "x" for token in _tokens(source))
    rest = re.sub(_FORMULA, "", source, flags=re.DOTALL)
    return not (re.search(_OPENING, text) or re.search(r"\\[(\[]|\\$", rest))


def provisional(source: str) -> str:
    """Close the last open mark of the source, so that code and bold text are styled while they stream."""
    if source.count("`") % 2:
        return source + "`" if not source.endswith("`") else source[:-1]
    for mark in ("**", "~~"):
        if source.count(mark) % 2:
            text = source.rstrip("*~ ")
            return text + mark if not text.endswith(mark) and source.rfind(mark) < len(text) else text
    return source
