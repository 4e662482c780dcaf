"""The table of colon commands: found by name, alias or beginning; help and manual come from the docstrings."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aish.commands.manual import COMMANDS
from aish.intake.commands import Commands
from aish.values.errors import NotFound

pytestmark = pytest.mark.anyio

Place = list[str]  # what the handlers of these tests get as their scope


def table() -> Commands[Place]:
    commands: Commands[Place] = Commands()

    @commands.add("recall", argument="WORDS")
    async def recall(place: Place, words: str) -> str:
        """Show what I remember about WORDS.

        Looks in notes first.

        Nothing is sent to the model.
        """
        place.append(words)
        return f"nothing about {words}"

    @commands.add("reset")
    async def reset(place: Place, words: str) -> str:
        """Forget."""
        return ""

    @commands.add("quit", aliases=("exit", "q"))
    async def leave(place: Place, words: str) -> str:
        """Leave."""
        return ""

    return commands


async def test_a_command_gets_its_scope_and_the_words() -> None:
    """What a handler may use is handed in, so that it can be tested without a shell."""
    place: Place = []

    assert await table().find("recall").run(place, "tea time") == "nothing about tea time"
    assert place == ["tea time"]


@pytest.mark.parametrize(
    ("typed", "name"),
    [("recall", "recall"), ("rec", "recall"), ("res", "reset"), ("q", "quit"), ("exit", "quit"), ("qui", "quit")],
)
def test_a_command_is_found_by_name_alias_or_a_beginning_that_is_its_own(typed: str, name: str) -> None:
    """Frequent commands should cost few keys."""
    assert table().find(typed).name == name


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("re", "there is no command :re; did you mean :recall or :reset?"),
        ("xyz", "there is no command :xyz; :help lists them"),
        ("recalls", "there is no command :recalls; :help lists them"),
        ("", "there is no command :; :help lists them"),
    ],
)
def test_a_name_that_means_nothing_or_too_much_is_answered_with_a_hint(typed: str, message: str) -> None:
    """Running the wrong command is worse than asking again."""
    with pytest.raises(NotFound) as refused:
        table().find(typed)

    assert str(refused.value) == message


@given(typed=st.text(max_size=6))
@settings(deadline=None)
def test_whatever_is_typed_finds_a_command_that_begins_so_or_nothing(typed: str) -> None:
    """A guess may complete what was typed, never replace it."""
    commands = table()
    try:
        found = commands.find(typed)
    except NotFound as error:
        assert str(error).startswith(f"there is no command :{typed};")
    else:
        assert typed
        assert found.name.startswith(typed) or typed == "exit"


def test_help_and_manual_are_made_of_the_docstrings() -> None:
    """Words in two places drift apart."""
    commands = table()

    assert commands.help() == (
        ":recall WORDS  Show what I remember about WORDS.\n:reset         Forget.\n:quit          Leave."
    )
    assert commands.manual() == (
        "## `:recall WORDS`\n\nShow what I remember about WORDS.\n\n"
        "Looks in notes first.\n\nNothing is sent to the model.\n\n"
        "## `:reset`\n\nForget.\n\n## `:quit`\n\nLeave."
    )
    assert Commands[Place]().help() == ""


def test_a_command_without_a_docstring_is_refused() -> None:
    """It would have no help, and nobody would notice."""

    async def silent(place: Place, words: str) -> str:
        return ""

    with pytest.raises(ValueError, match=r"^:silent has no docstring, so it would have no help$"):
        table().add("silent")(silent)


@pytest.mark.parametrize(
    ("name", "aliases", "taken"), [("recall", (), "recall"), ("q", (), "q"), ("new", ("exit",), "exit")]
)
def test_a_name_cannot_be_given_twice(name: str, aliases: tuple[str, ...], taken: str) -> None:
    """One of the two would never be run; the refused one leaves no trace."""
    commands = table()

    async def another(place: Place, words: str) -> str:
        """Do something else."""
        return ""

    with pytest.raises(ValueError, match=f"^:{taken} is registered twice$"):
        commands.add(name, aliases=aliases)(another)

    assert [command.name for command in commands] == ["recall", "reset", "quit"]


def test_every_command_of_the_shell_can_be_read_in_one_line() -> None:
    """`:help` is a table; a summary that is no sentence or does not fit spoils it."""
    for command in COMMANDS:
        assert command.summary.endswith("."), command.name
        assert len(command.usage) <= 32, command.name
        assert len(command.summary) <= 110, command.name
        assert COMMANDS.find(command.name) is command
