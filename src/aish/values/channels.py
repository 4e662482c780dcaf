"""Channels: the names under which projects keep what was said in them.

Pure: a path in, a name out.
"""

import zlib

_LONGEST = 40
_LONGEST_NAME = 60  # with the digits; four bytes a letter still make a file name


def channel_of(directory: str) -> str:
    """The channel of a project: its name, and a few digits that tell it from others of that name."""
    if not directory:
        return ""  # what was imported need not come from a place
    name = _plain(directory.rstrip("/").rpartition("/")[2])
    return f"{name or 'root'}-{zlib.crc32(directory.encode('utf-8', 'surrogateescape')) & 0xFFFF:04x}"


def is_channel(name: str, wanted: str) -> bool:
    """Is this the channel that somebody means: by its whole name, without the digits, or as the directory is called?"""
    name, short = name.casefold(), name.rpartition("-")[0].casefold()
    return wanted.casefold() in (name, short) or (bool(short) and _plain(wanted) == short)


def is_channel_name(name: str) -> bool:
    """Can this be the name of a channel? Such a name is one part of any path, and never hidden or special."""
    return 0 < len(name) <= _LONGEST_NAME and all(letter.isalnum() or letter == "-" for letter in name)


def _plain(name: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in name.casefold()).strip("-")[:_LONGEST]
