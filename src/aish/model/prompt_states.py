"""States of an embedded model after it has read a prompt, on disk: a new process goes on from one in milliseconds.

llama.cpp writes and reads the files, and aborts on one that is cut or damaged. So the name of a file has the hash of
its bytes, and a file that does not fit its name is removed instead of being used.
"""

import json
import os
import stat
import time
from contextlib import suppress
from pathlib import Path

from aish.storage.files import make_directory

_MOST_STATES, _MOST_BYTES = 6, 400_000_000
_ENDING = ".state"
_WRITTEN_WITHIN = 3600  # seconds; what is unfinished after them was left by a process that was killed


class PromptStates:
    """The states in a directory that only aish uses.

    1. A state is found again for the same weights, engine and text only.
    2. It has the bytes that were written, or it is not returned.
    3. The least recently used ones are removed when there are too many, or too large ones.
    4. A purge, which removes all files, also ends states that are about to be written, by any process.
    5. Nothing fails if the directory cannot be used: the prompt is read again.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def is_usable(self) -> bool:
        """Can states be written? Makes the directory."""
        try:
            make_directory(self.directory)
        except OSError:
            return False
        return os.access(self.directory, os.W_OK | os.X_OK)

    def find(self, *about: str) -> str:
        """Return the name of the file with the state of this weights, engine and text; empty if there is none."""
        for path in self._listed(f"{_key(about)}-*{_ENDING}"):
            try:
                if path.name == _name(about, path):
                    with suppress(OSError):  # the file system may be read-only
                        os.utime(path)
                    return path.name
                path.unlink()
            except OSError:
                continue
        return ""

    def touch(self, *about: str) -> None:
        """Count a state as used."""
        for path in self._listed(f"{_key(about)}-*{_ENDING}"):
            with suppress(OSError):
                os.utime(path, follow_symlinks=False)

    def begin(self) -> str:
        """Return a name for a state that is about to be written; two processes never share one.

        Call it before the text is read: if a purge comes meanwhile, the state may have what was purged.
        """
        name = f"new-{os.getpid()}-{os.urandom(4).hex()}"
        with suppress(OSError):
            self._begun(name).touch(mode=0o600)
        return name

    def has_begun(self, name: str) -> bool:
        """Is a name of `begin` still good? Not after a purge."""
        return self._begun(name).exists()

    def keep(self, written: str, size: int, *about: str) -> bool:
        """Take over a file that llama.cpp has written, if all of it arrived and nothing was purged meanwhile."""
        path = self.directory / written
        try:
            if path.stat().st_size == size:
                path.chmod(0o600)
                new = self.directory / _name(about, path)
                self._begun(written).unlink()
                path.replace(new)
                self._tidy(new)
                return True
        except OSError:
            pass
        self.drop(written)
        return False

    def drop(self, name: str) -> None:
        """Remove a state, or what there is of one that was not written whole."""
        for path in (self.directory / name, self._begun(name)):
            with suppress(OSError):
                path.unlink()

    def _begun(self, name: str) -> Path:
        return self.directory / f"{name}.begun"

    def _listed(self, pattern: str) -> list[Path]:
        try:
            return list(self.directory.glob(pattern))
        except OSError:
            return []

    def _tidy(self, newest: Path) -> None:
        """Remove what was not used for the longest time, and what killed processes left."""
        for path, status in self._dated("new-*"):
            if not _is_alive(path.name.split("-")[1]) or time.time() - status.st_mtime > _WRITTEN_WITHIN:
                self.drop(path.name)
        room = _MOST_BYTES
        used = sorted(self._dated(f"*{_ENDING}"), key=lambda one: (one[0] == newest, one[1].st_mtime), reverse=True)
        for number, (path, status) in enumerate(used):
            room -= status.st_size
            if number and (number >= _MOST_STATES or room < 0):
                self.drop(path.name)

    def _dated(self, pattern: str) -> list[tuple[Path, os.stat_result]]:
        found = list[tuple[Path, os.stat_result]]()
        for path in self._listed(pattern):
            with suppress(OSError):
                found.append((path, path.lstat()))
        return found


def _key(about: tuple[str, ...]) -> str:
    import hashlib  # here, because it loads OpenSSL, and most questions go to a server

    return hashlib.sha256(json.dumps(about).encode()).hexdigest()[:24]


def _name(about: tuple[str, ...], path: Path) -> str:
    """Return the name that a file with these bytes has. Raises `OSError`, also if it is no regular file."""
    import hashlib  # as above

    with open(path, "rb", opener=_regular) as file:
        return f"{_key(about)}-{hashlib.file_digest(file, 'sha256').hexdigest()[:40]}{_ENDING}"


def _regular(path: str, flags: int) -> int:
    """An opener that neither follows a link nor waits for the writer of a pipe."""
    fd = os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(f"{path} is no regular file")
    return fd


def _is_alive(pid: str) -> bool:
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except (OSError, ValueError, OverflowError):
        return True
    return True
