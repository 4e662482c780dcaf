"""Read exports of chat services: lists of conversations in one or more JSON files, in a zip or a directory."""

import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import IO, Any

from aish.memory.importers.fields import Oddities
from aish.memory.importers.files import MOST, each_file
from aish.memory.importers.json_walk import CutOff, JsonWalk
from aish.memory.importers.spool import Spool
from aish.values.errors import StoreTrouble
from aish.values.imported import ImportedRecord, ImportedTurn, Skipped
from aish.values.named_tuple import NamedTuple

ZIP_START = b"PK\x03\x04"
# Exceptions for a damaged, encrypted or unusually packed archive.
DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError, struct.error)
_MEMBER = r"(?:.*/)?conversations(?:-\d+)?\.json"

Head = dict[str, Any]  # the fields of a conversation except its messages


class Shape(NamedTuple):
    """How a service stores a conversation.

    `fill` reads the members of a conversation into the head and the spool; `turns` makes turns from both.
    """

    fill: Callable[[Iterator[str], JsonWalk, Spool, Head, Oddities], None]
    turns: Callable[[Head, Spool, Oddities], Iterator[ImportedTurn]]


def read_export(
    path: Path, shape: Shape, names: tuple[str, ...] = ("conversations*.json", "conversations*.zip")
) -> Iterator[ImportedRecord]:
    yield from each_file(path, names, lambda file: _one(file, shape))


def conversation_files(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """Return the members with conversations, sorted by name. Nothing is unpacked to the disk."""
    files = [member for member in archive.infolist() if re.fullmatch(_MEMBER, member.filename, re.DOTALL)]
    return sorted(files, key=lambda member: member.filename)


def open_archive(path: Path) -> zipfile.ZipFile | None:
    """Open the zip file at `path`; None if it is not a zip file.

    Raises:
        StoreTrouble: it starts like a zip file, but is damaged.
    """
    with path.open("rb") as file:
        if not path.is_file() or file.read(len(ZIP_START)) != ZIP_START:
            return None
    try:
        return zipfile.ZipFile(path)
    except DAMAGE as error:
        raise StoreTrouble(f"cannot read {path}: {error}; it may be incomplete; download it again") from error


def _one(path: Path, shape: Shape) -> Iterator[ImportedRecord]:
    archive = open_archive(path)
    if archive is None:
        with path.open("rb") as file:
            yield from _conversations(file, path.name, shape)
        return
    with archive:
        for number, member in enumerate(conversation_files(archive), start=1):
            where = f"{path.name}, part {number}"
            try:
                with archive.open(member) as stream:
                    yield from _conversations(stream, where, shape)
            except DAMAGE as error:
                yield Skipped(where, f"cannot be unpacked completely: {error}")


def _conversations(file: IO[bytes], where: str, shape: Shape) -> Iterator[ImportedRecord]:
    walk, odd = JsonWalk(file.read, MOST), Oddities()
    with Spool() as spool:
        try:
            yield from _listed(walk, spool, shape, odd)
        except CutOff:
            yield Skipped(where, f"ends or is damaged at byte {walk.place:,}; copy or export it again")
    yield from odd.told(where)


def _listed(walk: JsonWalk, spool: Spool, shape: Shape, odd: Oddities) -> Iterator[ImportedTurn]:
    """Yield the turns of a list of conversations, of an object with that list, or of several one after another."""
    while sign := walk.peek():
        if sign == b"{":
            names = walk.members()
            first = next(names, "")
            if first == "conversations" and walk.peek() == b"[":
                yield from _elements(walk, spool, shape, odd)
                for _ in names:
                    pass  # other data, such as that of the account
            else:
                yield from _conversation(chain([first], names), walk, spool, shape, odd)
        else:
            yield from _elements(walk, spool, shape, odd)


def _elements(walk: JsonWalk, spool: Spool, shape: Shape, odd: Oddities) -> Iterator[ImportedTurn]:
    for _ in walk.elements():
        if walk.peek() == b"{":
            yield from _conversation(walk.members(), walk, spool, shape, odd)
        else:
            odd.add("something that is not a conversation")


def _conversation(
    names: Iterator[str], walk: JsonWalk, spool: Spool, shape: Shape, odd: Oddities
) -> Iterator[ImportedTurn]:
    head: Head = {}
    spool.clear()
    cut = None
    try:
        shape.fill(names, walk, spool, head, odd)
    except CutOff as error:
        cut = error  # keep the turns before the damage
    yield from shape.turns(head, spool, odd)
    if cut:
        raise cut
