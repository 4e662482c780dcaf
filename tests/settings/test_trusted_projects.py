"""Project files are not trusted until the user has checked them, and only as long as they do not change."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aish.settings.trust import Trust
from aish.values.errors import NotFound, StoreTrouble


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "project" / ".aish.toml"
    path.parent.mkdir()
    path.write_text('model = "x"\n', encoding="utf-8")
    return path


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "data" / "trusted.jsonl"


def test_nothing_is_trusted_until_the_user_says_so_and_then_it_stays_trusted(file: Path, store: Path) -> None:
    """A check writes nothing, and a later run remembers the decision."""
    assert not Trust(store).holds(file)
    assert not store.exists()

    Trust(store).give(file)

    assert Trust(store).holds(file)


def test_a_file_that_changed_has_to_be_trusted_again(file: Path, store: Path) -> None:
    """A pull may have added a command; trust in an older version does not return."""
    trust = Trust(store)
    before = file.read_bytes()
    trust.give(file)

    file.write_bytes(before + b"\n")
    assert not trust.holds(file)
    trust.give(file)
    assert trust.holds(file)
    file.write_bytes(before)
    assert not trust.holds(file), "the last word counts"


def test_trust_can_be_revoked(file: Path, store: Path) -> None:
    """Also for a deleted file, and for one that was never trusted."""
    trust = Trust(store)
    trust.give(file)

    trust.take(file)
    assert not trust.holds(file)

    trust.give(file)
    assert trust.holds(file)
    file.unlink()
    trust.take(file)
    trust.take(file.with_name("other"))
    file.write_text('model = "x"\n', encoding="utf-8")
    assert not trust.holds(file)


def test_the_same_words_in_another_project_are_not_trusted(file: Path, store: Path, tmp_path: Path) -> None:
    """Relative paths in a file mean something else elsewhere."""
    copy = tmp_path / "copy.toml"
    copy.write_bytes(file.read_bytes())

    Trust(store).give(file)

    assert not Trust(store).holds(copy)


def test_a_file_is_the_same_by_whatever_path(
    file: Path, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Trust given as `.` also holds when the directory is entered through a link."""
    link = tmp_path / "link"
    link.symlink_to(file.parent)
    monkeypatch.chdir(file.parent)

    Trust(store).give(Path(".aish.toml"))

    assert Trust(store).holds(link / ".aish.toml")
    assert Trust(store).holds(file)


def test_a_missing_file_cannot_be_trusted(store: Path, tmp_path: Path) -> None:
    """The user gets the reason."""
    missing = tmp_path / ".aish.toml"

    assert not Trust(store).holds(missing)
    with pytest.raises(NotFound, match=r"^cannot read .*/\.aish\.toml: No such file or directory$"):
        Trust(store).give(missing)
    assert not store.exists()


def test_without_a_readable_store_nothing_is_trusted(file: Path, tmp_path: Path) -> None:
    """An unreadable store never means yes."""
    store = tmp_path / "trusted.jsonl"
    store.mkdir()

    assert not Trust(store).holds(file)
    with pytest.raises(StoreTrouble):
        Trust(store).give(file)


@given(
    junk=st.binary(max_size=60), record=st.dictionaries(st.sampled_from(["path", "sha256"]), st.integers() | st.none())
)
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
def test_damage_in_the_store_neither_adds_nor_removes_trust(
    file: Path, store: Path, junk: bytes, record: dict[str, int | None]
) -> None:
    """Lines that are damaged or of another shape are ignored."""
    store.parent.mkdir(exist_ok=True)
    store.write_bytes(junk.replace(b"\n", b" ") + b"\n" + json.dumps(record).encode() + b"\n")
    assert not Trust(store).holds(file)

    Trust(store).give(file)
    with store.open("ab") as lines:
        lines.write(b"\n" + junk)

    assert Trust(store).holds(file)


def test_the_store_is_for_its_owner_only(file: Path, store: Path) -> None:
    """Write access there would allow running commands as the user."""
    before = os.umask(0)
    try:
        Trust(store).give(file)
    finally:
        os.umask(before)

    assert store.stat().st_mode & 0o077 == 0
    assert store.parent.stat().st_mode & 0o077 == 0


def test_a_file_that_was_never_trusted_is_not_even_read(file: Path, store: Path) -> None:
    """A downloaded folder may have a pipe or an endless device in its place."""
    file.unlink()
    os.mkfifo(file)

    assert not Trust(store).holds(file)
