"""`aish history`: the commands of the past for scripts."""

import json
from pathlib import Path

import pytest
from terminal import Terminal
from world import Ran, World

RECORDS = [
    {"ts": "2026-01-05T10:00:00.000Z", "command": "make test", "directory": "/src", "status": 2, "seconds": 61.5},
    {"ts": "2026-01-06T10:00:00.000Z", "command": "git push", "directory": "/src", "status": 0, "seconds": 1.0},
    {"ts": "2026-01-07T10:00:00.000Z", "command": "make test", "directory": "/tmp", "status": 0, "host": "box"},
]


@pytest.fixture
def past(world: World) -> World:
    world.places.data.mkdir(parents=True)
    world.places.commands.write_text("".join(f"{json.dumps(one)}\n" for one in RECORDS), "utf-8")
    (world.directory / ".bash_history").write_text("#1700000000\nls from bash\n", "utf-8")
    return world


def history(world: World, *arguments: str) -> Ran:
    return world.aish("history", *arguments, HOME=str(world.directory), HISTFILE="", XDG_DATA_HOME="", ZDOTDIR="")


def found(world: World, *arguments: str) -> list[str]:
    return [one["command"] for one in json.loads(history(world, "search", "--json", *arguments).out)]


def test_search_finds_own_and_foreign_commands_newest_first(past: World) -> None:
    assert found(past) == ["make test", "git push", "ls from bash"]
    assert found(past, "mktst") == ["make test"]
    assert found(past, "--failed") == []
    assert found(past, "--directory", "/src") == ["git push"]
    assert found(past, "--until", "2026-01-06") == ["git push", "ls from bash"]
    assert found(past, "--since", "2026-01-07") == ["make test"]
    assert found(past, "--limit", "1") == ["make test"]
    one = json.loads(history(past, "search", "--json", "make").out)[0]
    assert one == {
        "command": "make test",
        "time": "2026-01-07T10:00:00.000Z",
        "directory": "/tmp",
        "status": 0,
        "seconds": None,
        "host": "box",
        "conversation": "",
        "source": "aish",
    }


def test_search_prints_a_table_and_tells_by_its_code_that_nothing_was_found(past: World) -> None:
    shown = history(past, "search", "push")
    assert shown.code == 0
    assert "git push" in shown.out
    assert "/src" in shown.out
    nothing = history(past, "search", "zzzz")
    assert (nothing.code, nothing.out) == (1, "no such command\n")
    wrong = history(past, "search", "--since", "sometime")
    assert (wrong.code, wrong.out) == (2, "")
    assert "is not a time" in wrong.err


def test_an_import_copies_a_history_once_with_secrets_masked(past: World) -> None:
    secret = "curl -H 'Authorization: Bearer ghp_0123456789abcdefghijABCDEFGHIJ012345' x"
    (past.directory / ".bash_history").write_text(f"#1700000000\nls from bash\n#1700000001\n{secret}\n", "utf-8")

    assert json.loads(history(past, "import", "bash", "--json").out) == {"read": 2, "added": 2}
    assert json.loads(history(past, "import", "bash", "--json").out) == {"read": 2, "added": 0}
    data = past.places.commands.read_text("utf-8")
    assert "ls from bash" in data
    assert "ghp_0123456789" not in data
    assert history(past, "import", "fish").code == 1
    missing = history(past, "import", "nowhere")
    assert missing.code == 4 and "name a file" in missing.err  # as `aish import` has it


def test_an_import_does_not_count_runs_in_aish_again(past: World) -> None:
    """The user's shell writes them to its own file as well, usually without a time."""
    (past.directory / ".bash_history").write_text("make test\nls from bash\ngit push\n", "utf-8")

    assert json.loads(history(past, "import", "bash", "--json").out) == {"read": 3, "added": 1}


def test_an_export_can_be_read_by_other_shells_and_by_aish(past: World, tmp_path: Path) -> None:
    lines = [json.loads(line) for line in history(past, "export").out.splitlines()]
    assert [one["command"] for one in lines] == ["make test", "git push", "make test"]
    bash = history(past, "export", "--format", "bash").out
    assert bash.startswith("#1767607200\nmake test\n#1767693600\ngit push\n")
    assert history(past, "export", "--format", "zsh").out.startswith(": 1767607200:61;make test\n")
    assert history(past, "export", "--format", "text", "--all").out == "ls from bash\ngit push\nmake test\n"
    (past.directory / "out").write_text(bash, "utf-8")
    assert json.loads(history(past, "import", "out", "--json").out) == {"read": 3, "added": 0}


def test_statistics_count_runs_failures_and_programs(past: World) -> None:
    told = json.loads(history(past, "stats", "--json").out)
    assert (told["runs"], told["commands"], told["failed"], told["with_status"]) == (3, 2, 1, 3)
    assert told["top_programs"] == {"make": 2, "git": 1}
    assert told["first"] == "2026-01-05T10:00:00.000Z"
    assert "3 runs of 2 commands since 2026-01-05" in history(past, "stats").out


def test_delete_removes_a_command_from_our_files_and_says_who_else_has_it(past: World) -> None:
    past.places.state.mkdir()
    past.places.typed_history.write_text("\n# 2026-01-01\n+make test\n\n# 2026-01-02\n+other\n", "utf-8")
    (past.directory / ".bash_history").write_text("make test\n", "utf-8")

    done = history(past, "delete", "make", "test")
    assert (done.code, done.out) == (0, "deleted 2 runs and 1 typed line\n")
    assert ".bash_history of bash has it, too" in done.err
    for path in past.home.rglob("*"):
        assert not path.is_file() or b"make test" not in path.read_bytes()
    assert b"git push" in past.places.commands.read_bytes()
    assert b"other" in past.places.typed_history.read_bytes()
    again = history(past, "delete", "make", "test", "--json")
    assert (again.code, json.loads(again.out)["runs"]) == (1, 0)
    assert history(past, "delete", "--containing", "pus").code == 0
    assert history(past, "delete").code == 2


def test_a_deleted_command_is_gone_from_the_running_shell_and_the_deletion_leaves_no_trace(world: World) -> None:
    world.script("An answer.")
    (world.directory / ".bashrc").write_text("HISTFILE=\n", "utf-8")  # what bash writes belongs to bash
    with Terminal(world) as terminal:
        terminal.wait_ready()
        for line in ("echo to''gone", "echo stays"):
            terminal.enter(line)
            terminal.wait_for(line.replace("''", "")[5:])
        terminal.enter("aish history delete \"echo to''gone\"")
        terminal.wait("deleted 1 run and 1 typed line", "aish>")
        terminal.type("\x12")
        terminal.wait_for("history:")
        terminal.type("gone")
        terminal.wait_for("nothing found")
        terminal.type("\x1b")
        terminal.wait_for("aish>")

    assert not [path for path in world.home.rglob("*") if path.is_file() and b"to''gone" in path.read_bytes()]
