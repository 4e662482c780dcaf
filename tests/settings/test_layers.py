"""Settings from several places: mistakes are located and affect nothing else, and later places win."""

import datetime as dt
import tomllib
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from aish.settings.layers import Loaded, SettingsLayer, load, parse_value, read_file, unknown_key
from aish.settings.options import Preset, PriceTag, Settings, describe

WRONG = dt.date(2024, 1, 1)  # no setting has this type

odd_names = st.text(alphabet="ab.\"' é\n", max_size=4)
odd_values: st.SearchStrategy[Any] = st.recursive(
    st.one_of(
        st.integers(),
        st.floats(),
        st.booleans(),
        st.sampled_from(["auto", "true", "embedded", "(", "x", "", WRONG, dt.time(1, 2)]),
    ),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(odd_names, inner, max_size=2),
    max_leaves=4,
)


def filled(names: list[str]) -> st.SearchStrategy[Any]:
    """A table with some of its keys and an unknown one, or another value in place of the table."""
    known = st.dictionaries(st.sampled_from(names), odd_values, max_size=4)
    return st.one_of(
        odd_values, known, st.builds(lambda one, two: {**one, **two}, known, st.fixed_dictionaries({"?": odd_values}))
    )


def any_tables() -> st.SearchStrategy[dict[str, Any]]:
    """Everything a TOML file could have in the places of settings."""
    tables: dict[str, list[str]] = {}
    for key, _, _ in describe(Settings):
        table, _, name = key.rpartition(".")
        tables.setdefault(table, []).append(name)
    choices: dict[str, st.SearchStrategy[Any]] = dict.fromkeys(tables.pop(""), odd_values)
    choices |= {name: filled(names) for name, names in tables.items()}
    for name, kind in (("models", Preset), ("prices", PriceTag)):
        choices[name] = (
            st.dictionaries(odd_names, filled([key for key, _, _ in describe(kind)]), max_size=2) | odd_values
        )
    rules = st.lists(st.dictionaries(st.sampled_from(["match", "model"]), st.sampled_from(["(", "embedded", "b"])))
    return st.fixed_dictionaries({}, optional={**choices, "rules": rules | odd_values, "other": odd_values})


def plain(value: Any) -> Any:
    """Return settings as dictionaries, to compare them whole."""
    if isinstance(value, dict):
        return {name: plain(inner) for name, inner in value.items()}
    return plain(vars(value)) if hasattr(value, "__dict__") else value


def has_type(value: Any, kind: Any) -> bool:
    """Return whether a value has the declared type; numbers are never negative."""
    origin, choices = get_origin(kind), get_args(kind)
    if kind in (int, float):
        return type(value) in {int, kind} and value >= 0
    if origin is Literal:
        return value in choices
    if origin in (list, dict):
        return type(value) is origin
    return any(has_type(value, choice) for choice in choices) if choices else type(value) is kind


def from_text(path: Path, text: str | bytes) -> tuple[Loaded, list[str]]:
    """Return the settings from a file, and all its problems without the directory."""
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    layer, problems = read_file(path)
    loaded = load([layer] if layer else [])
    return loaded, [str(problem).replace(f"{path.parent}/", "") for problem in (*problems, *loaded.problems)]


@pytest.mark.proves("P13")
def test_every_mistake_names_file_line_and_key_and_the_rest_is_in_force(tmp_path: Path) -> None:
    """One wrong word must not discard the other settings, and the user must not have to search for it."""
    loaded, said = from_text(
        tmp_path / "config.toml",
        """\
modle = "fast"          # line 1
model = 5
fallback = ["fast", 3]

[context]
max_turns = 12
token_budget = "4k"     # line 7
max_turn = 3
[tokenize]
use_endpoint = "yes"    # line 10
timeout_ms = -1
[models.fast]
kind = "opnai"          # line 13
endpoint = "http://127.0.0.1:1/v1"
temperture = 0.5
pause = true            # line 16
[prices."a/b"]
input = "cheap"
output = 2
""",
    )

    assert said == [
        "config.toml:1: modle: unknown key; did you mean model?",
        "config.toml:2: model: expected a string, got 5",
        "config.toml:3: fallback: expected a list of a string, got ['fast', 3]",
        "config.toml:7: context.token_budget: expected a whole number from 0 up or \"auto\", got '4k'",
        "config.toml:8: context.max_turn: unknown key; did you mean context.max_turns?",
        'config.toml:10: tokenize.use_endpoint: expected "auto" or "true" or "false", got \'yes\'',
        "config.toml:11: tokenize.timeout_ms: expected a whole number from 0 up, got -1",
        'config.toml:13: models.fast.kind: expected "openai" or "anthropic" or "google" or "responses" or "embedded" '
        "or \"scripted\", got 'opnai'",
        "config.toml:15: models.fast.temperture: unknown key; did you mean temperature?",
        "config.toml:16: models.fast.pause: expected a number from 0 up, got true",
        "config.toml:18: prices.\"a/b\".input: expected a number from 0 up, got 'cheap'",
    ]
    expected = plain(Settings())
    expected["context"]["max_turns"] = 12
    expected["models"] = {"fast": {**plain(Preset()), "endpoint": "http://127.0.0.1:1/v1"}}
    expected["prices"] = {"a/b": {**plain(PriceTag()), "output": 2}}
    assert plain(loaded.settings) == expected
    origin = str(tmp_path / "config.toml")
    assert loaded.origins == dict.fromkeys(["context.max_turns", "models.fast.endpoint", 'prices."a/b".output'], origin)


@pytest.mark.proves("P13")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("context = 5", "config.toml:1: context: expected a table, got 5"),
        ("\nmodels = 5", "config.toml:2: models: expected a table, got 5"),
        ("models.fast = 5", "config.toml:1: models.fast: expected a table, got 5"),
        (
            "context.max_turns = {}",
            'config.toml:1: context.max_turns: expected a whole number from 0 up or "auto", got {}',
        ),
    ],
)
def test_a_value_in_place_of_a_table_is_reported_as_that(tmp_path: Path, text: str, message: str) -> None:
    """ "Unknown key" would make the user look for a spelling mistake."""
    loaded, said = from_text(tmp_path / "config.toml", text)

    assert said == [message]
    assert plain(loaded.settings) == plain(Settings())


@pytest.mark.parametrize("text", ["[context]", "[models]", "[models.fast]", "context = {}", "[prices.'x']\n[cost]"])
def test_a_table_without_values_is_no_mistake(tmp_path: Path, text: str) -> None:
    """A user who comments out all values of a section leaves its title."""
    assert from_text(tmp_path / "config.toml", text)[1] == []


@pytest.mark.proves("P13")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            b'model = "x"\nprompt = \n',
            "config.toml:2: is not valid TOML, ignored: Invalid value (at line 2, column 10)",
        ),
        (b"model = 'caf\xe9'\n", "config.toml: is not UTF-8 text; ignored"),
        (b"x = " + b"[" * 5000 + b"]" * 5000, "config.toml: is nested too deeply; ignored"),
        (b"model = 1" + b"0" * 5000, "config.toml"),
        (b"a." * 5000 + b"b = 1", "config.toml"),
        (b"models.a.kind." + b"a." * 5000 + b"b = 1", "config.toml"),  # too deep for Python 3.14
        (b"model = 0x1" + b"f" * 5000, "config.toml:1: model: expected a string, got "),
    ],
    ids=["not TOML", "not UTF-8", "deep lists", "long number", "deep tables", "deep value", "long hexadecimal number"],
)
def test_a_file_that_cannot_be_read_leaves_the_defaults(tmp_path: Path, text: bytes, message: str) -> None:
    """The shell starts with any file."""
    loaded, said = from_text(tmp_path / "config.toml", text)

    assert len(said) == 1
    assert said[0].startswith(message)
    assert len(said[0]) < 20_000
    assert plain(loaded.settings) == plain(Settings())


@pytest.mark.proves("P13")
def test_a_missing_file_is_no_mistake_and_a_directory_is_one(tmp_path: Path) -> None:
    """Most users have no configuration."""
    assert read_file(tmp_path / "none.toml") == (None, [])

    layer, [problem] = read_file(tmp_path)
    assert layer is None
    assert str(problem) == f"{tmp_path}: cannot be read (Is a directory); ignored"


def test_a_byte_order_mark_and_windows_line_ends_are_accepted(tmp_path: Path) -> None:
    """Some editors add them."""
    loaded, said = from_text(tmp_path / "config.toml", "\ufeff[context]\r\nmax_turns = 7\r\nmax_bytes = true\r\n")

    assert said == ["config.toml:3: context.max_bytes: expected a whole number from 0 up, got true"]
    assert loaded.settings.context.max_turns == 7


@pytest.mark.proves("P13")
@given(layers=st.lists(any_tables(), max_size=2))
@example(layers=[{"models": {"a": {"kind": "scripted"}}, "model": "a"}, {"models": {"a": 1}, "model": "b"}])
@example(layers=[{"memory": {"prune_older_than_days": 30}}])
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_no_value_stops_the_program(layers: list[dict[str, Any]]) -> None:
    """Every value in force has its declared type, and every problem names its key and place."""
    loaded = load([SettingsLayer(origin=f"layer {place}", values=values) for place, values in enumerate(layers)])

    for key, _, _ in describe(Settings):
        value: Any = loaded.settings
        kind: Any = Settings
        for name in key.split("."):
            value, kind = getattr(value, name), get_type_hints(kind)[name]
        assert has_type(value, kind), key
    assert all(problem.key and problem.message and problem.origin.startswith("layer ") for problem in loaded.problems)
    assert set(loaded.origins.values()) <= {f"layer {place}" for place in range(len(layers))}


CHOICES: dict[str, st.SearchStrategy[Any]] = {
    "context.max_turns": st.integers(min_value=0),
    "context.token_budget": st.one_of(st.integers(min_value=0), st.just("auto")),
    "embedded.warm": st.booleans(),
    "network.connect_seconds": st.floats(min_value=0, allow_infinity=False),
    "view.prompt": st.text(),
    "view.keys": st.sampled_from(["emacs", "vi"]),
    "models.mine.answers": st.lists(st.text(), max_size=2),
}


@pytest.mark.proves("P13")
@given(given_values=st.lists(st.fixed_dictionaries({}, optional={k: v | st.just(WRONG) for k, v in CHOICES.items()})))
@settings(deadline=None)
def test_the_last_valid_value_wins(given_values: list[dict[str, Any]]) -> None:
    """A wrong value leaves the earlier one in force."""
    layers = []
    for place, values in enumerate(given_values):
        tree: dict[str, Any] = {}
        for key, value in values.items():
            *path, last = key.split(".")
            table = tree
            for part in path:
                table = table.setdefault(part, {})
            table[last] = value
        layers.append(SettingsLayer(origin=str(place), values=tree))

    loaded = load(layers)

    expected: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for place, values in enumerate(given_values):
        for key, value in values.items():
            if value != WRONG:
                expected[key], origins[key] = value, str(place)
    for key, value in expected.items():
        found: Any = plain(loaded.settings)
        for part in key.split("."):
            found = found[part]
        assert found == value
    assert loaded.origins == origins
    mistakes = [
        (str(place), key) for place, values in enumerate(given_values) for key in values if values[key] == WRONG
    ]
    assert sorted((problem.origin, problem.key) for problem in loaded.problems) == sorted(mistakes)


def test_values_that_only_look_right_are_refused_and_equal_spellings_are_taken() -> None:
    """`true` is not a number and zero is not a limit, but `true` may be written without quotes."""
    values = {
        "context": {"token_budget": True, "max_turns": 1.5, "max_bytes": False},
        "network": {"connect_seconds": float("nan"), "silence_seconds": 3},
        "tokenize": {"use_endpoint": True},
        "cost": {"cap_at_dollars": -0.5},
    }

    loaded = load([SettingsLayer(origin="x", values=values)])

    assert [problem.key for problem in loaded.problems] == [
        "context.token_budget",
        "context.max_turns",
        "context.max_bytes",
        "network.connect_seconds",
        "cost.cap_at_dollars",
    ]
    assert loaded.settings.network.silence_seconds == 3
    assert loaded.settings.tokenize.use_endpoint == "true"


@pytest.mark.proves("P13")
def test_an_unknown_model_is_reported_with_its_line_and_the_default_answers(tmp_path: Path) -> None:
    """The shell starts, and the default is not shown as coming from the file."""
    loaded, said = from_text(
        tmp_path / "config.toml",
        'fallback = ["gone", "mine"]\nmodel = "nope"\n\n[[rules]]\nmatch = "("\nmodel = "mine"\n[models.mine]\n',
    )

    assert [line for line in said if "nope" in line] == [
        "config.toml:2: model: there is no model 'nope'; embedded answers instead"
    ]
    assert loaded.settings.model == "embedded"
    assert "model" not in loaded.origins


@pytest.mark.proves("P13")
@pytest.mark.parametrize("match", ["(", "a{99999999999999999999}", "(" * 5000 + ")" * 5000])
def test_a_rule_that_cannot_be_used_is_left_out_and_the_others_stay(match: str) -> None:
    """A pattern can be wrong in several ways."""
    good = {"match": "^code", "model": "embedded"}
    unknown = {"match": "x", "model": "gone"}

    loaded = load([SettingsLayer(origin="x", values={"rules": [{"match": match, "model": "embedded"}, good, unknown]})])

    kept = loaded.settings.rules
    assert good in kept
    assert unknown not in kept
    assert len(kept) + len(loaded.problems) == 3
    assert all(problem.key == "rules" for problem in loaded.problems)


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("nonsense", ""),
        ("view", ""),
        ("banana.split", ""),
        ("keys", "view.keys"),
        ("view.kyes", "view.keys"),
        ("token_budget", "context.token_budget"),
        ("notes.token_budget", "context.token_budget"),
        ("mcp.servers.a.comand", "command"),
    ],
)
def test_only_a_name_that_is_near_is_suggested(key: str, meant: str) -> None:
    """A far one would send the user the wrong way."""
    assert unknown_key(key) == ("unknown key" + (f"; did you mean {meant}?" if meant else ""))


@given(text=st.text(alphabet="\"'\\ 0179truefalsinx.:/-+_#[]{},=\n\té\x7f", max_size=8) | st.from_regex(r"[0-9]{1,12}"))
@example(text='"a b.c/d:e@f-g"')
@example(text="true")
@example(text="http://127.0.0.1:8080/v1")
@example(text="0")
@example(text="07")
def test_a_value_of_the_command_line_is_read_as_in_a_settings_file(text: str) -> None:
    """Plain values are read without a TOML parser, which takes longer to load than all settings."""
    try:
        expected = tomllib.loads(f"value = {text}")["value"]
    except ValueError:
        expected = text

    found = parse_value(text)
    assert (type(found), repr(found)) == (type(expected), repr(expected))
