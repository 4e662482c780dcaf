"""Estimated token counts: characters divided by a learned ratio, which is kept in the cache."""

import json
import math
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from aish.model.estimate import Estimates, PromptCount, repeated_characters

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

    estimates.learn("chinese", "a", PromptCount(1000, 0, 500))
    assert estimates.count("chinese", HUNDRED) == 50
    assert estimates.count("english", HUNDRED) == 25

    estimates.learn("chinese", "a", PromptCount(2000, 0, 1500))
    assert 50 < estimates.count("chinese", HUNDRED) < 100
    for place in range(2, 32):
        estimates.learn("chinese", "a", PromptCount(1000 * place, 0, 1000 * place))
    assert 97 <= estimates.count("chinese", HUNDRED) <= 100


@pytest.mark.proves("T10")
def test_what_was_learned_is_there_in_the_next_run(tmp_path: Path) -> None:
    """Several runs learn about several models, also from differences between runs."""
    path = tmp_path / "cache" / "tokens" / "ratios.json"
    Estimates(path).learn("a", "one", PromptCount(1000, 0, 500))
    Estimates(path).learn("b", "two", PromptCount(1000, 0, 300))
    Estimates(path).learn("b", "two", PromptCount(6000, 0, 1300))

    again = Estimates(path)
    assert (again.count("a", HUNDRED), again.count("c", HUNDRED)) == (50, 25)
    assert 20 < again.count("b", HUNDRED) < 30


@pytest.mark.parametrize(("characters", "tokens"), [(1000, 0), (1000, -5), (1000, 49), (0, 0), (1000, 10**12)])
def test_a_report_on_next_to_nothing_teaches_nothing(tmp_path: Path, characters: int, tokens: int) -> None:
    """In a short prompt the chat template dominates, and some counts are impossible."""
    estimates = Estimates(tmp_path / "ratios.json")
    estimates.learn("m", "s", PromptCount(characters, 0, tokens))

    assert estimates.count("m", HUNDRED) == 25


# The calls of a conversation on real servers: characters of the messages, characters of the schemas, tokens counted.
# llama.cpp and litellm were recorded here; the others follow what their projects document.
PATTERNS = {
    "OpenAI": [(3000, 9000, 2100), (3600, 9000, 2250), (8000, 9000, 3350), (30000, 9000, 8850)],
    "OpenRouter": [(3000, 9000, 2600), (3600, 9000, 2770), (8000, 9000, 4020), (30000, 9000, 10300)],
    "litellm without the schemas": [(2128, 4826, 432), (2662, 4826, 552), (7068, 4826, 1466)],
    "llama.cpp, a template without tools": [(2128, 4826, 434), (2662, 4826, 557), (7068, 4826, 1472)],
    "Ollama": [(3000, 0, 780), (3600, 0, 930), (8000, 0, 2030), (12000, 0, 3040)],
    "Ollama, counting only what is not cached": [(3000, 0, 780), (3600, 0, 150), (8000, 0, 1100), (14000, 0, 1500)],
    "a cache that helps late": [(3000, 0, 780), (7000, 0, 1800), (14000, 0, 1600), (40000, 0, 700)],
    "Ollama, zero for a cached prompt": [(3000, 0, 780), (3600, 0, 0), (8000, 0, 0), (14000, 0, 0)],
    "LocalAI with tools": [(3000, 9000, 0), (8000, 9000, 0), (30000, 9000, 0)],
    "Anthropic, cached tokens apart": [(3000, 9000, 2900), (3600, 9000, 7), (9000, 9000, 9), (20000, 9000, 2700)],
    "a gateway with its own prompt": [(3000, 0, 5800), (3600, 0, 5950), (8000, 0, 7050), (30000, 0, 12550)],
    "spaces in a table": [(3000, 0, 780), (3600, 0, 930), (8000, 0, 1800), (9000, 0, 1900)],
}


@pytest.mark.proves("T10")
@pytest.mark.parametrize("server", PATTERNS)
def test_no_way_of_counting_spoils_the_estimate_or_raises_an_alarm(tmp_path: Path, server: str) -> None:
    """A question of six words has about eight tokens, whatever a server leaves out; nothing was cut in any of these."""
    estimates = Estimates(tmp_path / "ratios.json")
    for _ in range(3):  # the second run has the memory of the first
        lessons = [estimates.learn("m", "s", PromptCount(*call)) for call in PATTERNS[server]]
        assert [lesson.missing for lesson in lessons] == [0] * len(lessons)
        assert 5 <= estimates.count("m", "How do I list my files?") <= 12
        estimates = Estimates(tmp_path / "ratios.json")


@pytest.mark.parametrize("tools", [0, 9000])
def test_a_server_whose_counts_stop_growing_has_cut_the_prompt(tmp_path: Path, tools: int) -> None:
    """Ollama drops the oldest messages of a prompt that is longer than its window of 4,096 tokens."""
    estimates = Estimates(tmp_path / "ratios.json")
    calls = [(3000, 780), (6000, 1540), (12000, 3050), (18000, 4080), (26000, 4010), (33000, 4090)]
    missing = [estimates.learn("m", "s", PromptCount(text, tools, counted)).missing for text, counted in calls]

    assert missing[:4] == [0, 0, 0, 0]
    assert all(count > 2000 for count in missing[4:])
    assert 20 <= estimates.count("m", HUNDRED) <= 30, "the counts of cut prompts teach nothing"


def test_one_long_prompt_after_others_that_were_counted_whole_shows_a_cut(tmp_path: Path) -> None:
    """`cat long.log | aish` is one call, but earlier runs showed how this server counts."""
    path = tmp_path / "ratios.json"
    for text, counted in ((3000, 780), (5000, 1290)):
        assert not Estimates(path).learn("m", "s", PromptCount(text, 0, counted)).missing

    assert Estimates(path).learn("m", "s", PromptCount(60000, 0, 4090)).missing


def test_long_runs_of_one_character_are_few_tokens() -> None:
    """A drawing or an empty table is no sign of a cut prompt."""
    assert repeated_characters("x" * 100 + "word  word" + "\n" * 20) == 92 + 12


counts = st.builds(PromptCount, st.integers(0, 10**9), st.integers(0, 10**6), st.integers(-10, 10**9))


@given(st.lists(counts, max_size=20), st.integers(1, 10_000))
@settings(max_examples=50, deadline=None)
def test_no_report_leads_to_a_senseless_count(
    tmp_path_factory: pytest.TempPathFactory, reports: list[PromptCount], length: int
) -> None:
    """A server with wrong counts must not make every prompt look tiny or huge."""
    estimates = Estimates(tmp_path_factory.mktemp("e") / "ratios.json")
    for report in reports:
        estimates.learn("m", "s", report, keep=False)

    assert math.ceil(length / 8) <= estimates.count("m", "x" * length) <= 2 * length


@given(
    st.binary(max_size=60)
    | st.dictionaries(st.just("m"), st.floats() | st.text() | st.lists(st.integers())).map(
        lambda x: json.dumps({"version": 2, "ratios": x, "seen": x}).encode()
    )
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
@example(b'{"version": 2, "ratios": {"m": 1e400}, "seen": {"m": [1, 2, 3]}}')
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
    Estimates(path).learn("n", "s", PromptCount(1000, 0, 500))
    assert Estimates(path).count("n", HUNDRED) == 50


def test_a_cache_that_cannot_be_written_does_not_stop_the_learning(tmp_path: Path) -> None:
    """The ratio still applies in this run."""
    (tmp_path / "tokens").write_text("a file where the directory should be", encoding="utf-8")
    estimates = Estimates(tmp_path / "tokens" / "ratios.json")
    estimates.learn("m", "s", PromptCount(1000, 0, 500))

    assert estimates.count("m", HUNDRED) == 50
