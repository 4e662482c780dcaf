"""Channels: the names under which projects keep their conversations.

Pure: takes a path, returns a name.
"""

import zlib

from aish.values.invisible import is_visible

_LONGEST = 40
_LONGEST_NAME = 60  # with the digits; at four bytes per letter still a valid file name


def channel_of(directory: str) -> str:
    """Return the channel of a project: its name, and a few digits to tell projects of one name apart."""
    if not directory:
        return ""  # imported turns may have no directory
    name = _plain(directory.rstrip("/").rpartition("/")[2])
    return f"{name or 'root'}-{zlib.crc32(directory.encode('utf-8', 'surrogateescape')) & 0xFFFF:04x}"


def is_channel(name: str, wanted: str) -> bool:
    """Does `wanted` mean this channel: its full name, the name without digits, or the name of the directory?"""
    name, short = name.casefold(), name.rpartition("-")[0].casefold()
    return wanted.casefold() in (name, short) or (bool(short) and _plain(wanted) == short)


def is_channel_name(name: str) -> bool:
    """Is this a valid channel name? It must be a single path component, and neither hidden nor special."""
    return (
        0 < len(name) <= _LONGEST_NAME
        and all(letter.isalnum() or letter == "-" for letter in name)
        and is_visible(name)
    )


def _plain(name: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in name.casefold()).strip("-")[:_LONGEST]
