"""What the user decided about lines is kept, until it is forgotten."""

from pathlib import Path

import pytest
from test_routing import SHELL

from aish.intake.route_choices import LineRouter, RouteChoices
from aish.values.errors import StoreTrouble


def router(path: Path) -> LineRouter:
    return LineRouter(SHELL, RouteChoices(path / "routes.jsonl"))


@pytest.mark.proves("P1")
def test_a_decision_counts_from_then_on_for_its_line_only(tmp_path: Path) -> None:
    first = router(tmp_path)
    first.learn("make  tea", "command")
    first.learn("git status", "question")

    later = router(tmp_path)

    assert later.route(" make tea ").kind == "command" and "you decided" in later.route("make tea").reason
    assert later.route("git status").kind == "question"
    assert later.route("!git status").kind == "command" and later.route("git status -s").kind == "command"
    assert later.route("sort this").kind == "ask"


def test_what_the_rules_say_anyway_is_not_kept(tmp_path: Path) -> None:
    router(tmp_path).learn("ls -l", "command")
    router(tmp_path).learn("why is it slow?", "question")

    assert not (tmp_path / "routes.jsonl").exists()


def test_asking_about_a_command_does_not_make_it_a_question(tmp_path: Path) -> None:
    """Nor does a slip behind an exclamation mark become a command."""
    mine = router(tmp_path)
    for line in ("ls", "ls -l", "git log | head", "cat /etc/hosts"):
        mine.learn(line, "question")
    mine.learn("frob the knob", "command")

    assert not (tmp_path / "routes.jsonl").exists()


def test_a_decision_can_be_changed_and_taken_back(tmp_path: Path) -> None:
    mine = router(tmp_path)
    mine.learn("make tea", "question")
    mine.learn("make tea", "command")
    mine.learn("sort this", "question")

    assert router(tmp_path).route("make tea").kind == "command"
    assert (mine.forget("make tea"), mine.forget("make tea"), mine.route("make tea").kind) == (1, 0, "ask")
    assert router(tmp_path).forget() == 1
    assert router(tmp_path).route("sort this").kind == "ask"


def test_a_damaged_file_decides_nothing_and_is_no_trouble(tmp_path: Path) -> None:
    (tmp_path / "routes.jsonl").write_bytes(
        b'{"line": 3, "route": "command"}\n\x00\xff\n{"line": "make tea", "route": "fly"}\n'
    )

    assert router(tmp_path).route("make tea").kind == "ask"


def test_a_file_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "routes.jsonl").mkdir()

    with pytest.raises(StoreTrouble):
        router(tmp_path).learn("make tea", "command")


def test_without_a_store_only_the_rules_count() -> None:
    plain = LineRouter(SHELL)
    plain.learn("make tea", "command")

    assert plain.route("make tea").kind == "ask" and plain.forget() == 0


def test_pasted_data_is_not_compared_with_decisions(tmp_path: Path) -> None:
    """A line is routed at every key, and splitting 10 MB into words takes half a second."""
    choices = RouteChoices(tmp_path / "routes.jsonl")
    choices.learn("make tea", "command")
    assert choices.of(f"make{' ' * 100}tea") == "command"
    assert choices.of(f"make{' ' * 10_000}tea") is None
