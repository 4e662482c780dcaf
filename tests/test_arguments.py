"""The arguments of verbs: plain ones are read without argparse, which takes a tenth of the time of a small verb."""

import contextlib
import io
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aish.cli import _parser as parser_of_questions
from aish.views.arguments import HIDDEN, REST, VerbArguments


def command_line() -> VerbArguments:
    parser = VerbArguments("aish judge", "Judge a command line.", allow_abbrev=False)
    parser.add_argument("--jsonl", action="store_true")
    parser.add_argument("line", nargs=REST)
    return parser


def items() -> VerbArguments:
    parser = VerbArguments("aish items", "Manage items.")
    parser.add_argument("verb", nargs="?", default="list", choices=("list", "add", "hello"))
    parser.add_argument("words", nargs="*")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--yes", action="append_const", const="", help=HIDDEN)
    parser.add_argument("--limit", type=int, default=5)
    parser.add_argument("-m", "--model", default="")
    return parser


def places() -> VerbArguments:
    parser = VerbArguments("aish places", "Copy.")
    parser.add_argument("source")
    parser.add_argument("rest", nargs="+")
    parser.add_argument("--json", action="store_true")
    return parser


MAKERS: list[Callable[[], VerbArguments]] = [command_line, items, places, parser_of_questions]
WORDS = ["", "-", "--", "hello", "list", "a=b", "-l", "-m", "-p", "-pl", "-c", "-1", "--json", "--jso", "--json=1"]
WORDS += ["--jsonl", "--set", "--set=a=b", "--set=", "--yes", "--limit", "3", "--limit=3", "--model", "--model=x"]
WORDS += ["--print", "--continue", "--resume", "--no-memory", "- x", "?"]


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["--jsno"], "unrecognized arguments: --jsno; did you mean --json?"),
        (["list", "--limt=3", "--ste"], "unrecognized arguments: --limt=3 --ste; did you mean --limit --set?"),
        (["--colour"], "unrecognized arguments: --colour"),
        (["lsit"], "did you mean list?"),
        (["remove"], "(choose from 'list', 'add', 'hello')"),
    ],
)
def test_a_mistyped_option_or_choice_is_told_with_what_was_meant(
    words: list[str], meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """As for a mistyped verb. Nothing is said where nothing is near."""
    with pytest.raises(SystemExit) as ended:
        items().parse_args(words)
    said = capsys.readouterr().err.splitlines()[-1]
    assert ended.value.code == 2 and said.endswith(meant)


def read_by_argparse(arguments: VerbArguments, words: Sequence[str], *, intermixed: bool) -> dict[str, object] | None:
    """Return what argparse makes of these words; None if it refuses them or shows its help."""
    parser = arguments.parser()
    read = parser.parse_intermixed_args if intermixed else parser.parse_args
    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        try:
            return vars(read(words))
        except SystemExit:
            return None
        except TypeError:  # a place for the rest of the line cannot be intermixed
            return None


@pytest.mark.parametrize("make", MAKERS)
@given(words=st.lists(st.sampled_from(WORDS), max_size=6))
def test_what_is_read_here_is_read_by_argparse_in_the_same_way(
    make: Callable[[], VerbArguments], words: list[str]
) -> None:
    """So the rules of the command line are those of argparse, also in rare cases."""
    for intermixed in (False, True):
        if make is command_line and intermixed:
            continue
        read = make().read(words, intermixed=intermixed)
        if read is not None:
            assert vars(read) == read_by_argparse(make(), words, intermixed=intermixed)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (command_line, ["ls", "-l", "--", "x"]),
        (command_line, ["--jsonl"]),
        (items, []),
        (items, ["add", "hello", "--json", "--set", "a=b", "--set=c=d", "--yes"]),
        (places, ["hello", "x", "y", "--json"]),
        (parser_of_questions, ["--set", "a=b", "--model", "x", "why", "hello"]),
        (parser_of_questions, ["-p", "--json", "hello"]),
        (parser_of_questions, []),
    ],
)
def test_usual_arguments_are_read_without_argparse(make: Callable[[], VerbArguments], words: list[str]) -> None:
    """These are what people and scripts type."""
    assert make().read(words) is not None


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (items, ["--help"]),
        (items, ["drop"]),
        (items, ["--limit", "three"]),
        (items, ["--json", "--unknown"]),
        (places, ["only-one"]),
        (parser_of_questions, ["--set"]),
    ],
)
def test_help_and_mistakes_are_left_to_argparse(make: Callable[[], VerbArguments], words: list[str]) -> None:
    """It explains them."""
    assert make().read(words) is None
    with (
        pytest.raises(SystemExit),
        contextlib.redirect_stderr(io.StringIO()),
        contextlib.redirect_stdout(io.StringIO()),
    ):
        make().parse_args(words)


def test_the_rest_of_a_line_has_no_abbreviations() -> None:
    """argparse finds them there, and refuses those that are ambiguous; a command line is not ours to read."""
    with pytest.raises(ValueError, match="abbreviations"):
        VerbArguments("aish judge", "Judge a command line.").add_argument("line", nargs=REST)


def test_words_in_two_parts_are_intermixed_only_where_that_is_wanted() -> None:
    """As in argparse, which refuses them otherwise."""
    words = ["add", "--json", "hello"]

    assert items().read(words) is None
    read = items().read(words, intermixed=True)
    assert read is not None
    assert (read.verb, read.words, read.json) == ("add", ["hello"], True)


def test_an_option_that_is_not_listed_is_not_in_the_help() -> None:
    """Options of single verbs are explained with them."""
    text = items().parser().format_help()

    assert "--json" in text
    assert "--yes" not in text
