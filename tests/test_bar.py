"""The progress bar: one line on any terminal."""

import pyte
import pytest

from aish.views.screen import bar_line

WHAT = "fetching Qwen2.5-Coder-1.5B"


@pytest.mark.parametrize("columns", [*range(8, 90)])
def test_a_bar_stays_on_its_line(columns: int) -> None:
    """A bar that wraps would leave a line for each percent, as it did at 40 columns."""
    screen = pyte.Screen(columns, 5)
    stream = pyte.Stream(screen)
    for percent in range(101):
        stream.feed(f"\r{bar_line(WHAT, percent, columns)}")
    shown = [line.rstrip() for line in screen.display if line.strip()]
    assert shown == [bar_line(WHAT, 100, columns)]
    assert shown[0].endswith("100 %")
    assert (WHAT in shown[0]) == (columns >= 34)


def test_a_bar_has_the_room_of_the_terminal() -> None:
    """Thirty columns at most, five at least."""
    assert bar_line(WHAT, 50, 80) == f"{WHAT} {'█' * 15}{'░' * 15}  50 %"
    assert bar_line(WHAT, 50, 40) == f"{WHAT} ██░░░  50 %"
    assert bar_line(WHAT, 50, 38) == f"{WHAT}  50 %"
    assert bar_line(WHAT, 50, 20) == " 50 %"
