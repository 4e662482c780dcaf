"""Session files of coding agents: Claude Code and Codex."""

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from timing import cpu_seconds

from aish.memory.importers import read
from aish.memory.importers.rewinds import find_rewinds
from aish.values.errors import StoreTrouble
from aish.values.imported import ImportedTurn, Skipped


def said(format: str, path: Path) -> list[ImportedTurn]:
    return [heard for heard in read(format, path) if isinstance(heard, ImportedTurn)]


def skipped(format: str, path: Path) -> list[str]:
    told = [heard for heard in read(format, path) if isinstance(heard, Skipped)]
    return [f"{one.times} × {one.why}" if one.times > 1 else one.why for one in told]


def put(path: Path, *records: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def line(uuid: str, role: str, content: Any, **more: Any) -> dict[str, Any]:
    """Return a line of a Claude Code session."""
    head = {"parentUuid": None, "isSidechain": False, "userType": "external", "cwd": "/home/ada/code/loom"}
    message = {"role": role, "content": content}
    stamp = {"uuid": uuid, "timestamp": "2026-05-04T08:00:00.123Z", "sessionId": "s1", "version": "2.1.0"}
    return head | stamp | {"type": role, "message": message} | more


def test_turns_of_claude_code_carry_session_project_and_title(tmp_path: Path) -> None:
    """The title has separate lines, possibly at the end; the user's own title wins."""
    path = put(
        tmp_path / "s1.jsonl",
        {"type": "summary", "summary": "Something about another session", "leafUuid": "x"},
        {"type": "file-history-snapshot", "messageId": "m", "snapshot": {}},
        line("u1", "user", "Why does the loom jam?"),
        line("a1", "assistant", [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "A thread."}]),
        {"type": "custom-title", "customTitle": "Jams", "sessionId": "s1"},
        {"type": "ai-title", "aiTitle": "Loom trouble", "sessionId": "s1"},
    )

    time = datetime(2026, 5, 4, 8, 0, 0, 123000, UTC)
    assert said("claude-code", path) == [
        ImportedTurn("s1", time, "user", "Why does the loom jam?", "", "u1", "loom", "Jams"),
        ImportedTurn("s1", time, "assistant", "[thinking] hm", "thinking", "a1/thinking", "loom", "Jams"),
        ImportedTurn("s1", time, "assistant", "A thread.", "", "a1", "loom", "Jams"),
    ]
    assert skipped("claude-code", path) == []


def test_a_summary_that_another_session_has_is_the_title(tmp_path: Path) -> None:
    """Older versions wrote the summary of a session into the next one, with the id of its last message."""
    put(tmp_path / "s1.jsonl", line("u1", "user", "Why does the loom jam?"), line("u2", "user", "And now?"))
    put(
        tmp_path / "s2.jsonl",
        {"type": "summary", "summary": "Loom jams", "leafUuid": "u2"},
        line("u3", "user", "Hello", sessionId="s2"),
    )

    assert [(turn.ref, turn.title) for turn in said("claude-code", tmp_path)] == [
        ("u1", "Loom jams"),
        ("u2", "Loom jams"),
        ("u3", ""),
    ]


def test_bookkeeping_of_claude_code_is_no_reason_to_warn(tmp_path: Path) -> None:
    """Every session has such lines; a warning about each would hide the one that matters."""
    kinds = ("system", "token_usage_record", "relocated", "frame-link", "fork-context-ref", "speculation-accept")
    path = put(tmp_path / "s1.jsonl", line("u1", "user", "Hello"), *({"type": kind} for kind in kinds))

    assert skipped("claude-code", path) == []


def test_what_a_tool_printed_is_no_word_of_the_user(tmp_path: Path) -> None:
    """The file has it in a line of type `user`; trusting it as the user's words would also trust web pages."""
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls -l", "description": "List"}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "total 0"}]}
    image = {"type": "image", "source": {"type": "base64", "data": "AAAA"}}
    path = put(
        tmp_path / "s1.jsonl",
        line("a1", "assistant", [{"type": "text", "text": "Let me look."}, call]),
        line("u1", "user", [result, {"type": "text", "text": "stop"}], toolUseResult={"stdout": "total 0"}),
        line("u2", "user", [image]),
    )

    assert [(turn.role, turn.name, turn.text, turn.ref) for turn in said("claude-code", path)] == [
        ("assistant", "", "Let me look.\n[Bash] ls -l\ndescription: List", "a1"),
        ("tool", "Bash", "total 0", "u1"),
        ("user", "", "stop", "u1/1"),
        ("user", "", "[image]", "u2"),
    ]


def test_what_the_program_puts_into_the_mouth_of_the_user_is_left_out(tmp_path: Path) -> None:
    """Otherwise reminders and summaries would fill search results. What a typed command printed is the shell's."""
    path = put(
        tmp_path / "s1.jsonl",
        line("u1", "user", "Caveat: the messages below", isMeta=True),
        line("u2", "user", "This session is continued from", isCompactSummary=True),
        line("u3", "user", "<local-command-caveat>Do not answer</local-command-caveat>"),
        line("u4", "user", "<command-message>x</command-message><command-name>/fix</command-name>"),
        line("u5", "user", "<command-name>/fix</command-name>\n<command-args>the loom</command-args>"),
        line("u6", "user", "<bash-input>make</bash-input>"),
        line("o6", "user", "<bash-stdout>cc loom.c</bash-stdout><bash-stderr>loom.c:1: error</bash-stderr>"),
        line("o7", "user", "<bash-stdout></bash-stdout><bash-stderr></bash-stderr>"),
        line("u7", "user", "Go on<system-reminder>be nice</system-reminder>"),
        line("u8", "user", "<p> is a tag"),
    )

    assert [(turn.role, turn.text) for turn in said("claude-code", path)] == [
        ("user", "/fix"),
        ("user", "/fix the loom"),
        ("user", "! make"),
        ("tool", "cc loom.c\nloom.c:1: error"),
        ("user", "Go on"),
        ("user", "<p> is a tag"),
    ]


@pytest.mark.proves("N26")
def test_commands_of_claude_code_are_the_users_and_what_they_print_is_the_programs(tmp_path: Path) -> None:
    """Newer versions keep both in lines of their own kind. What `/model` answers is never the user's words."""
    command = "<command-name>/compact</command-name>\n<command-args>keep the loom</command-args>"
    printed = "<local-command-stdout>Compacted</local-command-stdout>"
    newer: dict[str, Any] = {"type": "system", "subtype": "local_command", "message": None}
    path = put(
        tmp_path / "s1.jsonl",
        line("u1", "user", command),
        line("u2", "user", printed),
        line("u3", "user", "<local-command-stderr>Error: no such model</local-command-stderr>"),
        line("u4", "user", None) | newer | {"content": "<command-name>/model</command-name>"},
        line("u5", "user", None) | newer | {"content": "<local-command-stdout>Set to Loom</local-command-stdout>"},
        line("u6", "user", None) | newer | {"content": "<local-command-stdout></local-command-stdout>"},
        line("u7", "user", command + printed),
        line("u8", "user", "What does <local-command-stdout> mean?"),
    )

    assert [(turn.role, turn.name, turn.text, turn.ref) for turn in said("claude-code", path)] == [
        ("user", "", "/compact keep the loom", "u1"),
        ("tool", "Claude Code", "Compacted", "u2"),
        ("tool", "Claude Code", "Error: no such model", "u3"),
        ("user", "", "/model", "u4"),
        ("tool", "Claude Code", "Set to Loom", "u5"),
        ("user", "", "/compact keep the loom", "u7"),
        ("tool", "Claude Code", "Compacted", "u7/printed"),
        ("user", "", "What does <local-command-stdout> mean?", "u8"),
    ]


@pytest.mark.proves("N26")
def test_what_was_rewound_in_claude_code_is_another_branch(tmp_path: Path) -> None:
    """Two results of parallel calls also answer one line each, and are not another branch."""
    calls = [{"type": "tool_use", "id": f"t{n}", "name": "Bash", "input": {"command": "ls"}} for n in (1, 2)]
    results = [{"type": "tool_result", "tool_use_id": f"t{n}", "content": "a.txt"} for n in (1, 2)]
    path = put(
        tmp_path / "s1.jsonl",
        line("u1", "user", "Mend the loom", parentUuid=None),
        line("a1", "assistant", [{"type": "text", "text": "Done."}], parentUuid="u1"),
        line("u2", "user", "Paint it red", parentUuid="a1"),
        line("a2", "assistant", [{"type": "text", "text": "It is red."}], parentUuid="u2"),
        line("u3", "user", "Paint it blue", parentUuid="a1"),
        line("a3", "assistant", [calls[0]], parentUuid="u3"),
        line("a4", "assistant", [calls[1]], parentUuid="a3"),
        line("r1", "user", [results[0]], parentUuid="a3"),
        line("r2", "user", [results[1]], parentUuid="a4"),
        line("u4", "user", "Thanks", parentUuid="r2"),
        line("u9", "user", "of a line that is gone", parentUuid="x"),
        line("a9", "assistant", [{"type": "text", "text": "It is blue."}], parentUuid="u4"),
    )

    turns = said("claude-code", path)
    assert [turn.ref for turn in turns if turn.branch_of] == ["u2", "a2"]
    assert {turn.conversation for turn in turns if turn.branch_of} == {"s1/other answers"}
    assert len(turns) == 12


@pytest.mark.proves("N26")
def test_what_the_editor_and_other_agents_say_in_the_name_of_the_user_is_not_the_users(tmp_path: Path) -> None:
    """This includes older versions, which do not mark it; the user's own text next to it stays."""
    opened = "<ide_opened_file>The user opened the file loom.py in the IDE.</ide_opened_file>"
    path = put(
        tmp_path / "s1.jsonl",
        line("u1", "user", [{"type": "text", "text": opened}, {"type": "text", "text": "Why does it jam?"}]),
        line("u2", "user", [{"type": "text", "text": "[Request interrupted by user for tool use]"}]),
        line("u3", "user", "This session is being continued from a previous conversation that ran out of context."),
        line("u4", "user", "Caveat: The messages below were generated by the user while running local commands."),
        line("u5", "user", "kept for the screen", isVisibleInTranscriptOnly=True),
        line("u6", "user", "<task-notification>done</task-notification>", origin={"kind": "task-notification"}),
        line("u7", "user", "Your turn", origin={"kind": "channel"}),
        line("u8", "user", "Go on", origin={"kind": "human"}),
        line("u9", "user", '<teammate-message teammate_id="b">hi</teammate-message>'),
    )

    assert [(turn.role, turn.name, turn.text) for turn in said("claude-code", path)] == [
        ("user", "", "Why does it jam?"),
        ("assistant", "channel", "Your turn"),
        ("user", "", "Go on"),
    ]
    assert skipped("claude-code", path) == []


@pytest.mark.proves("N26")
def test_what_was_typed_while_the_model_was_at_work_is_taken(tmp_path: Path) -> None:
    """It never gets a line of type `user`, as little as an attached file; notices in the same form are left out."""

    def queued(uuid: str, prompt: Any, mode: str, kind: str) -> dict[str, Any]:
        attached = {"type": "queued_command", "prompt": prompt, "commandMode": mode, "origin": {"kind": kind}}
        return line(uuid, "user", None) | {"type": "attachment", "message": None, "attachment": attached}

    named: dict[str, Any] = {"type": "file", "filename": "/home/ada/loom.py", "displayPath": "loom.py"}
    named["content"] = {"type": "text", "file": {"filePath": "/home/ada/loom.py", "content": "x = 1\n", "numLines": 1}}
    path = put(
        tmp_path / "s1.jsonl",
        line("u1", "user", "Mend the loom"),
        queued("u2", "and oil it", "prompt", "human"),
        queued("u3", [{"type": "text", "text": "like here"}, {"type": "image"}], "prompt", "human"),
        queued("u4", "a task is done", "task-notification", ""),
        line("u5", "user", None) | {"type": "attachment", "attachment": named},
        line("u6", "user", None) | {"type": "attachment", "attachment": {"type": "todo_reminder", "content": "x"}},
        {"type": "queue-operation", "operation": "enqueue", "content": "and oil it", "sessionId": "s1"},
    )

    assert [(turn.role, turn.text, turn.ref) for turn in said("claude-code", path)] == [
        ("user", "Mend the loom", "u1"),
        ("user", "and oil it", "u2"),
        ("user", "like here\n[image]", "u3"),
        ("tool", "[loom.py]\nx = 1", "u5"),
    ]
    assert skipped("claude-code", path) == []


def test_answers_that_claude_code_makes_up_are_no_words_of_the_model(tmp_path: Path) -> None:
    """Otherwise messages about limits would appear in many search results."""
    limit = line("a1", "assistant", [{"type": "text", "text": "You've hit your limit"}], isApiErrorMessage=True)
    empty = line("a2", "assistant", [{"type": "text", "text": "No response requested."}])
    empty["message"]["model"] = "<synthetic>"
    path = put(tmp_path / "s1.jsonl", limit, empty, line("a3", "assistant", [{"type": "text", "text": "Yes."}]))

    assert [turn.text for turn in said("claude-code", path)] == ["Yes."]


def test_a_sidechain_is_a_conversation_of_its_own_and_its_task_is_the_words_of_a_model(tmp_path: Path) -> None:
    """The user did not type that task, although the file calls it a user message."""
    put(
        tmp_path / "-home-ada-code-loom" / "s1" / "agent-7.jsonl",
        line("u1", "user", "Find all looms", isSidechain=True, agentId="7"),
        line("a1", "assistant", [{"type": "text", "text": "Two."}], isSidechain=True, agentId="7"),
    )

    assert [(turn.conversation, turn.role, turn.name) for turn in said("claude-code", tmp_path)] == [
        ("s1/7", "assistant", "sidechain"),
        ("s1/7", "assistant", "sidechain"),
    ]


def test_a_session_that_is_told_again_to_be_summed_up_is_there_once(tmp_path: Path) -> None:
    """Claude Code stores the input of its compaction agent next to the session."""
    put(tmp_path / "loom" / "s1.jsonl", line("u1", "user", "Why does the loom jam?"))
    again = line("x1", "user", "Why does the loom jam?", isSidechain=True, agentId="acompact-7")
    put(tmp_path / "loom" / "s1" / "subagents" / "agent-acompact-7.jsonl", again)

    assert [turn.ref for turn in said("claude-code", tmp_path)] == ["u1"]


def test_unknown_lines_and_blocks_of_claude_code_are_told_once(tmp_path: Path) -> None:
    """A newer version may have new ones; the known ones are still read."""
    path = put(
        tmp_path / "s1.jsonl",
        *[{"type": "teleport", "sessionId": "s1"}] * 3,
        line("a1", "assistant", [{"type": "smell", "text": "Wool."}, {"type": "text", "text": "Hm."}]),
        line("a2", "assistant", "no session", sessionId=None),
        {"sessionId": "s1", "type": {"odd": 1}},
    )

    assert [turn.text for turn in said("claude-code", path)] == ["Wool.\nHm."]
    assert skipped("claude-code", path) == [
        "3 × a line with unknown type 'teleport'",
        "a block with unknown type 'smell'",
        "a turn without a session",
        "a line with unknown type '{\"odd\": 1}'",
    ]


def item(payload: Any, kind: str = "response_item") -> dict[str, Any]:
    """Return a line of a Codex session."""
    return {"timestamp": "2026-06-01T12:00:00.000Z", "type": kind, "payload": payload}


def message(role: str, text: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return item({"type": "message", "role": role, "content": [{"type": kind, "text": text}]})


META = {"id": "0199", "timestamp": "2026-06-01T11:59:00Z", "cwd": "/home/ada/code/mill", "originator": "codex_cli"}


def test_turns_of_codex_are_its_response_items(tmp_path: Path) -> None:
    """Events repeat the items, and text that the program adds is not the user's."""
    arguments = json.dumps({"command": ["bash", "-lc", "ls"], "workdir": "/"})
    path = put(
        tmp_path / "rollout-2026-06-01T11-59-00-0199.jsonl",
        item(META, "session_meta"),
        message("developer", "You are in a sandbox"),
        message("user", "<environment_context>\n<cwd>/x</cwd>\n</environment_context>"),
        message("user", "# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>be good</INSTRUCTIONS>"),
        message("user", "List the files"),
        item({"type": "user_message", "message": "List the files"}, "event_msg"),
        item({"model": "gpt-5"}, "turn_context"),
        item({"type": "reasoning", "summary": [], "encrypted_content": "gAAAA"}),
        item({"type": "reasoning", "summary": [{"type": "summary_text", "text": "**Listing**"}], "content": None}),
        item({"response_id": "r1", "usage": {}}, "token_usage_record"),
        item({"type": "function_call", "name": "shell", "arguments": arguments, "call_id": "c1"}),
        item({"type": "function_call_output", "call_id": "c1", "output": '{"output":"a.txt","metadata":{}}'}),
        item({"type": "custom_tool_call", "name": "apply_patch", "input": "*** Begin Patch", "call_id": "c2"}),
        item({"type": "custom_tool_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "ok"}]}),
        item({"type": "web_search_call", "action": {"type": "search", "query": "mills"}}),
        message("assistant", "One file."),
        item({"type": "agent_message", "message": "One file."}, "event_msg"),
    )

    turns = said("codex", path)

    assert [(turn.role, turn.name, turn.text) for turn in turns] == [
        ("user", "", "List the files"),
        ("assistant", "thinking", "[thinking] **Listing**"),
        ("assistant", "", "[shell] bash -lc ls\nworkdir: /"),
        ("tool", "shell", "a.txt"),
        ("assistant", "", "[apply_patch] *** Begin Patch"),
        ("tool", "apply_patch", "ok"),
        ("assistant", "", '[web_search] {"type": "search", "query": "mills"}'),
        ("assistant", "", "One file."),
    ]
    assert {(turn.conversation, turn.channel) for turn in turns} == {("0199", "mill")}
    assert turns[0].time == datetime(2026, 6, 1, 12, tzinfo=UTC)
    assert len({turn.ref for turn in turns}) == len(turns)
    assert skipped("codex", path) == []


@pytest.mark.proves("N26")
def test_what_codex_adds_to_a_message_is_taken_out_block_by_block(tmp_path: Path) -> None:
    """The user's words may be next to it, and a command that the user typed counts as the user's words."""
    injected = [
        "<environment_context>\n<cwd>/x</cwd>\n</environment_context>",
        '<codex_internal_context source="goal">go on</codex_internal_context>',
        "<goal_context>go on</goal_context>",
        "<recommended_plugins>x</recommended_plugins>",
        '<hook_prompt hook_run_id="1">x</hook_prompt>',
        "<external_editor>x</external_editor>",
        "Warning: apply_patch was requested via exec_command. Use the apply_patch tool instead of exec_command.",
        '<image name=[Image #1] path="/tmp/a.png">',
        "</image>",
        "<image>",
    ]
    blocks = [{"type": "input_text", "text": text} for text in [*injected, "# Mend it", "<b> is a tag"]]
    picture = {"type": "input_image", "image_url": "data:image/png;base64,AAAA"}
    command = "<user_shell_command>\n<command>\nmake test\n</command>\n<result>\nExit code: 0\n</result>\n"
    path = put(
        tmp_path / "rollout-x.jsonl",
        item(META, "session_meta"),
        item({"type": "message", "role": "user", "content": [*blocks, picture]}),
        message("user", command + "</user_shell_command>"),
        message("user", injected[0]),
    )

    assert [(turn.role, turn.text) for turn in said("codex", path)] == [
        ("user", "# Mend it\n<b> is a tag\n[image]"),
        ("user", "! make test"),
        ("tool", "Exit code: 0"),
    ]


@pytest.mark.proves("N26", "X4")
@pytest.mark.parametrize(
    ("head", "role"),
    [
        ({"source": {"subagent": {"thread_spawn": {"parent_thread_id": "p", "depth": 1}}}}, "assistant"),
        ({"source": {"subagent": "review"}}, "assistant"),
        ({"source": "cli", "thread_source": "subagent"}, "assistant"),
        ({"source": {"custom": "my editor"}}, "user"),
        ({"source": "cli", "thread_source": "user"}, "user"),
    ],
)
def test_the_task_of_an_agent_of_codex_is_the_words_of_a_model(tmp_path: Path, head: Any, role: str) -> None:
    """As with Claude Code. Turns copied from the parent session are imported with that session."""
    more = {"subagent_history_start_ordinal": 2} if role == "assistant" else {}
    path = put(
        tmp_path / "rollout-x.jsonl",
        item(META | head | more, "session_meta") | {"ordinal": 0},
        message("user", "Mend the mill") | {"ordinal": 1},
        message("user", "Look at the wheel") | {"ordinal": 2},
    )

    turns = [(turn.role, turn.name, turn.text) for turn in said("codex", path)]

    mine = [(role, "subagent" if more else "", "Look at the wheel")]
    assert turns == (mine if more else [("user", "", "Mend the mill"), *mine])


def test_a_result_of_codex_may_name_its_tool_itself(tmp_path: Path) -> None:
    """This is needed if the call is not in the file."""
    output = {"type": "function_call_output", "call_id": "c9", "name": "shell", "output": "a.txt"}
    path = put(tmp_path / "rollout-x.jsonl", item(META, "session_meta"), item(output))

    assert [(turn.role, turn.name, turn.text) for turn in said("codex", path)] == [("tool", "shell", "a.txt")]


def test_a_fork_of_codex_keeps_its_own_id(tmp_path: Path) -> None:
    """After its own head it has the head of its parent session."""
    path = put(
        tmp_path / "rollout-x.jsonl",
        item(META | {"id": "fork"}, "session_meta"),
        item(META | {"id": "origin"}, "session_meta"),
        message("user", "Go on"),
    )

    assert [turn.conversation for turn in said("codex", path)] == ["fork"]


def test_the_older_form_of_codex_has_bare_items_and_one_time(tmp_path: Path) -> None:
    """Its lines have no times, so they get the time of the session."""
    path = put(
        tmp_path / "2025" / "rollout-2025-05-07-old.jsonl",
        {"id": "old", "timestamp": "2025-05-07T17:24:21.123Z", "instructions": None, "git": {}},
        {"record_type": "state"},
        message("user", "Hello")["payload"],
        message("assistant", "Hi")["payload"],
    )

    turns = said("codex", tmp_path)

    assert [(turn.conversation, turn.role, turn.text) for turn in turns] == [
        ("old", "user", "Hello"),
        ("old", "assistant", "Hi"),
    ]
    assert turns[0].time == datetime(2025, 5, 7, 17, 24, 21, 123000, UTC)
    assert skipped("codex", path) == []


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="this Python can unpack it")
def test_a_packed_session_says_how_to_unpack_it(tmp_path: Path) -> None:
    """Codex compresses sessions older than a week; in a directory, an unreadable session is skipped."""
    packed = tmp_path / "rollout-old.jsonl.zst"
    packed.write_bytes(b"\x28\xb5\x2f\xfd\x00")
    put(tmp_path / "rollout-new.jsonl", item(META, "session_meta"), message("user", "Hello"))

    assert [turn.text for turn in said("codex", tmp_path)] == ["Hello"]
    assert "unzstd --keep rollout-old.jsonl.zst" in skipped("codex", tmp_path)[0]
    with pytest.raises(StoreTrouble, match="unzstd"):
        said("codex", packed)


def test_a_session_of_parts_that_nothing_joins_is_read_in_linear_time(tmp_path: Path) -> None:
    """The way from each question to its beginning is walked once, and not again for each later question."""

    def session(size: int) -> Path:
        asked = [line(f"u{n}", "user", "Why?", parentUuid=f"u{n - 1}" if n else None) for n in range(size)]
        return put(tmp_path / f"{size}.jsonl", *asked, line("z", "user", "Who?", parentUuid="gone"))

    short, long = session(1_000), session(4_000)
    assert cpu_seconds(lambda: find_rewinds(long)) < 9 * cpu_seconds(lambda: find_rewinds(short)) + 0.1


def test_what_was_taken_back_in_codex_is_another_branch(tmp_path: Path) -> None:
    """The items stay in the file, and an event says how many questions were taken back."""
    back = item({"type": "thread_rolled_back", "num_turns": 1}, "event_msg")
    path = put(
        tmp_path / "rollout-1.jsonl",
        item({"id": "c1", "timestamp": "2026-04-01T12:00:00Z", "cwd": "/x/loom"}, "session_meta"),
        message("user", "Mend the loom"),
        message("assistant", "Done."),
        message("user", "<environment_context>x</environment_context>"),
        message("user", "Paint it red"),
        message("assistant", "It is red."),
        back,
        message("user", "Paint it blue"),
        back | {"payload": {"type": "thread_rolled_back", "num_turns": 9}},
        message("user", "Sell it"),
    )

    assert [(turn.text, bool(turn.branch_of)) for turn in said("codex", path)] == [
        ("Mend the loom", True),
        ("Done.", True),
        ("Paint it red", True),
        ("It is red.", True),
        ("Paint it blue", True),
        ("Sell it", False),
    ]
    put(path, *map(json.loads, path.read_text(encoding="utf-8").splitlines()[:8]))
    assert [turn.text for turn in said("codex", path) if turn.branch_of] == ["Paint it red", "It is red."]
