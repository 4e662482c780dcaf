"""Blocks that zsh closes and bash does not."""

import shutil
from pathlib import Path

import pytest

from aish.action.zsh_grammar import is_closed
from aish.views.line_editor import unfinished


@pytest.mark.skipif(not shutil.which("zsh"), reason="zsh is not installed")
@pytest.mark.parametrize(
    ("text", "closed"),
    [
        ("f() { ls }", True),
        ("for i (a b) echo $i", True),
        ("if [[ -n x ]] { ls } else { pwd }", True),
        ("f() { ls", False),
        ("for i in a b", False),
        ("while true", False),
        ("f() { g() { ls }", False),
    ],
)
def test_a_block_ends_where_zsh_ends_it(text: str, closed: bool) -> None:
    """Enter runs it, as it would in zsh. In bash it goes on."""
    assert unfinished(text, "command", is_closed) is not closed
    assert unfinished(text, "command") is True


def test_nothing_runs_to_find_out(tmp_path: Path) -> None:
    """And a machine without zsh reads on, as bash does."""
    is_closed(f"touch {tmp_path}/ran; f() {{ $(touch {tmp_path}/ran) }}")
    assert not (tmp_path / "ran").exists()
    assert is_closed("f() { ls }", "/none/such/zsh") is False
