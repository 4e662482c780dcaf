"""Importing from other tools: importing again adds nothing, also in parallel and after a crash."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aish.memory.fingerprint import fingerprint
from aish.memory.importing import Imported, Importer
from aish.memory.journal import Journal
from aish.memory.purge import Eraser
from aish.memory.redaction import Redaction
from aish.memory.secret_patterns import redact
from aish.values.errors import StoreTrouble
from aish.values.imported import ImportedRecord, ImportedTurn, Skipped
from aish.values.turns import ToolCall

THEN = datetime(2025, 3, 1, 8, tzinfo=UTC)


def redaction(sessions: Path) -> Redaction:
    return Redaction(sessions.parent / "salt", lambda: SimpleNamespace(redact=redact, fingerprint=fingerprint))


def take(sessions: Path, heard: Iterable[ImportedRecord], *, source: str = "tool", dry_run: bool = False) -> Imported:
    return Importer(sessions, source, redaction(sessions), dry_run=dry_run).take(heard)


def kept(sessions: Path) -> dict[str, list[str]]:
    """Return the turns of the journals by name."""
    names = sorted(path.stem for path in sessions.glob("*.jsonl"))
    return {name: [entry.turn.content for entry in Journal(sessions, name).entries()] for name in names}


def said(text: str, *, talk: str = "one", minute: int | None = 0, ref: str = "", role: str = "user") -> ImportedTurn:
    time = None if minute is None else THEN + timedelta(minutes=minute)
    return ImportedTurn(
        talk, time, "assistant" if role == "assistant" else "user", text, ref=ref, title="Birds", channel="notes"
    )


def test_a_conversation_becomes_a_journal_that_tells_where_it_is_from(tmp_path: Path) -> None:
    """It is named after its time like any other, and has the trust of an import."""
    sessions = tmp_path / "sessions"
    take(sessions, [said("do herons sing"), said("they do not", minute=1, role="assistant")])
    [name] = kept(sessions)
    assert name.startswith("20250301-080000-")
    meta = Journal(sessions, name).meta()
    assert (meta["source"], meta["trust"], meta["conversation"]) == ("tool", "import", "one")
    assert (meta["title"], meta["channel"]) == ("Birds", "notes")
    entries = list(Journal(sessions, name).entries())
    assert [(entry.number, entry.turn.role, entry.turn.content) for entry in entries] == [
        (1, "user", "do herons sing"),
        (2, "assistant", "they do not"),
    ]
    assert [entry.time for entry in entries] == [THEN, THEN + timedelta(minutes=1)]


turns = st.builds(
    said,
    st.sampled_from(["a heron", "an otter", "a badger"]),
    talk=st.sampled_from(["one", "two", "three"]),
    minute=st.one_of(st.none(), st.integers(0, 3)),
)


@pytest.mark.proves("N9")
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(heard=st.lists(turns, max_size=14), grown=st.lists(turns, max_size=6))
def test_importing_again_adds_what_is_new_and_nothing_else(
    tmp_path: Path, heard: list[ImportedTurn], grown: list[ImportedTurn]
) -> None:
    """This includes turns without ids: a text that occurs three times is stored three times, and stays so."""
    sessions = tmp_path / os.urandom(6).hex() / "sessions"
    first = take(sessions, heard)
    once = kept(sessions)
    again = take(sessions, heard)
    assert kept(sessions) == once
    assert (first.turns, first.known, again.turns, again.known) == (len(heard), 0, 0, len(heard))
    later = take(sessions, [*heard, *grown])
    assert (later.turns, later.known) == (len(grown), len(heard))
    wanted = Counter((one.conversation, one.text) for one in [*heard, *grown])
    talks = {name: Journal(sessions, name).meta()["conversation"] for name in kept(sessions)}
    assert Counter((talks[name], text) for name, texts in kept(sessions).items() for text in texts) == wanted


@pytest.mark.proves("N9")
@pytest.mark.proves("N26")
def test_another_branch_is_kept_apart_and_what_the_main_one_has_is_not_added_again(tmp_path: Path) -> None:
    """Older versions of aish put all branches of some tools into one journal, and the visible branch may change."""
    sessions = tmp_path / "sessions"
    first, other, third = said("no", ref="a"), said("yes", ref="b"), said("maybe", ref="c")
    take(sessions, [first, other])
    result = take(sessions, [first, other.aside(), third.aside()])

    assert (result.turns, result.known) == (1, 2)
    assert sorted(kept(sessions).values()) == [["maybe"], ["no", "yes"]]
    assert take(sessions, [first, other.aside(), third.aside()]).turns == 0
    titles = {Journal(sessions, name).meta()["title"] for name in kept(sessions)}
    assert titles == {"Birds", "Birds (other answers)"}


def test_a_turn_with_an_id_is_one_turn_whatever_it_says(tmp_path: Path) -> None:
    """It may occur twice in one file, in two files, or with other text in a later export."""
    sessions = tmp_path / "sessions"
    take(sessions, [said("a heron", ref="x"), said("a heron", ref="x"), said("a heron", ref="y")])
    take(sessions, [said("a heron, reworded", ref="x")])
    assert list(kept(sessions).values()) == [["a heron", "a heron"]]
    take(sessions, [said("a heron", ref="x")], source="another")
    assert sorted(map(len, kept(sessions).values())) == [1, 2]  # ids of another tool are separate


@pytest.mark.proves("N9")
def test_more_than_is_written_at_once_is_imported_once(tmp_path: Path) -> None:
    """A long conversation is written in pieces, and repeats across pieces are recognised."""
    sessions = tmp_path / "sessions"
    heard = [said("again and again", minute=None) for _ in range(5_100)]
    seen: list[int] = []
    Importer(sessions, "tool", redaction(sessions)).take(heard, lambda result: seen.append(result.turns))
    assert seen == [5_000, 5_100]
    assert take(sessions, heard).known == 5_100
    assert [len(texts) for texts in kept(sessions).values()] == [5_100]


@pytest.mark.proves("N9")
def test_secrets_are_masked_in_all_that_is_imported(tmp_path: Path) -> None:
    """A speaker's name, an id or a title may contain a secret, not only the text."""
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    talk, text, *rest = (f"{name} {secret}" for name in ("conversation", "text", "name", "ref", "channel", "title"))
    call = ToolCall(f"id {secret}", "run", f"arguments {secret}")
    sessions = tmp_path / "sessions"

    name, ref, channel, title = rest
    said = ImportedTurn(talk, THEN, "user", text, name, ref, channel, title, tool_calls=(call,), call_id=secret)
    take(sessions, [said])

    [name] = kept(sessions)
    assert secret not in (sessions / f"{name}.jsonl").read_text(encoding="utf-8")
    [entry] = Journal(sessions, name).entries()
    assert [value.split()[0] for value in (entry.turn.content, entry.meta["name"], entry.meta["ref"])] == [
        "text",
        "name",
        "ref",
    ]


CROWD = """
import os, signal, sys
from pathlib import Path
from test_importing import redaction, said
from aish.memory.importing import Importer

def heard(die):
    for number in range(int(sys.argv[2])):
        if number == die:
            os.kill(os.getpid(), signal.SIGKILL)
        yield said(f"turn {number}", talk=f"talk {number % 7}", ref=f"r{number}" if number % 2 else "", minute=number)

sessions = Path(sys.argv[1])
sys.stdin.readline()
Importer(sessions, "tool", redaction(sessions)).take(heard(int(sys.argv[3])))
"""


def crowd(sessions: Path, count: int, deaths: list[int]) -> list[int]:
    """Run importers of the same file in parallel, and kill some of them after a number of turns."""
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    members = [
        subprocess.Popen(
            [sys.executable, "-c", CROWD, str(sessions), str(count), str(death)],
            env={**os.environ, "PYTHONPATH": path},
            stdin=subprocess.PIPE,
        )
        for death in deaths
    ]
    for member in members:
        assert member.stdin
        member.stdin.write(b"go\n")
        member.stdin.flush()
    for member in members:
        member.communicate(timeout=60)
    return [member.returncode for member in members]


def test_what_one_file_has_twice_is_there_twice_however_much_stands_between(tmp_path: Path) -> None:
    """Many conversations may be interleaved, as in a log sorted by time."""
    sessions = tmp_path / "sessions"
    others = [said(f"heron {number}", talk=f"talk {number % 100}") for number in range(5_000)]
    for _ in range(2):
        take(sessions, [said("yes"), *others, said("yes")])
        assert Counter(text for texts in kept(sessions).values() for text in texts)["yes"] == 2


@pytest.mark.proves("N9")
def test_two_imports_at_once_are_one_import(tmp_path: Path) -> None:
    """This also holds if a third one is killed in the middle: the others complete its work."""
    sessions = tmp_path / "sessions"
    assert crowd(sessions, 5_100, [5_050, -1, -1]) == [-signal.SIGKILL, 0, 0]
    texts = [text for texts in kept(sessions).values() for text in texts]
    assert len(kept(sessions)) == 7
    assert len(texts) == len(set(texts)) == 5_100


@pytest.mark.proves("N9")
def test_a_dry_run_says_what_would_be_imported_and_writes_nothing(tmp_path: Path) -> None:
    """It does not even create a directory."""
    sessions = tmp_path / "sessions"
    heard: list[ImportedRecord] = [said("a heron"), said("an otter", talk="two"), Skipped("line 3", "it is cut")]
    result = take(sessions, heard, dry_run=True)
    assert (result.turns, len(result.conversations), dict(result.skipped)) == (2, 2, {"it is cut": 1})
    assert not sessions.exists()
    take(sessions, heard)
    before = {path.name: path.read_bytes() for path in sessions.iterdir()}
    assert take(sessions, [*heard, said("a badger")], dry_run=True).turns == 1
    assert {path.name: path.read_bytes() for path in sessions.iterdir()} == before


def test_secrets_are_masked_before_they_are_written_and_known_when_they_come_again(tmp_path: Path) -> None:
    """This holds for text and titles; the result lists the kinds."""
    sessions = tmp_path / "sessions"
    key = "ghp_" + "A1b2C3d4E5f6" * 3
    heard = [said(f"my token is {key}")._replace(title=f"about {key}")]
    assert dict(take(sessions, heard).masked) == {"GitHub token": 1}
    assert take(sessions, heard).known == 1
    assert key.encode() not in b"".join(path.read_bytes() for path in sessions.iterdir())


def test_who_does_not_tell_the_time_speaks_right_after_the_one_before(tmp_path: Path) -> None:
    """The turn is marked as undated, so that its time is not trusted."""
    sessions = tmp_path / "sessions"
    take(sessions, [said("first", minute=5), said("second", minute=None), said("third", minute=7)])
    [name] = kept(sessions)
    entries = list(Journal(sessions, name).entries())
    assert [(entry.time - THEN).seconds // 60 for entry in entries] == [5, 5, 7]
    assert [entry.meta.get("undated", False) for entry in entries] == [False, True, False]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(st.characters(exclude_categories=()), max_size=40), talk=st.text(max_size=10))
def test_any_text_and_any_id_are_imported_once(tmp_path: Path, text: str, talk: str) -> None:
    """This includes surrogates, control bytes and empty text."""
    sessions = tmp_path / os.urandom(6).hex() / "sessions"
    assert (
        take(sessions, [said(text, talk=talk, ref=text)]).turns,
        take(sessions, [said(text, talk=talk, ref=text)]).known,
    ) == (1, 1)


@pytest.mark.proves("N14")
def test_a_journal_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    """It must not be treated as a missing journal."""
    sessions = tmp_path / "sessions"
    take(sessions, [said("a heron")])
    [name] = kept(sessions)
    (sessions / f"{name}.jsonl").unlink()
    (sessions / f"{name}.jsonl").mkdir()
    with pytest.raises(StoreTrouble, match=f"cannot read .*{name}"):
        take(sessions, [said("a heron"), said("an otter")])
    sessions_file = tmp_path / "file"
    sessions_file.write_text("a file in its place", encoding="utf-8")
    with pytest.raises(StoreTrouble, match=f"cannot write in {sessions_file}"):
        take(sessions_file, [said("a heron")])


def test_a_conversation_that_was_deleted_is_imported_again_and_one_that_was_edited_is_not(tmp_path: Path) -> None:
    """The journal itself decides what was imported; there is no separate list."""
    sessions = tmp_path / "sessions"
    heard = [said("a heron", ref="x"), said("an otter", talk="two", ref="y")]
    take(sessions, heard)
    first, second = (sessions / f"{name}.jsonl" for name in sorted(kept(sessions)))
    first.unlink()
    lines = [json.loads(line) for line in second.read_text(encoding="utf-8").splitlines()]
    lines[1]["content"] = "in my own words"
    second.write_text("".join(json.dumps({**line, "crc": None}) + "\n" for line in lines), encoding="utf-8")
    assert (take(sessions, heard).turns, len(kept(sessions))) == (1, 2)
    assert ["in my own words"] in kept(sessions).values()


@pytest.mark.proves("M61", "N9")
def test_a_turn_without_an_id_is_known_after_a_purge_whatever_was_said_twice(tmp_path: Path) -> None:
    """A purge removes the phrase with its full stop, but a later import keeps the full stop."""
    sessions = tmp_path / "sessions"
    heard = [said("The kiln is hot. Wait!"), said("The kiln is hot. Wait!"), said("the kiln is hot? No", minute=1)]
    take(sessions, heard)
    eraser = Eraser(["The kiln is hot."], lambda _: "")
    assert [eraser.clean_file(path) for path in sessions.glob("*.jsonl")] == [True]
    once = kept(sessions)
    assert list(once.values()) == [["[purged] Wait!", "[purged] Wait!", "the kiln is hot? No"]]

    keys = redaction(sessions)
    again = Importer(sessions, "tool", keys, lambda: {keys.fingerprint("the kiln is hot")}).take(heard)

    assert (again.turns, again.known, kept(sessions)) == (0, 3, once)


@pytest.mark.proves("M61")
def test_a_purge_while_an_import_is_at_work_holds_for_the_rest_of_it(tmp_path: Path) -> None:
    """An import can take minutes; turns written after the purge do not have the phrase."""
    sessions = tmp_path / "sessions"
    keys, fingerprints = redaction(sessions), set[str]()

    def heard() -> Iterable[ImportedRecord]:
        yield from (said("a heron", minute=number) for number in range(5_000))
        fingerprints.add(keys.fingerprint("a heron"))
        yield said("a heron", minute=5_000)

    result = Importer(sessions, "tool", keys, lambda: fingerprints).take(heard())

    assert (result.turns, result.purged) == (5_001, 1)
    assert [texts[-1] for texts in kept(sessions).values()] == ["[purged]"]
