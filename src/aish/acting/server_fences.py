"""The fence around the program of an MCP server, if its settings want one."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from aish.acting.command_fences import Permit, open_fences
from aish.mcp.stdio import EnterFence, ServerProgram
from aish.memory.redaction import Redaction
from aish.places import Places
from aish.settings.options import CommandSettings, ServerSettings


def server_fence(
    settings: ServerSettings,
    commands: CommandSettings,
    places: Places,
    redaction: Redaction,
    project: Callable[[], Path],
) -> EnterFence | None:
    """Return what makes the fence of a server when it starts; None if it runs without one."""
    if settings.fence == "none":
        return None
    permit = Permit(settings.fence, network=settings.network)

    @contextmanager
    def enter(program: ServerProgram) -> Iterator[ServerProgram]:
        with open_fences(commands, places, redaction).around_server(permit, project()) as (fence, variables):
            command, *args = fence.wrap([program.command, *program.args], str(program.cwd))
            env = {**program.env, **variables}
            yield program._replace(
                command=command, args=tuple(args), env=env, enter=fence.step, pass_fds=fence.pass_fds
            )

    return enter
