"""A call that a model wrote as text instead of making it."""

import pytest

from aish.agent.written_call import written_call

NAMES = {"read_file", "run_command"}


@pytest.mark.parametrize(
    "answer",
    [
        '{"name": "read_file", "arguments": {"path": "a"}}',
        '\n{"name": "read_file", "parameters": {"path": "a"}}\n',
        '```json\n{"name": "read_file", "arguments": {}}\n```',
        '<tool_call>\n{"name": "read_file", "arguments": {"path": "a"}}\n</tool_call>',
        '[TOOL_CALLS][{"name": "read_file", "arguments": {"path": "a"}}]',
        '{"type": "function", "function": {"name": "read_file", "arguments": "{}"}}',
        '{"tool": "read_file", "args": {"path": "a"}}',
        '{"function": "read_file", "arguments": {}}',
    ],
)
def test_an_answer_that_is_only_a_call_is_recognised(answer: str) -> None:
    """In the forms that models were trained with."""
    assert written_call(answer, NAMES) == "read_file"


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "{}",
        "[]",
        "[1]",
        '"read_file"',
        "read_file(path='a')",
        'A call looks like {"name": "read_file", "arguments": {}}',
        '{"name": "read_file", "arguments": {}}\nThat is a call.',
        '{"name": "delete_all", "arguments": {}}',
        '{"name": "read_file"}',
        '{"name": ["read_file"], "arguments": {}}',
        '{"function": {"name": {}}, "arguments": {}}',
        '{"name": "read_file", "arguments": {}',
        "{" * 10_000 + "}",
        "[" * 10_000 + "]" * 10_000,
        '{"name": "read_file", "arguments": {"x": "' + "y" * 30_000 + '"}}',
    ],
)
def test_anything_else_is_an_answer(answer: str) -> None:
    """Somebody may have asked how a call looks, and other JSON is what many questions want."""
    assert written_call(answer, NAMES) == ""
