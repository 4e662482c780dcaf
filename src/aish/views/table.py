"""Tables that fit the window.

Pure: a table and a width in, lines out.
"""

from collections.abc import Iterator, Sequence

from aish.values.invisible import visible
from aish.values.replies import Table
from aish.values.snippets import cells

_MOST_LINES = 6  # lines of one cell
_LEAST = 24  # minimum width of the wide column; other columns are dropped below that
_LITTLE = 8  # below this width, the first column is dropped too
_SAMPLE = 1000  # rows used to find the column widths


def lay_out(table: Table, width: int | None) -> Iterator[tuple[str, str]]:
    """Yield the lines of a table with their styles. Without a width nothing is cut or wrapped.

    In a narrow window columns are dropped: first those after the wide one, then those before it, the first one last.
    """
    if width is None:
        yield from _unbounded(table)
        return
    rows = _safe(list(table.rows))
    columns = list(zip(*rows, strict=True)) or [()] * len(table.head)
    widest = [max(map(cells, column), default=0) for column in columns]
    sizes = [max(len(head), size) for head, size in zip(table.head, widest, strict=True)]
    shown = list(range(len(table.head)))
    for place in [*reversed(range(table.wide + 1, len(sizes))), *reversed(range(1, table.wide))]:
        if width - sum(sizes[one] + 2 for one in shown if one != table.wide) < _LEAST and place in shown:
            shown.remove(place)
    room = width - sum(sizes[one] + 2 for one in shown if one != table.wide)
    if room < _LITTLE:
        shown, room = [table.wide], width
    sizes[table.wide] = min(sizes[table.wide], room)
    yield "  ".join(_pad(table.head[one][: sizes[one]], sizes[one]) for one in shown).rstrip(), "dim"
    for row, style in zip(rows, table.styles, strict=True):
        parts = _wrap(row[table.wide], sizes[table.wide])
        for number, part in enumerate(parts):
            texts = (part if one == table.wide else row[one] if number == 0 else "" for one in shown)
            yield "  ".join(_pad(cell, sizes[one]) for cell, one in zip(texts, shown, strict=True)).rstrip(), style


def _unbounded(table: Table) -> Iterator[tuple[str, str]]:
    """Yield a table for programs, one line per row, also for very many rows.

    The first rows decide the column widths. The wide column and those after it are not padded, or one long text would
    make every line long.
    """
    seen = [table.head, *_safe(table.rows[:_SAMPLE])]
    sizes = [max(map(len, column)) for column in zip(*seen, strict=True)]
    line = "  ".join("%s" if place >= table.wide else f"%-{size}s" for place, size in enumerate(sizes)).__mod__
    yield line(table.head).rstrip(), "dim"
    for first in range(0, len(table.rows), _SAMPLE):
        rows = _safe(table.rows[first : first + _SAMPLE])
        yield from zip(map(str.rstrip, map(line, rows)), table.styles[first : first + _SAMPLE], strict=True)


def _safe(rows: Sequence[tuple[str, ...]]) -> Sequence[tuple[str, ...]]:
    """Return the rows on one line each, without terminal control characters."""
    return rows if _plain("".join(map("".join, rows))) else [tuple(map(_flat, row)) for row in rows]


def _plain(text: str) -> bool:
    return text.isascii() and text.isprintable()


def _flat(cell: str) -> str:
    return cell if _plain(cell) else visible(" ".join(cell.split()))


def _pad(text: str, size: int) -> str:
    return text + " " * (size - cells(text))


def _wrap(text: str, size: int) -> list[str]:
    """Wrap the text into lines of at most `size` columns, between words where possible."""
    if cells(text) <= size:
        return [text]
    lines, line = [], ""
    for word in text.split(" "):
        if line and cells(line) + 1 + cells(word) <= size:
            line += f" {word}"
            continue
        if line:
            lines.append(line)
        line = word
        while cells(line) > size:
            cut = size if line.isascii() else max(size // 2, 1)
            lines.append(line[:cut])
            line = line[cut:]
    lines.append(line)
    if len(lines) > _MOST_LINES:
        lines = [*lines[: _MOST_LINES - 1], f"… {len(lines) - _MOST_LINES + 1} more lines"[:size]]
    return lines
