"""Draw the figures as SVG by hand: a few bars and lines do not need a plotting library."""

from collections.abc import Mapping, Sequence
from html import escape
from math import log10

_ROW, _LEFT, _WIDTH = 26, 330, 420
_HEIGHT, _SIDE = 240, 60
_COLORS = ("#2a7f9e", "#7fb3c6", "#b8c4c9")


def bars(title: str, rows: Sequence[tuple[str, float, str]]) -> str:
    """Draw one bar for each row of (label, value, text); values share one scale."""
    most = max((value for _, value, _ in rows), default=1) or 1
    height = 50 + _ROW * len(rows)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_LEFT + _WIDTH + 130}" height="{height}" '
        'font-family="sans-serif" font-size="13"><rect width="100%" height="100%" fill="white"/>',
        f'<text x="14" y="24" font-size="15" font-weight="bold">{escape(title)}</text>',
    ]
    for number, (label, value, text) in enumerate(rows):
        top = 40 + number * _ROW
        length = max(_WIDTH * value / most, 1)
        color = "#2a7f9e" if "aish" in label else "#b8c4c9"
        parts.append(f'<text x="{_LEFT - 8}" y="{top + 15}" text-anchor="end">{escape(label)}</text>')
        parts.append(f'<rect x="{_LEFT}" y="{top}" width="{length:.0f}" height="{_ROW - 8}" fill="{color}"/>')
        parts.append(f'<text x="{_LEFT + length + 6:.0f}" y="{top + 15}">{escape(text)}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def lines(title: str, across: str, up: str, rows: Mapping[str, Sequence[tuple[float, float]]]) -> str:
    """Draw a line for each label through its points; the x axis is logarithmic."""
    points = [point for row in rows.values() for point in row]
    least, most = (pick(log10(x) for x, _ in points) for pick in (min, max))
    top = max(y for _, y in points) * 1.1

    def place(x: float, y: float) -> tuple[float, float]:
        wide = (log10(x) - least) / (most - least or 1)
        return _SIDE + wide * _WIDTH, 40 + _HEIGHT * (1 - y / top)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_SIDE + _WIDTH + 260}" height="{_HEIGHT + 90}" '
        'font-family="sans-serif" font-size="13"><rect width="100%" height="100%" fill="white"/>',
        f'<text x="14" y="24" font-size="15" font-weight="bold">{escape(title)}</text>',
        f'<path d="M{_SIDE} 40V{_HEIGHT + 40}H{_SIDE + _WIDTH}" stroke="#888" fill="none"/>',
    ]
    for x in sorted({x for x, _ in points}):
        left, bottom = place(x, 0)
        parts.append(f'<text x="{left:.0f}" y="{bottom + 20:.0f}" text-anchor="middle">{x:,.0f}</text>')
    parts.append(f'<text x="{_SIDE + _WIDTH / 2}" y="{_HEIGHT + 80}" text-anchor="middle">{escape(across)}</text>')
    for color, (label, row) in zip(_COLORS, rows.items(), strict=False):
        there = [place(*point) for point in row]
        path = "M" + "L".join(f"{left:.0f} {height:.0f}" for left, height in there)
        parts.append(f'<path d="{path}" stroke="{color}" stroke-width="2.5" fill="none"/>')
        for (left, height), (_, y) in zip(there, row, strict=True):
            parts.append(f'<circle cx="{left:.0f}" cy="{height:.0f}" r="4" fill="{color}"/>')
            parts.append(f'<text x="{left + 6:.0f}" y="{height - 6:.0f}">{y:.1f} {escape(up)}</text>')
        end, height = there[-1]
        parts.append(f'<text x="{end + 70:.0f}" y="{height - 6:.0f}" fill="{color}">{escape(label)}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"
