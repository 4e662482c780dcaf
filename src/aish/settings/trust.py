"""Project files that the user trusts, by path and content: a changed file has to be trusted again.

A folder is trusted with all files in it.
"""

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from aish.storage.lines import open_log
from aish.values.errors import NotFound, StoreTrouble
from aish.values.stores import Health, RecordLog

MOST_FILES, MOST_BYTES = 500, 32 << 20  # of a folder; nobody can look at more


class Trust:
    """Which project files may set anything. The last record about a path counts."""

    def __init__(self, where: Path | RecordLog) -> None:
        self._log = open_log(where, "trusted project files")

    def holds(self, file: Path) -> bool:
        """Is the file trusted, with the content it has now? No, if that cannot be found out."""
        return self.held(file, self.known()) != ""

    def known(self) -> dict[str, str]:
        """Return the digests of all trusted files by path. Empty if the list cannot be read."""
        try:
            found = {str(record.get("path")): record.get("sha256") for record in self._log.read()}
        except (OSError, StoreTrouble):
            return {}
        return {path: digest for path, digest in found.items() if isinstance(digest, str)}

    def held(self, file: Path, known: dict[str, str]) -> str:
        """Return the digest of a trusted file or folder; "" if it is not trusted as it is now."""
        try:
            digest = known.get(str(file.resolve()))
            return digest if digest and digest == _digest(file) else ""  # an unknown file is not read
        except (OSError, RuntimeError):
            return ""

    def give(self, file: Path, shown: str = "") -> None:
        """Trust the file as it is now, or as it was when it had the digest `shown`."""
        digest = shown or self.digest(file)
        self._log.append({"path": str(file.resolve()), "sha256": digest})

    def take(self, file: Path) -> None:
        """Stop trusting the file."""
        self._log.append({"path": str(file.resolve()), "sha256": None})

    def digest(self, file: Path) -> str:
        """Return the digest of the file as it is now. Raises `NotFound`."""
        try:
            return _digest(file)
        except OSError as error:
            raise NotFound(f"cannot read {file}: {error.strerror or error}") from error

    def health(self) -> Health:
        return self._log.health()


def _digest(file: Path) -> str:
    import hashlib  # loads OpenSSL, which most runs never need

    return folder_digest(folder_files(file)) if file.is_dir() else hashlib.sha256(file.read_bytes()).hexdigest()


def folder_digest(files: Iterable[tuple[str, bytes]]) -> str:
    """Return the digest of the files in a folder."""
    import hashlib  # likewise

    whole = hashlib.sha256()
    for name, content in files:
        whole.update(f"{len(os.fsencode(name))} {len(content)}\n".encode() + os.fsencode(name) + content)
    return whole.hexdigest()


def folder_files(top: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the names and contents of the files in a folder, in a fixed order; a link is only its target.

    Raises `OSError`, also if they are too many or too long, or something is neither a file nor a folder.
    """
    count, size, folders = 0, 0, [""]
    while folders:
        folder = folders.pop()
        with os.scandir(top / folder) as entries:
            here = sorted(entries, key=lambda entry: entry.name)
        for entry in here:
            name, mode = f"{folder}{entry.name}", entry.stat(follow_symlinks=False).st_mode
            count += 1
            if stat.S_ISDIR(mode):
                folders.append(f"{name}/")
                continue
            if stat.S_ISLNK(mode):
                yield f"{name}\0", os.fsencode((top / name).readlink())  # no file has such a name
                continue
            if not stat.S_ISREG(mode):
                raise OSError(0, f"{name} is no file")
            with open(os.open(top / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as opened:
                content = opened.read(MOST_BYTES - size + 1)
            size += len(content)
            if count > MOST_FILES or size > MOST_BYTES:
                raise OSError(0, f"it has more than {MOST_FILES} files or {MOST_BYTES >> 20} MB")
            yield name, content
