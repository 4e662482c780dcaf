"""The commented file of `aish config init`: it changes nothing and shows every setting."""

import tomllib
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from aish.settings.layers import SettingsLayer, load, parse_value
from aish.settings.options import Preset, PriceTag, Settings, describe
from aish.settings.template import template, toml_value

SETTINGS = {key: default for key, default, _ in describe(Settings)}


def plain(value: Any) -> Any:
    """Return settings as dictionaries, to compare them whole."""
    if isinstance(value, dict):
        return {name: plain(inner) for name, inner in value.items()}
    return plain(vars(value)) if hasattr(value, "__dict__") else value


def read(text: str) -> tuple[dict[str, Any], list[str], dict[str, str]]:
    """Return the settings from a file, its problems, and the sources of its values."""
    loaded = load([SettingsLayer(origin="config.toml", values=tomllib.loads(text), text=text)])
    return plain(loaded.settings), [str(problem) for problem in loaded.problems], dict(loaded.origins)


def uncommented(text: str) -> str:
    """Return the file without the "# " before every default, as its first lines explain."""
    names = {key.rpartition(".")[2] for key, default in SETTINGS.items() if default is not None}
    head, _, rest = text.partition("# Models are presets")
    lines = []
    for line in head.splitlines():
        bare = line.removeprefix("# ")
        lines.append(bare if bare.partition(" = ")[0] in names else line)
    return "\n".join(lines) + f"\n# Models are presets{rest}"


@pytest.mark.proves("P13")
def test_a_new_file_is_valid_and_changes_nothing() -> None:
    """A file from `aish config init` must have no mistakes."""
    assert read(template()) == (plain(Settings()), [], {})


def test_every_default_in_it_is_the_real_one() -> None:
    """Removing every "# " sets everything to its default."""
    values, problems, origins = read(uncommented(template()))

    assert problems == []
    assert values == plain(Settings())
    assert set(origins) == {key for key, default in SETTINGS.items() if default not in (None, {})}


def test_every_setting_is_in_it_with_its_explanation() -> None:
    """It is the only list of settings that a user has at hand."""
    text = template()

    for key, default, about in describe(Settings):
        name = key.rpartition(".")[2]
        assert f"# {about}\n# {name} = {toml_value(default)}\n" in text, key
    for kind in (Preset, PriceTag):
        for name, _, about in describe(kind):
            assert f"#   {name}: {about}\n" in text, name


def test_the_examples_in_it_work() -> None:
    """An example that is refused is worse than none."""
    examples = template().partition("choose one.\n")[2].partition("# Keys of")[0]

    values, problems, _ = read("\n".join(line.removeprefix("#").strip() for line in examples.splitlines()))

    assert problems == []
    assert {name: preset["model"] for name, preset in values["models"].items()} == {
        "local": "qwen3:8b",
        "cloud": "openai/gpt-5-mini",
    }
    assert values["prices"] == {"openai/gpt-5-mini": {"input": 0.25, "output": 2.0, "cached": None}}


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "(unset)"), (True, "true"), (4096, "4096"), (0.5, "0.5"), ('a"b', '"a\\"b"'), ([], "[]"), ("é", '"é"')],
)
def test_values_are_written_the_way_toml_writes_them(value: object, text: str) -> None:
    """TOML has no unset value, so a word is used for it."""
    assert toml_value(value) == text


@given(
    value=st.one_of(
        st.integers(),
        st.booleans(),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(),
        st.lists(st.text(), max_size=3),
        st.lists(st.dictionaries(st.sampled_from(["match", "model"]), st.text()), max_size=2),
    )
)
@example(value="\x7f")
@settings(deadline=None)
def test_a_value_that_is_shown_can_be_given_again(value: Any) -> None:
    """`--set` and files accept what `aish config` prints."""
    assert parse_value(toml_value(value)) == value
