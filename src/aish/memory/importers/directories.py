"""Read a directory as what its files are: each file by its own content, formats side by side."""

import os
from collections.abc import Iterator
from pathlib import Path

from aish.memory.importers.files import require, trouble
from aish.memory.importers.sniff import sniff
from aish.values.errors import StoreTrouble
from aish.values.imported import Skipped
from aish.values.named_tuple import NamedTuple

_NOT_ENTERED = frozenset((".git", ".hg", "node_modules", "__pycache__", ".venv"))  # many files, no conversations


class SortedFiles(NamedTuple):
    """The files of a directory by format, in the order of their names; those of no format; and those without access."""

    formats: dict[str, list[Path]]
    others: list[Path]
    unreadable: list[Skipped]


def sort_files(directory: Path) -> SortedFiles:
    """Find the format of every file in a directory.

    Raises:
        StoreTrouble: the directory cannot be read.
    """
    require(directory)
    found = SortedFiles({}, [], [])
    for file in _files(directory, found.unreadable):
        try:
            format = sniff(file)
        except StoreTrouble as error:
            found.unreadable.append(Skipped(str(file), str(error).removeprefix(f"cannot read {file}: ")))
            continue
        (found.formats.setdefault(format, []) if format else found.others).append(file)
    return found


def _files(directory: Path, unreadable: list[Skipped]) -> Iterator[Path]:
    """Yield the regular files of a directory, sorted by name. Links to other directories are not followed."""

    def refused(error: OSError) -> None:
        if str(error.filename) == str(directory):
            raise trouble(directory, error) from error
        unreadable.append(Skipped(str(error.filename), error.strerror or str(error)))

    for folder, inner, names in os.walk(directory, onerror=refused):
        inner[:] = sorted(name for name in inner if name not in _NOT_ENTERED)
        for name in sorted(names):
            path = Path(folder, name)
            if path.is_file():
                yield path
