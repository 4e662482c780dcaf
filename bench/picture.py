"""A small picture of the figures, drawn by hand as SVG: no plotting library for twelve rectangles."""

from collections.abc import Sequence
from html import escape

_ROW, _LEFT, _WIDTH = 26, 330, 420


def bars(title: str, rows: Sequence[tuple[str, float, str]]) -> str:
    """One bar for each row of (label, value, text); values share one scale."""
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
