"""The table of commands: every entry is valid, and the user's own entries are checked before they count."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from aish.action import command_table
from aish.action.command_table import CommandRule, KnownCommands, Node, load_table, parse_pairs, split_tables
from aish.action.policy import judge
from aish.values.errors import BadUsage


def entries() -> Iterator[CommandRule]:
    waiting: list[Node] = list(load_table().commands.values())
    while waiting:
        node = waiting.pop()
        waiting += node.below.values()
        if node.entry:
            yield node.entry


def test_every_entry_can_be_read_and_there_are_many() -> None:
    """Entries are parsed on first use; a mistake must show before that."""
    found = list(entries())
    assert len(found) > 1000
    assert {entry.effect for entry in found} == {"read", "change", "destroy", "send", "unknown"}


@pytest.mark.parametrize("path", sorted(Path(command_table.__file__).parent.glob("*.toml")), ids=lambda path: path.name)
def test_splitting_a_table_file_gives_the_same_as_parsing_it_whole(path: Path) -> None:
    """Splitting is fast but knows little TOML: a header in another form, or one inside a string, must fail here."""
    text = path.read_text(encoding="utf-8")
    head, tables = split_tables(text)
    parsed = {name: parse_pairs(body) for name, body in tables}
    assert parse_pairs(head) | parsed == tomllib.loads(text)
    assert len(parsed) == len(tables) > 20


@pytest.mark.parametrize(
    "text",
    [
        'a = "x"\n\n# "b" = 1\nb = 0\nc = true\nd = false\n',
        'a = """\nx #1\n  y = 2\n"""\nb = \'\\d+\'',
        'a = "x" # why',
        'a = ["x"]',
        'a = "\\t"',
        'a = """x\\\n y"""',
        "a = 1.5",
        "a=1",
        "a = 007x",
        'a = """"quoted" text"""',
        'a = ""\nb = \'\'\nc = """"""',
        "",
        "a = { b = 1 }",
        "[b]\na = 1",
        'a = "é\t"',
        'a.b = "x"',
        'a = "1\x00"',
        'a = "x"\na = "y"',
        'a = "x" b = "y"',
        "é = 1",
        "a = 07",
    ],
)
def test_pairs_mean_what_they_mean_in_toml(text: str) -> None:
    """The fast way is for a part of TOML only; everything else is left to `tomllib`."""
    try:
        expected: object = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        expected = tomllib.TOMLDecodeError
    try:
        found: object = parse_pairs(text)
    except tomllib.TOMLDecodeError:
        found = tomllib.TOMLDecodeError
    assert found == expected


def test_every_command_that_asks_says_why() -> None:
    """The reason is the question that the user is asked."""
    silent = [entry.name for entry in entries() if entry.effect != "read" and not entry.because]
    assert silent == []


@pytest.mark.proves("X5")
def test_nothing_that_can_run_code_or_write_has_every_flag_permitted() -> None:
    """A star is for commands without harmful flags, not for commands with many flags."""
    starred = {entry.words[0] for entry in entries() if entry.effect == "read" and entry.flags and entry.flags.every}
    risky = "sort sed awk find git tar less man xargs env nm objdump rg curl tree date uniq docker kubectl bash printf"
    assert not starred & set(risky.split())


@pytest.mark.proves("X5")
def test_an_entry_of_the_user_counts() -> None:
    """The user's own tool, with the flags that only read."""
    extra = {
        "deploy status": {"flags": "-v --env=", "operands": "any"},
        "deploy": {"effect": "send", "because": "ships"},
    }
    table = load_table(extra)
    assert judge("deploy status --env=live web", table).verdict == "run"
    assert judge("deploy status --force", table).verdict == "ask"
    assert judge("deploy web", table)[:3] == ("ask", "send", "deploy ships")
    assert judge("deploy status", load_table()).verdict == "ask"


def test_an_entry_of_the_user_takes_the_place_of_ours() -> None:
    """Also to be asked more often."""
    table = load_table({"ls": {"effect": "send", "because": "is slow on this disk"}})
    assert judge("ls", table)[:3] == ("ask", "send", "ls is slow on this disk")
    assert judge("ls", load_table()).verdict == "run"


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"flag": "-v"}, "unknown key 'flag'"),
        ({"flags": ["-v"]}, "flags must be a string"),
        ({"most": "1"}, "most must be a number"),
        ({"most": True}, "most must be a number"),
        ({"single": 1}, "single must be true or false"),
        ({"operands": "everything"}, "operands must be one of none, any"),
        ({"effect": "harmless"}, "effect must be one of read"),
        ({"otherwise": "fine"}, "otherwise must be one of read"),
        ({"rule": "part"}, "rule must be one of awk"),
        ({"shape": "("}, "shape is not a valid regular expression"),
        ("-v", "must be a table"),
    ],
)
def test_an_entry_that_makes_no_sense_says_what_is_wrong(entry: Any, words: str) -> None:
    """A safety rule is not dropped silently."""
    with pytest.raises(BadUsage, match=f"mytool.*{words.replace('(', '.')}"):
        load_table({"mytool": entry})


def test_several_commands_can_share_an_entry() -> None:
    """As in the built-in files."""
    table = load_table({"one, two sub": {"operands": "any"}})
    assert judge("one a; two sub b", table).verdict == "run"
    assert judge("two a", table).verdict == "ask"


KINDS = {
    "tool": {"flags": "-v", "hosts": "-h --host", "reads": "-f --file", "runs": "-I --use", "writes": "-o --output"},
    "star": {"flags": "*", "operands": "names", "reads": "-f --files0-from", "writes": "-o", "runs": "--use-program"},
    "multi": {"flags": "-q", "hosts": "--host"},
    "multi list": {"operands": "any"},
    "loader": {"project": True, "flags": "-v"},
    "loader run": {"effect": "send", "because": "runs it"},
}


@pytest.mark.parametrize(
    ("command", "effect"),
    [
        ("tool -h example.net", "send"),
        ("tool -hexample.net", "send"),
        ("multi -q --host example.net list", "send"),
        ("tool --host=$x", "unknown"),
        ("tool -f .env", "read"),
        ("tool -vf.env", "read"),
        ("tool -f $x", "unknown"),
        ("tool -I ./evil", "unknown"),
        ("tool -o x", "change"),
        ("star --files0=.env", "read"),
        ("star -0f.env", "read"),
        ("star -ao out", "change"),
        ("star --use=./evil", "unknown"),
        ("loader", "unknown"),
        ("loader --help", "unknown"),
        ("loader --version", "unknown"),
        ("loader run x", "send"),
        ("loader run --help", "send"),
    ],
)
def test_the_value_of_a_flag_is_judged_by_what_it_is(command: str, effect: str) -> None:
    """A host, a file or a program does the same harm as a value of a flag as it does as an operand."""
    verdict = judge(command, load_table(KINDS))
    assert (verdict.verdict, verdict.effect) == ("ask", effect), verdict.reason


@pytest.mark.parametrize(
    "command",
    [
        "tool -h localhost",
        "tool -vh /run/db",
        "tool -f notes.txt",
        "star -x --abc",
        "star --files0 names",
        "multi --host ::1 list x",
    ],
)
def test_harmless_values_of_flags_run(command: str) -> None:
    """The same flags are useful with local values."""
    assert judge(command, load_table(KINDS)).verdict == "run"


def test_a_written_value_is_the_target() -> None:
    """The view counts and names what would be hit."""
    assert judge("tool -o'a b'", load_table(KINDS)).targets == ("'a b'",)
    assert judge("tool --output=x", load_table(KINDS)).targets == ("x",)


def test_a_command_is_made_when_it_is_looked_up_first() -> None:
    """There are thousands of names, and a start of the program looks up a few of them."""
    made = load_table().commands
    assert isinstance(made, KnownCommands)

    assert made.get("git") is made["git"]
    assert made.get("no-such-command") is None
    assert list(made._nodes) == ["git"]
    assert len(made) > 300
    assert "git" in made
