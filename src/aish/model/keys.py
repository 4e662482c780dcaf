"""Find the API key of a server: in the environment, in a file, or from a command such as a password manager."""

import asyncio
import os
from pathlib import Path

from aish.model.openai_chat import FindKey, no_key
from aish.values.errors import AishError

_COMMAND_SECONDS = 30.0


class NoKey(AishError):
    """A configured key is missing."""


def key_finder(*, env: str = "", file: str = "", command: str = "") -> FindKey:
    """Return a function that finds the key on first use and caches it. Without settings there is no key."""
    if not (env or file or command):
        return no_key
    found: list[str] = []

    async def find() -> str:
        if not found:
            found.append(await _find(env, file, command))
        return found[0]

    return find


async def _find(env: str, file: str, command: str) -> str:
    if env and (key := os.environ.get(env, "").strip()):
        return key
    if file:
        return _read_file(file)
    if command:
        return await _ask_command(command)
    raise NoKey(f"the key is missing: set the environment variable {env}, or api_key_file or api_key_command")


def _read_file(file: str) -> str:
    try:
        key = Path(file).expanduser().read_text(encoding="utf-8").strip()
    except (OSError, ValueError, RuntimeError) as error:  # RuntimeError: `~name` of an unknown user
        raise NoKey(f"cannot read the key from {file}: {error}") from None
    if not key:
        raise NoKey(f"api_key_file is empty: {file}")
    return key


async def _ask_command(command: str) -> str:
    child = await asyncio.create_subprocess_shell(command, stdout=asyncio.subprocess.PIPE)
    try:
        async with asyncio.timeout(_COMMAND_SECONDS):
            output, _ = await child.communicate()
    except TimeoutError:
        raise NoKey(f"api_key_command did not finish within {_COMMAND_SECONDS:g} s: {command}") from None
    finally:
        if child.returncode is None:  # also after cancellation
            child.kill()
            await child.wait()
    key = output.decode("utf-8", "replace").strip()
    if child.returncode or not key:
        raise NoKey(f"api_key_command gave no key (exit {child.returncode}): {command}")
    return key.splitlines()[0]
