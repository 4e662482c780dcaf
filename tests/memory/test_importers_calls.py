"""Tool calls of other models as text: readable, and complete."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aish.memory.importers.calls import ImportedCall, thought

DOCUMENT = "# Looms\n\nA loom weaves.\n"


@pytest.mark.parametrize(
    ("name", "given", "text"),
    [
        ("Bash", {"command": "ls -l"}, "[Bash] ls -l"),
        ("shell", {"command": ["ls", "-l"], "workdir": "/x"}, "[shell] ls -l\nworkdir: /x"),
        ("exec", '{"cmd": "ls", "yield_ms": 5}', "[exec] ls\nyield_ms: 5"),
        ("Read", {"file_path": "/a"}, '[Read] {"file_path": "/a"}'),
        ("clock", {}, "[clock] {}"),
        ("apply_patch", "*** Begin Patch", "[apply_patch] *** Begin Patch"),
        ("broken", '{"cmd": ', '[broken] {"cmd":'),
        (
            "artifacts",
            {"command": "create", "title": "Looms", "content": DOCUMENT},
            "[artifacts] create\ntitle: Looms\ncontent:\n# Looms\n\nA loom weaves.",
        ),
        (
            "str_replace_based_edit_tool",
            {"command": "create", "path": "/a.md", "file_text": DOCUMENT},
            "[str_replace_based_edit_tool] create\npath: /a.md\nfile_text:\n# Looms\n\nA loom weaves.",
        ),
        (
            "MultiEdit",
            {"file_path": "/a", "edits": [{"old_string": "a\nb", "new_string": "c", "all": False}]},
            "[MultiEdit]\nfile_path: /a\nedits[0].old_string:\na\nb\nedits[0].new_string: c\nedits[0].all: false",
        ),
    ],
)
def test_a_call_is_its_command_and_then_every_other_argument(name: str, given: Any, text: str) -> None:
    """What a model wrote into a document is in the arguments only; it must be readable, too."""
    assert str(ImportedCall(name, given)) == text


words = st.text("abcdef \n", max_size=300)
arguments = st.recursive(words, lambda inner: st.lists(inner) | st.dictionaries(st.text("xyz", min_size=1), inner))


@settings(max_examples=20, deadline=None)
@given(st.dictionaries(st.sampled_from(["command", "content", "edits", "file_path"]), arguments))
def test_every_text_in_the_arguments_is_in_the_text_of_the_call(given: dict[str, Any]) -> None:
    """Whatever the tool calls its arguments, and however deep they are."""
    said = str(ImportedCall("tool", json.dumps(given)))
    for text in texts(given):
        assert json.dumps(text.strip())[1:-1] in said or text.strip() in said


def texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value
    return [text for one in inner for text in texts(one)]


def test_thinking_is_marked() -> None:
    """Nobody may take it for the answer, not even where only the text is shown."""
    assert (thought("hm\n"), thought(" "), thought(None)) == ("[thinking] hm", "", "")
