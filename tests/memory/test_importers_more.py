"""Files of further tools: aider, Gemini CLI, OpenCode, Goose, Cursor, SpecStory, Open WebUI, LibreChat and atuin."""

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from aish.memory.importers import read, read_files, sniff, sort_files
from aish.memory.importers.files import MOST
from aish.values.imported import ImportedTurn, Skipped

MORNING = 1775044800  # 2026-04-01 12:00 UTC


def said(format: str, path: Path) -> list[ImportedTurn]:
    return [heard for heard in read(format, path) if isinstance(heard, ImportedTurn)]


def told(format: str, path: Path) -> list[tuple[str, str, str]]:
    """Return who says what; also check that ids are unique and that nothing was left out."""
    heard = list(read(format, path))
    assert not [one for one in heard if isinstance(one, Skipped)]
    turns = [one for one in heard if isinstance(one, ImportedTurn)]
    assert len({(turn.conversation, turn.ref) for turn in turns}) == len(turns)
    return [(turn.role, turn.name, turn.text) for turn in turns]


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def put_lines(path: Path, *records: Any) -> Path:
    return put(path, "".join(json.dumps(record) + "\n" for record in records))


def put_base(path: Path, script: str, **rows: list[tuple[Any, ...]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as base:
        base.executescript(script)
        for table, values in rows.items():
            base.executemany(f"insert into {table} values ({', '.join('?' * len(values[0]))})", values)
        base.commit()
    return path


AIDER = """
# aider chat started at 2026-04-01 12:00:00

> Aider v0.86.1  
> Model: x with diff edit format  

#### /add loom.py  

> Added loom.py to the chat  

#### Why does it jam?  
####   
#### Since Monday.  

A thread is loose:

> A quotation of the model

#### A heading of the model
`loom.py`

> Tokens: 1k sent, 80 received.  

# aider chat started at 2026-04-02 08:00:00

> /usr/bin/aider --message Why
does it jam?  
> Aider v0.86.1  

#### /exit  
#### <blank>  
"""  # noqa: W291  # aider writes two spaces at the end of its lines


def test_sessions_of_aider_are_read_by_the_spaces_at_the_end_of_lines(tmp_path: Path) -> None:
    """Headings and quotations in an answer look the same, but have no spaces at the end."""
    path = put(tmp_path / "loom" / ".aider.chat.history.md", AIDER)

    assert told("aider", path) == [
        ("tool", "aider", "Aider v0.86.1\nModel: x with diff edit format"),
        ("user", "", "/add loom.py"),
        ("tool", "aider", "Added loom.py to the chat"),
        ("user", "", "Why does it jam?\n\nSince Monday."),
        (
            "assistant",
            "",
            "A thread is loose:\n\n> A quotation of the model\n\n#### A heading of the model\n`loom.py`",
        ),
        ("tool", "aider", "Tokens: 1k sent, 80 received."),
        ("tool", "aider", "/usr/bin/aider --message Why\ndoes it jam?\nAider v0.86.1"),
        ("user", "", "/exit\n<blank>"),
    ]
    turns = said("aider", path)
    assert [turns[0].conversation, turns[-1].conversation] == ["loom 2026-04-01 12:00:00", "loom 2026-04-02 08:00:00"]
    assert turns[0].time == datetime(2026, 4, 1, 12).astimezone(UTC)  # aider writes local time
    assert turns[0].channel == "loom"


def test_a_history_of_aider_whose_line_ends_were_cleaned_is_read_too(tmp_path: Path) -> None:
    """Editors and repositories remove spaces at the end; then every such line counts."""
    cleaned = "\n".join(line.rstrip() for line in AIDER.splitlines())
    path = put(tmp_path / ".aider.chat.history.md", cleaned)

    users = [text for role, _, text in told("aider", path) if role == "user"]
    assert users[:2] == ["/add loom.py", "Why does it jam?\n\nSince Monday."]


def gemini_message(id: str, kind: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"id": id, "timestamp": "2026-04-01T12:00:00Z", "type": kind, "content": content} | more


GEMINI_HEAD = {"sessionId": "g1", "projectHash": "ab", "startTime": "2026-04-01T12:00:00Z", "directories": ["/x/loom"]}
GEMINI_CALL = {"id": "c1", "name": "run_shell_command", "args": {"command": "ls"}, "status": "success"} | {
    "result": [{"functionResponse": {"id": "c1", "name": "run_shell_command", "response": {"output": "a.txt"}}}]
}
GEMINI_TOLD = [
    ("user", "", "List the files"),
    ("assistant", "thinking", "[thinking] Listing\nI look."),
    ("assistant", "", "One file."),
    ("assistant", "", "[run_shell_command] ls"),
    ("tool", "run_shell_command", "a.txt"),
]


def test_a_session_of_gemini_is_one_object_or_lines_that_replace_earlier_ones(tmp_path: Path) -> None:
    """Newer versions append a message again when a tool has ended; messages of the program are left out."""
    thoughts = [{"subject": "Listing", "description": "I look.", "timestamp": "2026-04-01T12:00:00Z"}]
    context = gemini_message(
        "0", "user", [{"text": "This is the Gemini CLI. We are setting up the context for our chat."}]
    )
    asked = gemini_message("1", "user", [{"text": "List the files"}])
    begun = gemini_message("2", "gemini", "One file.", thoughts=thoughts)
    info = gemini_message("3", "info", "Update available")
    whole = GEMINI_HEAD | {"messages": [context, asked, info, begun | {"toolCalls": [GEMINI_CALL]}]}
    old = put(tmp_path / "session-1.json", json.dumps(whole, indent=2))
    new = put_lines(
        tmp_path / "session-2.jsonl",
        GEMINI_HEAD,
        context,
        asked,
        begun,
        {"$set": {"lastUpdated": "2026-04-01T12:01:00Z"}},
        info,
        begun | {"toolCalls": [GEMINI_CALL]},
        {"$rewindTo": "9"},
    )

    assert told("gemini", old) == told("gemini", new) == GEMINI_TOLD
    assert {(turn.conversation, turn.channel) for turn in said("gemini", new)} == {("g1", "loom")}


def test_what_was_rewound_in_gemini_is_another_branch(tmp_path: Path) -> None:
    """A line names the first message that is gone."""
    messages = [gemini_message(str(number), "user", f"say {number}") for number in range(1, 6)]
    lines = [GEMINI_HEAD, *messages[:4], {"$rewindTo": "3"}, messages[4]]

    turns = said("gemini", put_lines(tmp_path / "session-1.jsonl", *lines))
    assert [turn.ref for turn in turns if turn.branch_of] == ["3", "4"]
    assert [turn.ref for turn in turns if not turn.branch_of] == ["1", "2", "5"]


def test_a_resumed_session_of_gemini_keeps_times_and_tool_results(tmp_path: Path) -> None:
    """It repeats all messages in one line, without tool results and with the time of the resuming."""
    asked, call = gemini_message("1", "user", [{"text": "List the files"}]), gemini_message("2", "gemini", "")
    result = gemini_message("3", "user", GEMINI_CALL["result"])
    parts = [{"functionCall": {"id": "c1", "name": "run_shell_command", "args": {"command": "ls"}}}]
    repeated = [one | {"timestamp": "2026-05-01T12:00:00Z"} for one in (asked, call | {"content": parts}, result)]
    whole = [GEMINI_HEAD, asked, call | {"toolCalls": [GEMINI_CALL]}, result, {"$set": {"messages": repeated}}]

    path = put_lines(tmp_path / "session-1.jsonl", *whole)
    assert told("gemini", path) == [GEMINI_TOLD[0], *GEMINI_TOLD[3:]]
    assert {turn.time for turn in said("gemini", path)} == {datetime(2026, 4, 1, 12, tzinfo=UTC)}
    only = put_lines(tmp_path / "session-2.jsonl", GEMINI_HEAD, {"$set": {"messages": repeated}})
    assert told("gemini", only) == [GEMINI_TOLD[0], *GEMINI_TOLD[3:]], "if there is nothing else"


def test_checkpoints_and_prompts_of_gemini_are_read(tmp_path: Path) -> None:
    """A saved chat has the form of the API; `logs.json` has prompts only."""
    history: list[dict[str, Any]] = [
        {"role": "user", "parts": [{"text": "List the files"}]},
        {"role": "model", "parts": [{"text": "hm", "thought": True}, {"functionCall": {"name": "ls", "args": {}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "ls", "response": {"output": "a.txt"}}}]},
    ]
    expected = [
        ("user", "", "List the files"),
        ("assistant", "thinking", "[thinking] hm"),
        ("assistant", "", "[ls] {}"),
        ("tool", "ls", "a.txt"),
    ]
    assert told("gemini", put(tmp_path / "checkpoint-a.json", json.dumps(history))) == expected
    assert told("gemini", put(tmp_path / "checkpoint-b.json", json.dumps({"history": history}))) == expected
    entry = {"sessionId": "g1", "messageId": 0, "type": "user", "message": "hi", "timestamp": "2026-04-01T12:00:00Z"}
    assert told("gemini", put(tmp_path / "logs.json", json.dumps([entry]))) == [("user", "", "hi")]


def test_a_prompt_that_a_session_of_gemini_has_is_not_taken_from_the_log_as_well(tmp_path: Path) -> None:
    """Their times differ by seconds. The log also has commands of the program, which no session has."""
    read_file = [{"text": "Read @a.txt"}, {"text": "\n--- Content from referenced files ---"}, {"text": "weft"}]
    messages = [{"id": f"m{n}", "type": "user", "content": one} for n, one in enumerate(("Hello", read_file))]
    session = put(tmp_path / "b.json", json.dumps(GEMINI_HEAD | {"messages": messages}))
    typed = ("Hello", "Read @a.txt", "/stats")
    entries = [{"sessionId": "g1", "messageId": n, "type": "user", "message": text} for n, text in enumerate(typed)]
    log = put(tmp_path / "a.json", json.dumps(entries))

    turns = [turn.text for turn in read_files("gemini", [log, session]) if isinstance(turn, ImportedTurn)]
    assert turns == ["Hello", "Read @a.txt\n--- Content from referenced files ---\nweft", "/stats"]


PARTS: list[dict[str, Any]] = [
    {"id": "p1", "type": "step-start"},
    {"id": "p2", "type": "reasoning", "text": "hm"},
    {
        "id": "p3",
        "type": "tool",
        "tool": "bash",
        "state": {"status": "completed", "input": {"command": "ls"}, "output": "a"},
    },
    {"id": "p4", "type": "text", "text": "One file."},
]
ASKED_PARTS: list[dict[str, Any]] = [
    {"id": "q1", "type": "text", "text": "List the files"},
    {"id": "q2", "type": "text", "text": "the text of a file", "synthetic": True},
    {"id": "q3", "type": "file", "mime": "text/plain", "filename": "loom.py", "url": "file:///loom.py"},
]
OPENCODE_TOLD = [
    ("user", "", "List the files\n[loom.py]"),
    ("assistant", "thinking", "[thinking] hm"),
    ("assistant", "", "[bash] ls"),
    ("tool", "bash", "a"),
    ("assistant", "", "One file."),
]


def test_sessions_of_opencode_are_in_a_database_or_in_a_tree_of_files(tmp_path: Path) -> None:
    """Version 1.2 moved them; files of the tree that are only parts of a session are no sessions."""
    tables = (
        "create table session (id text primary key, parent_id text, directory text, title text, time_created integer);"
        "create table message (id text primary key, session_id text, time_created integer, data text);"
        "create table part (id text primary key, message_id text, session_id text, data text);"
    )
    created = MORNING * 1000
    roles = {"m1": "user", "m2": "assistant"}
    infos: dict[str, dict[str, Any]] = {id: {"role": role, "time": {"created": created}} for id, role in roles.items()}
    parts = [("m1", part) for part in ASKED_PARTS] + [("m2", part) for part in PARTS]
    base = put_base(
        tmp_path / "opencode.db",
        tables,
        session=[("ses_1", None, "/x/loom", "Looms", created)],
        message=[(id, "ses_1", created, json.dumps(info)) for id, info in infos.items()],
        part=[(part["id"], id, "ses_1", json.dumps(part)) for id, part in parts],
    )
    storage = tmp_path / "storage"
    head = {"id": "ses_1", "version": "1.0.1", "projectID": "p", "directory": "/x/loom", "title": "Looms"}
    session = put(storage / "session" / "p" / "ses_1.json", json.dumps(head | {"time": {"created": created}}))
    for id, info in infos.items():
        put(storage / "message" / "ses_1" / f"{id}.json", json.dumps({"id": id, "sessionID": "ses_1"} | info))
    for id, part in parts:
        put(storage / "part" / id / f"{part['id']}.json", json.dumps({"messageID": id} | part))

    assert told("opencode", base) == told("opencode", session) == OPENCODE_TOLD
    assert {(turn.title, turn.channel) for turn in said("opencode", base)} == {("Looms", "loom")}
    assert sort_files(tmp_path).formats == {"opencode": [base, session]}


def test_messages_without_an_id_are_not_rewound_and_those_that_return_stay(tmp_path: Path) -> None:
    """Only the name of a message rewinds; and a list of messages has those that are there now."""
    messages = [gemini_message(str(number), "user", f"say {number}") for number in range(1, 4)]
    lines = [GEMINI_HEAD, messages[0], gemini_message("", "user", "say 0") | {"id": None}, *messages[1:]]
    lines += [{"$rewindTo": "2"}, {"$set": {"messages": messages[2:]}}]

    turns = said("gemini", put_lines(tmp_path / "session-1.jsonl", *lines))
    assert {turn.text for turn in turns if turn.branch_of} == {"say 2"}
    assert {turn.text for turn in turns if not turn.branch_of} == {"say 0", "say 1", "say 3"}


@pytest.mark.parametrize("undone", [{"messageID": "msg_2"}, '{"messageID": "msg_2"}'])
def test_what_was_undone_in_opencode_is_another_branch(tmp_path: Path, undone: Any) -> None:
    """OpenCode deletes it with the next question; until then it is in its files."""
    info = {"id": "ses_1", "slug": "looms", "version": "1.2", "title": "Looms", "revert": undone}
    messages = [
        {
            "info": {"id": f"msg_{number}", "role": "user"},
            "parts": [{"id": "p", "type": "text", "text": f"say {number}"}],
        }
        for number in (1, 2, 3)
    ]
    path = put(tmp_path / "export.json", json.dumps({"info": info, "messages": messages}))

    assert [(turn.text, turn.branch_of) for turn in said("opencode", path)] == [
        ("say 1", ""),
        ("say 2", "ses_1"),
        ("say 3", "ses_1"),
    ]


def test_an_exported_session_of_opencode_is_read_message_by_message(tmp_path: Path) -> None:
    """It may be cut, larger than a turn may be, or begin with the mark that PowerShell writes."""
    part = {"id": "p", "type": "text", "text": "x" * 1000}
    messages = [{"info": {"id": f"msg_{n}", "role": "user"}, "parts": [part]} for n in range(17_000)]
    whole = json.dumps({"info": {"id": "ses_1", "slug": "looms", "version": "1.2"}, "messages": messages})
    path = tmp_path / "a.json"

    path.write_bytes(b"\xef\xbb\xbf" + whole.encode())
    assert len(whole) > MOST and len(said("opencode", path)) == 17_000
    path.write_text(whole[:5_000], encoding="utf-8")
    assert len(said("opencode", path)) == 4
    [cut] = [record.why for record in read("opencode", path) if isinstance(record, Skipped)]
    assert cut.startswith("ends or is damaged at byte ")


@pytest.mark.parametrize("format", ["gemini", "opencode"])
def test_sessions_one_after_another_are_all_read(tmp_path: Path, format: str) -> None:
    """As `cat` puts them together; what is none of them is told."""
    sessions: list[Any] = []
    for id in ("s1", "s2"):
        message: dict[str, Any] = {"id": "m", "type": "user", "content": f"I am {id}"}
        exported = {"info": {"id": "m", "role": "user"}, "parts": [{"id": "p", "type": "text", "text": f"I am {id}"}]}
        whole = {"info": {"id": id, "slug": "x"}, "messages": [exported]}
        sessions.append(GEMINI_HEAD | {"sessionId": id, "messages": [message]} if format == "gemini" else whole)
    path = put(tmp_path / "all.json", "\n".join(map(json.dumps, [*sessions, {"mapping": {}}])))

    assert [(turn.conversation, turn.text) for turn in said(format, path)] == [("s1", "I am s1"), ("s2", "I am s2")]
    [other] = [record.why for record in read(format, path) if isinstance(record, Skipped)]
    assert other == "something that is not a session"


def test_sessions_of_goose_are_lines_or_a_database(tmp_path: Path) -> None:
    """A result of a tool is in a message of the user, and names only its call."""
    call = {"type": "toolRequest", "id": "t", "toolCall": {"status": "success", "value": {"name": "shell"}}}
    call["toolCall"]["value"]["arguments"] = {"command": "ls"}  # type: ignore[index]  # a dict
    result = {"type": "toolResponse", "id": "t", "toolResult": {"status": "success", "value": [{"text": "a.txt"}]}}
    messages: list[tuple[str, list[Any]]] = [
        ("user", [{"type": "text", "text": "List the files"}]),
        ("assistant", [{"type": "thinking", "thinking": "hm", "signature": ""}, call]),
        ("user", [result]),
        ("assistant", [{"type": "text", "text": "One file."}]),
    ]
    old = put_lines(
        tmp_path / "20260401_120000.jsonl",
        {"working_dir": "/x/loom", "description": "Looms"},
        *({"role": role, "created": MORNING, "content": content} for role, content in messages),
    )
    new = put_base(
        tmp_path / "sessions.db",
        "create table schema_version (version integer);"
        "create table sessions (id text primary key, name text, description text, working_dir text);"
        "create table messages (id integer primary key, message_id text, session_id text, role text,"
        " content_json text, created_timestamp integer);",
        sessions=[("20260401_1", "Looms", "", "/x/loom")],
        messages=[(n, f"m{n}", "20260401_1", role, json.dumps(c), MORNING) for n, (role, c) in enumerate(messages)],
    )

    expected = [
        ("user", "", "List the files"),
        ("assistant", "thinking", "[thinking] hm"),
        ("assistant", "", "[shell] ls"),
        ("tool", "shell", "a.txt"),
        ("assistant", "", "One file."),
    ]
    assert told("goose", old) == told("goose", new) == expected
    assert (sniff(old), sniff(new)) == ("goose", "goose")
    assert {(turn.channel, turn.title) for turn in [*said("goose", old), *said("goose", new)]} == {("loom", "Looms")}


def test_chats_of_cursor_are_in_its_database_and_in_transcripts(tmp_path: Path) -> None:
    """The database has the order of a chat in one row and each message in another; older versions have both in one."""
    head = {"composerId": "c1", "name": "Looms", "createdAt": MORNING * 1000}
    headers = [{"bubbleId": id, "type": kind} for id, kind in (("b1", 1), ("b2", 2), ("gone", 2))]
    tool = {"name": "run_terminal_cmd", "rawArgs": '{"command": "ls"}', "result": "a.txt"}
    bubbles = {"b1": {"type": 1, "text": "List the files"}}
    bubbles["b2"] = {"type": 2, "text": "One file.", "thinking": {"text": "hm"}, "toolFormerData": tool}
    old = {"composerId": "c0", "conversation": [{"type": 1, "bubbleId": "x", "text": "Hello"}]}
    tabs = {"tabs": [{"tabId": "t1", "chatTitle": "Old", "bubbles": [{"type": "user", "id": "y", "rawText": "Hi"}]}]}
    base = put_base(
        tmp_path / "state.vscdb",
        "create table ItemTable (key text, value blob); create table cursorDiskKV (key text, value blob);",
        ItemTable=[("workbench.panel.aichat.view.aichat.chatdata", json.dumps(tabs))],
        cursorDiskKV=[
            ("composerData:c1", json.dumps(head | {"fullConversationHeadersOnly": headers}).encode()),
            ("composerData:c0", json.dumps(old)),
            *((f"bubbleId:c1:{id}", json.dumps(bubble)) for id, bubble in bubbles.items()),
        ],
    )
    again = sqlite3.connect(base)
    again.execute("insert into cursorDiskKV values ('bubbleId:c1:b0', ?)", (json.dumps({"type": 1, "text": "Undone"}),))
    again.commit()
    again.close()
    text = "user:\n<user_query>\nList the files\n</user_query>\n\nassistant:\n[Thinking] hm\n[Tool call] Shell\n"
    text += "  command: ls\n\n[Tool result] Shell\na.txt\n\nassistant:\nOne file.\n"
    transcript = put(tmp_path / "x-loom" / "agent-transcripts" / "t.txt", text)

    assert told("cursor", base) == [
        ("user", "", "List the files"),
        ("assistant", "thinking", "[thinking] hm"),
        ("assistant", "", "One file."),
        ("assistant", "", "[run_terminal_cmd] ls"),
        ("tool", "run_terminal_cmd", "a.txt"),
        ("user", "", "Undone"),
        ("user", "", "Hello"),
        ("user", "", "Hi"),
    ]
    assert [turn.text for turn in said("cursor", base) if turn.branch_of] == ["Undone"]
    assert told("cursor", transcript) == [
        ("user", "", "List the files"),
        ("assistant", "thinking", "[thinking] hm"),
        ("assistant", "", "[Shell]\n  command: ls"),
        ("tool", "Shell", "a.txt"),
        ("assistant", "", "One file."),
    ]
    assert said("cursor", transcript)[0].channel == "x-loom"
    stamped = "<timestamp>Wednesday, Apr 1, 2026, 3:00 PM (UTC+3)</timestamp>\n<user_query>\nHi\n</user_query>"
    message = {"role": "user", "message": {"content": [{"type": "text", "text": stamped}]}}
    [turn] = said("cursor", put_lines(tmp_path / "t.jsonl", message, {"type": "turn_ended", "status": "success"}))
    assert (turn.text, turn.time) == ("Hi", datetime(2026, 4, 1, 12, tzinfo=UTC))


def test_what_was_attached_in_cursor_is_named(tmp_path: Path) -> None:
    """A question of a picture alone is a turn, too. The open file is left out: Cursor attaches it by itself."""
    loom, plan = ({"uri": {"path": f"/c:/shop/{name}"}} for name in ("loom.py", "plan.md"))
    context = {"selectedImages": [{"path": "/tmp/a.png"}], "fileSelections": [plan, loom | {"isCurrentFile": True}]}
    chat = {"composerId": "c1", "conversation": [{"type": 1, "bubbleId": "x", "text": "", "context": context}]}
    code = loom | {"rawText": "weave()", "text": "```python\nweave()\n```"}
    tabs = {
        "tabs": [{"tabId": "t1", "bubbles": [{"type": "user", "id": "y", "text": "Faster?", "selections": [code]}]}]
    }
    base = put_base(
        tmp_path / "state.vscdb",
        "create table ItemTable (key text, value blob);",
        ItemTable=[
            ("composer.composerData", json.dumps({"allComposers": [chat]})),
            ("workbench.panel.aichat.view.aichat.chatdata", json.dumps(tabs)),
        ],
    )

    assert told("cursor", base) == [("user", "", "[image]\n[plan.md]"), ("user", "", "Faster?\n[loom.py]\nweave()")]


def test_chats_of_a_workspace_of_cursor_are_found_and_other_editors_are_not_taken_for_it(tmp_path: Path) -> None:
    """Until 2024, Cursor kept the chats of a project in the state of its workspace, as an editor without chats does."""
    chat = {"composerId": "c1", "name": "Looms", "conversation": [{"type": 1, "bubbleId": "x", "text": "Hello"}]}
    table = "create table ItemTable (key text unique, value blob);"
    whole = [("composer.composerData", json.dumps({"allComposers": [chat, {"composerId": "c2"}]}))]
    base = put_base(tmp_path / "1" / "state.vscdb", table, ItemTable=whole)
    other = put_base(tmp_path / "2" / "state.vscdb", table, ItemTable=[("workbench.panel", "{}")])

    assert told("cursor", base) == [("user", "", "Hello")]
    assert (sniff(base), sniff(other)) == ("cursor", "")


def test_turns_of_specstory_have_the_time_and_the_session_that_the_file_names(tmp_path: Path) -> None:
    """Thinking, tools and tasks of other agents are neither the answer nor the user's words."""
    path = put(
        tmp_path / "loom" / ".specstory" / "history" / "a.md",
        "<!-- Generated by SpecStory, Markdown v2.1.0 -->\n\n# Looms (2026-04-01 12:00:00Z)\n\n"
        "<!-- Claude Code Session s-1 (2026-04-01 12:00:00Z) -->\n\n"
        "_**User (2026-04-01 12:00:00Z)**_\n\nWhy does it jam?\n\n---\n\n"
        "_**Agent (claude-x 2026-04-01 12:00:05Z)**_\n\n<think><details><summary>Thought Process</summary>\nhm\n"
        "</details></think>\n\nI look.\n\n---\n\n"
        '<tool-use data-tool-type="shell" data-tool-name="Bash"><details>\n<summary>Tool use: **Bash**</summary>\n\n'
        "`ls`\n</details></tool-use>\n\nA thread.\n\n---\n\n"
        "_**User - sidechain (2026-04-01 12:00:06Z)**_\n\nFind threads\n\n---\n",
    )

    assert told("specstory", path) == [
        ("user", "", "Why does it jam?"),
        ("assistant", "thinking", "[thinking] Thought Process\nhm"),
        ("assistant", "", "I look."),
        ("tool", "Bash", "Tool use: **Bash**\n\n`ls`"),
        ("assistant", "", "A thread."),
        ("assistant", "sidechain", "Find threads"),
    ]
    first, last = said("specstory", path)[0], said("specstory", path)[-1]
    assert (first.conversation, first.title, first.channel) == ("s-1", "Looms", "loom")
    assert (first.time, last.time) == (
        datetime(2026, 4, 1, 12, tzinfo=UTC),
        datetime(2026, 4, 1, 12, 0, 6, tzinfo=UTC),
    )


def test_folded_parts_of_an_answer_in_open_webui_are_thinking_and_tools(tmp_path: Path) -> None:
    """They are HTML inside the text of the answer. A regenerated answer is another branch."""
    folded = (
        '<details type="reasoning" done="true" duration="3">\n<summary>Thought for 3 seconds</summary>\n> hm &gt; ha\n'
        '</details>\nI look.\n<details type="tool_calls" name="ls" arguments="{}" result="&quot;a.txt&quot;">\n'
        "<summary>Tool Executed</summary>\n</details>\nOne file."
    )
    messages = {
        "a": {"role": "user", "content": "List the files", "parentId": None, "files": [{"name": "loom.py"}]},
        "b": {"role": "assistant", "content": "regenerated", "parentId": "a"},
        "c": {"role": "assistant", "content": folded, "parentId": "a", "timestamp": MORNING},
    }
    chat = {"id": "", "title": "Looms", "history": {"messages": messages, "currentId": "c"}}
    path = put(tmp_path / "chat-export.json", json.dumps([{"id": "w1", "title": "Looms", "chat": chat}]))

    assert told("open-webui", path) == [
        ("user", "", "List the files\n[loom.py]"),
        ("assistant", "thinking", "[thinking] hm > ha"),
        ("assistant", "", "I look."),
        ("assistant", "", "[ls] {}"),
        ("tool", "ls", '"a.txt"'),
        ("assistant", "", "One file."),
        ("assistant", "", "regenerated"),
    ]
    assert [turn.conversation for turn in said("open-webui", path)][-2:] == ["w1", "w1/other answers"]


def test_steps_beside_an_answer_in_open_webui_are_thinking_and_tools(tmp_path: Path) -> None:
    """Since version 0.12 the text has only the answer, and its id is that of the message as before."""
    output = [
        {"type": "reasoning", "content": [{"type": "output_text", "text": "hm"}], "summary": None},
        {"type": "function_call", "call_id": "t", "name": "ls", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "t", "output": [{"type": "input_text", "text": "a.txt"}]},
        {"type": "open_webui:code_interpreter", "code": "1+1", "output": {"result": "2"}},
        {"type": "message", "content": [{"type": "output_text", "text": "One file."}]},
        {"type": "message", "content": [{"type": "output_text", "text": "Not in the text."}]},
        {"type": "open_webui:context_compaction"},
    ]
    messages = {
        "a": {"role": "user", "content": "List the files", "parentId": None},
        "b": {"role": "assistant", "content": "I look. One file.", "parentId": "a", "output": output},
    }
    chat = {"id": "", "history": {"messages": messages, "currentId": "b"}}
    path = put(tmp_path / "chat-export.json", json.dumps([{"id": "w1", "chat": chat}]))

    assert told("open-webui", path) == [
        ("user", "", "List the files"),
        ("assistant", "thinking", "[thinking] hm"),
        ("assistant", "", "[ls] {}"),
        ("tool", "ls", "a.txt"),
        ("assistant", "", '[code_interpreter] {"code": "1+1"}'),
        ("tool", "code_interpreter", '{"result": "2"}'),
        ("assistant", "", "Not in the text."),
        ("assistant", "", "I look. One file."),
    ]
    assert [turn.ref for turn in said("open-webui", path)][-1] == "b"
    output.append({"type": "loom"})
    put(path, json.dumps([{"id": "w1", "chat": chat}]))
    assert [one.why for one in read("open-webui", path) if isinstance(one, Skipped)] == [
        "a step with unknown type 'loom'"
    ]


def test_blocks_and_trees_of_librechat_are_read(tmp_path: Path) -> None:
    """An export with all branches has each answer inside the message that it answers."""
    call = {"type": "tool_call", "tool_call": {"id": "t", "name": "ls", "args": "{}", "output": "a.txt"}}
    answer = {
        "messageId": "2",
        "isCreatedByUser": False,
        "text": "",
        "content": [{"type": "think", "think": "hm"}, call, {"type": "text", "text": {"value": "One file."}}],
    }
    asked = {"messageId": "1", "isCreatedByUser": True, "text": "List the files", "children": [answer]}
    head = {"conversationId": "c", "title": "Looms", "exportAt": "12:00", "messagesTree": [asked]}
    path = put(tmp_path / "looms.json", json.dumps(head))

    assert sniff(path) == "librechat"
    assert told("librechat", path) == [
        ("user", "", "List the files"),
        ("assistant", "thinking", "[thinking] hm"),
        ("assistant", "", "[ls] {}"),
        ("tool", "ls", "a.txt"),
        ("assistant", "", "One file."),
    ]


def test_branches_of_librechat_are_told_apart_in_lists_and_trees(tmp_path: Path) -> None:
    """The newest branch counts, as LibreChat shows it; a tree of any depth that JSON allows is read."""
    nowhere = "00000000-0000-0000-0000-000000000000"

    def message(id: str, parent: str | None, **more: Any) -> dict[str, Any]:
        return {"messageId": id, "parentMessageId": parent, "isCreatedByUser": False, "text": f"say {id}"} | more

    flat = [message("1", nowhere), message("2", "1"), message("3", "1"), message("4", "3")]
    tree = message("1", nowhere, children=[message("2", "1"), message("3", "1", children=[message("4", "3")])])
    unlinked = [message("1", None), message("2", None)]
    deep = message("400", "399")
    for number in range(399, 0, -1):
        deep = message(str(number), str(number - 1), children=[deep])

    def refs(messages: list[Any]) -> list[tuple[str, bool]]:
        head = {"conversationId": "c", "exportAt": "12:00", "branches": True, "messages": messages}
        turns = said("librechat", put(tmp_path / "looms.json", json.dumps(head)))
        return [(turn.ref, bool(turn.branch_of)) for turn in turns]

    assert refs(flat) == refs([tree]) == [("1", False), ("3", False), ("4", False), ("2", True)]
    assert refs(unlinked) == [("1", False), ("2", False)]
    assert refs([deep]) == [(str(number), False) for number in range(1, 401)]


def test_commands_of_atuin_carry_what_is_known_of_the_run(tmp_path: Path) -> None:
    """Deleted commands are left out."""
    path = put_base(
        tmp_path / "history.db",
        "create table _sqlx_migrations (version);"
        "create table history (id text primary key, timestamp integer, duration integer, exit integer, command text,"
        " cwd text, session text, hostname text, deleted_at integer);",
        history=[
            ("1", MORNING * 10**9, 3_200_000_000, 2, "make", "/x/loom", "s", "h:ada", None),
            ("2", MORNING * 10**9, -1, -1, "vi", "unknown", "s", "h:ada", None),
            ("3", MORNING * 10**9, 5, 0, "secret", "/x", "s", "h:ada", MORNING),
        ],
    )

    assert told("atuin", path) == [
        ("user", "", "make"),
        ("tool", "shell", "exit status 2, 3.2 s, in /x/loom"),
        ("user", "", "vi"),
    ]
    assert said("atuin", path)[0].channel == "loom"


def test_prompts_in_the_history_of_claude_code_have_what_was_pasted(tmp_path: Path) -> None:
    """Older versions name no session: then the project and the day are the conversation."""
    pasted = {"1": {"id": 1, "type": "text", "content": "a long text"}}
    path = put_lines(
        tmp_path / "history.jsonl",
        {
            "display": "Read [Pasted text #1]",
            "pastedContents": pasted,
            "timestamp": MORNING * 1000,
            "project": "/x/loom",
        },
        {"display": "", "pastedContents": {}, "timestamp": MORNING * 1000, "project": "/x/loom", "sessionId": "s"},
    )

    [turn] = said("claude-history", path)
    assert (turn.text, turn.conversation) == ("Read [Pasted text #1]\na long text", "loom 2026-04-01")
    assert sniff(path) == "claude-history"


@pytest.mark.parametrize("format", ["opencode", "goose", "cursor", "atuin"])
def test_a_database_of_another_form_is_trouble_in_words_or_nothing(tmp_path: Path, format: str) -> None:
    """The next version may have other columns."""
    tables = {
        "opencode": "create table session (id); create table message (x); create table part (y);",
        "goose": "create table sessions (id); create table messages (x); create table schema_version (v);",
        "cursor": "create table ItemTable (k); create table cursorDiskKV (k);",
        "atuin": "create table history (x); create table _sqlx_migrations (v);",
    }
    path = put_base(tmp_path / "a.db", tables[format])
    assert sniff(path) == format
    try:
        assert said(format, path) == []
    except Exception as error:  # the type is what is tested
        assert type(error).__name__ == "StoreTrouble"
        assert "\n" not in str(error)
