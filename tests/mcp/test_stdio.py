"""A server that is a program."""

import sys
from pathlib import Path

import pytest

from aish.mcp.server_log import ServerLog
from aish.mcp.stdio import Flow, ServerProgram, stdio_transport
from aish.values.tool_servers import ServerTrouble

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("command", "directory", "said"),
    [
        (sys.executable, "gone", r"there is no directory .*/gone$"),
        ("no-such-program", ".", "cannot start no-such-program: No such file or directory"),
    ],
)
async def test_what_is_missing_is_named(command: str, directory: str, said: str, tmp_path: Path) -> None:
    """The system says the same of a program and of the directory that it should start in."""
    program = ServerProgram(command, (), {}, tmp_path / directory)

    with pytest.raises(ServerTrouble, match=said):
        async with stdio_transport(program, ServerLog(), Flow(), lambda reason: None):
            pass
