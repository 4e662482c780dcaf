"""Completion of colon commands: first the command name, then its first argument."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aish.intake.commands import Arguments, Commands
from aish.intake.completion import suggest

COMMANDS: Commands[None] = Commands()
WORDS = {"model": ["fast", "far", "deep"], "cost": ["detail", "all"]}


@COMMANDS.add("model", argument="[NAME]")
async def model(scope: None, arguments: Arguments) -> str:
    """Choose."""
    return ""


@COMMANDS.add("memory")
async def memory(scope: None, arguments: Arguments) -> str:
    """Remember."""
    return ""


@COMMANDS.add("cost")
async def cost(scope: None, arguments: Arguments) -> str:
    """Count."""
    return ""


@pytest.mark.parametrize(
    ("text", "suggestions"),
    [
        (":", [("model", 0, "Choose."), ("memory", 0, "Remember."), ("cost", 0, "Count.")]),
        (":m", [("model", 1, "Choose."), ("memory", 1, "Remember.")]),
        (":mo", [("model", 2, "Choose.")]),
        (":model", [("model", 5, "Choose.")]),
        (":x", []),
        (":model ", [("fast", 0, ""), ("far", 0, ""), ("deep", 0, "")]),
        (":model fa", [("fast", 2, ""), ("far", 2, "")]),
        (":model x", []),
        (":memory ", []),
        (":nothing ", []),
        ("", []),
        ("model", []),
        ("? :m", []),
    ],
)
def test_a_command_is_completed_first_and_then_its_argument(text: str, suggestions: list[tuple[str, int, str]]) -> None:
    """Each name has a hint. Questions get no suggestions."""
    assert suggest(text, COMMANDS, WORDS) == suggestions


@given(text=st.one_of(st.text(max_size=12), st.text(alphabet=":mode lfast", max_size=12).map(":".__add__)))
@settings(deadline=None)
def test_a_suggestion_only_goes_on_with_what_is_typed(text: str) -> None:
    """Accepting a suggestion replaces exactly the part that was typed."""
    for word, length, _ in suggest(text, COMMANDS, WORDS):
        assert 0 <= length <= len(text)
        assert word.startswith(text[len(text) - length :])
