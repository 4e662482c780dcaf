"""The sources of values: environment, command line, and the lines of a file."""

import string
import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aish.settings.layers import SettingsLayer, line_of, load, parse_value, read_arguments, read_environment
from aish.settings.options import Settings

VALUES = {
    "model": '"embedded"',
    "context.max_turns": "7",
    "context.token_budget": '"auto"',
    "view.prompt": '"a = b [c] # d"',
    "models.fast.kind": '"scripted"',
    "models.fast.answers": '["[x]", "y = 1"]',
    'models."a.b".model': '"m"',
    'prices."openai/gpt-5".input': "0.25",
    'prices."openai/gpt-5".output': "2.0",
}


def test_the_environment_gives_values_with_two_underscores_for_the_dot() -> None:
    """Other variables are ignored."""
    env = {
        "AISH_SET_CONTEXT__TOKEN_BUDGET": "8192",
        "AISH_SET_MODEL": "fast",
        "AISH_SET_MODELS__FAST__KIND": "scripted",
        "AISH_SET_MODELS__FAST__ANSWERS": '["a", "b"]',
        "AISH_HOME": "/x",
        "MODEL": "no",
    }

    layer = read_environment(env)

    assert layer == SettingsLayer(
        origin="environment",
        values={
            "context": {"token_budget": 8192},
            "model": "fast",
            "models": {"fast": {"kind": "scripted", "answers": ["a", "b"]}},
        },
    )
    assert load([layer]).problems == ()


def test_the_command_line_gives_values_and_reports_invalid_ones() -> None:
    """A mistake there does not stop the program either."""
    layer, problems = read_arguments(["context.max_turns = 3", "model=a=b", "view.prompt=", "oops", "=1", "view=2"])

    assert [str(problem) for problem in problems] == ["command line: expected KEY=VALUE, got 'oops'"]
    loaded = load([layer])
    assert loaded.settings.context.max_turns == 3
    assert loaded.settings.view.prompt in ("", Settings().view.prompt)  # the mistake after it may replace it
    assert loaded.settings.model == "a=b"
    assert {problem.origin for problem in loaded.problems} == {"command line"}


def test_a_name_with_dots_is_quoted_on_the_command_line_as_it_is_in_a_file() -> None:
    """Model names contain dots and slashes."""
    layer, _ = read_arguments(['prices."openai/gpt-5.1".input=0.5'])

    loaded = load([layer])

    assert loaded.problems == ()
    assert loaded.settings.prices["openai/gpt-5.1"].input == 0.5


@pytest.mark.parametrize("key", ["a." * 5000 + "b", ".", "..", '"', '""', "a.", ".a", "models", "models.", "é.\n"])
def test_no_key_or_value_stops_the_program(key: str) -> None:
    """Scripts build such options from any input."""
    for value in ("1", "1" + "0" * 5000, "[" * 5000, "", "\n", "'"):
        given_here, problems = read_arguments([f"{key}={value}"])
        environment = read_environment({f"AISH_SET_{key.replace('.', '__')}": value})

        loaded = load([environment, given_here])

        assert problems == []
        assert {problem.origin for problem in loaded.problems} == {"environment", "command line"}


@given(text=st.text())
@settings(deadline=None)
def test_any_text_is_a_value(text: str) -> None:
    """Quotes around a word are optional."""
    try:
        expected = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        expected = text

    assert repr(parse_value(text)) == repr(expected)  # compared as text, because NaN is not equal to itself


@st.composite
def files(draw: st.DrawFn) -> tuple[str, dict[str, int]]:
    """A TOML file in one of many notations, and the line of each key."""
    chosen = draw(st.permutations(sorted(VALUES)))[: draw(st.integers(min_value=1, max_value=len(VALUES)))]
    tables: dict[str, list[str]] = {}
    for key in chosen:
        table, name = split_last(key)
        tables.setdefault(table, []).append(name)
    top: list[tuple[list[str], str]] = []
    sections: list[tuple[list[str], str]] = []
    for table, names in tables.items():
        full = [f"{table}.{name}" if table else name for name in names]
        form = draw(st.sampled_from(["dotted", "inline", "section"])) if table else "dotted"
        dot = draw(st.sampled_from([".", " . "]))
        match form:
            case "dotted":
                top += [([key], f"{spaced(key, dot)} = {VALUES[key]}") for key in full]
            case "inline":
                inner = ", ".join(f"{name} = {VALUES[key]}" for name, key in zip(names, full, strict=True))
                top.append((full, f"{spaced(table, dot)}={{ {inner} }}"))
            case _:
                sections.append(([], draw(st.sampled_from([f"[{table}]", f" [ {spaced(table, dot)} ] # x"]))))
                sections += [([key], f"\t{name}= {VALUES[key]}") for name, key in zip(names, full, strict=True)]
    lines: list[str] = []
    found: dict[str, int] = {}
    for keys, line in [*draw(st.permutations(top)), *sections]:
        lines += draw(st.lists(st.sampled_from(["", "# model = 1", "  # [models.fast]"]), max_size=2))
        lines.append(line)
        found |= dict.fromkeys(keys, len(lines))
    return "\n".join(lines), found


def split_last(key: str) -> tuple[str, str]:
    table, _, name = key.rpartition(".")
    return table, name


def spaced(key: str, dot: str) -> str:
    """Join the parts of a key with `dot`, and use the other quotes if it is not a plain dot."""
    pieces = key.split('"')
    quote = '"' if dot == "." else "'"
    return quote.join(piece if place % 2 else piece.replace(".", dot) for place, piece in enumerate(pieces))


@pytest.mark.proves("P13")
@given(made=files())
@settings(deadline=None, max_examples=200)
def test_the_line_of_a_key_is_found_however_the_file_is_written(made: tuple[str, dict[str, int]]) -> None:
    """TOML has three notations for one thing, and people use all of them."""
    text, lines = made
    assert load([SettingsLayer(origin="x", values=tomllib.loads(text))]).problems == ()

    assert {key: line_of(text, key) for key in lines} == lines


@pytest.mark.proves("P13")
@given(text=st.text(alphabet=string.printable), key=st.sampled_from([*VALUES, "none.such"]))
@settings(deadline=None)
def test_an_unknown_line_is_none(text: str, key: str) -> None:
    """The search for the line must not fail on any file."""
    assert 0 <= line_of(text, key) <= text.count("\n") + 1
    assert line_of("", key) == 0
