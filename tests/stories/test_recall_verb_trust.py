"""`aish recall` shows what a turn would get, and no more."""

import pytest
from world import World

SESSION = """\
# Session

## Errors and Corrections

- The connection to db7 was refused. <!-- k7f2p 2026-11-17 by=tool:exec from=c/1-2 -->
"""


@pytest.mark.proves("X4")
def test_unconfirmed_lines_are_shown_only_to_who_asks_where_the_work_stands(world: World) -> None:
    """They may come from foreign text, and a turn does not get them by itself."""
    world.script()
    channel = world.program().session().channel
    folder = world.places.channel(channel)
    folder.mkdir(parents=True)
    (folder / "SESSION.md").write_text(SESSION, encoding="utf-8")

    other = world.aish("recall", "which connection to db7 was refused?")
    state = world.aish("recall", "where were we with the connection to db7?")

    assert other.code == 1 and "k7f2p" not in other.out
    assert state.code == 0 and "session:k7f2p" in state.out
