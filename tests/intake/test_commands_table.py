"""The table of colon commands: lookup by name, alias or prefix; help and manual come from the docstrings."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aish.commands.manual import COMMANDS
from aish.intake.commands import Arguments, Command, CommandOption, Commands
from aish.values.errors import BadUsage, NotFound

pytestmark = pytest.mark.anyio

Place = list[str]  # the scope of the handlers in these tests


def table() -> Commands[Place]:
    commands: Commands[Place] = Commands()

    @commands.add("recall", argument="WORDS")
    async def recall(place: Place, arguments: Arguments) -> str:
        """Show what I remember about WORDS.

        Looks in notes first.

        Nothing is sent to the model.
        """
        place.append(arguments.text)
        return f"nothing about {arguments.text}"

    @commands.add("reset")
    async def reset(place: Place, arguments: Arguments) -> str:
        """Forget."""
        return ""

    @commands.add("quit", aliases=("exit", "q"))
    async def leave(place: Place, arguments: Arguments) -> str:
        """Leave."""
        return ""

    return commands


async def test_a_command_gets_its_scope_and_the_words() -> None:
    """A handler gets its dependencies as an argument, so it can be tested without a shell."""
    place: Place = []

    assert await table().find("recall").run(place, Arguments(("tea", "time"))) == "nothing about tea time"
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
        ("recalls", "there is no command :recalls; did you mean :recall?"),
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


def test_the_manual_is_made_of_the_docstrings() -> None:
    """Text that is written twice drifts apart."""
    commands = table()

    assert commands.manual() == (
        "## `:recall WORDS`\n\nShow what I remember about WORDS.\n\n"
        "Looks in notes first.\n\nNothing is sent to the model.\n\n"
        "## `:reset`\n\nForget.\n\n## `:quit`\n\nLeave."
    )


def test_a_command_without_a_docstring_is_refused() -> None:
    """It would have no help text."""

    async def silent(place: Place, arguments: Arguments) -> str:
        return ""

    with pytest.raises(ValueError, match=r"^:silent has no docstring, so it would have no help$"):
        table().add("silent")(silent)


@pytest.mark.parametrize(
    ("name", "aliases", "taken"), [("recall", (), "recall"), ("q", (), "q"), ("new", ("exit",), "exit")]
)
def test_a_name_cannot_be_given_twice(name: str, aliases: tuple[str, ...], taken: str) -> None:
    """One of the two could never run. The refused one is not registered at all."""
    commands = table()

    async def another(place: Place, arguments: Arguments) -> str:
        """Do something else."""
        return ""

    with pytest.raises(ValueError, match=f"^:{taken} is registered twice$"):
        commands.add(name, aliases=aliases)(another)

    assert [command.name for command in commands] == ["recall", "reset", "quit"]


def test_every_command_of_the_shell_can_be_read_in_one_line() -> None:
    """`:help` is a table, so each summary must be one sentence that fits in a row."""
    for command in COMMANDS:
        assert command.summary.endswith("."), command.name
        assert len(command.usage) <= 32, command.name
        assert len(command.summary) <= 110, command.name
        assert COMMANDS.find(command.name) is command


@pytest.mark.parametrize(
    ("typed", "words", "options"),
    [
        ("", (), {}),
        ("tea  time", ("tea", "", "time"), {}),
        ("--all tea", ("tea",), {"all": ("",)}),
        ("--tag a --tag b tea --all", ("tea", "--all"), {"tag": ("a", "b")}),
        ('  --tag "two words" tea', ("tea",), {"tag": ("two words",)}),
        (r'--tag "a \"quote\" and \\" tea', ("tea",), {"tag": ('a "quote" and \\',)}),
        ('--tag "open tea', ("tea",), {"tag": ('"open',)}),
        ("-- --all tea", ("--all", "tea"), {}),
        ("--all -- --tag", ("--tag",), {"all": ("",)}),
        ("-x tea", ("-x", "tea"), {}),
        ("tea\n--all", ("tea\n--all",), {}),
    ],
)
def test_a_typed_line_is_options_and_then_text(
    typed: str, words: tuple[str, ...], options: dict[str, tuple[str, ...]]
) -> None:
    """Only declared options are parsed. The text after them is kept as typed."""
    command = with_options()

    assert command.parse(typed) == Arguments(words, options)


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("--tags a", "there is no option --tags; there are: --tag, --all"),
        ("--tag", "--tag needs a value"),
        ('--tag "" tea', "--tag needs a value"),
    ],
)
def test_an_option_that_is_not_declared_or_has_no_value_is_refused(typed: str, message: str) -> None:
    """A mistyped option must not become part of a stored text."""
    with pytest.raises(BadUsage) as refused:
        with_options().parse(typed)

    assert str(refused.value) == message


@given(words=st.lists(st.text(max_size=5)), tags=st.lists(st.text(min_size=1, max_size=5), min_size=1))
@settings(deadline=None)
def test_words_and_values_of_the_command_line_arrive_as_they_are(words: list[str], tags: list[str]) -> None:
    """They were parsed once, by the user's shell."""
    arguments = with_options().given(words, {"tag": tags})

    assert (list(arguments.words), list(arguments.values("tag"))) == (words, tags)
    assert (arguments.text, arguments.value("tag")) == (" ".join(words), tags[-1])
    assert (arguments.has("all"), arguments.value("all", "no")) == (False, "no")


@given(typed=st.text())
@settings(deadline=None)
def test_a_command_without_options_gets_its_text_exactly(typed: str) -> None:
    """`:remember --yes is what I say` is a text."""
    assert table().find("recall").parse(typed).text == typed


def test_the_first_word_is_taken_only_if_it_is_one_of_the_choices() -> None:
    """Only a whole word counts: a longer argument that starts with it is text."""
    choices = ("md", "json")

    assert Arguments(("md", "a file")).take_word(choices) == ("md", Arguments(("a file",)))
    assert Arguments(("md file",)).take_word(choices) == ("", Arguments(("md file",)))
    assert Arguments().take_word(choices) == ("", Arguments())


def test_a_word_after_a_group_of_commands_must_be_one_of_them() -> None:
    """`:recall` takes any words; `:reset` has subcommands and takes no other words."""
    commands = table()

    @commands.add("reset all")
    async def reset_all(place: Place, arguments: Arguments) -> str:
        """Forget all."""
        return ""

    assert commands.parse("reset", "all now")[0].name == "reset all"
    assert commands.parse("reset", "")[0].name == "reset"
    with pytest.raises(NotFound, match=r"^there is no :reset everything; there are: all$"):
        commands.parse("reset", "everything now")


async def test_a_table_takes_in_another_whose_handlers_get_a_part_of_the_scope() -> None:
    """Memory commands run in the shell, and in a verb without a conversation."""
    whole: Commands[dict[str, Place]] = Commands()
    whole.include(table(), lambda scope: scope["here"])
    here: Place = []

    command, arguments = whole.parse("recall", "tea time")

    assert await command.run({"here": here}, arguments) == "nothing about tea time"
    assert here == ["tea time"]
    assert (command.usage, command.summary) == (":recall WORDS", "Show what I remember about WORDS.")
    with pytest.raises(ValueError, match=r"^:recall is registered twice$"):
        whole.include(table(), lambda scope: scope["here"])


def with_options() -> Command[Place]:
    commands = table()

    @commands.add("find", argument="WORDS", options=(CommandOption("tag", takes_value=True), CommandOption("all")))
    async def find(place: Place, arguments: Arguments) -> str:
        """Find."""
        return ""

    return commands.find("find")
