"""The formats of the history files of bash, zsh and fish.

Pure: lines go in, commands with their times come out.
"""

import functools
import re
from collections.abc import Iterable, Iterator
from itertools import chain

from aish.values.named_tuple import NamedTuple

MOST = 16 * 1024 * 1024  # bytes of one command; the rest of a longer one is left out
_ESCAPED = {b"\\n": b"\n", b"\\\\": b"\\"}
_META = 0x83  # zsh escapes some bytes with this byte, followed by the byte XOR 32


class Typed(NamedTuple):
    """A command, and its time in seconds if the history has it."""

    command: bytes
    time: int = 0


def commands(lines: Iterable[bytes], *, is_zsh: bool) -> Iterator[Typed]:
    """Yield the commands of a file. The first line shows the shell, except for a zsh history without times."""
    text = iter(lines)
    first = next((line for line in text if line.strip()), None)
    if first is None:
        return
    rest = chain([first], text)
    if first.startswith(b"- cmd:"):
        yield from _fish(rest)
    elif is_zsh or _zsh_line().match(first):
        yield from _zsh(rest)
    else:
        yield from _bash(rest)


def _bash(text: Iterator[bytes]) -> Iterator[Typed]:
    """Yield the command of each line; with time stamps, all lines up to the next stamp are one command."""
    time, timed = 0, False
    command: list[bytes] = []
    size = 0
    for line in text:
        if stamp := _bash_time().fullmatch(line):
            yield from _typed(command, time)
            command, size = [], 0
            time, timed = int(stamp[1]), True
        elif not timed:
            yield Typed(line)
        elif (size := size + len(line) + 100) < MOST:
            command.append(line)
    yield from _typed(command, time)


def _typed(command: list[bytes], time: int) -> Iterator[Typed]:
    if command:
        yield Typed(b"\n".join(command), time)


def _zsh(text: Iterator[bytes]) -> Iterator[Typed]:
    """Yield the command of each line with its time; a backslash at the end continues the command."""
    time = 0
    command: list[bytes] = []
    size = 0
    for line in text:
        if not command:
            stamp = _zsh_line().match(line)
            # In a line without a time, zsh escapes a colon at the start, which would look like a time.
            bare = line[1:] if line.startswith(b"\\:") else line
            time, line, size = (int(stamp[1]), line[stamp.end() :], 0) if stamp else (0, bare, 0)
        goes_on = line.endswith(b"\\")
        if (size := size + len(line) + 100) < MOST or not command:
            command.append(line[:-1] if goes_on else line)
        if not goes_on:
            yield Typed(_plain(b"\n".join(command)), time)
            command = []
    if command:
        yield Typed(_plain(b"\n".join(command)), time)


def _plain(data: bytes) -> bytes:
    return _zsh_meta().sub(lambda found: bytes([found[1][0] ^ 32]), data) if _META in data else data


def _fish(text: Iterator[bytes]) -> Iterator[Typed]:
    """Yield the commands of YAML-like blocks: one line has the command, another its time."""
    command, time = b"", 0
    for line in text:
        if line.startswith(b"- cmd:"):
            if command:
                yield Typed(command, time)
            command, time = _fish_escape().sub(lambda found: _ESCAPED[found[0]], line[6:].strip()), 0
        elif (when := line.strip()).startswith(b"when:") and when[5:].strip().isdigit():
            time = int(when[5:].strip()[:20])
    if command:
        yield Typed(command, time)


@functools.cache
def _bash_time() -> re.Pattern[bytes]:
    return re.compile(rb"#(\d{9,11})")


@functools.cache
def _zsh_line() -> re.Pattern[bytes]:
    return re.compile(rb": {0,9}(\d{1,12}):\d{1,12};")


@functools.cache
def _zsh_meta() -> re.Pattern[bytes]:
    return re.compile(rb"\x83(.)", re.DOTALL)


@functools.cache
def _fish_escape() -> re.Pattern[bytes]:
    return re.compile(rb"\\n|\\\\")
