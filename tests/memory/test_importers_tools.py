"""Files of smaller tools: our own format, `llm`, shell-gpt, aichat, and shell histories."""

import json
import os
import shutil
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from aish.memory.importers import FORMATS, read
from aish.values.imported import ImportedTurn, Skipped

NOON = datetime(2026, 4, 1, 12, tzinfo=UTC)


def said(format: str, path: Path) -> list[ImportedTurn]:
    return [heard for heard in read(format, path) if isinstance(heard, ImportedTurn)]


def skipped(format: str, path: Path) -> list[str]:
    told = [heard for heard in read(format, path) if isinstance(heard, Skipped)]
    return [f"{one.times} × {one.why}" if one.times > 1 else one.why for one in told]


def put(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    os.utime(path, (NOON.timestamp(), NOON.timestamp()))
    return path


def spoken(turns: list[ImportedTurn]) -> list[tuple[str, str]]:
    return [(turn.role, turn.text) for turn in turns]


def test_our_own_lines_come_through_unchanged(tmp_path: Path) -> None:
    """Other programs and our benchmarks write them; every field is used unchanged."""
    line = {"channel": "loom", "conversation": "c", "time": "2026-04-01T14:00:00+02:00", "role": "user", "name": "Ada"}
    path = put(tmp_path / "a.jsonl", json.dumps(line | {"text": "Guten Tag", "ref": "D1:3", "title": "t"}))

    assert said("jsonl", path) == [ImportedTurn("c", NOON, "user", "Guten Tag", "Ada", "D1:3", "loom", "t")]


def test_a_time_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    """Otherwise an export with another date format would get the epoch without an explanation."""
    good = {"conversation": "c", "role": "user", "text": "hi"}
    times: list[object] = ["01.04.2026 12:00", "noon", "2026-04-01T12:00:00Z", NOON.timestamp(), None, ""]
    path = put(tmp_path / "a.jsonl", "\n".join(json.dumps(good | {"time": time}) for time in times))

    assert [turn.time for turn in said("jsonl", path)] == [None, None, NOON, NOON, None, None]
    assert skipped("jsonl", path) == [
        "2 × an unreadable time, expected one such as 2026-04-01T12:00:00Z; the turn is kept"
    ]


def test_bad_lines_are_counted_by_kind_and_good_ones_read(tmp_path: Path) -> None:
    """A byte-order mark, Windows line ends and an incomplete last line do no harm."""
    good = '{"conversation":"c","role":"user","text":"hi"}'
    lines = [good, "", "rubbish", "[1]", '{"conversation":"c","role":"system","text":"x"}']
    lines += ['{"conversation":"c","role":"user","text":" "}', '{"role":"user","text":"x"}', good, good[:20]]
    path = put(tmp_path / "a.jsonl", b"\xef\xbb\xbf" + "\r\n".join(lines).encode())

    assert spoken(said("jsonl", path)) == [("user", "hi")] * 2
    assert skipped("jsonl", path) == [
        "3 × a line that is not a complete JSON object",
        "a line with unknown role 'system'",
        "a line without text",
        "a line without a conversation",
    ]


OLD = """
create table conversations (id text primary key, name text, model text);
create table responses (id text primary key, model text, prompt text, system text, response text,
  conversation_id text, datetime_utc text);
create table tool_calls (id integer primary key, response_id text, name text, arguments text);
create table tool_results (id integer primary key, response_id text, name text, output text);
create table fragments (id integer primary key, hash text, content text, source text);
create table prompt_fragments (response_id text, fragment_id integer, "order" integer);
create table prompt_attachments (response_id text, attachment_id text, "order" integer);
"""
NEW = """
create table messages (hash text primary key, parent_hash text, role text);
create table parts (id integer primary key, message_hash text, position integer, type text, tool_name text,
  text text, payload text);
create table threads (id text primary key, name text, tip_message_hash text, datetime_utc text);
create table turns (id text primary key, thread_id text, parent_message_hash text, tip_message_hash text,
  model text, datetime_utc text);
"""


def test_responses_of_older_llm_are_a_question_and_an_answer(tmp_path: Path) -> None:
    """Used tools and the names of files in front of the question are included."""
    path = tmp_path / "logs.db"
    with closing(sqlite3.connect(path)) as base:
        base.executescript(OLD)
        base.execute("insert into conversations values ('c1', 'Pelicans', 'm')")
        rows: list[tuple[str | None, ...]] = [
            ("r1", "m", "Name one", "be brief", "Percy", "c1", "2026-04-01T12:00:00+00:00")
        ]
        rows.append(("r2", "m", "", None, "It is noon", "c1", "2026-04-01T12:00:01"))
        rows.append(("r3", "m", "alone", None, None, None, None))
        base.executemany("insert into responses values (?, ?, ?, ?, ?, ?, ?)", rows)
        base.execute("insert into tool_calls values (1, 'r1', 'clock', '{}')")
        base.execute("insert into tool_results values (1, 'r2', 'clock', '12:00')")
        base.execute("insert into fragments values (5, 'h', 'a very long file', 'birds.txt')")
        base.execute("insert into prompt_fragments values ('r1', 5, 0)")
        base.execute("insert into prompt_attachments values ('r2', 'sha', 0)")
        base.commit()

    turns = said("llm", path)

    assert [(turn.role, turn.text, turn.ref) for turn in turns] == [
        ("user", "[birds.txt]\nName one", "r1/prompt"),
        ("assistant", "Percy\n[clock] {}", "r1/response"),
        ("user", "[attachment]", "r2/prompt"),
        ("tool", "12:00", "r2/tool-1"),
        ("assistant", "It is noon", "r2/response"),
        ("user", "alone", "r3/prompt"),
    ]
    assert turns[0].time == NOON
    assert [turn.conversation for turn in turns] == ["c1"] * 5 + ["r3"]
    assert {turn.title for turn in turns[:5]} == {"Pelicans"}


def test_threads_of_newer_llm_tell_every_message_once(tmp_path: Path) -> None:
    """Each turn links back to the start of its thread, and migrated old responses count once."""
    path = tmp_path / "logs.db"
    with closing(sqlite3.connect(path)) as base:
        base.executescript(OLD + NEW)
        base.execute("insert into responses values ('t1', 'm', 'Name one', null, 'Percy', 'th', null)")
        base.execute("insert into threads values ('th', 'Pelicans', 'h4', null)")
        chain = [("h0", None, "system"), ("h1", "h0", "user"), ("h2", "h1", "assistant"), ("h3", "h2", "user")]
        base.executemany("insert into messages values (?, ?, ?)", [*chain, ("h4", "h3", "assistant")])
        base.execute("insert into fragments values (5, 'h', 'a very long file', 'birds.txt')")
        pieces = json.dumps({"text_ref": [{"fragment": 5}, {"literal": "Name one"}]})
        parts: list[tuple[str | int | None, ...]] = [
            ("h0", 0, "text", None, "be brief", None),
            ("h1", 0, "text", None, None, pieces),
        ]
        parts += [("h2", 0, "reasoning", None, "hm", None), ("h2", 1, "text", None, "Percy", None)]
        parts += [("h2", 2, "tool_call", "clock", None, '{"arguments": {"zone": "UTC"}}')]
        parts += [("h3", 0, "tool_result", "clock", None, '{"output": "12:00"}'), ("h4", 0, "text", None, "Noon", None)]
        base.executemany("insert into parts values (null, ?, ?, ?, ?, ?, ?)", parts)
        base.execute("insert into turns values ('t1', 'th', 'h1', 'h2', 'm', '2026-04-01T12:00:00')")
        base.execute("insert into turns values ('t2', 'th', 'h3', 'h4', 'm', '2026-04-01T12:00:00')")
        base.commit()

    turns = said("llm", path)

    assert [(turn.role, turn.name, turn.text) for turn in turns] == [
        ("user", "", "[birds.txt]\nName one"),
        ("assistant", "thinking", "[thinking] hm"),
        ("assistant", "", 'Percy\n[clock] {"zone": "UTC"}'),
        ("tool", "clock", "12:00"),
        ("assistant", "", "Noon"),
    ]
    assert {(turn.conversation, turn.title, turn.time) for turn in turns} == {("th", "Pelicans", NOON)}


def test_llm_can_write_while_its_log_is_read(tmp_path: Path) -> None:
    """A slow import must not make `llm` fail, and does not change the file."""
    path = tmp_path / "logs.db"
    row = "insert into responses values (?, 'm', 'q', null, 'a', 'c', null)"
    with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as base:
        base.executescript(OLD)
        base.execute("begin")
        base.executemany(row, [(f"r{number:04}",) for number in range(500)])
        base.execute("commit")
        before = path.read_bytes()
        turns = read("llm", path)
        next(turns)
        assert path.read_bytes() == before
        base.execute(row, ("r9999",))  # raises if the reader holds a lock

        assert sum(1 for _ in turns) == 1001


def test_what_llm_has_not_moved_into_its_file_yet_is_read_and_left_there(tmp_path: Path) -> None:
    """The newest rows may be in SQLite's write-ahead log; a read-only import must not move them."""
    path, copy = tmp_path / "logs.db", tmp_path / "copy" / "logs.db"
    with closing(sqlite3.connect(path)) as base:
        base.execute("pragma journal_mode = wal")
        base.executescript(OLD)
        base.execute("insert into responses values ('r', 'm', 'q', null, 'a', 'c', null)")
        base.commit()
        shutil.copytree(tmp_path, copy.parent, ignore=shutil.ignore_patterns("copy"))
    before = {file.name: file.read_bytes() for file in copy.parent.iterdir() if not file.name.endswith("-shm")}

    assert spoken(said("llm", copy)) == [("user", "q"), ("assistant", "a")]
    assert {file.name: file.read_bytes() for file in copy.parent.iterdir() if file.name in before} == before


def test_a_chat_of_shell_gpt_names_the_part_that_the_model_plays(tmp_path: Path) -> None:
    """The role is in the first message, which is not a turn. Turns get the time of the file.

    A tool result names only its call.
    """
    call: dict[str, Any] = {
        "id": "1",
        "type": "function",
        "function": {"name": "run", "arguments": '{"command": "ls"}'},
    }
    messages = [
        {"role": "system", "content": "You are ShellGPT\nYou are a shell assistant."},
        {"role": "user", "content": "list files"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "content": "a.txt", "tool_call_id": "1"},
        {"role": "assistant", "content": "There is a.txt."},
    ]
    put(tmp_path / "chat_cache" / "files", json.dumps(messages))

    turns = said("shell-gpt", tmp_path / "chat_cache")

    assert [(turn.role, turn.name, turn.text) for turn in turns] == [
        ("user", "", "list files"),
        ("assistant", "ShellGPT", "[run] ls"),
        ("tool", "run", "a.txt"),
        ("assistant", "ShellGPT", "There is a.txt."),
    ]
    assert {(turn.conversation, turn.time) for turn in turns} == {("files", NOON)}


def test_refs_stay_when_a_tool_cuts_off_the_beginning(tmp_path: Path) -> None:
    """shell-gpt keeps the last hundred messages, shells the last thousand commands; nothing may be imported twice."""
    texts = ["one", "two", "two", "three"]
    chat = [{"role": "user", "content": text} for text in texts]
    whole = said("shell-gpt", put(tmp_path / "chat", json.dumps(chat)))
    cut = said("shell-gpt", put(tmp_path / "chat", json.dumps(chat[1:])))
    commands = said("shell-history", put(tmp_path / ".bash_history", "\n".join(texts)))
    left = said("shell-history", put(tmp_path / ".bash_history", "\n".join(texts[2:])))

    assert len({turn.ref for turn in whole}) == len({turn.ref for turn in commands}) == 4
    assert {turn.ref for turn in cut} < {turn.ref for turn in whole}
    assert {turn.ref for turn in left} < {turn.ref for turn in commands}


MESSAGES = """\
# CHAT: What is a mill? [2026-04-01T14:00:00+02:00]
What is a mill?
--------
A machine.

--------
It grinds.
--------

# CHAT: List [it] [2026-04-01T12:05:00+00:00] (%shell%#docs)
List it
--------
<tool_calls>
[{"call":{"name":"ls","arguments":{"path":"."},"id":"1"},"output":"a.txt"}]
</tool_calls>
a.txt
--------

"""


def test_questions_of_aichat_are_conversations_with_an_answer(tmp_path: Path) -> None:
    """The separator between question and answer may also occur in the answer."""
    turns = said("aichat", put(tmp_path / "messages.md", MESSAGES))

    assert [(turn.role, turn.name, turn.text) for turn in turns] == [
        ("user", "", "What is a mill?"),
        ("assistant", "", "A machine.\n\n--------\nIt grinds."),
        ("user", "", "List it"),
        ("assistant", "", '[ls] {"path": "."}'),
        ("tool", "ls", "a.txt"),
        ("assistant", "%shell%", "a.txt"),
    ]
    assert turns[0].time == NOON
    assert [turn.title for turn in turns[1:3]] == ["What is a mill?", "List [it]"]
    assert len({turn.conversation for turn in turns}) == 2


SESSION = """\
model: openai:gpt-4o
temperature: 0.5
compressed_messages:
- role: user
  content: earlier
messages:
- role: system
  content: Be brief
- role: user
  content: |-
    Two lines:

      - the second
- role: assistant
  content: 'It''s: fine # really'
- role: user
  content:
  - type: text
    text: "What\\tis \\u00e9?\\nSay"
  - type: image_url
    image_url:
      url: data:image/png;base64,AAAA
- role: tool
  content:
    tool_results:
    - call:
        name: ls
        arguments:
          path: .
        id: '1'
      output:
        files: []
    text: ''
    sequence: false
- role: assistant
  content: |2
      indented
    answer
data_urls:
  a: b
"""


def test_sessions_of_aichat_are_read_from_yaml(tmp_path: Path) -> None:
    """All forms of text that aichat writes are read, and compressed messages come first."""
    path = put(tmp_path / "sessions" / "mill.yaml", SESSION)

    turns = said("aichat", tmp_path)

    assert spoken(turns) == [
        ("user", "earlier"),
        ("user", "Two lines:\n\n  - the second"),
        ("assistant", "It's: fine # really"),
        ("user", "What\tis é?\nSay\n[image]"),
        ("assistant", '[ls] {"path": "."}'),
        ("tool", '{"files": []}'),
        ("assistant", "indented\nanswer"),
    ]
    assert {(turn.conversation, turn.time, turn.title) for turn in turns} == {("session mill", NOON, "mill")}
    assert skipped("aichat", path) == []


@pytest.mark.proves("N26")
@pytest.mark.parametrize("name", ["messages.md", "mill.yaml"])
def test_what_aichat_has_not_written_to_its_end_is_left_out_until_it_has(tmp_path: Path, name: str) -> None:
    """Otherwise a question could stay incomplete, or be imported twice."""
    text = MESSAGES if name == "messages.md" else SESSION
    whole = said("aichat", put(tmp_path / name, text))
    known = {(turn.conversation, turn.ref, turn.text) for turn in whole}

    for size in range(len(text)):
        path = put(tmp_path / name, text[:size])
        turns = [heard for heard in FORMATS["aichat"](path) if isinstance(heard, ImportedTurn)]
        at_line = name == "mill.yaml" and text[:size].endswith("\n")  # here a message looks complete
        assert at_line or {(turn.conversation, turn.ref, turn.text) for turn in turns} <= known
    assert skipped("aichat", put(tmp_path / "messages.md", MESSAGES[:-20])) == [
        "a question and answer that are incomplete or too long"
    ]
    assert skipped("aichat", put(tmp_path / "mill.yaml", SESSION[:-30])) == ["an incomplete last message"]


def test_what_aichat_was_asked_twice_in_a_second_is_there_twice(tmp_path: Path) -> None:
    """Two programs may do this, for example in a script."""
    one = "# CHAT: {0} [2026-04-01T14:00:00+02:00]\n{0}\n--------\nyes\n--------\n\n"
    turns = said("aichat", put(tmp_path / "messages.md", one.format("a?") + one.format("b?")))

    assert [turn.text for turn in turns] == ["a?", "yes", "b?", "yes"]
    assert len({(turn.conversation, turn.ref) for turn in turns}) == 4


def test_what_a_model_says_to_aichat_before_it_calls_a_tool_is_kept(tmp_path: Path) -> None:
    """It is stored with the calls, in both kinds of files."""
    session = SESSION.replace("    text: ''\n", "    text: I look.\n")
    messages = MESSAGES.replace("<tool_calls>\n", "<tool_calls>\nI look.\nInto it.\n")

    assert ("assistant", "I look.") in spoken(said("aichat", put(tmp_path / "mill.yaml", session)))
    turns = spoken(said("aichat", put(tmp_path / "messages.md", messages)))
    assert turns[2:5] == [("user", "List it"), ("assistant", "I look.\nInto it."), ("assistant", '[ls] {"path": "."}')]


def test_yaml_of_another_form_is_skipped_item_by_item(tmp_path: Path) -> None:
    """A user may edit a session; an unreadable message is reported, and the next one is read."""
    text = "model: m\nmessages:\n- &a\n  role: user\n- role: user\n  content: *a\n- role: user\n  content: good\n"

    path = put(tmp_path / "s.yaml", text)

    assert spoken(said("aichat", path)) == [("user", "good")]
    assert any("unsupported YAML" in why for why in skipped("aichat", path))


@pytest.mark.parametrize(
    ("name", "text", "commands"),
    [
        (".bash_history", b"ls\nmake test\n", ["ls", "make test"]),
        (".zsh_history", b"ls\nfor a in b\\\ndo c\n", ["ls", "for a in b\ndo c"]),
        (".bash_history", b"#1775044800\nfor a in b\ndo c\ndone\n#1775044801\nls\n", ["for a in b\ndo c\ndone", "ls"]),
        (
            ".zsh_history",
            b": 1775044800:0;ls\n: 1775044801:3;for a in b\\\ndo c\\\ndone\n",
            ["ls", "for a in b\ndo c\ndone"],
        ),
        (".zsh_history", b"ls\n\\: > empty\necho a\\ \n", ["ls", ": > empty", "echo a\\"]),
        (".zsh_history", b": 1775044800:0;echo " + b"\xc3\x83\xbf" + b"\n", ["echo ß"]),
        (
            "fish_history",
            b"- cmd: ls\n  when: 1775044800\n  added_when: 1775000000\n  paths:\n    - a\n"
            b"- cmd: a \\\\ b\\nc\n  when: 1775044801\n",
            ["ls", "a \\ b\nc"],
        ),
    ],
)
def test_commands_of_every_shell_are_the_users_words(
    tmp_path: Path, name: str, text: bytes, commands: list[str]
) -> None:
    """This includes multi-line commands and the escapes of zsh and fish; each day is a conversation."""
    turns = said("shell-history", put(tmp_path / name, text))

    assert spoken(turns) == [("user", command) for command in commands]
    day, time = ("", None) if text.startswith(b"ls") else (" 2026-04-01", NOON)
    assert (turns[0].conversation, turns[0].time) == (name.lstrip(".") + day, time)
