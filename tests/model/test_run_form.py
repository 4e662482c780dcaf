"""The form of answers for small models: a command after `run: `, or words."""

import json

import pytest

from aish.agent.tool import schema
from aish.model.run_form import (
    FIXED,
    RunReader,
    about_any,
    in_run_form,
    is_in_form,
    known_answer,
    openings,
    question_of,
)
from aish.values.events import ChatRequest, Failed, Finished, ModelEvent, TextPiece, ToolPiece, Usage
from aish.values.turns import SURROUNDINGS_MARK

RUN = schema("run_command", "", {"command": {"type": "string"}}, ["command"])
CALL = {"id": "c1", "type": "function", "function": {"name": "run_command", "arguments": '{"command": "df -h"}'}}
ASKED = (
    {"role": "system", "content": f"{FIXED}\n\n[background]\n- the disk is new"},
    {"role": "user", "content": "How full is the disk?"},
)
RAN = (
    *ASKED,
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": '{"command": "df -h", "status": 0, "output": "9% used"}'},
)


def read(pieces: list[str] | str, end: ModelEvent | None = None, *, can_run: bool = True) -> list[ModelEvent]:
    reader = RunReader(can_run=can_run)
    given: list[ModelEvent] = [*(TextPiece(piece) for piece in pieces), Usage(1, 2), end or Finished()]
    events: list[ModelEvent] = []
    for event in (one for each in given for one in reader.read(each)):
        last = events[-1] if events else None
        if isinstance(event, TextPiece) and isinstance(last, TextPiece):
            events[-1] = TextPiece(last.text + event.text)
        else:
            events.append(event)
    return events


def after(result: str) -> ChatRequest:
    return ChatRequest((*RAN[:3], {"role": "tool", "tool_call_id": "c1", "content": result}), (RUN,), 50)


def test_the_request_begins_with_the_same_text_in_all_conversations() -> None:
    """So its state can be kept. What is known of the user follows, then what was said."""
    asked, ran = ChatRequest(ASKED, (RUN,), 50), ChatRequest(RAN, (RUN,), 50)
    first, then = in_run_form(asked), in_run_form(ran)

    assert (first.tools, first.max_tokens) == ((), 50)
    known, fixed = openings(asked)
    assert openings(ran) == (known, fixed)
    assert openings(ChatRequest(({"role": "system", "content": FIXED}, ASKED[1]), (RUN,), 50)) == (fixed,)
    assert first.messages[: len(known)] == then.messages[: len(known)] == known
    assert known[: len(fixed)] == fixed
    assert known[-2]["content"] == "What you know about me and my work:\n[background]\n- the disk is new"
    assert known[-1]["role"] == "assistant"
    assert first.messages[-1] == ASKED[-1]
    assert '"run: "' in first.grammar
    assert then.messages[-2] == {"role": "assistant", "content": "run: df -h"}
    assert then.messages[-1]["role"] == "user" and "9% used" in then.messages[-1]["content"]
    assert "command" not in then.grammar


@pytest.mark.parametrize(
    ("rows", "printed"),
    [
        ("directory: \"/a\"\nfiles: x 'y z'", "/a\nx 'y z'"),
        ('directory: "/a"\nfiles: nothing', "/a\nnothing"),
        ('directory: "/a"', "/a"),  # it cannot be read
    ],
)
def test_the_directory_is_told_as_a_command_that_was_run(rows: str, printed: str) -> None:
    """Before what is known and before the question: beside it, a model takes the names for the answer."""
    question = {"role": "user", "content": f"{SURROUNDINGS_MARK}\n{rows}\n\nWhat is here?"}
    messages = in_run_form(ChatRequest((ASKED[0], question))).messages
    _, ran, told, said, known, _, asked = messages[-7:]
    assert (ran["content"], said["content"]) == ("run: pwd && ls", "You are in /a.")
    assert told["content"].startswith(f"It printed:\n{printed}\n\n")
    assert known["content"].startswith("What you know") and asked["content"] == "What is here?"


def test_the_beginnings_have_the_directory_but_nothing_of_the_question() -> None:
    """Their states are written to the disk."""
    question = f'{SURROUNDINGS_MARK}\ndirectory: "/a"\nfiles: b c\n\nWhat is the secret?'
    for system, number in ((FIXED, 2), (f"{FIXED}\n\nknown", 3)):
        asked = ChatRequest(({"role": "system", "content": system}, {"role": "user", "content": question}))
        in_form = in_run_form(asked).messages
        assert len(openings(asked)) == number
        for opening in openings(asked):
            assert in_form[: len(opening)] == opening
            assert "secret" not in str(opening)
        assert "b c" in str(openings(asked)[-2]) and "b c" not in str(openings(asked)[-1])


def test_the_examples_alternate_between_user_and_assistant() -> None:
    """Many templates refuse two messages of one role in a row."""
    roles = [one["role"] for one in in_run_form(ChatRequest(ASKED, (RUN,), 50)).messages]
    assert roles[0] == "system"
    assert roles[1:] == ["user", "assistant"] * (len(roles) // 2 - 1) + ["user"]


def test_a_side_question_is_not_in_this_form() -> None:
    """It has no fixed text, and perhaps a grammar of its own."""
    assert is_in_form(ChatRequest(ASKED))
    assert not is_in_form(ChatRequest(({"role": "user", "content": "Summarise this."},)))


@pytest.mark.parametrize(
    ("result", "told"),
    [
        ('{"status": 0, "output": "9% used\\n"}', "It printed:\n9% used\n\nSo, in one sentence: How full is the disk?"),
        ('{"status": 127, "output": "no df"}', "It failed with exit status 127:\nno df\n\nSo, in one sentence: How"),
        ('{"cut": "much is left out", "text": "1 2 3"}', "It printed:\n1 2 3\n\n"),
        ("words", "It printed:\nwords\n\n"),
    ],
)
def test_a_result_comes_with_its_success_and_the_question_again(result: str, told: str) -> None:
    """Small models forget the question behind a long output, and take an error for an answer."""
    assert not known_answer(after(result))
    assert in_run_form(after(result)).messages[-1]["content"].startswith(told)


def test_the_question_after_a_result_is_without_what_was_recalled_for_it() -> None:
    """The question itself keeps it."""
    recalled = "[recalled 1]\n- an old note\n[end of recalled 1]\n\nHow full is it?"
    asked = (ASKED[0], {"role": "user", "content": recalled}, RAN[2], RAN[3])
    given = in_run_form(ChatRequest(asked, (RUN,), 50)).messages
    assert given[-1]["content"].endswith("So, in one sentence: How full is it?")
    assert given[-3]["content"] == recalled


@pytest.mark.parametrize(
    ("result", "said"),
    [
        ('{"status": 0, "output": " \\n"}', "Done. The command printed nothing."),
        ('{"status": "refused", "reason": "you said no"}', "The command was not run."),
        ('{"status": 1, "output": ""}', ""),
    ],
)
def test_nobody_is_asked_about_a_command_that_printed_nothing(result: str, said: str) -> None:
    """A small model tells success as failure when there is nothing to read, and needs a second for it."""
    assert known_answer(after(result)) == said


def test_a_long_output_is_given_with_its_beginning_and_its_end() -> None:
    """Two cores read some dozens of tokens a second."""
    lines = json.dumps({"status": 0, "output": "\n".join(f"line {number}" for number in range(5_000))})
    given = in_run_form(after(lines)).messages[-1]["content"]
    assert "line 1\n" in given and "line 4999" in given and "characters left out" in given
    assert len(given) < 600


@pytest.mark.parametrize("cut", [1, 3, 1000])
def test_words_come_as_they_are_said_and_a_command_is_a_call(cut: int) -> None:
    """However the answer is cut into pieces; several lines, quotes and backslashes are possible."""
    said = 'He ran "no":\nrun: left \\o/ 🌍\t.'
    command = "find . -name '*.py' -exec grep -l \"a b\" {} \\;"
    call = ToolPiece(0, "", "run_command", json.dumps({"command": command}))
    for text, expected in (
        (said, [TextPiece(said), Usage(1, 2), Finished()]),
        (f"run: {command}", [Usage(1, 2), call, Finished()]),
    ):
        assert read([text[place : place + cut] for place in range(0, len(text), cut)]) == expected


def test_words_are_passed_on_at_once() -> None:
    """The user reads along, also if they begin as a command does."""
    reader = RunReader(can_run=True)
    assert reader.read(TextPiece("Hel")) == [TextPiece("Hel")]
    assert reader.read(TextPiece("lo")) == [TextPiece("lo")]
    reader = RunReader(can_run=True)
    assert reader.read(TextPiece("run")) == []
    assert reader.read(TextPiece("ning it is easy")) == [TextPiece("running it is easy")]


@pytest.mark.parametrize("end", [Finished("length"), Failed("the server is gone")])
def test_half_a_command_is_not_run(end: ModelEvent) -> None:
    """The answer was cut at its maximum length: `rm -r /tmp/x` could be `rm -r /`."""
    assert read(["run: rm -r /"], end) == [Usage(1, 2), end]


def test_a_command_where_none_can_be_run_is_a_proposal() -> None:
    """For example a question from a script."""
    assert read(["run: df -h"], can_run=False) == [Usage(1, 2), TextPiece("CMD: df -h"), Finished()]


def test_a_command_in_backquotes_is_the_command() -> None:
    """Models write it so in words."""
    [_, call, _] = read(["run: `df -h`"])
    assert isinstance(call, ToolPiece) and json.loads(call.arguments) == {"command": "df -h"}


@pytest.mark.parametrize(
    ("question", "command", "quoted"),
    [
        ("what does rm -rf build do?", "rm -rf build", True),
        ("[exec output]\n$ make test\nfailed\n\ntry that again", "make test", False),
        ("What does  `git reset  --hard` do?", "git reset --hard", True),
        ("run make test for me", "make test", True),
        ("rm -rf build", "rm -rf build", False),
        ("what is the date?", "date", False),
        ("delete the folder build", "rm -rf build", False),
    ],
)
def test_a_command_that_stands_in_the_question_is_held(question: str, command: str, *, quoted: bool) -> None:
    """It may be an order, or the question may be about it: small models run what they should explain."""
    asked = question_of(ChatRequest(({"role": "user", "content": question},)))
    reader = RunReader(can_run=True, question=asked)
    events = [one for event in (TextPiece(f"run: {command}"), Finished()) for one in reader.read(event)]
    assert (reader.quoted, bool(events)) == ((command, False) if quoted else ("", True))


def test_the_same_is_asked_about_a_command_that_nobody_knows() -> None:
    """Then the model cannot take the command from the question."""
    asked = ({"role": "user", "content": "what does rm  -rf build do?"},)
    request = about_any(ChatRequest(asked, max_tokens=500), "rm -rf build")
    assert request.messages[-1]["content"] == "what does foo-bar do?"
    assert request.max_tokens and request.max_tokens < 10
