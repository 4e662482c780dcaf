"""`aish memory VERB`: memory for scripts, with exit codes, JSON, pipes, and unusable files."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from world import AISH, Ran, World

from aish.cli import run

TANDEM = "I ride a tandem"


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


class Inside:
    """The command line inside this process: the same code, without the start-up time."""

    def __init__(self, world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.world = world
        self._capsys = capsys
        monkeypatch.setenv("AISH_HOME", str(world.home))
        monkeypatch.setenv("TERM", "dumb")
        monkeypatch.setenv("NO_COLOR", "1")
        monkeypatch.chdir(world.directory)
        world.script("hello")

    def __call__(self, *words: str) -> Ran:
        self._capsys.readouterr()
        code = run(["memory", *words])
        out, err = self._capsys.readouterr()
        return Ran(code, out, err)

    def json(self, *words: str) -> Any:
        return json.loads(self("--json", *words).out)

    def contents(self) -> list[str]:
        return [item["content"] for item in self.json("list")]


@pytest.fixture
def memory(world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Inside:
    return Inside(world, monkeypatch, capsys)


def test_a_day_with_memory_in_a_script(world: World) -> None:
    """With the real program: results on standard output, and exit codes for `if` and `&&`."""
    added = world.aish("memory", "add", "--json", "pref", "short answers")
    listed = world.aish("memory", "list", "--kind", "pref", "short")
    nothing = world.aish("memory", "list", "long")
    wrong = world.aish("memory", "forget", "9")

    assert (added.code, added.err) == (0, "")
    assert json.loads(added.out).items() >= {"id": 1, "new": True, "kind": "pref", "content": "short answers"}.items()
    assert (listed.code, listed.err) == (0, "")
    assert [line.split()[0] for line in listed.out.splitlines()] == ["id", "1"]
    assert (nothing.code, nothing.out, nothing.err) == (1, "no matching items\n", "")
    assert (wrong.code, wrong.out, wrong.err) == (1, "", "[aish] there is no item 9; see :memory list\n")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["add", "x is y"], 0, "remembered (id 2): x is y\n"),
        (["add", "I ride  A tandem."], 0, "already known (id 1)\n"),
        (["set", "editor", "=", "helix"], 0, "remembered (id 2): editor = helix\n"),
        (["set", "editor=helix"], 0, "remembered (id 2): editor = helix\n"),
        (["edit", "1", "I ride a canoe"], 0, "remembered (id 2): I ride a canoe\n"),
        (["edit", "1"], 1, "nothing was changed\n"),
        (["forget", "1"], 0, "forgotten (id 1): I ride a tandem\n"),
        (["clear"], 1, "nothing was changed\n"),
        (["clear", "--yes"], 0, "forgot 1 item; undo with :memory undo\n"),
        (["undo"], 0, "undone: added 1: (fact) I ride a tandem\n"),
        (["purge", "1"], 0, "erased in 1 place of 1 file; it will not be learned again\n"),
        (["purge", "1", "--yes"], 0, "erased in 1 place of 1 file; it will not be learned again\n"),
        (["pending"], 1, "nothing is pending\n"),
        (["accept", "all"], 1, "nothing is pending\n"),
        (["reject", "all"], 1, "nothing is pending\n"),
        (["inject"], 0, "1 item in the prompt, 72 characters\n"),
        (["export", "out.jsonl"], 0, "1 line written to out.jsonl\n"),
    ],
)
def test_every_verb_reports_its_result(memory: Inside, words: list[str], code: int, said: str) -> None:
    """A script cannot answer a question, so `clear` needs `--yes`; `purge` asks nothing."""
    memory("add", TANDEM)

    ran = memory(*words)

    assert (ran.code, ran.out) == (code, said)
    no = "[aish] forget all 1 item? [y/N] no user to ask; use --yes\n"
    assert ran.err == (no if words == ["clear"] else "")


@pytest.mark.proves("M34", "M60")
@pytest.mark.parametrize(
    ("words", "code", "shape"),
    [
        (["list"], 0, list),
        ([], 0, list),
        (["list", "nothing"], 1, list),
        (["add", "x is y"], 0, dict),
        (["set", "a = b"], 0, dict),
        (["edit", "1", "other"], 0, dict),
        (["forget", "1"], 0, dict),
        (["clear"], 1, dict),
        (["undo"], 0, dict),
        (["log"], 0, list),
        (["at", "now"], 0, list),
        (["at", "1999-01-01"], 1, list),
        (["why", "1"], 0, dict),
        (["inject"], 0, dict),
        (["purge", "1", "--yes"], 0, dict),
        (["pending"], 1, list),
        (["accept", "all"], 1, list),
        (["reject", "all"], 1, dict),
        (["export"], 0, list),
    ],
)
def test_every_verb_speaks_json(memory: Inside, words: list[str], code: int, shape: type) -> None:
    """One value on one line, and the same exit code as without."""
    memory("add", TANDEM)

    ran = memory(*words, "--json")

    assert ran.code == code
    assert ran.out.count("\n") == 1
    assert isinstance(json.loads(ran.out), shape)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["remmeber", "x"], "unknown verb 'remmeber'; use one of: "),
        (["add"], "nothing to remember: the text is empty"),
        (["add", "--kind", "whim", "x"], "unknown kind 'whim'; use one of: fact, pref, context"),
        (["list", "--kind", "whim"], "unknown kind 'whim'"),
        (["list", "--limit", "-1"], "expected a number, got '-1'"),
        (["set", "editor"], "expected KEY = VALUE"),
        (["forget"], "missing id; see :memory list"),
        (["forget", "one"], "expected a number, got 'one'"),
        (["edit", "x", "y"], "expected a number, got 'x'"),
        (["why"], "missing id; see :memory list"),
        (["at"], "missing date"),
        (["at", "noon"], "'noon' is not a date"),
        (["log", "many"], "expected a number, got 'many'"),
        (["import"], "missing file"),
        (["purge", "tea"], "the text to erase is too short"),
        (["add", "x" * 4001], "an item can have at most 4,000 characters, this one has 4,001"),
    ],
)
def test_invalid_arguments_are_reported_and_end_with_code_two(memory: Inside, words: list[str], said: str) -> None:
    """One line on standard error that says what to do; nothing is written."""
    ran = memory(*words)

    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"[aish] {said}") and ran.err.count("\n") == 1
    assert not memory.world.places.memory.exists()


def test_help_lists_the_verbs_and_an_unknown_option_is_refused(world: World) -> None:
    """Like other command-line programs."""
    told = world.aish("memory", "--help")
    wrong = world.aish("memory", "list", "--colour")

    assert told.code == 0 and "purge      Erase permanently" in told.out and "summarize" in told.out
    assert wrong.code == 2 and "unrecognized arguments: --colour" in wrong.err


@pytest.mark.parametrize(
    "words",
    [
        ["add", "--kind", "pref", "--tag", "a", "--tag", "b", "--key", "k", "short", "answers"],
        ["add", "short", "--tag", "a", "answers", "--kind", "pref", "--key=k", "--tag=b"],
        ["--tag", "a", "--tag", "b", "add", "--key", "k", "pref", "short", "answers"],
        ["--json", "add", "pref", "short answers", "--tag", "a", "--tag", "b", "--key", "k"],
    ],
)
def test_options_may_stand_anywhere(memory: Inside, words: list[str]) -> None:
    """Users do not remember the order."""
    assert memory(*words).code == 0

    (item,) = memory.json("list")
    assert (item["kind"], item["content"], item["tags"], item["key"]) == ("pref", "short answers", ["a", "b"], "k")


@pytest.mark.parametrize("value", ["two words", "two  words", 'with "quotes" in', "back\\slash end\\"])
def test_the_value_of_an_option_may_have_blanks(memory: Inside, value: str) -> None:
    """The user's shell has already parsed it, and it must not be split again."""
    memory("add", "--tag", value, "--key", value, "some text")

    (item,) = memory.json("list")
    assert (item["content"], item["tags"], item["key"]) == ("some text", [value], value)
    assert [one["id"] for one in memory.json("list", "--tag", value)] == [1]


def test_a_dash_reads_standard_input(world: World) -> None:
    """Any number of lines, in any language."""
    text = "erste Zeile: Grüße\nzweite: 漢字 🦔\n"

    ran = world.aish("memory", "add", "--kind", "context", "-", given=text)

    assert (ran.code, ran.err) == (0, "")
    assert lines(world.places.memory)[1]["content"] == text.strip()
    assert world.aish("memory", "add", "-", given=b"\xff\xfe no text\x00").code == 0
    assert world.aish("memory", "add", "-", given="").code == 2


@pytest.mark.parametrize("text", ["--yes is what I say", "--all the world", "--frobnicate is a flag I like"])
def test_text_that_looks_like_an_option_is_kept_as_text(memory: Inside, world: World, text: str) -> None:
    """Piped text, and text after `--`, is never an option."""
    ran = memory("add", "--", *text.split(" "))
    piped = world.aish("memory", "add", "-", given=f"{text}, truly")

    assert (ran.code, piped.code) == (0, 0)
    assert memory.contents() == [f"{text}, truly", text]


@pytest.mark.parametrize(
    ("words", "kind", "content"),
    [
        (["context switching makes me slow"], "fact", "context switching makes me slow"),
        (["context", "switching makes me slow"], "context", "switching makes me slow"),
        (["pref", "context", "first"], "pref", "context first"),
        (["--kind", "fact", "pref", "is", "a", "word"], "fact", "pref is a word"),
        (["a  text ", "", 'of "three', "lines\nand"], "fact", 'a  text   of "three lines\nand'),
    ],
)
def test_a_kind_is_a_separate_word_and_the_rest_is_kept_as_it_is(
    memory: Inside, words: list[str], kind: str, content: str
) -> None:
    """A text that begins with the name of a kind used to lose its first word."""
    assert memory("add", *words).code == 0

    (item,) = memory.json("list")
    assert (item["kind"], item["content"]) == (kind, content)


def test_a_piped_kind_is_text(world: World) -> None:
    """Piped input is one text, not words."""
    assert world.aish("memory", "add", "-", given="pref is short for preference").code == 0
    assert world.aish("memory", "add", "context", "-", given="the kettle is on").code == 0

    assert [(item["kind"], item["content"]) for item in lines(world.places.memory)[1:]] == [
        ("fact", "pref is short for preference"),
        ("context", "the kettle is on"),
    ]


def test_an_unknown_option_of_a_verb_is_refused(memory: Inside) -> None:
    """A tag that is silently dropped is noticed only when it is searched for."""
    ran = memory("set", "--tag", "tools", "editor", "=", "helix")

    assert (ran.code, ran.err) == (2, "[aish] there is no option --tag; there are: --kind\n")
    assert not memory.world.places.memory.exists()


def test_options_of_the_program_end_at_two_dashes(memory: Inside) -> None:
    """`--model` inside a text used to be parsed as our option."""
    assert memory("add", "--", "start", "it", "with", "--model", "fast", "--set", "a=b").code == 0
    assert memory("--set", "memory.path=other.jsonl", "add", "elsewhere").code == 0

    assert memory.contents() == ["start it with --model fast --set a=b"]


WORDS = st.lists(
    st.text("ab -='\"\\\n", max_size=6) | st.sampled_from(["fact", "pref", "context", "--", "--tag", "--model", "all"]),
    max_size=5,
)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(words=WORDS.filter(lambda words: words[-1:] != ["-"]))
def test_any_words_are_kept_as_given(memory: Inside, words: list[str]) -> None:
    """Between the command line and the file nothing is quoted, split or parsed again."""
    kind, rest = (words[0], words[1:]) if words[:1] in (["fact"], ["pref"], ["context"]) else ("fact", words)
    text = " ".join(rest).strip()
    memory.world.places.memory.unlink(missing_ok=True)

    ran = memory("--json", "add", "--", *words)

    if not text:
        assert ran.code == 2
    else:
        kept = json.loads(ran.out)
        assert (kept["new"], kept["kind"], kept["content"]) == (True, kind, text)


def test_a_pipe_can_be_imported_and_exported_to(world: World) -> None:
    """`ssh other aish memory export | aish memory import -` is what users try first."""
    ran = world.aish("memory", "import", "--trust", "-", given='{"content": "from the other side"}\n')
    out = world.aish("memory", "export", "-")

    assert ran.code == 0, ran.err
    assert "from the other side" in out.out


def test_an_edit_can_be_piped_in(world: World) -> None:
    """The help says that a dash reads standard input."""
    world.aish("memory", "add", TANDEM)

    assert world.aish("memory", "edit", "1", "-", given="I ride a canoe\n").code == 0
    assert lines(world.places.memory)[2]["content"] == "I ride a canoe"


# Moving to another machine


def other(world: World, memory: Inside, monkeypatch: pytest.MonkeyPatch) -> World:
    """Use another home from now on, as on another machine."""
    place = world.directory / "other"
    place.mkdir()
    there = World(place)
    there.script("hello")
    monkeypatch.setenv("AISH_HOME", str(there.home))
    memory.world = there
    return there


@pytest.mark.proves("M3", "M63")
def test_imported_items_are_pending_until_accepted(
    world: World, memory: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An imported file is not the user's word; tags, keys and unknown fields are kept."""
    memory("add", "--tag", "bikes", TANDEM)
    memory("set", "editor = helix")
    with world.places.memory.open("a", encoding="utf-8") as file:
        file.write('{"id": 7, "kind": "pref", "content": "by hand", "mood": {"of": ["the", "day"]}}\n')
    assert memory("export", "out.jsonl").out == "3 lines written to out.jsonl\n"
    assert memory("export", "out.jsonl").code == 2, "it is not overwritten"
    there = other(world, memory, monkeypatch)

    first = memory("import", "out.jsonl")
    again = memory("import", "out.jsonl")
    pending = memory.json("pending")
    before = memory.contents()
    memory("accept", "all")

    assert (first.code, first.err) == (0, "")
    assert first.out == "3 items pending (see :memory pending), 0 already known, 0 rejected\n"
    assert again.code == 1 and ", 3 already known, 0 rejected" in again.out
    assert before == [] and len(pending) == 3
    assert {item["source"] for item in pending} == {"import"}
    assert sorted(memory.contents()) == [TANDEM, "by hand", "editor = helix"]
    kept = {line["content"]: line for line in lines(there.places.memory)[1:]}
    assert kept["by hand"]["mood"] == {"of": ["the", "day"]}
    assert (kept[TANDEM]["tags"], kept["editor = helix"]["key"]) == (["bikes"], "editor")
    assert all(line["source"] == "import" and line["confirmed"] for line in kept.values())


@pytest.mark.proves("M3")
def test_a_trusted_backup_is_kept_at_once_and_only_once(
    world: World, memory: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the origin of each item."""
    memory("add", TANDEM)
    memory("add", "pref", "short answers")
    memory("export", "out.jsonl")
    other(world, memory, monkeypatch)

    first, again = memory("import", "--trust", "out.jsonl"), memory("import", "out.jsonl", "--trust")

    assert first.out == "2 items imported, 0 already known, 0 rejected\n"
    assert (again.code, again.out) == (1, "0 items imported, 2 already known, 0 rejected\n")
    items = memory.json("list")
    assert sorted((item["kind"], item["content"], item["source"]) for item in items) == [
        ("fact", TANDEM, "user"),
        ("pref", "short answers", "user"),
    ]


def test_forgotten_items_stay_forgotten_in_a_full_copy(
    world: World, memory: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--all` also writes tombstones, and they have the same meaning after an import."""
    memory("add", TANDEM)
    memory("add", "the sea is salty")
    memory("edit", "2", "the lake is not salty")
    memory("forget", "1")
    memory("export", "--all", "out.jsonl")
    other(world, memory, monkeypatch)

    memory("import", "--trust", "out.jsonl")

    assert memory.contents() == ["the lake is not salty"]


@pytest.mark.proves("M61")
def test_purged_text_is_not_imported(world: World, memory: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    """With and without `--trust`."""
    memory("add", TANDEM)
    memory("add", "the sea is salty")
    memory("export", "out.jsonl")
    other(world, memory, monkeypatch)
    memory("add", TANDEM)
    memory("purge", "--yes", "1")

    assert memory("import", "--trust", "out.jsonl").out == "1 item imported, 0 already known, 1 rejected\n"
    assert memory("import", "out.jsonl").out.endswith(", 1 already known, 1 rejected\n")
    assert memory.contents() == ["the sea is salty"]


def test_an_import_takes_every_valid_item_of_any_file(memory: Inside, tmp_path: Path) -> None:
    """A JSON list, lines without a kind, damaged lines, other kinds, secrets; invalid entries are counted."""
    token = "gh" + "p_" + "Zq3Lw8Rt5Yp2" * 3
    good = [{"content": "one"}, {"content": "two", "kind": "pref"}, {"content": f"key {token}"}]
    bad = [{"content": ""}, {"kind": "whim", "content": "x"}, {"content": 5}, {"content": "x" * 5000}, 7, None]
    (tmp_path / "list.json").write_text(json.dumps([*good, *bad]), encoding="utf-8")
    (tmp_path / "lines").write_bytes(b'{"content": "three"}\n\n{"conte\n\xff\xfe\n[1]\n"x"\n' + b"[" * 100_000 + b"\n")
    (tmp_path / "empty").write_bytes(b"")

    assert memory("import", "list.json").out.endswith("0 already known, 6 rejected\n")
    assert memory("import", "lines").out.startswith("1 item")
    assert memory("import", "empty").code == 1
    assert [item["content"] for item in memory.json("pending")][:3] != []
    assert token not in memory("pending").out
    missing = memory("import", "no such file")
    assert (missing.code, missing.err) == (1, "[aish] cannot read no such file: No such file or directory\n")
    assert memory("import", ".").code == 1
    assert memory("export", "no/such/place").code == 4


def test_a_list_of_many_items_is_complete_and_in_order(memory: Inside, tmp_path: Path) -> None:
    """More than one block of the file, and enough for an index."""
    many = [json.dumps({"content": f"thing number {number} {'and so on ' * 30}"}) for number in range(400)]
    (tmp_path / "many").write_text("\n".join(many), encoding="utf-8")
    memory("import", "--trust", "many")
    memory("forget", "150")

    listed = memory("list").out.splitlines()

    assert len(listed) == 1 + 399
    assert listed[1].split()[0] == "400" and listed[-1].split()[0] == "1"
    assert [item["id"] for item in memory.json("list", "--limit", "2")] == [400, 399]
    with subprocess.Popen(
        [*AISH, "memory", "list"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=memory.world.environment(PYTHONUNBUFFERED=""),
        cwd=tmp_path,
    ) as program:
        assert program.stdout is not None and program.stderr is not None
        assert program.stdout.readline().startswith(b"id")
        program.stdout.close()
        assert program.wait(30) == 141, "as any other program whose reader has gone"
        assert program.stderr.read() == b""


# The path of the ledger, and other things at that path


@pytest.mark.proves("M2")
def test_the_settings_can_move_the_ledger(memory: Inside, world: World) -> None:
    """The file of pending items is beside it, and the usual file is not touched."""
    elsewhere = world.directory / "deep" / "er" / "mine.jsonl"
    world.configure(f'model = "script"\n[models.script]\nkind = "scripted"\n[memory]\npath = "{elsewhere}"\n')

    memory("add", TANDEM)
    (world.directory / "in").write_text('{"content": "from afar"}', encoding="utf-8")
    memory("import", "in")

    assert memory.contents() == [TANDEM]
    found = sorted(path.name for path in elsewhere.parent.iterdir())
    assert found == ["mine.jsonl", "mine.pending.jsonl"]
    assert not world.places.memory.exists()


def test_a_path_in_the_home_of_an_unknown_user_is_reported(memory: Inside) -> None:
    """A mistake in the settings is not a bug of the program."""
    ran = memory.world.aish("--set", 'memory.path="~no-such-user-here/mine.jsonl"', "memory", "list")

    assert ran.code == 4
    assert "~no-such-user-here" in ran.err


@pytest.mark.parametrize("what", ["directory", "link", "link to nothing", "file above"])
def test_an_unusable_ledger_file_is_reported_and_left_alone(memory: Inside, world: World, what: str) -> None:
    """Nothing is written through a link, and the question is still answered."""
    path = world.places.memory
    elsewhere = world.directory / "elsewhere"
    path.parent.mkdir(parents=True)
    match what:
        case "directory":
            path.mkdir()
        case "link":
            elsewhere.write_bytes(b"")
            path.symlink_to(elsewhere)
        case "link to nothing":
            path.symlink_to(elsewhere)
        case "file above":
            path.parent.rmdir()
            path.parent.write_bytes(b"")

    added, listed = memory("add", TANDEM), memory("list")
    asked = world.aish("well?")

    assert (added.code, added.out) == (4, "")
    assert added.err.startswith("[aish] cannot ") and added.err.count("\n") == 1
    assert listed.code in (1, 4)
    assert (asked.code, asked.out) == (0, "hello\n")
    assert not elsewhere.exists() or elsewhere.read_bytes() == b""


def test_a_full_disk_is_reported(memory: Inside, world: World) -> None:
    """Older items can still be read."""
    memory("add", TANDEM)
    before = world.places.memory.read_bytes()
    size = len(before) // 512

    ran = subprocess.run(
        ["sh", "-c", f'ulimit -f {size}; exec "$@"', "sh", *AISH, "memory", "add", "the sea is salty " * 60],
        capture_output=True,
        env=world.environment(),
        cwd=world.directory,
        timeout=30,
        check=False,
    )

    assert ran.returncode == 4, ran.stderr
    assert ran.stderr.startswith(b"[aish] cannot write ") and ran.stderr.count(b"\n") == 1
    assert world.places.memory.read_bytes() == before
    assert memory.contents() == [TANDEM]


@pytest.mark.skipif(os.geteuid() == 0, reason="root can write to read-only files")
def test_a_read_only_ledger_can_be_read(memory: Inside, world: World) -> None:
    """Adding reports the reason, and listing works."""
    memory("add", TANDEM)
    world.places.memory.chmod(0o400)

    assert memory("add", "the sea is salty").code == 4
    assert memory.contents() == [TANDEM]


@pytest.mark.parametrize(
    ("zone", "moment"), [("America/New_York", "0001-01-01T00:00:00Z"), ("Pacific/Kiritimati", "9999-12-31T23:59:59Z")]
)
def test_the_ends_of_the_calendar_are_valid_times(world: World, zone: str, moment: str) -> None:
    """For example the year 9999, for everything."""
    ran = world.aish("memory", "at", moment, TZ=zone)

    assert ran.code == 1
    assert ran.out.startswith("no items at ")


ODD = st.text(max_size=12) | st.sampled_from(
    [
        "-",
        "--",
        "--yes",
        "--tag",
        "-1",
        "1",
        "#1",
        "all",
        "=",
        "a = b",
        "\0",
        "\ud800",
        "\x1b[2J",
        "fact",
        "../..",
        "~x",
    ]
)
VERBS = st.sampled_from(
    "list add set forget edit undo log at why inject purge pending accept reject export import".split()
)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(verb=VERBS, words=st.lists(ODD, max_size=3), as_json=st.booleans())
def test_no_arguments_cause_a_traceback(memory: Inside, verb: str, words: list[str], as_json: bool) -> None:
    """One of the documented exit codes, and never the one for a bug."""
    if "-" in words or (verb == "export" and words):  # the first would wait for a pipe, the second would create files
        return
    try:
        ran = memory(*(["--json"] if as_json else []), verb, *words)
    except SystemExit as usage:  # argparse has printed the usage
        assert usage.code == 2
        return
    assert ran.code in (0, 1, 2, 4), ran.err
    assert "Traceback" not in ran.err
    assert "\x1b" not in ran.out + ran.err or as_json
    if as_json and ran.code in (0, 1) and ran.out:
        json.loads(ran.out)
