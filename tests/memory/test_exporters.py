"""Exports: the own format comes back exactly, and the others are what their programs accept."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aish.memory.conversations import Conversations
from aish.memory.exporters import FORMATS, TurnPeriod, find_talks
from aish.memory.fingerprint import fingerprint
from aish.memory.importers import read
from aish.memory.importers.fields import label
from aish.memory.importing import Imported, Importer
from aish.memory.journal import Journal
from aish.memory.redaction import Redaction
from aish.memory.secret_patterns import redact
from aish.values.imported import ImportedTurn
from aish.values.turns import SUMMARIZER_META, ToolCall, Turn

NOW = datetime(2026, 11, 15, 19, 9, 46, 123456, tzinfo=UTC)
FIRST, SECOND = "20261115-190946-aaaaaa", "20261115-190946-bbbbbb"
LS = ToolCall("c1", "ls", '{"path": "."}')


def redaction(sessions: Path) -> Redaction:
    return Redaction(sessions / "salt", lambda: SimpleNamespace(redact=redact, fingerprint=fingerprint))


def export(sessions: Path, format: str = "jsonl", channel: str = "", period: TurnPeriod | None = None) -> str:
    conversations = Conversations(sessions)
    talks = find_talks(conversations, conversations.ids(), period or TurnPeriod(), channel)
    return "".join(piece for talk in talks for piece in FORMATS[format].pieces(talk))


def bring(sessions: Path, text: str, format: str = "jsonl") -> Imported:
    """Import an export into a home."""
    sessions.mkdir(parents=True, exist_ok=True)
    file = sessions.parent / "export.jsonl"
    file.write_text(text, encoding="utf-8")
    return Importer(sessions, format, redaction(sessions)).take(read(format, file) if text else ())


def turns_of(sessions: Path) -> list[tuple[str, str]]:
    ids = sorted(Conversations(sessions).ids())
    return [(entry.turn.role, entry.turn.content) for id in ids for entry in Journal(sessions, id).entries()]


texts = st.text(max_size=30)
labels = texts.map(label)  # as all readers write names
calls = st.lists(st.builds(ToolCall, id=texts, name=texts, arguments=texts), max_size=2).map(tuple)
turns = st.builds(
    Turn,
    role=st.sampled_from(["user", "assistant", "tool"]),
    content=texts,
    tool_calls=calls,
    call_id=texts,
    state=st.sampled_from(["complete", "interrupted", "failed"]),
)
metas = st.fixed_dictionaries({}, optional={"model": texts, "meta": st.just(SUMMARIZER_META)})
own = st.lists(st.tuples(turns, st.integers(0, 5), metas), max_size=4)
imported = st.lists(
    st.builds(
        ImportedTurn,
        conversation=st.sampled_from(["one", "two", "drei – 3"]),
        time=st.one_of(st.none(), st.integers(0, 5).map(lambda minute: NOW + timedelta(minutes=minute))),
        role=st.sampled_from(["user", "assistant", "tool"]),
        text=texts,
        name=labels,
        ref=labels,
        channel=labels,
        title=labels,
        source=st.just(""),
        tool_calls=st.just(()),
        call_id=st.just(""),
        state=st.just("complete"),
    ),
    max_size=6,
)


@settings(deadline=None, max_examples=20)
@given(own, own, imported, imported)
def test_what_was_exported_comes_back_exactly(
    first: list[Any], second: list[Any], llm: list[ImportedTurn], codex: list[ImportedTurn]
) -> None:
    """Own and imported conversations, with whatever text: exported elsewhere again, every byte is the same."""
    with TemporaryDirectory() as directory:
        here, there = Path(directory) / "here", Path(directory) / "there"
        here.mkdir()
        for name, said in ((FIRST, first), (SECOND, second)):
            journal = Journal(here, name, {"channel": "notes-a1", "cwd": "/work/notes"}, redaction(here))
            journal.extend((turn, NOW + timedelta(minutes=minute), meta) for turn, minute, meta in said)
        for source, heard in (("llm", llm), ("codex", codex)):
            Importer(here, source, redaction(here)).take(heard)
        Conversations(here).save(SECOND, "otters\u00e9")

        exported = export(here)
        bring(there, exported)

        assert export(there) == exported
        assert bring(there, exported).turns == 0, "a second import adds nothing"
        assert bring(here, exported).turns == 0, "they are here already"


def say(sessions: Path, name: str = FIRST, **meta: str) -> Journal:
    """Write a conversation with a tool call, a secret and an unfinished answer."""
    journal = Journal(sessions, name, meta, redaction(sessions))
    journal.extend(
        [
            (Turn("user", "why? gh" + "p_" + "Zq3Lw8Rt5Yp2" * 3), NOW, {}),
            (Turn("assistant", "I look.", (LS, ToolCall("c2", "pwd"))), NOW, {"model": "otter (local)"}),
            (Turn("tool", "a b", call_id="c1"), NOW, {}),
            (Turn("assistant", "because\n- of *light*"), NOW, {"model": "otter (local)"}),
            (Turn("assistant", "half an", state="interrupted"), NOW + timedelta(days=1), {}),
        ]
    )
    return journal


def test_a_page_reads_like_a_conversation_and_shows_no_secret(tmp_path: Path) -> None:
    """It shows the speaker, the time, and whether the answer is complete."""
    say(tmp_path, title="The sky")
    page = export(tmp_path, "markdown")
    assert page.startswith("# The sky\n\n## you · 2026-11-15 19:09\n\nwhy? [masked ")
    assert page.endswith(
        "\n## otter · 2026-11-15 19:09\n\nI look.\n"
        '\n`ls({"path": "."})`\n'
        "\n`pwd()`\n"
        "\n## tool · 2026-11-15 19:09\n\na b\n"
        "\n## otter · 2026-11-15 19:09\n\nbecause\n- of *light*\n"
        "\n## aish · 2026-11-16 19:09, interrupted\n\nhalf an\n"
    )


def test_messages_of_openai_have_a_result_for_each_call_and_a_call_for_each_result(tmp_path: Path) -> None:
    """An API refuses anything else, such as calls that were never answered, or results of calls that are only text."""
    say(tmp_path)
    heard = [
        ImportedTurn("one", NOW, role, text, name)  # type: ignore[arg-type]  # a list of literals
        for role, text, name in (
            ("user", "list it", ""),
            ("assistant", "[thinking] which?", "thinking"),
            ("assistant", "So:\n[Bash] ls -l\ndescription: list it\n[Bash] pwd", ""),
            ("tool", "total 0", "Bash"),
            ("tool", "/work", "Bash"),
            ("user", "and now?", ""),
            ("tool", "nothing called me", "Read"),
        )
    ]
    Importer(tmp_path, "tool", redaction(tmp_path)).take(heard)
    own_talk, other = (json.loads(line)["messages"] for line in sorted(export(tmp_path, "openai").splitlines())[::-1])
    for messages in (own_talk, other):
        assert list(unanswered(messages)) == []
    assert [message["role"] for message in own_talk] == "user assistant tool tool assistant assistant".split()
    assert own_talk[1]["tool_calls"][0] == {
        "id": "c1",
        "type": "function",
        "function": {"name": "ls", "arguments": '{"path": "."}'},
    }
    assert [call["function"]["arguments"] for call in other[1]["tool_calls"]] == [
        '{"command": "ls -l", "description": "list it"}',
        '{"command": "pwd"}',
    ]
    assert (other[1]["content"], other[5]["tool_calls"][0]["function"]["name"]) == ("So:", "Read")


def unanswered(messages: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the ids of calls and results that do not fit together, as an API would refuse them."""
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            if message["tool_call_id"] in waiting:
                waiting.remove(message["tool_call_id"])
            else:
                yield message["tool_call_id"]
        else:
            yield from waiting
            waiting = [call["id"] for call in message.get("tool_calls", [])]
    yield from waiting


def test_a_session_of_claude_code_comes_back_with_its_calls_and_title(tmp_path: Path) -> None:
    """What our reader understands of it is what was said; the ids are the same in every export."""
    say(tmp_path / "here", title="The sky", cwd="/work/birds")
    exported = export(tmp_path / "here", "claude-code")
    assert exported == export(tmp_path / "here", "claude-code")

    bring(tmp_path / "there", exported, "claude-code")

    [id] = Conversations(tmp_path / "there").ids()
    meta = Journal(tmp_path / "there", id).meta()
    assert (meta["title"], meta["channel"]) == ("The sky", "birds")
    [asked, *rest] = turns_of(tmp_path / "there")
    assert asked[1].startswith("why? [masked ")
    assert rest == [
        ("assistant", 'I look.\n[ls] {"path": "."}\n[pwd] {}'),
        ("tool", "a b"),
        ("assistant", "because\n- of *light*"),
        ("assistant", "half an"),
    ]
    again = export(tmp_path / "there", "claude-code")
    bring(tmp_path / "last", again, "claude-code")
    assert turns_of(tmp_path / "last") == [asked, *rest], "also after it became text"


@pytest.mark.parametrize(
    ("channel", "since", "until", "said"),
    [
        ("notes", None, None, 5),
        ("other", None, None, 0),
        ("", NOW + timedelta(hours=1), None, 1),
        ("", None, NOW + timedelta(hours=1), 4),
        ("", NOW, NOW, 0),
    ],
)
def test_an_export_can_be_limited_to_a_channel_and_a_time(
    tmp_path: Path, channel: str, since: datetime | None, until: datetime | None, said: int
) -> None:
    """A turn without a time is in no period, because nobody knows."""
    say(tmp_path, channel="notes-a1")
    Importer(tmp_path, "tool", redaction(tmp_path)).take([ImportedTurn("one", None, "user", "sometime")])
    exported = export(tmp_path, channel=channel, period=TurnPeriod(since, until))
    assert len(exported.splitlines()) == said
