"""The commands that the user always allows: kept in a file that a person can read and edit."""

import json
from pathlib import Path

import pytest

from aish.action.allowed import Allowed
from aish.values.errors import StoreTrouble

pytestmark = pytest.mark.proves("P4")
HERE, THERE = Path("/work/here"), Path("/work/there")
GIT, NPM = ("git", "status"), ("npm", "test")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data/allowed.jsonl"


def write(path: Path, *lines: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        "".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines), encoding="utf-8"
    )


def test_nothing_is_allowed_before_anything_was(path: Path) -> None:
    """Asking does not create the file."""
    assert Allowed(path).within(HERE) == frozenset()
    assert not path.exists()


def test_what_is_allowed_in_a_project_is_allowed_there_only(path: Path) -> None:
    """Another project, or one below it, asks again."""
    Allowed(path).add([GIT, NPM], HERE)

    assert Allowed(path).within(HERE) == {GIT, NPM}
    assert Allowed(path).within(THERE) == frozenset()
    assert Allowed(path).within(HERE / "below") == frozenset()


def test_what_is_allowed_everywhere_is_allowed_everywhere(path: Path) -> None:
    """In addition to what one project allows."""
    allowed = Allowed(path)
    allowed.add([GIT], None)
    allowed.add([NPM], HERE)

    assert allowed.within(THERE) == {GIT}
    assert allowed.within(HERE) == {GIT, NPM}


def test_the_settings_allow_beginnings_of_commands_too(path: Path) -> None:
    """They are split into words; an empty one allows nothing."""
    assert Allowed(path, ["git status", " npm  test ", "", "  "]).within(HERE) == {GIT, NPM}


def test_a_word_with_blanks_stays_one_word(path: Path) -> None:
    """The words are stored separately, so that no other command matches."""
    Allowed(path).add([("run", "two words")], HERE)

    assert Allowed(path).within(HERE) == {("run", "two words")}


def test_a_line_can_be_taken_back_by_another(path: Path) -> None:
    """The last line counts; nothing has to be deleted."""
    write(
        path,
        {"prefix": ["git", "status"]},
        {"prefix": ["npm", "test"]},
        {"prefix": ["git", "status"], "allowed": False},
    )

    assert Allowed(path).within(HERE) == {NPM}
    Allowed(path).add([GIT], None)
    assert Allowed(path).within(HERE) == {GIT, NPM}


def test_a_project_can_take_back_what_is_allowed_everywhere(path: Path) -> None:
    """Only for itself."""
    write(path, {"prefix": list(GIT)}, {"prefix": list(GIT), "project": str(HERE), "allowed": False})

    assert Allowed(path, ["npm test"]).within(HERE) == {NPM}
    assert Allowed(path, ["npm test"]).within(THERE) == {GIT, NPM}


@pytest.mark.parametrize(
    "line",
    [
        {"prefix": []},
        {"prefix": "git status"},
        {"prefix": None},
        {"words": ["git"]},
        {"prefix": ["git"], "project": None},
        {"prefix": ["git"], "project": ["/work/here"]},
        {"meta": {"format": 1}},
        "not json",
        '{"prefix":["git"],"crc":"00000000"}',
        "[]",
    ],
)
def test_a_line_that_makes_no_sense_allows_nothing(path: Path, line: object) -> None:
    """The other lines still count."""
    write(path, line, {"prefix": list(NPM)})

    assert Allowed(path).within(HERE) == {NPM}


def test_a_file_that_cannot_be_read_allows_what_the_settings_do(path: Path) -> None:
    """Asking once too often is harmless."""
    path.mkdir(parents=True)

    assert Allowed(path, ["npm test", " "]).within(HERE) == {NPM}


def test_what_cannot_be_kept_is_said(path: Path) -> None:
    """Otherwise the user believes that it was allowed."""
    path.mkdir(parents=True)

    with pytest.raises(StoreTrouble):
        Allowed(path).add([GIT], None)


def test_a_person_can_read_the_file(path: Path) -> None:
    """One line for each command, in plain words."""
    Allowed(path).add([GIT], HERE)

    meta, line = (json.loads(one) for one in path.read_text(encoding="utf-8").splitlines())
    assert meta["meta"] == {"format": 1, "what": "allowed commands"}
    assert {name: line[name] for name in ("prefix", "project", "allowed")} == {
        "prefix": ["git", "status"],
        "project": "/work/here",
        "allowed": True,
    }


def test_exactly_one_command_is_allowed_in_one_project(path: Path) -> None:
    """To the last space, in all its lines; it is no prefix of others."""
    text = "cat >> log <<'end'\n  two  spaces\nend"
    Allowed(path).add_command(text, HERE)

    assert Allowed(path).is_command(text, HERE)
    assert not Allowed(path).is_command(text, THERE)
    assert not any(
        Allowed(path).is_command(one, HERE) for one in (f"{text} ", text[:-1], "cat", text.replace("  ", " "))
    )
    assert Allowed(path).within(HERE) == frozenset()


def test_a_command_can_be_revoked_and_a_log_that_cannot_be_read_allows_none(path: Path) -> None:
    """By a line that a person adds, and only a clear yes counts."""
    line = {"command": "touch a", "project": str(HERE)}
    meta = {"meta": {"format": 1, "what": "allowed commands"}}
    write(path, meta, {**line, "allowed": True})
    assert Allowed(path).is_command("touch a", HERE)
    write(path, meta, {**line, "allowed": True}, {**line, "allowed": False})
    assert not Allowed(path).is_command("touch a", HERE)
    write(path, meta, {**line, "allowed": "yes"}, {"command": "touch a", "allowed": True})
    assert not Allowed(path).is_command("touch a", HERE)
    path.unlink()
    path.mkdir()
    assert not Allowed(path).is_command("touch a", HERE)
