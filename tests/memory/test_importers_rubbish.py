"""Damaged, unusual and hostile files: the result is turns or reasons, never a crash."""

import io
import json
import sqlite3
import time
import tracemalloc
import zipfile
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aish.memory.importers import FORMATS, read, sniff, sort_files
from aish.memory.importers.block_yaml import block_lists
from aish.memory.importers.fields import Oddities, Refs, label, last_part, moment, text_of
from aish.memory.importers.files import MOST, lines
from aish.memory.importers.json_walk import UNREADABLE, CutOff, JsonWalk
from aish.values.errors import BadUsage, StoreTrouble
from aish.values.imported import ImportedTurn, Skipped

# One good record of every format, in a file as its tool would write it.
CHATGPT: Any = [
    {
        "title": "t",
        "mapping": {
            "a": {
                "parent": None,
                "message": {
                    "id": "a",
                    "author": {"role": "user", "name": None},
                    "create_time": 1.7e9,
                    "content": {"content_type": "text", "parts": ["hi", {"content_type": "image_asset_pointer"}]},
                    "metadata": {},
                    "recipient": "all",
                },
            }
        },
        "current_node": "a",
        "conversation_id": "c",
    }
]
BLOCKS: Any = [
    {"type": "text", "text": "hi"},
    {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": ["ls"]}},
    {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "out"}]},
]
CLAUDE: Any = [
    {
        "uuid": "c",
        "name": "n",
        "created_at": "2026-01-01T00:00:00Z",
        "project": {"name": "p"},
        "chat_messages": [
            {"uuid": "m", "sender": "human", "content": BLOCKS, "attachments": [{"file_name": "f"}], "files": [{}]},
            {"uuid": "n", "sender": "human", "text": "hi", "content": [], "parent_message_uuid": "x"},
        ],
        "current_leaf_message_uuid": "m",
    }
]
LINE: Any = {"type": "user", "sessionId": "s", "uuid": "u", "timestamp": "2026-01-01", "cwd": "/a", "isSidechain": True}
LINE |= {"message": {"role": "user", "content": BLOCKS}}
ITEM: Any = {"type": "response_item", "timestamp": "2026-01-01", "payload": {"type": "message", "role": "user"}}
ITEM["payload"] |= {"content": [{"type": "input_text", "text": "hi"}], "call_id": "c", "output": {"content": "x"}}
OWN: Any = {"conversation": "c", "role": "user", "text": "hi", "time": 1.7e9, "name": "n", "ref": "r"}
CHAT: Any = [{"role": "user", "content": "hi", "tool_calls": [{"function": {"name": "n", "arguments": "{}"}}]}]
CALL: Any = {
    "id": "c",
    "name": "run",
    "args": {"command": "ls"},
    "result": [{"functionResponse": {"response": {"o": "x"}}}],
}
GEMINI: Any = {"sessionId": "s", "projectHash": "h", "startTime": "2026-01-01T00:00:00Z", "directories": ["/a"]}
GEMINI["messages"] = [{"id": "1", "type": "gemini", "content": [{"text": "hi"}], "thoughts": [{"subject": "t"}]}]
GEMINI["messages"][0]["toolCalls"] = [CALL]
GEMINI |= {"$rewindTo": "1"}
STATE: Any = {"status": "completed", "input": {"command": "ls"}, "output": "x"}
OPENCODE: Any = {"info": {"id": "ses_1", "version": "1", "projectID": "p", "title": "t", "time": {"created": 1.7e12}}}
OPENCODE["info"]["revert"] = {"messageID": "m", "partID": ""}
OPENCODE["messages"] = [{"info": {"id": "m", "role": "user"}, "parts": [{"type": "text", "text": "hi"}]}]
OPENCODE["messages"][0]["parts"] += [
    {"type": "tool", "tool": "bash", "state": STATE},
    {"type": "reasoning", "text": "t"},
]
GOOSE: Any = {"id": "m", "role": "assistant", "created": 1.7e9, "content": [{"type": "text", "text": "hi"}]}
GOOSE["content"] += [{"type": "toolRequest", "id": "t", "toolCall": {"status": "success", "value": {"name": "n"}}}]
GOOSE["content"] += [{"type": "toolResponse", "id": "t", "toolResult": {"value": {"content": [{"text": "x"}]}}}]
FOLD = '<details type="tool_calls" name="n" arguments="{}" result="x"><summary>s</summary></details>'
WEBUI: Any = [{"id": "w", "title": "t", "chat": {"history": {"currentId": "a", "messages": {}}, "title": "t"}}]
WEBUI[0]["chat"]["history"]["messages"] = {"a": {"role": "assistant", "parentId": None, "content": f"hi{FOLD}"}}
STEPS: Any = [{"type": "reasoning", "content": [{"type": "output_text", "text": "t"}], "summary": None}]
STEPS += [{"type": "function_call", "call_id": "c", "name": "n", "arguments": "{}"}]
STEPS += [{"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "x"}]}]
STEPS += [{"type": "open_webui:code_interpreter", "code": "1", "output": {"result": "1"}}]
WEBUI[0]["chat"]["history"]["messages"]["b"] = {"role": "assistant", "parentId": "x", "content": "", "output": STEPS}
LIBRE: Any = {"conversationId": "c", "title": "t", "exportAt": "x", "messages": [{"messageId": "m", "children": []}]}
LIBRE["messages"][0]["children"] = [{"messageId": "n", "parentMessageId": "m", "text": "hi", "children": []}]
LIBRE["messages"][0] |= {"content": [{"type": "text", "text": {"value": "hi"}}, {"type": "think", "think": "t"}]}
CURSOR: Any = {"role": "assistant", "message": {"content": BLOCKS}}
GOOD: dict[str, tuple[str, Any]] = {
    "gemini": ("session-1.json", GEMINI),
    "opencode": ("ses_1.json", OPENCODE),
    "goose": ("1.jsonl", GOOSE),
    "open-webui": ("chat-export.json", WEBUI),
    "librechat": ("chat.json", LIBRE),
    "cursor": ("c.jsonl", CURSOR),
    "codex-history": ("history.jsonl", {"session_id": "s", "ts": 1.7e9, "text": "hi"}),
    "claude-history": ("history.jsonl", {"display": "hi", "timestamp": 1.7e12, "project": "/a", "pastedContents": {}}),
    "chatgpt": ("conversations.json", CHATGPT),
    "claude": ("conversations.json", CLAUDE),
    "claude-code": ("s.jsonl", LINE),
    "codex": ("rollout-1.jsonl", ITEM),
    "jsonl": ("a.jsonl", OWN),
    "shell-gpt": ("chat", CHAT),
}
NOTHING: tuple[object, ...] = (None, True, 0, -5, 1e99, float("nan"), "", "soon", "nan", [], 10**400)
TEXTS = {
    "aider": "# aider chat started at 2026-01-01 00:00:00\n\n#### hi  \n#### you  \n\n> Aider v1  \n\nHello.\n",
    "specstory": "<!-- Generated by SpecStory -->\n_**User**_\nhi\n---\n_**Agent (m 2026-01-01)**_\n<think>t</think>",
    "aichat": "model: m\nmessages:\n- role: user\n  content:\n  - type: text\n    text: |-\n      hi\n- role: x\n",
    "shell-history": ": 1700000000:0;ls\\\nmore\n#1700000000\n- cmd: a\n  when: 5\n",
}


def heard(format: str, path: Path) -> list[ImportedTurn | Skipped]:
    """Return all records; the two allowed exceptions count as no records."""
    try:
        found = list(read(format, path))
    except (BadUsage, StoreTrouble):
        return []
    for each in found:
        assert isinstance(each, ImportedTurn | Skipped)
        if isinstance(each, ImportedTurn):
            assert each.text.strip() and each.conversation
            assert each.time is None or each.time.tzinfo is UTC
            "".join(filter(None, (each.text, each.name, each.ref, each.channel, each.title))).encode()
    return found


def strange() -> st.SearchStrategy[Any]:
    leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just("\ud800\x00")
    return st.recursive(
        leaves | st.sampled_from([1e99, -1, 10**400, "9999-12-31T23:59:59-12:00", "1e99", ""]),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
        max_leaves=4,
    )


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Return the paths of all values inside a value."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        yield from places(each, (*path, key))


def changed(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = changed(copy[path[0]], path[1:], new)
    return copy


@pytest.mark.parametrize("format", GOOD)
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_any_value_in_any_place_is_borne(format: str, data: st.DataObject) -> None:
    """The next version of a tool may have fields of other types."""
    name, good = GOOD[format]
    place = data.draw(st.sampled_from(list(places(good))))
    bad = changed(good, place, data.draw(strange()))
    with TemporaryDirectory() as directory:
        path = Path(directory) / name
        path.write_text(f"{json.dumps(bad)}\n{json.dumps(good)}\n", encoding="utf-8")
        heard(format, path)


def tree_of(format: str, links: list[int | None]) -> Any:
    """Return a conversation in which each message says its number, and answers the message that is linked."""
    ids = [f"m{number}" for number in range(len(links))]
    parents = [None if link is None else f"m{link}" for link in links]
    rows = list(zip(ids, parents, strict=True))
    if format == "chatgpt":
        said: dict[str, Any] = {"author": {"role": "user"}, "metadata": {}, "create_time": 1.7e9}
        nodes: dict[str, Any] = {
            id: {"parent": parent, "message": said | {"id": id, "content": {"parts": [id]}}} for id, parent in rows
        }
        return [{"conversation_id": "c", "mapping": nodes, "current_node": ids[-1]}]
    if format == "claude":
        letters: list[Any] = [
            {"uuid": id, "sender": "human", "text": id, "content": [], "parent_message_uuid": parent}
            for id, parent in rows
        ]
        return [{"uuid": "c", "chat_messages": letters}]
    if format == "open-webui":
        said = {"role": "user"}
        nodes = {id: said | {"content": id, "parentId": parent} for id, parent in rows}
        return [{"id": "c", "chat": {"history": {"messages": nodes, "currentId": ids[0]}}}]
    flat = [{"messageId": id, "parentMessageId": parent, "text": id} for id, parent in rows]
    return {"conversationId": "c", "exportAt": "x", "messages": flat}


@pytest.mark.proves("N26")
@pytest.mark.parametrize("format", ["chatgpt", "claude", "open-webui", "librechat"])
@settings(max_examples=50, deadline=None)
@given(links=st.lists(st.none() | st.integers(0, 9), min_size=1, max_size=9))
def test_every_message_of_any_tree_comes_once(format: str, links: list[int | None]) -> None:
    """This includes rings, parents that do not exist, and messages that answer themselves."""
    with TemporaryDirectory() as directory:
        path = Path(directory) / "conversations.json"
        path.write_text(json.dumps(tree_of(format, links)), encoding="utf-8")
        found = [each for each in read(format, path) if isinstance(each, ImportedTurn)]
    assert sorted(each.text for each in found) == [f"m{number}" for number in range(len(links))]
    assert {each.conversation for each in found} <= {"c", "c/other answers"}


@pytest.mark.parametrize("format", [*GOOD, *TEXTS])
def test_a_file_cut_anywhere_is_borne(format: str, tmp_path: Path) -> None:
    """So is a wrong byte in the same place."""
    name, good = GOOD.get(format, ("x.yaml" if format == "aichat" else "x_history", None))
    whole = (TEXTS.get(format) or json.dumps(good)).encode()
    assert any(isinstance(each, ImportedTurn) for each in heard(format, write(tmp_path / name, whole)))
    for place in range(0, len(whole), 7):
        heard(format, write(tmp_path / name, whole[:place]))
        heard(format, write(tmp_path / name, whole[:place] + b"\xff" + whole[place + 1 :]))


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("format", FORMATS)
@settings(max_examples=15, deadline=None)
@given(
    st.binary(max_size=200), st.sampled_from([b"", b"[", b"{", b"- ", b"# CHAT: ", b"PK\x03\x04", b"SQLite format 3\0"])
)
def test_any_bytes_are_borne(format: str, data: bytes, start: bytes) -> None:
    """This is tried with every file name that a tool uses."""
    for name in ("conversations.json", "a.jsonl", "logs.db", "x.yaml", "messages.md", ".zsh_history"):
        with TemporaryDirectory() as directory:
            heard(format, write(Path(directory) / name, start + data))


def test_a_log_with_other_columns_and_types_is_borne(tmp_path: Path) -> None:
    """SQLite allows any type for any value."""
    path = tmp_path / "logs.db"
    with closing(sqlite3.connect(path)) as base:
        base.execute("create table conversations (id, name)")
        base.execute("create table responses (id, prompt, response, conversation_id, datetime_utc)")
        rows = [(b"\xff", 1, 2.5, None, b"x"), (None, "a", "b", "c", "d"), (7, "q", b"\xff", 1e300, 10**18)]
        base.executemany("insert into responses values (?, ?, ?, ?, ?)", rows)
        base.execute("create table threads (id)")
        base.commit()

    assert [each.text for each in heard("llm", path) if isinstance(each, ImportedTurn)] == ["q"]


def test_a_log_whose_columns_hide_the_numbers_of_rows_ends(tmp_path: Path) -> None:
    """Rows are read from one number to the next; these all have the same."""
    path = tmp_path / "logs.db"
    with closing(sqlite3.connect(path)) as base:
        base.execute("create table conversations (id, name)")
        base.execute("create table responses (id, prompt, response, conversation_id, place, rowid)")
        base.executemany("insert into responses values (?, 'q', 'a', 'c', -5, 'z')", [(one,) for one in range(3)])
        base.commit()

    with pytest.raises(StoreTrouble, match="the rows of responses have no numbers"):
        list(read("llm", path))


@pytest.mark.parametrize("data", [b"[" * 30_000, b" " * 20_000, b'[{"a":' * 9_000])
def test_the_format_of_nothing_but_beginnings_is_unknown_at_once(data: bytes, tmp_path: Path) -> None:
    """Deep lists ended in a traceback, and blanks took seconds."""
    started = time.process_time()
    assert sniff(write(tmp_path / "x.json", data)) == ""
    assert time.process_time() - started < 1


@pytest.mark.parametrize("format", GOOD)
def test_a_file_is_known_by_what_is_in_it(format: str, tmp_path: Path) -> None:
    """The user need not name the format, also for a zip file, a directory, or another name."""
    name, good = GOOD[format]
    path = write(tmp_path / name, b"\xef\xbb\xbf" + json.dumps(good).encode())
    assert sniff(path) == sniff(path.rename(tmp_path / "letter.txt")) == format
    assert sort_files(tmp_path).formats == {format: [tmp_path / "letter.txt"]}
    if name == "conversations.json":
        with zipfile.ZipFile(tmp_path / "export.zip", "w") as archive:
            archive.write(tmp_path / "letter.txt", "data/conversations.json")
        assert sniff(tmp_path / "export.zip") == format


@pytest.mark.parametrize(
    ("name", "data", "format"),
    [
        ("messages.md", b"# CHAT: hi [2026-01-01T00:00:00Z]\nhi\n", "aichat"),
        ("a.yaml", b"model: m\ntop_p: 1\nmessages:\n- role: user\n", "aichat"),
        ("h", b": 1700000000:0;ls\n", "shell-history"),
        ("h", b"- cmd: ls\n  when: 1\n", "shell-history"),
        ("h", b"#1700000000\nls\n", "shell-history"),
        (".bash_history", b"ls\n", "shell-history"),
        (
            "rollout.jsonl",
            b'{"timestamp":"t","type":"session_meta","payload":{"instructions":"' + b"x" * 99_999,
            "codex",
        ),
        ("s.jsonl", b'{"parentUuid":null,"sessionId":"s","type":"user","message":"' + b"x" * 99_999, "claude-code"),
        ("a.json", b'[{"mapping": {"a": {"message": {"metadata": {"chat_messages": []}}}}}]', "chatgpt"),
        ("s.jsonl", b'{"type": "mode", "mode": "x", "sessionId": "s"}\n', "claude-code"),
        ("s.jsonl", b'{"type": "user", "sessionId": "s", "messageId": 0, "message": "hi"}\n', ""),
        ("s.jsonl", b'{"type": "user", "payload": {}}\n', ""),
        ("a.json", b'{"title": "x", "mapping": {"a": "b"}}', ""),
        ("notes.txt", b"\n# aider chat started at 2026-01-01 00:00:00\n", "aider"),
        ("a.md", b"## SpecStory\n\n## Title (2025/1/10 14:27:19)\n\n_**User**_\n", "specstory"),
        ("a.txt", b"user:\n<user_query>\nhi\n</user_query>\n", "cursor"),
        (
            "logs.json",
            b'[\n  {\n    "sessionId": "s",\n    "messageId": 0,\n    "type": "user",\n    "message": "h',
            "gemini",
        ),
        ("c.json", b'[{"role": "user", "parts": [{"text": "hi"}]}]', "gemini"),
        ("c.json", b'{"history": [{"role": "user", "parts": [{"text": "hi"}]}]}', "gemini"),
        ("letter.txt", b"Dear Ada,\n", ""),
        ("a.json", b'{"a": 1}', ""),
        ("a.history", b'{"a": 1}\n', ""),
        ("a.history", b"\x00\x01ls", ""),
        (".aider.input.history", b"\n# 2026-01-01 00:00:00.123456\n+hi\n", ""),
        ("empty", b"", ""),
        (".zsh_history", b"", ""),
    ],
)
def test_the_beginning_of_a_file_tells_its_format(name: str, data: bytes, format: str, tmp_path: Path) -> None:
    """If the format is not certain, the result is empty; a long first line is no problem."""
    assert sniff(write(tmp_path / name, data)) == format


def test_the_wrong_format_is_refused_with_the_right_one(tmp_path: Path) -> None:
    """Both exports are named conversations.json, so users will confuse them."""
    path = write(tmp_path / "conversations.json", json.dumps(CLAUDE).encode())

    with pytest.raises(BadUsage, match="looks like claude; try --format claude"):
        list(read("chatgpt", path))
    with pytest.raises(BadUsage, match="found nothing with the format codex"):
        list(read("codex", write(tmp_path / "letter", b"Dear Ada,\n")))
    with pytest.raises(BadUsage, match="use one of: jsonl, chatgpt"):
        list(read("icq", path))
    assert list(read("codex", write(tmp_path / "empty", b""))) == []


def test_what_cannot_be_read_is_trouble_and_among_others_is_skipped(tmp_path: Path) -> None:
    """For example, a dangling link, or a directory instead of a file."""
    for name in ("none.jsonl", "x" * 300, "a\0b"):
        with pytest.raises(StoreTrouble, match="cannot read"):
            list(read("jsonl", tmp_path / name))
        with pytest.raises(StoreTrouble, match="cannot read"):
            sniff(tmp_path / name)
    (tmp_path / "loop.jsonl").symlink_to(tmp_path / "loop.jsonl")
    (tmp_path / "folder.jsonl").mkdir()
    write(tmp_path / "good.jsonl", json.dumps(OWN).encode())

    assert [type(each) for each in heard("jsonl", tmp_path)] == [ImportedTurn]


def test_a_log_that_is_no_database_is_trouble(tmp_path: Path) -> None:
    """SQLite notices it only when it reads."""
    with pytest.raises((StoreTrouble, BadUsage)):
        list(read("llm", write(tmp_path / "logs.db", b"SQLite format 3\0" + b"\0" * 5000)))


def walk(text: bytes, most: int = 1000, step: int = 3) -> JsonWalk:
    """Return a walk over text in small pieces, so that every value is split somewhere."""
    file = io.BytesIO(text)
    return JsonWalk(lambda size: file.read(step), most)


@settings(max_examples=150, deadline=None)
@given(strange(), st.integers(1, 9))
def test_a_walk_finds_what_json_says(value: Any, step: int) -> None:
    """This holds for any split of the text, and any choice of values to read or skip."""
    text = json.dumps([value, {"a": value, "b": [value]}, value], indent=1).encode()
    steps, found = walk(b"\xef\xbb\xbf" + text, 10_000, step), []

    for number, _ in enumerate(steps.elements()):
        if number == 1:
            for name in steps.members():
                assert name in "ab"
                found += [steps.value()] if name == "b" else []
        elif number == 2:
            found.append(steps.value())

    assert repr(found) == repr([[json.loads(json.dumps(value))], json.loads(json.dumps(value))])
    assert steps.peek() == b""


@pytest.mark.parametrize(
    "long",
    ['"' + 'x\\\\\\"]}' * 40 + '"', "[" * 60 + "]" * 60, '[1, "' + "{" * 200 + '", {}]', '["a' + " " * 200 + '"]'],
)
def test_a_value_that_is_too_long_is_passed_as_a_whole(long: str) -> None:
    """Brackets inside its strings do not count, and it is not kept in memory."""
    steps = walk(f'[{long}, "next"]'.encode(), 100)

    assert [steps.value() for _ in steps.elements()] == [UNREADABLE, "next"]


@pytest.mark.parametrize(
    "text", [b"", b"[", b'["a', b'["a\\', b"[1 2]", b'[{"a" 1}]', b"[{1:2", b"{]", b"[}", b'[tru"', b"[" * 500]
)
def test_a_text_that_is_no_json_cuts_the_walk(text: bytes) -> None:
    """The same exception is raised wherever it happens."""
    steps = walk(text)
    with pytest.raises(CutOff):
        for _ in steps.elements():
            for _ in steps.members() if steps.peek() == b"{" else ():
                pass


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.text(st.sampled_from("ab :-#'\"\\|>\n\té{}[],&*!"), min_size=1, max_size=12), min_size=1, max_size=4)
)
def test_texts_in_the_three_forms_of_yaml_come_back(texts: list[str]) -> None:
    """The forms are literal, if the lines allow it, and two kinds of quotes."""
    text = "messages:\n"
    for each in texts:
        single = each.replace("'", "''") if "\n" not in each else "x"
        body = "".join(f"\n    {line}" for line in each.split("\n"))
        text += f"- double: {json.dumps(each)}\n  single: '{single}'\n  literal: |2-{body}\n".replace("|2-", "|2+")
    items = list(block_lists(text.split("\n")[:-1], ("messages",), 10_000, Oddities()))

    assert [item["double"] for item in items] == texts
    assert [item["single"] for item in items] == [each if "\n" not in each else "x" for each in texts]
    assert [item["literal"] for item in items] == texts


@pytest.mark.parametrize(
    ("value", "time"),
    [
        (1_700_000_000, datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)),
        ("1700000000", datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)),
        (1_700_000_000_500, datetime(2023, 11, 14, 22, 13, 20, 500000, tzinfo=UTC)),
        (1_700_000_000_500_000, datetime(2023, 11, 14, 22, 13, 20, 500000, tzinfo=UTC)),
        ("2023-11-14T23:13:20+01:00", datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)),
        ("2023-11-14 22:13:20", datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)),
        *((nothing, None) for nothing in NOTHING),
        ("0001-01-01T00:00:00+14:00", None),
    ],
)
def test_a_time_is_a_moment_in_utc_or_nothing(value: object, time: datetime | None) -> None:
    """Seconds, milliseconds, microseconds and ISO texts are all in use."""
    assert moment(value) == time


def test_names_are_short_and_texts_are_clean() -> None:
    """They are shown on a terminal and stored as UTF-8."""
    assert last_part("/home/ada/code/") == last_part("C:\\code\\ada\\code") == "code"
    assert last_part("/") == last_part(None) == label(True) == label({}) == ""
    assert label("a\n b\x1b") == "a b␛"
    assert (len(label("x" * 999)), label(12)) == (200, "12")
    assert text_of(" a\r\nb\x00\ud800\n") == "a\nb␀�"


def test_repeats_and_oddities_take_bounded_room() -> None:
    """A damaged file may have as many kinds as lines."""
    odd, refs = Oddities(), Refs()
    for number in range(1000):
        odd.add("a line with unknown type", str(number))
    told = list(odd.told("file"))

    assert len(told) == 21
    assert told[-1] == Skipped("file", "other oddities", 980)
    assert refs.name("a") != refs.name("a") != refs.name("b")


def test_a_line_without_end_is_passed(tmp_path: Path) -> None:
    """Memory is limited for each line, not only for the file."""
    odd = Oddities()
    file = io.BytesIO(b"a\n" + b"x" * (MOST + 5) + b"\nb\n")

    assert [line.data for line in lines(file, odd)] == [b"a", b"b"]
    assert [each.why for each in odd.told("f")] == ["a line that is too long"]


def weighed(format: str, path: Path) -> tuple[int, int]:
    """Return the number of turns and the peak memory in bytes."""
    tracemalloc.start()
    count = sum(isinstance(each, ImportedTurn) for each in read(format, path))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return count, peak


@pytest.mark.parametrize("part", ["[]", "{}", '{"type":"text"}'])
def test_a_line_of_countless_parts_is_left_out(tmp_path: Path, part: str) -> None:
    """Each empty list takes thirty times its two bytes in memory, and a reason that it is unknown."""
    good = {"type": "user", "sessionId": "s", "uuid": "u", "message": {"role": "user", "content": "[{" * 600_000}}
    bad = '{"type":"user","sessionId":"s","uuid":"v","message":{"role":"user","content":[' + ",".join([part] * 400_000)
    path = tmp_path / "s.jsonl"
    path.write_text(f"{json.dumps(good)}\n{bad}]}}}}\n", encoding="utf-8")
    tracemalloc.start()
    found = list(read("claude-code", path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [type(one) for one in found] == [ImportedTurn, Skipped]  # brackets in a text are text
    assert found[1] == Skipped("s.jsonl", "a line that is not a complete JSON object", 1)
    assert peak < 40_000_000


def test_a_long_log_is_read_a_few_rows_at_a_time(tmp_path: Path) -> None:
    """A list of all rows would hold the whole file in memory."""
    path = tmp_path / "logs.db"
    with closing(sqlite3.connect(path)) as base:
        base.execute("create table conversations (id, name)")
        base.execute("create table responses (id, prompt, response, conversation_id, datetime_utc)")
        rows = ((str(number), "q", "x" * 5000, "c", None) for number in range(2000))
        base.executemany("insert into responses values (?, ?, ?, ?, ?)", rows)
        base.commit()

    count, peak = weighed("llm", path)

    assert count == 4000
    assert peak < 3_000_000 < path.stat().st_size / 3


def test_a_long_message_in_yaml_is_not_held() -> None:
    """The next message is still read."""
    odd = Oddities()
    tracemalloc.start()
    long = chain(["messages:", "- role: user"], (f"  {'x' * 1000}" for _ in range(3000)), ["- good"])
    items = list(block_lists(long, ("messages",), 100_000, odd))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert items == ["good"]
    assert [each.why for each in odd.told("f")] == ["a message that is too long"]
    assert peak < 1_000_000


def test_a_long_conversation_takes_no_more_memory_than_a_short_one(tmp_path: Path) -> None:
    """ChatGPT's tree can be followed only from its end, so its turns must be stored first."""
    path = tmp_path / "conversations.json"
    with path.open("w", encoding="utf-8") as file:
        file.write('[{"mapping":{')
        for number in range(5000):
            turn = {"author": {"role": "user"}, "content": {"parts": [f"{number} " + "x" * 2000]}}
            file.write(f'{"," if number else ""}"{number}":{json.dumps({"parent": str(number - 1), "message": turn})}')
        file.write('},"current_node":"4999","id":"c"}]')

    count, peak = weighed("chatgpt", path)

    assert count == 5000
    assert peak < 3_000_000 < path.stat().st_size / 3


@pytest.mark.parametrize(
    ("format", "trap"),
    [
        ("codex", "<user_shell_command><command>" + " " * 3_000 + "x"),
        ("chatgpt", "\ue200a\ue202" * 50_000),
        ("claude-code", "<command-name>" * 50_000),
        ("open-webui", '<details type="reasoning"' * 50_000),
        ("open-webui", '<details type="reasoning">' + "a" * 500_000),
        ("specstory", "_**Agent**_\n" + "<think>" * 50_000 + "\n---" * 50_000 + "x"),
        ("aider", "# aider chat started at 2026-01-01 00:00:00\n" + "#### a  \n\n" * 30_000),
        ("aichat", "# CHAT: " + "[2026-01-01T00:00:00] (#" * 8_000),
    ],
)
def test_a_text_that_looks_like_many_beginnings_takes_no_longer(tmp_path: Path, format: str, trap: str) -> None:
    """An export may contain hostile text, and one turn must not delay an import for hours."""
    name, record = GOOD.get(format, ("messages.md", None))
    path = tmp_path / name
    path.write_text(json.dumps(record).replace('"hi"', json.dumps(trap)) if record else trap, encoding="utf-8")
    began = time.process_time()
    assert heard(format, path)
    assert time.process_time() - began < 2


def test_what_cannot_be_read_as_it_is_says_what_to_do(tmp_path: Path) -> None:
    """PowerShell writes UTF-16, and a database copied from a full disk has only its beginning."""
    log = json.dumps([{"sessionId": "g1", "messageId": 0, "type": "user", "message": "hi"}])
    wide, other, base = (tmp_path / name for name in ("wide.json", "other.txt", "base.db"))
    wide.write_text(log, encoding="utf-16")
    other.write_text("nothing of ours", encoding="utf-16")
    with closing(sqlite3.connect(base)) as whole:
        whole.executescript("create table session (id); create table message (id); create table part (id);")
    base.write_bytes(base.read_bytes()[:5_000])

    with pytest.raises(StoreTrouble, match=r"it is UTF-16; run `iconv -f UTF-16 -t UTF-8 FILE > NEW` and import NEW"):
        sniff(wide)
    with pytest.raises(StoreTrouble, match=r"malformed; it may be incomplete; copy it again"):
        sniff(base)
    found = sort_files(tmp_path)
    assert (found.others, [Path(one.where).name for one in found.unreadable]) == ([other], ["base.db", "wide.json"])
