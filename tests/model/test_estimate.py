"""Estimated token counts: characters divided by a learned ratio, which is kept in the cache."""

import json
import math
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from aish.model.estimate import Estimates

HUNDRED = "x" * 100


@pytest.mark.proves("T10")
@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("日本語です", 2), (HUNDRED, 25)]
)
def test_without_any_report_four_characters_are_a_token(tmp_path: Path, text: str, tokens: int) -> None:
    """Rounded up, so that text never counts as zero."""
    assert Estimates(tmp_path / "ratios.json").count("m", text) == tokens


@pytest.mark.proves("T10")
def test_reports_of_the_server_refine_the_ratio_of_that_model_only(tmp_path: Path) -> None:
    """Each model has its own ratio. The newest report weighs most, but does not replace the earlier ones."""
    estimates = Estimates(tmp_path / "ratios.json")

    estimates.refine("chinese", 1000, 500)
    assert estimates.count("chinese", HUNDRED) == 50
    assert estimates.count("english", HUNDRED) == 25

    estimates.refine("chinese", 1000, 1000)
    assert 50 < estimates.count("chinese", HUNDRED) < 100
    for _ in range(30):
        estimates.refine("chinese", 1000, 1000)
    assert 97 <= estimates.count("chinese", HUNDRED) <= 100


@pytest.mark.proves("T10")
def test_what_was_learned_is_there_in_the_next_run(tmp_path: Path) -> None:
    """Several runs learn about several models."""
    path = tmp_path / "cache" / "tokens" / "ratios.json"
    Estimates(path).refine("a", 1000, 500)
    Estimates(path).refine("b", 1000, 200)

    assert json.loads(path.read_bytes()) == {"a": 2.0, "b": 5.0}
    again = Estimates(path)
    assert (again.count("a", HUNDRED), again.count("b", HUNDRED), again.count("c", HUNDRED)) == (50, 20, 25)


@pytest.mark.parametrize(("characters", "tokens"), [(1000, 0), (1000, -5), (1000, 49), (49, 1000), (0, 0)])
def test_a_report_on_next_to_nothing_teaches_nothing(tmp_path: Path, characters: int, tokens: int) -> None:
    """In a short prompt the chat template dominates."""
    estimates = Estimates(tmp_path / "ratios.json")
    estimates.refine("m", characters, tokens)

    assert estimates.count("m", HUNDRED) == 25
    assert not (tmp_path / "ratios.json").exists()


@given(st.lists(st.tuples(st.integers(-10, 10**9), st.integers(-10, 10**9)), max_size=20), st.integers(1, 10_000))
@settings(max_examples=50, deadline=None)
def test_no_report_leads_to_a_senseless_count(
    tmp_path_factory: pytest.TempPathFactory, reports: list[tuple[int, int]], length: int
) -> None:
    """A server with wrong counts must not make every prompt look tiny or huge."""
    estimates = Estimates(tmp_path_factory.mktemp("e") / "ratios.json")
    for characters, tokens in reports:
        estimates.refine("m", characters, tokens)

    assert math.ceil(length / 12) <= estimates.count("m", "x" * length) <= 2 * length


@given(
    st.binary(max_size=60)
    | st.dictionaries(st.just("m"), st.floats() | st.text()).map(lambda x: json.dumps(x).encode())
)
@settings(max_examples=100, deadline=None)
@example(b"")
@example(b'{"m": 2.0')
@example(b'{"m": NaN}')
@example(b'{"m": 0}')
@example(b'{"m": -3}')
@example(b'{"m": 1' + b"0" * 400 + b"}")
@example(b'{"m": 1' + b"0" * 5000 + b"}")
@example(b"[" * 100_000)
@example(b"[1]")
@example(b"null")
@example(b"\xff\x00")
def test_a_damaged_file_is_no_trouble_and_is_written_anew(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    """The file is a cache: its content is learned again."""
    path = tmp_path_factory.mktemp("e") / "ratios.json"
    path.write_bytes(content)

    assert 0 < Estimates(path).count("m", HUNDRED) <= 200
    Estimates(path).refine("n", 1000, 500)
    assert Estimates(path).count("n", HUNDRED) == 50


def test_a_cache_that_cannot_be_written_does_not_stop_the_learning(tmp_path: Path) -> None:
    """The ratio still applies in this run."""
    (tmp_path / "tokens").write_text("a file where the directory should be", encoding="utf-8")
    estimates = Estimates(tmp_path / "tokens" / "ratios.json")
    estimates.refine("m", 1000, 500)

    assert estimates.count("m", HUNDRED) == 50
