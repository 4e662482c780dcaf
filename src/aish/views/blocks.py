"""The blocks of an answer: prose that wraps, tables with columns, and verbatim lines.

A block receives its source piece by piece. It returns each final line once, and shows the rest as if the answer ended
here. Final lines depend only on the source, never on how it was split into pieces.

Pure: source in, lines out.
"""

import re
from collections.abc import Iterable, Sequence

from aish.values.named_tuple import NamedTuple
from aish.views.highlight import Highlighter
from aish.views.inline import inline, is_settled, provisional
from aish.views.spans import StyledLine, StyledSpan, cells, exact, harmless, paint, redrawable, rows, size_of, wrap

_STEP = 80  # characters after which to look for prose that can no longer change
_MOST = 400  # characters after which prose becomes final anyway
_LEAST_COLUMN = 12  # minimum cells of a column, if its words are that long
_SLACK = 4  # extra cells for each column while more rows may come
_MARKS = frozenset("*_`~[]()<>\\$!&|")
_BAR = " │ "


class Window(NamedTuple):
    """How large the window is, and whether it has colours."""

    width: int
    height: int
    color: bool

    @property
    def limit(self) -> int:
        """The maximum number of live rows."""
        return max(self.height - 2, 1)

    @property
    def room(self) -> int:
        """Cells of a wrapped line. The last column stays free, because terminals treat it differently."""
        return max(self.width - 1, 8)


class Prose:
    """A paragraph, a heading or a list item. `first` is the prefix of its first line, `rest` of the others."""

    def __init__(
        self, window: Window, first: Sequence[StyledSpan], rest: Sequence[StyledSpan], style: str = ""
    ) -> None:
        self.window = window
        self.source = ""  # the part that may still change
        self.whole = True  # whether `source` still has the whole text
        self._first, self._rest, self._style = _narrowed(first, window), _narrowed(rest, window), style
        self._carry: list[StyledSpan] = []  # the settled part of the last, incomplete line
        # the live lines, with the source they were made from
        self._drawn: tuple[str, list[list[StyledSpan]], list[StyledLine]] | None = None
        self._look_at = _STEP

    def append(self, text: str) -> list[StyledLine]:
        """Add source, and return the lines that became final."""
        final: list[StyledLine] = []
        while text:
            room = self._look_at - len(self.source)
            self.source, text = self.source + text[:room], text[room:]
            if len(self.source) >= self._look_at:
                final += self.settle()
        return final

    def settle(self) -> list[StyledLine]:
        """Return the lines that can no longer change, up to the last space."""
        most = min(_MOST, max(self.window.room * self.window.limit // 4, 40))
        gap = max(self.source.rfind(" "), self.source.rfind("\n"))
        if gap > 0 and is_settled(self.source[:gap]):
            return self._cut(gap)
        if len(self.source) < most:
            self._look_at = min(len(self.source) + _STEP, most)
            return []
        return self._cut(gap if gap > most // 2 else _last_joint(self.source))

    def live(self) -> list[StyledLine]:
        """Return the lines that are not final, as if the text ended here."""
        source = self.source.rstrip(" ")
        more = _plain_addition(self._drawn[0], source) if self._drawn else ""
        if self._drawn and more and size_of(self._drawn[1][-1]) + len(more) <= self.window.room:
            *full, last = self._drawn[1]
            last = [*last, StyledSpan(more, last[-1].style)]
            painted = [*self._drawn[2][:-1], *self._painted([last])]
            self._drawn = (source, [*full, last], painted)
        else:
            lines = self._wrapped(provisional(source))
            self._drawn = (source, lines, self._painted(lines))
        return self._drawn[2]

    def close(self) -> list[StyledLine]:
        """Return the remaining lines."""
        return self._painted(self._wrapped(self.source.rstrip()))

    def break_off(self, window: Window) -> list[StyledLine]:
        """End the current line. More text continues on a new line, in a window that may have another size."""
        lines = self.live()
        self.window, self.source, self.whole = window, "", False
        self._first = self._rest = _narrowed(self._rest, window)
        self._carry, self._look_at, self._drawn = [], _STEP, None
        return lines

    def _cut(self, place: int) -> list[StyledLine]:
        self._drawn = None
        *full, last = self._wrapped(self.source[:place])
        self.source, self.whole, self._look_at = self.source[place:], False, 0
        self._look_at = max(_STEP, len(self.source) + 1)
        if full:
            self._first = self._rest
        self._carry = last[len(self._first) :]
        return self._painted(full)

    def _wrapped(self, source: str) -> list[list[StyledSpan]]:
        if not (source or self._carry or self.whole):
            return []  # no text since the break
        spans = inline(source, color=self.window.color, style=self._style)
        return wrap([*self._carry, *spans], self.window.room, self._first, self._rest)

    def _painted(self, lines: Iterable[Sequence[StyledSpan]]) -> list[StyledLine]:
        return [StyledLine(paint(line, color=self.window.color).rstrip()) for line in lines]


def _plain_addition(before: str, now: str) -> str:
    """Return the added text if it is plain words after a letter or digit, which cannot start or end a mark."""
    more = now[len(before) :]
    plain = more.isascii() and before[-1:].isalnum() and re.fullmatch(r"[a-zA-Z0-9 ,.;:'\"/%?-]+", more)
    return more if plain and now.startswith(before) and provisional(before) == before else ""


def _narrowed(prefix: Sequence[StyledSpan], window: Window) -> list[StyledSpan]:
    """Shorten a prefix to half of a narrow window. Outer parts are dropped, the bullet stays."""
    spans = list(prefix)
    while len(spans) > 1 and size_of(spans) > window.room // 2:
        del spans[0]
    return spans


def _last_joint(source: str) -> int:
    """Return where a very long word may be cut: not at a mark, and not before a combining character."""
    for place in range(len(source) - 1, len(source) // 2, -1):
        left, right = source[place - 1], source[place]
        if not {left, right} & _MARKS and left != "\u200d" and right != "\ufe0f" and cells(right):
            return place
    return len(source)


class Verbatim:
    """Verbatim lines: code, a formula, a command. The terminal wraps them, so that they can be copied as one line.

    Only a highlighted line is redrawn while it streams, and only its start; later text is just appended.
    """

    def __init__(self, window: Window, highlighter: Highlighter | None = None, *, command: bool = False) -> None:
        self.window = window
        self._highlighter = highlighter
        self._command = command
        self._start = ""  # the start of the line, which may be redrawn
        self._added = False  # whether text was appended after the start
        self._before = ""  # the character before the next appended text

    def append(self, text: str) -> list[StyledLine]:
        """Add to the line, and return what is only appended, without a line end."""
        final: list[StyledLine] = []
        if self._highlighter and not self._added:
            known = self._start + text[: 2 * self.window.width]
            most = redrawable(harmless(known), self.window.width)
            self._start, text = known[:most], known[most:] + text[2 * self.window.width :]
            if text:
                final.append(self._colored(self._highlighter)._replace(end=""))
                self._before = self._start[-1:]
        if text:
            final.append(StyledLine(self._plain(text), end=""))
            self._added, self._before = True, text[-1]
        return final

    def newline(self) -> list[StyledLine]:
        """End the line, and return it as final."""
        final = StyledLine() if self._added or not self._highlighter else self._colored(self._highlighter)
        if self._highlighter:
            self._highlighter.line_done(harmless(self._start))
        self._start, self._added, self._before = "", False, ""
        return [final]

    def live(self) -> list[StyledLine]:
        """Return the start of a highlighted line."""
        drawn = self._start and not self._added and self._highlighter
        return [self._colored(drawn, live=True)] if drawn else []

    def close(self) -> list[StyledLine]:
        return self.newline() if self._start or self._added else []

    def break_off(self, window: Window) -> list[StyledLine]:
        """End the line here; the rest of it continues below."""
        lines = self.close()
        self.window = window
        return lines

    def _colored(self, highlighter: Highlighter, *, live: bool = False) -> StyledLine:
        text = harmless(self._start)
        return StyledLine(paint(highlighter.spans(text, live=live)), rows(text, self.window.width))

    def _plain(self, text: str) -> str:
        spans = exact(text) if self._command else [StyledSpan(harmless(self._before + text)[len(self._before) :], "36")]
        return paint([StyledSpan(part, style or "2") for part, style in spans], color=self.window.color)


class MarkdownTable:
    """Rows in columns that fit the window. When the table gets taller than the window, its column widths are fixed."""

    def __init__(self, window: Window, head: str, ruler: str) -> None:
        self.window = window
        self._aligned = ["^" if c[0] == c[-1] == ":" else ">" if c[-1] == ":" else "<" for c in split_row(ruler)]
        self._rows: list[list[list[StyledSpan]]] = []
        self._sizes: list[int] | None = None  # set when the column widths are fixed
        self._head = self._cells(head, "1")
        self._started = False  # whether the head is final

    def add(self, line: str) -> list[StyledLine]:
        """Add one row. Return final lines when the table is taller than the window."""
        self._rows.append(self._cells(line))
        if self._sizes is None and len(self.live()) < self.window.limit:
            return []
        self._sizes = self._sizes if self._sizes is not None else self._fit(_SLACK)
        return self.close()

    def live(self) -> list[StyledLine]:
        """Return the rows that are not final."""
        sizes = self._sizes if self._sizes is not None else self._fit()
        lines: list[StyledLine] = []
        if not self._started:
            lines += self._laid(self._head, sizes)
            ruler = StyledSpan("─┼─".join("─" * size for size in sizes), "2")
            lines += [StyledLine(paint([ruler], color=self.window.color))] if sizes else []
        for row in self._rows:
            lines += self._laid(row, sizes)
        return lines

    def close(self) -> list[StyledLine]:
        """Return the remaining rows, and fix the column widths."""
        self._sizes = self._sizes if self._sizes is not None else self._fit()
        lines = self.live()
        self._rows, self._started = [], True
        return lines

    def break_off(self, window: Window) -> list[StyledLine]:
        """Make the current rows final; later rows get new column widths."""
        lines = self.close()
        self.window, self._sizes = window, None
        return lines

    def _cells(self, line: str, style: str = "") -> list[list[StyledSpan]]:
        """Return one cell for each column; extra cells are joined to the last."""
        texts = split_row(line)
        many = len(self._aligned)
        if len(texts) > many:
            texts[many - 1 :] = [" | ".join(texts[many - 1 :])]
        texts += [""] * (many - len(texts))
        return [inline(text, color=self.window.color, style=style) for text in texts]

    def _fit(self, slack: int = 0) -> list[int]:
        """Return the width of each column, or [] if the window is too narrow for columns."""
        room = self.window.room - len(_BAR) * (len(self._head) - 1)
        columns = list(zip(self._head, *self._rows, strict=True))
        wanted = [max(*map(size_of, column), 1) + slack for column in columns]
        least = [min(max(map(_longest_word, column)), _LEAST_COLUMN) for column in columns]
        if sum(least) > room:
            return []
        level = max(wanted)
        while sum(sizes := [max(small, min(size, level)) for small, size in zip(least, wanted, strict=True)]) > room:
            level -= 1
        return sizes

    def _laid(self, row: Sequence[Sequence[StyledSpan]], sizes: Sequence[int]) -> list[StyledLine]:
        color = self.window.color
        if not sizes:
            return [] if row is self._head else self._as_list(row)
        columns = [wrap(cell, size) for cell, size in zip(row, sizes, strict=True)]
        bar = paint([StyledSpan(_BAR, "2")], color=color)
        lines = []
        for number in range(max(map(len, columns))):
            parts = []
            for column, size, side in zip(columns, sizes, self._aligned, strict=True):
                part = column[number] if number < len(column) else []
                free = max(size - size_of(part), 0)
                left = {"<": 0, ">": free, "^": free // 2}[side]
                parts.append(" " * left + paint(part, color=color) + " " * (free - left))
            lines.append(StyledLine(bar.join(parts).rstrip()))
        return lines

    def _as_list(self, row: Sequence[Sequence[StyledSpan]]) -> list[StyledLine]:
        """Show a row without columns: each cell on its own line, after the name of its column."""
        lines = []
        for name, cell in zip(self._head, row, strict=True):
            spans = [*name, StyledSpan(": "), *cell]
            lines += [
                paint(line, color=self.window.color) for line in wrap(spans, self.window.room, (), [StyledSpan("  ")])
            ]
        return [StyledLine(text) for text in (*lines, "")]


def _longest_word(cell: Sequence[StyledSpan]) -> int:
    return max((cells(word) for span in cell for word in span.text.split()), default=1)


def split_row(line: str) -> list[str]:
    """Split a table row into cells; a bar after a backslash or inside code does not separate cells."""
    text = line.strip().removeprefix("|")
    found: list[str] = [""]
    for match in re.finditer(r"\\.|(`+)(?:.*?[^`])?\1(?!`)|.", text):
        if match[0] == "|":
            found.append("")
        else:
            found[-1] += "|" if match[0] == "\\|" else match[0]
    if len(found) > 1 and not found[-1].strip():
        found.pop()
    return [cell.strip() or " " for cell in found]
