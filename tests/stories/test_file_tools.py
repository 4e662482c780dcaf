"""The file tools: what a model reads and changes in a project, what the user is shown and asked, and what is kept."""

import json
import os
import socket
from pathlib import Path
from typing import Any

import pytest
from desk import Desk, Reader, edit, read, say_next, write
from world import World

from aish.agent.permission import AllowReading
from aish.conversation.turn import take_turn
from aish.places import find_places
from aish.values.person import Nobody

pytestmark = pytest.mark.anyio
OUTSIDE = "denied: path is outside the agent workspace root"
KEY = "AKIA" + "QYLPMN5HFIQR7XYA"  # shaped like a key of a cloud provider


@pytest.fixture
def desk(world: World, tmp_path: Path) -> Desk:
    return Desk(world, tmp_path)


# Reading


async def test_a_long_file_is_read_in_parts(desk: Desk) -> None:
    """The result says which lines it has, and where to go on."""
    desk.write("a.txt", "".join(f"line {n}\n" for n in range(1, 31)))

    one, two, three = await desk.call(
        read("a.txt", limit=20), read("a.txt", offset=21, limit=20), read("a.txt", offset=99)
    )

    assert (one["lines"], one["next_offset"]) == ("1-20 of 30", 21)
    assert (two["lines"], two["text"][:8], "next_offset" in two) == ("21-30 of 30", "line 21\n", False)
    assert three["reason"] == "a.txt has only 30 lines"
    assert desk.person.asked == []


async def test_a_result_has_less_text_than_a_prompt(desk: Desk) -> None:
    """A file of many or long lines would push everything else out of the prompt."""
    desk.write("many.txt", "some words\n" * 100_000)
    desk.write("long.txt", "x" * 5_000_000)

    many, long = await desk.call(read("many.txt", limit=2000), read("long.txt"))

    assert len(many["text"]) < 31_000 and many["next_offset"] > 100
    assert len(long["text"]) < 3_000 and "search_files" in long["cut"]


@pytest.mark.proves("N21")
@pytest.mark.parametrize("path", ["../secret", "/etc/passwd", "link", "up/secret", "/proc/self/root/etc/passwd", "~/x"])
@pytest.mark.parametrize("tool", ["read_file", "list_files", "search_files", "edit_file", "write_file"])
async def test_no_tool_leaves_the_project(desk: Desk, tool: str, path: str) -> None:
    """Not by a link, a parent, an absolute path or the links of /proc."""
    secret = desk.project.parent / "secret"
    secret.write_text("a secret", encoding="utf-8")
    (desk.project / "link").symlink_to(secret)
    (desk.project / "up").symlink_to("..")
    given = {"path": path, "old": "a", "new": "b", "content": "c", "pattern": "a"}

    (result,) = await desk.call((tool, given), answers="r")

    assert result == {"status": "refused", "reason": OUTSIDE}
    assert secret.read_text(encoding="utf-8") == "a secret"
    assert desk.person.asked == []


@pytest.mark.parametrize("path", ["n" * 300, "n" * 300 + "/x", "d/" * 1_500 + "x"], ids=["name", "above", "deep"])
@pytest.mark.parametrize("tool", ["read_file", "list_files", "search_files", "edit_file", "write_file"])
async def test_a_path_that_is_too_long_is_refused_at_once(desk: Desk, tool: str, path: str) -> None:
    """The system has no such names, and each directory of a path costs time."""
    given = {"path": path, "old": "a", "new": "b", "content": "c", "pattern": "a"}

    (result,) = await desk.call((tool, given), answers="r")

    assert result == {"status": "refused", "reason": "the path is too long"}


async def test_a_home_directory_is_not_a_project(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even one with a repository in it, as some people have for their settings."""
    monkeypatch.setenv("HOME", str(desk.project))
    desk.write(".profile", "a")

    (result,) = await desk.call(read(".profile"))

    assert "there is no project here" in result["reason"]


async def test_the_files_of_aish_are_not_read(desk: Desk) -> None:
    """Memory and conversations have their own tools and rules."""
    desk.world.home = desk.project / "aish"
    desk.world.places = find_places({"AISH_HOME": str(desk.world.home)})
    desk.write("aish/data/memory.jsonl", "needle")

    one, two, three = await desk.call(
        read("aish/data/memory.jsonl"), ("search_files", {"pattern": "needle"}), ("list_files", {"depth": 5})
    )

    assert "files of aish itself" in one["reason"]
    assert two["matches"] == {}
    assert not [name for name in three["files"] if "data" in name]


@pytest.mark.parametrize(("key", "sees"), [("r", True), ("s", False), ("", False)])
async def test_a_file_that_may_hold_secrets_is_read_after_a_key(desk: Desk, key: str, sees: bool) -> None:
    """Its text goes to the server of the model. The question names the file."""
    desk.write(".env", "COLOUR=green\n")

    (result,) = await desk.call(read(".env"), answers=key)

    assert desk.person.asked == ["the model wants to read .env, which may hold secrets: [r]un it, or [s]kip (Enter) "]
    assert ("green" in result.get("text", "")) is sees


async def test_secrets_in_a_file_are_masked(desk: Desk) -> None:
    """As in the output of commands; also in lines that a search finds."""
    desk.write("config.py", f'KEY = "{KEY}"\n')

    one, two = await desk.call(read("config.py"), ("search_files", {"pattern": "KEY"}))

    assert KEY not in json.dumps([one, two])
    assert one["lines"] == "1-1 of 1" and "config.py" in two["matches"]


async def test_files_are_listed_without_ignored_ones(desk: Desk) -> None:
    """The model sees what a person works on."""
    for name in ("src/a.py", "src/deep/er/b.py", "build/x.o", "note.txt", ".github/w.yml"):
        desk.write(name, "x")
    desk.write(".gitignore", "build/\n*.txt\n")

    one, two, three = await desk.call(
        ("list_files", {}), ("list_files", {"pattern": "*.py"}), ("list_files", {"path": "src", "depth": 1})
    )

    assert one["files"] == [".github/", ".gitignore", "src/", ".github/w.yml", "src/a.py", "src/deep/"]
    assert two["files"] == ["src/a.py", "src/deep/er/b.py"]
    assert three["files"] == ["src/a.py", "src/deep/"]


async def test_a_large_project_is_listed_in_part(desk: Desk) -> None:
    """The result says how many are left out and what to do."""
    for number in range(2000):
        desk.write(f"a-file-with-a-long-name-{number:04}.txt", "")

    (result,) = await desk.call(("list_files", {}))

    assert result["left_out"] == 2000 - len(result["files"]) > 0
    assert "pattern" in result["note"]


@pytest.mark.parametrize("installed", [True, False])
async def test_lines_are_found(desk: Desk, installed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """With ripgrep and without it; binary, ignored and secret files and links are left out."""
    if not installed:
        monkeypatch.setenv("PATH", "/nonexistent")
    desk.write("src/a.py", "def needle():\n    pass\n")
    desk.write("src/b.txt", "a needle\r\n")
    desk.write("bin", b"needle\0")
    desk.write("out/c.py", "needle\n")
    desk.write(".gitignore", "out\n")
    desk.write(".git/config", "needle\n")
    desk.write("secrets.yaml", "needle\n")
    (desk.project.parent / "outside").write_text("needle\n", encoding="utf-8")
    (desk.project / "link").symlink_to("../outside")

    everywhere, some, one, bad, none = await desk.call(
        ("search_files", {"pattern": "need.e"}),
        ("search_files", {"pattern": "needle", "glob": "*.py"}),
        ("search_files", {"pattern": "needle", "path": "src/b.txt"}),
        ("search_files", {"pattern": "("}),
        ("search_files", {"pattern": "nothing like it"}),
    )

    assert everywhere["matches"] == {"src/a.py": ["1: def needle():"], "src/b.txt": ["1: a needle"]}
    assert list(some["matches"]) == ["src/a.py"]
    assert one["matches"] == {"src/b.txt": ["1: a needle"]}
    assert bad["status"] == "refused" and "search failed" in bad["reason"]
    assert none["matches"] == {}


@pytest.mark.parametrize("installed", [True, False])
async def test_names_with_newlines_do_not_stop_a_search(
    desk: Desk, installed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They look like other paths in the output of a search, also like paths outside."""
    if not installed:
        monkeypatch.setattr("aish.action.file_search.ripgrep", lambda root: "")
    desk.write("odd\n/etc/passwd", "needle\n")
    desk.write("a.txt", "needle\n")

    (result,) = await desk.call(("search_files", {"pattern": "needle"}))

    assert result["matches"] == {"a.txt": ["1: needle"]}


async def test_many_matches_are_bounded(desk: Desk) -> None:
    """The result says that there are more."""
    desk.write("a.txt", "needle\n" * 10_000)

    (result,) = await desk.call(("search_files", {"pattern": "needle", "limit": 10}))

    assert len(result["matches"]["a.txt"]) == 10
    assert "more matches" in result["note"]


# Changing


async def test_a_change_is_shown_asked_made_and_told(desk: Desk) -> None:
    """One key decides, after the difference."""
    path = desk.write("a.py", "one\ntwo\nthree\n")
    path.chmod(0o755)

    _, result = await desk.call(read("a.py"), edit("a.py", "two", "2"), answers="r")

    assert path.read_text(encoding="utf-8") == "one\n2\nthree\n"
    assert path.stat().st_mode & 0o777 == 0o755
    assert result == {"status": "changed", "path": "a.py", "change": "1 line added, 1 line removed"}
    assert desk.person.shown == ["--- a.py\n+++ a.py\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three"]
    assert desk.person.asked == [
        "the model wants to change a.py: 1 line added, 1 line removed: [r]un it, or [s]kip (Enter) "
    ]
    assert "changed a.py (1 line added, 1 line removed); to take it back: :undo" in desk.notices


async def test_without_a_yes_nothing_is_changed(desk: Desk) -> None:
    """Also if there is nobody to ask."""
    path = desk.write("a.py", "one\n")

    *_, result = await desk.call(read("a.py"), edit("a.py", "one", "2"), write("b.py", "x"), answers="s")

    assert result == {"status": "refused", "reason": "skipped by user"}
    assert path.read_text(encoding="utf-8") == "one\n"
    assert not (desk.project / "b.py").exists()


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        pytest.param(edit("a.py", "four", "4"), "no line is like “four”", id="not there"),
        pytest.param(edit("a.py", "if x :", "4"), "nearest lines are at 1: “if x:", id="nearly there"),
        pytest.param(
            edit("a.py", "if x:\n\treturn", "4"), "at line 1 it has other blanks: “if x:\n    return”", id="blanks"
        ),
        pytest.param(edit("a.py", "e", "4"), "old was found 2 times, at lines 2, 3; give more", id="twice"),
        pytest.param(edit("a.py", "", "4"), "old is empty", id="empty"),
        pytest.param(edit("a.py", "if", "if"), "nothing would change", id="the same"),
        pytest.param(edit("gone.py", "a", "b"), "gone.py does not exist; list_files", id="no file"),
        pytest.param(("edit_file", {"path": "a.py", "old": 1}), "old and new must be strings", id="no text"),
        pytest.param(("edit_file", {"old": "a", "new": "b"}), "path must be a string", id="no path"),
        pytest.param(("write_file", {"path": "a.py"}), "content must be a string", id="no content"),
        pytest.param(write("a.py", "a\0b"), "a.py would be binary", id="binary text"),
        pytest.param(write("b.py", "x" * 9_000_000), "more than 1,000,000; give less at a time", id="too long"),
        pytest.param(write("a.py/b", "x"), "not a directory", id="below a file"),
        pytest.param(write("", "x"), "is the workspace directory", id="the directory"),
        pytest.param(edit("a\0b", "x", "y"), OUTSIDE, id="NUL"),
        pytest.param(edit("x" * 10_000, "x", "y"), "path must be a string", id="a long path"),
        pytest.param(write("x" * 300, "y"), "the path is too long", id="a long name"),
    ],
)
async def test_a_call_that_cannot_work_says_what_to_do_and_asks_nobody(
    desk: Desk, call: tuple[str, dict[str, Any]], reason: str
) -> None:
    """The model reads the reason and can try again."""
    desk.write("a.py", "if x:\n    return\n    re\n")

    *_, result = await desk.call(read("a.py"), call, answers="r")

    assert result["status"] == "refused"
    assert reason in result["reason"]
    assert desk.person.asked == []


async def test_every_occurrence_is_replaced_if_the_model_says_so(desk: Desk) -> None:
    """Renaming a variable is one call."""
    path = desk.write("a.py", "x = 1\ny = x\n")

    await desk.call(read("a.py"), edit("a.py", "x", "z", all=True), answers="r")

    assert path.read_text(encoding="utf-8") == "z = 1\ny = z\n"


async def test_a_file_that_the_model_does_not_know_is_not_changed(desk: Desk) -> None:
    """What it changes it must have read, in this conversation, and as it is now."""
    path = desk.write("a.py", "one\n")

    unread, replaced = await desk.call(edit("a.py", "one", "2"), write("a.py", "2"), answers="r r")
    await desk.call(read("a.py"))
    path.write_text("one\nmine\n", encoding="utf-8")
    stale, again = await desk.call(edit("a.py", "one", "2"), write("a.py", "2"), answers="r r")

    assert "was not read in this conversation; read it again" in unread["reason"]
    assert "exists, and was not read" in replaced["reason"]
    assert "changed since you read it" in stale["reason"] and "changed since you read it" in again["reason"]
    assert path.read_text(encoding="utf-8") == "one\nmine\n"


async def test_a_text_that_the_user_gave_counts_as_read(desk: Desk) -> None:
    """The output of a command goes along with the question; reading it again would waste a step."""
    path = desk.write("a.py", "first\nsecond\n")
    desk.write("b.py", "other words\n")
    await desk.call(("list_files", {}))
    assert desk.session
    desk.session.history.hold("$ head -2 a.py\nfirst\nsecond\n")

    seen, unseen = await desk.call(edit("a.py", "irst\nsecon", "third"), edit("b.py", "o", "x"), answers="r r")

    assert path.read_text(encoding="utf-8") == "fthirdd\n"
    assert seen["status"] == "changed"
    assert "was not read" in unseen["reason"], "a letter that occurs somewhere is not its line"


async def test_several_edits_of_one_file_are_asked_and_made_in_order(desk: Desk) -> None:
    """Each difference is against what the one before has left."""
    path = desk.write("a.py", "one\ntwo\n")
    await desk.call(read("a.py"))
    calls = [edit("a.py", "one", "1"), edit("a.py", "two", "2")]
    script = "\n".join(f"TOOL: {name} {json.dumps(given)}" for name, given in calls)

    results = await desk.run([script, "Done."], "r r")

    assert [one["status"] for one in results] == ["changed", "changed"]
    assert path.read_text(encoding="utf-8") == "1\n2\n"
    assert "-two\n+2" in desk.person.shown[1] and " 1\n" in desk.person.shown[1]


class Meddler(Reader):
    """A user whose editor saves the file while the question is on the screen."""

    def __init__(self, path: Path, text: str) -> None:
        super().__init__("r", "r")
        self._path, self._text = path, text

    async def key(self, question: str, keys: str) -> str:
        self._path.write_text(self._text, encoding="utf-8")
        return await super().key(question, keys)


@pytest.mark.parametrize("call", [edit("a.py", "one", "2"), write("a.py", "2"), write("new.py", "2")])
async def test_a_file_that_changes_while_the_user_is_asked_is_left_alone(
    desk: Desk, call: tuple[str, dict[str, Any]]
) -> None:
    """What was allowed is what was shown."""
    desk.write("a.py", "one\n")
    path = desk.project / call[1]["path"]
    desk.person = Meddler(path, "one\nmine\n")

    *_, result = await desk.call(read("a.py"), call, answers="r")

    assert result["status"] == "refused"
    assert path.read_text(encoding="utf-8") == "one\nmine\n"


@pytest.mark.parametrize(
    "name",
    [
        ".git/hooks/pre-commit",
        ".git/config",
        ".envrc",
        ".aish.toml",
        ".github/workflows/ci.yml",
        ".vscode/tasks.json",
        "sub/.envrc",
        "sub/.git/hooks/x",
    ],
)
async def test_a_file_that_runs_later_needs_its_name(desk: Desk, name: str) -> None:
    """One key is not enough for what runs outside of any fence."""
    (one,) = await desk.call(write(name, "x"), answers="r")
    assert one["reason"] == "skipped by user"

    (two,) = await desk.call(write(name, "x"), answers=name)

    assert two["status"] == "created"
    assert f"type {name} to allow it" in desk.person.asked[-1]


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        pytest.param(b"a\r\nb\r\n", "a\nb", "a\nc\nb", b"a\r\nc\r\nb\r\n", id="CRLF"),
        pytest.param(b"\xef\xbb\xbfa\n", "a", "b", b"\xef\xbb\xbfb\n", id="byte order mark"),
        pytest.param(b"a\nb", "b", "c", b"a\nc", id="no newline at the end"),
        pytest.param(b"a\xff\xfe\nb\n", "b", "c", b"a\xff\xfe\nc\n", id="not UTF-8"),
        pytest.param(b"a\r\nb\n", "b", "c", b"a\r\nc\n", id="mixed"),
    ],
)
async def test_the_form_of_a_file_is_kept(desk: Desk, before: bytes, old: str, new: str, after: bytes) -> None:
    """Only the replaced text differs."""
    path = desk.write("a.txt", before)

    await desk.call(read("a.txt"), edit("a.txt", old, new), answers="r")

    assert path.read_bytes() == after


async def test_a_binary_file_is_neither_read_nor_changed(desk: Desk) -> None:
    """Its bytes are no text for a model."""
    desk.write("a.bin", b"\0\1\2")

    one, two = await desk.call(read("a.bin"), write("a.bin", "x"), answers="r")

    assert "binary file (3 bytes)" in one["reason"]
    assert two["status"] == "refused"


async def test_pipes_sockets_and_directories_are_refused(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Opening a pipe would wait for ever."""
    os.mkfifo(desk.project / "pipe")
    (desk.project / "folder").mkdir()
    with socket.socket(socket.AF_UNIX) as listener:
        monkeypatch.chdir(desk.project)  # the path of a socket must be short
        listener.bind("sock")
        results = await desk.call(
            read("pipe"),
            read("folder"),
            read("sock"),
            write("pipe", "x"),
            write("folder", "x"),
            write("sock", "x"),
            answers="r r r",
        )

    assert [one["status"] for one in results] == ["refused"] * 6
    assert desk.person.asked == []


@pytest.mark.parametrize("tool", ["read_file", "list_files", "search_files", "edit_file", "write_file"])
async def test_a_path_that_the_system_cannot_take_is_refused(desk: Desk, tool: str) -> None:
    """Each name in it is short enough, and the whole has fewer characters than the limit, but more bytes."""
    path = "/".join(["ä" * 100] * 30)

    (result,) = await desk.call((tool, {"path": path, "pattern": "x", "content": "x", "old": "x", "new": "y"}))

    assert result["status"] == "refused"


async def test_arguments_of_ten_megabytes_are_refused_quickly(desk: Desk) -> None:
    """No difference is computed, and nothing of it is shown."""
    desk.write("a.py", "one\n")
    big = "x" * 10_000_000

    results = await desk.call(
        read("a.py"), edit("a.py", big, "y"), edit("a.py", "one", big), write("b", big), answers="r r r"
    )

    assert [one.get("status") for one in results[1:]] == ["refused"] * 3
    assert all(len(one["reason"]) < 1_000 for one in results[1:])


async def test_invisible_characters_are_shown_before_they_are_written(desk: Desk) -> None:
    """A person could not see what they would do."""
    await desk.call(write("a.py", "a\u200bb\u202ec\ud83d".replace("\ud83d", "") + "\n"), answers="s")

    assert "+a⟨U+200B⟩b⟨U+202E⟩c" in desk.person.shown[0]


async def test_without_a_user_only_reading_works(desk: Desk) -> None:
    """For loops that nobody watches."""
    desk.write("a.py", "one\n")
    desk.write(".env", "A=1\n")
    await desk.call(read("a.py"))
    assert desk.session
    calls = [read("a.py"), read(".env"), edit("a.py", "one", "2")]
    script = [*(f"TOOL: {name} {json.dumps(given)}" for name, given in calls), "Done."]
    say_next(desk.session, script)
    async for _ in take_turn(desk.session, "q", Nobody(), permission=AllowReading()):
        pass

    results = [json.loads(turn.content) for turn in desk.session.history.turns if turn.role == "tool"][1:]
    assert ["text" in one for one in results] == [True, False, False]


async def test_the_tools_can_be_switched_off(desk: Desk) -> None:
    """By a setting; they are on unless it says otherwise."""
    on = desk.world.program({"commands": {"tool": False}}).session()
    off = desk.world.program({"commands": {"file_tools": False, "tool": False}}).session()

    names = [tool.name for tool in on.enabled_tools()]
    without = [tool.name for tool in off.enabled_tools()]
    assert [name for name in names if name not in without] == [
        "read_file",
        "list_files",
        "search_files",
        "edit_file",
        "write_file",
    ]


async def test_a_change_that_was_not_made_is_no_step(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """`:undo` would take back nothing, and never reach the step before it."""
    desk.write("a.py", "one\n")
    await desk.call(read("a.py"), edit("a.py", "one", "two"), answers="r")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("aish.action.project_files.write_inside", full)
    (result,) = await desk.call(edit("a.py", "two", "three"), answers="r")

    assert result["reason"] == "cannot use a.py: No space left on device"
    assert desk.program and desk.session
    assert [change.by for change in desk.program.files.history.changes(desk.session.journal.id)] == ["edit_file"]
