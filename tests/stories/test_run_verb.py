"""`aish run`: commands in a fence, without a person."""

import json
from pathlib import Path

import pytest
from workshop import Workshop

from aish.action.fence.availability import kind, why

pytestmark = pytest.mark.skipif(not kind("auto"), reason=why("auto") or "there is a fence")


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    made = Workshop(tmp_path)
    (made.directory / "note.txt").write_text("a note\n", encoding="utf-8")
    (made.directory / ".env").write_text("KEY=canary\n", encoding="utf-8")
    return made


def test_output_and_status_are_those_of_the_command(workshop: Workshop) -> None:
    """Other programs use it in place of a shell."""
    ran = workshop.aish("run", "--", "cat", "note.txt")
    assert (ran.code, ran.out, ran.err) == (0, "a note\n", "")
    missing = workshop.aish("run", "cat missing.txt")
    assert (missing.code, missing.out) == (1, "") and "No such file" in missing.err


@pytest.mark.parametrize("command", ["touch new", "rm note.txt", "curl https://example.com", "cat .env"])
def test_what_would_ask_is_not_run_and_says_why(workshop: Workshop, command: str) -> None:
    """There is nobody to ask."""
    ran = workshop.aish("run", "--", command)

    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("aish: not run: ")
    assert workshop.files() == {"note.txt", ".env"}


def test_changes_of_the_project_can_be_allowed_and_nothing_else(workshop: Workshop) -> None:
    """The caller said so; what destroys or sends still needs a person."""
    assert workshop.aish("run", "--fence", "changing", "--", "touch new").code == 0
    for command in ("rm note.txt", "curl https://example.com"):
        assert workshop.aish("run", "--fence", "changing", "--", command).err.startswith("aish: not run: ")
    outside = workshop.aish("run", "--fence", "changing", "--", "touch ../outside")

    assert outside.code != 0 and "the fence stopped it: it wanted to write" in outside.err
    assert workshop.files() == {"note.txt", ".env", "new"}


def test_what_only_looks_can_only_look_although_changes_are_allowed(workshop: Workshop) -> None:
    """It was let run because it reads. If that is wrong, it costs nothing."""
    workshop.places.config.mkdir(parents=True, exist_ok=True)
    workshop.places.policy_file.write_text('[python3]\noperands = "any"\nflags = "-c:"\n', encoding="utf-8")
    code = "open('note.txt', 'a'); open('.env')"

    ran = workshop.aish("run", "--fence", "changing", "--json", "--", "python3", "-c", code)

    assert "wanted to write note.txt" in json.loads(ran.out)["stopped"]


def test_many_commands_are_run_line_by_line(workshop: Workshop) -> None:
    """A directory can be given; a wrong line is named."""
    (workshop.directory / "inner").mkdir()
    requests = [{"command": "pwd", "cwd": "inner"}, {"command": "rm note.txt"}, {"command": "cat note.txt"}]

    ran = workshop.aish("run", "--jsonl", given="\n".join(map(json.dumps, requests)))

    records = [json.loads(line) for line in ran.out.splitlines()]
    assert [record["ran"] for record in records] == [True, False, True]
    assert [record["stdout"] for record in records] == [f"{workshop.directory}/inner\n", "", "a note\n"]
    assert workshop.aish("run", "--jsonl", given="[]\n").err.count("line 1")
