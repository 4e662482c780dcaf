"""The form of answers for very small models: a command or words, in one JSON object."""

import json

import pytest

from aish.agent.tool import schema
from aish.model.run_form import RunReader, in_run_form
from aish.values.events import ChatRequest, Finished, ModelEvent, TextPiece, ToolPiece, Usage

RUN = schema("run_command", "", {"command": {"type": "string"}}, ["command"])
CALL = {"id": "c1", "type": "function", "function": {"name": "run_command", "arguments": '{"command": "df -h"}'}}
ASKED = (
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "How full is the disk?"},
)
RAN = (
    *ASKED,
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": '{"command": "df -h", "status": 0, "output": "9% used"}'},
)


def read(pieces: list[str] | str) -> list[ModelEvent]:
    reader = RunReader()
    given: list[ModelEvent] = [*(TextPiece(piece) for piece in pieces), Usage(1, 2), Finished()]
    events: list[ModelEvent] = []
    for event in (one for each in given for one in reader.read(each)):
        last = events[-1] if events else None
        if isinstance(event, TextPiece) and isinstance(last, TextPiece):
            events[-1] = TextPiece(last.text + event.text)
        else:
            events.append(event)
    return events


def test_the_request_has_examples_a_grammar_and_no_schemas() -> None:
    """What was run before is told in the same form, and a result wants words."""
    first, then = in_run_form(ChatRequest(ASKED, (RUN,), 50)), in_run_form(ChatRequest(RAN, (RUN,), 50))

    assert (first.tools, first.max_tokens) == ((), 50)
    assert str(first.messages[0]["content"]).startswith("Be brief.\n\nYou sit at the terminal")
    assert first.messages[1]["role"] == "user" and json.loads(first.messages[2]["content"]) == {"run": "uptime"}
    assert first.messages[-1] == ASKED[-1]
    assert '("run" | "say")' in first.grammar
    assert then.messages[-2] == {"role": "assistant", "content": '{"run": "df -h"}'}
    assert then.messages[-1]["role"] == "user" and "9% used" in then.messages[-1]["content"]
    assert "run" not in then.grammar


@pytest.mark.parametrize(
    ("result", "told"),
    [
        (
            '{"status": 0, "output": "9% used\\n"}',
            "The command printed:\n9% used\n\nSo, in one sentence: How full is it?",
        ),
        ('{"status": 0, "output": ""}', "The command printed nothing.\n\nSo, in one sentence: How full is it?"),
        ('{"status": 127, "output": "no df"}', "The command failed with exit status 127:\nno df\n\n"),
        ('{"status": 1, "output": ""}', "The command failed with exit status 1 and printed nothing.\n\n"),
        (
            '{"status": "refused", "reason": "you said no"}',
            "The command was not run: you said no\n\nSo, in one sentence: How full",
        ),
        ('{"cut": "much is left out", "text": "1 2 3"}', "The command printed:\n1 2 3\n\n"),
        ("words", "The command printed:\nwords\n\n"),
    ],
)
def test_a_result_comes_with_its_success_and_the_question_again(result: str, told: str) -> None:
    """Small models forget the question behind a long output, and take an error for an answer."""
    recalled = "[recalled 1]\n- an old note\n[end of recalled 1]\n\nHow full is it?"
    asked = ({"role": "user", "content": recalled}, RAN[2], {"role": "tool", "tool_call_id": "c1", "content": result})
    given = in_run_form(ChatRequest(asked, (RUN,), 50)).messages
    assert given[-1]["content"].startswith(told)
    assert given[-3]["content"] == recalled  # the question itself keeps what was recalled for it


def test_a_long_output_is_given_with_its_beginning_and_its_end() -> None:
    """A model on two cores reads some hundred tokens a second at best."""
    lines = json.dumps({"status": 0, "output": "\n".join(f"line {number}" for number in range(5_000))})
    request = ChatRequest((*RAN[:3], {"role": "tool", "tool_call_id": "c1", "content": lines}), (RUN,), 50)
    given = in_run_form(request).messages[-1]["content"]
    assert "line 1\n" in given and "line 4999" in given and "characters left out" in given
    assert len(given) < 3_000


@pytest.mark.parametrize("cut", [1, 3, 1000])
def test_words_come_as_they_are_said_and_a_command_is_a_call(cut: int) -> None:
    """However the answer is cut into pieces, and with all its escapes."""
    said = 'He said "no",\nand left \\o/ 🌍\t.'
    for value, expected in (
        ({"say": said}, [TextPiece(said), Usage(1, 2), Finished()]),
        (
            {"run": 'grep "a b" x'},
            [Usage(1, 2), ToolPiece(0, "", "run_command", '{"command": "grep \\"a b\\" x"}'), Finished()],
        ),
    ):
        text = json.dumps(value, ensure_ascii=False)
        assert read([text[place : place + cut] for place in range(0, len(text), cut)]) == expected


def test_words_are_passed_on_at_once() -> None:
    """The user reads along."""
    reader = RunReader()
    assert reader.read(TextPiece('{"say": "Hel')) == [TextPiece("Hel")]
    assert reader.read(TextPiece("lo\\")) == [TextPiece("lo")]
    assert reader.read(TextPiece('n"}')) == [TextPiece("\n")]


@pytest.mark.parametrize("text", ['{"run": "rm -r', '{"run": "rm \\'])
def test_half_a_command_is_not_run(text: str) -> None:
    """The answer was cut at its maximum length."""
    assert read([text]) == [Usage(1, 2), Finished()]


def test_a_command_with_escapes_that_the_grammar_does_not_have_is_whole() -> None:
    """A server that ignores the grammar: half of `rm -r ./x` would be another command."""
    [call] = [event for event in read(['{"run": "rm -r .\\u002fx"}']) if isinstance(event, ToolPiece)]
    assert json.loads(call.arguments) == {"command": "rm -r ./x"}


def test_an_answer_without_the_form_is_text() -> None:
    """A server that ignores the grammar."""
    assert read(["plain ", "words"]) == [Usage(1, 2), TextPiece("plain words"), Finished()]
