"""The cheap check before masking never misses a secret, and rarely flags prose."""

import re
import subprocess
import sys
from functools import partial

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from timing import cpu_seconds

from aish.memory.secret_hints import lowered, may_hold_secret, next_cut
from aish.memory.secret_patterns import find
from aish.memory.secret_rules import RULES, Rule

VALUE = "F4k3" + "q9ZkP2mX7vLr8TnW"  # concatenated, so that secret scanners do not report this file
LINES = st.sampled_from(
    [
        "plain words",
        "password:",
        f"my password is {VALUE}",
        "",
        "```",
        "x = 1",
        "-----BEGIN PRIVATE KEY-----",
        VALUE,
        "\\",
    ]
)
TEXTS = st.lists(LINES | st.text(max_size=30), max_size=12).map("\n".join)


@pytest.mark.parametrize("rule", RULES, ids=[f"{rule.kind}-{place}" for place, rule in enumerate(RULES)])
def test_every_text_that_a_rule_matches_is_suspicious(rule: Rule) -> None:
    """Texts are generated from the patterns, so that a new pattern without a hint fails here."""

    @settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(st.from_regex(re.compile(rule.pattern, re.ASCII if rule.token else 0)))
    def is_suspicious(text: str) -> None:
        assert may_hold_secret(re.sub(r"\s", " ", text))  # rare blanks, such as the form feed, are not covered

    is_suspicious()


@pytest.mark.parametrize("rule", RULES, ids=[f"{rule.kind}-{place}" for place, rule in enumerate(RULES)])
def test_every_match_of_a_rule_contains_its_hint(rule: Rule) -> None:
    """Otherwise the hint would hide the rule."""

    @settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(st.from_regex(re.compile(rule.pattern, re.ASCII if rule.token else 0)))
    def has_needle(text: str) -> None:
        assert any(needle in text for needle in rule.needles.split())
        assert re.search(rule.sign, text)

    has_needle()


@settings(max_examples=300)
@given(TEXTS)
def test_every_text_with_a_found_secret_is_suspicious(text: str) -> None:
    """Code that masks only after this check must not leak."""
    if find(text):
        assert may_hold_secret(text)


@pytest.mark.parametrize(
    "line",
    [
        f"the password is {VALUE}",
        f"https://files.example/?sig={VALUE}{VALUE}",
        "the PIN is 4711",
        f"ghp_{VALUE}{VALUE}",
        f"7z x -p{VALUE} a.7z",
        f"密码：{VALUE}",
        f"db:5432:app:me:{VALUE}",
        f"api_key {VALUE}",
        f"MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.{VALUE}{VALUE}",
        f"me:{VALUE}@files.example",
        f"useradd \\\n  -p {VALUE} me",
    ],
)
def test_a_secret_is_found_between_many_ordinary_lines(line: str) -> None:
    """A line is tested for the hints of the lines around it only, so no kind of hint may be forgotten there."""
    around = "An ordinary line.\n" * 20
    alone = [(found.kind, found.start, found.end) for found in find(line)]
    found = find(f"{around}{line}\n{around}")
    assert alone and alone == [(one.kind, one.start - len(around), one.end - len(around)) for one in found]


@given(TEXTS, TEXTS)
def test_a_text_with_a_suspicious_part_is_suspicious(one: str, other: str) -> None:
    """Many lines can be checked at once."""
    if may_hold_secret(one):
        assert may_hold_secret(f"{one}\n{other}") and may_hold_secret(f"{other}\n{one}")


@pytest.mark.parametrize(
    "text",
    [
        "what is the capital of France?",
        "explain the difference between a list and a tuple in Python",
        "def add(a, b):\n    return a + b\n",
        "for i in range(10):\n    print(i, end=', ')",
        "In 1889 the tower was opened; it was meant to stand for twenty years, and nobody has taken it down.",
        "Wie spät ist es in Tokio, wenn es hier 12:30 ist?",
        "Quelle est la différence entre le vin et la bière ?",
        "今天天气怎么样？我们去公园吧。",
        "SELECT name FROM users WHERE age > 30 ORDER BY name;",
        "ls -la | grep txt",
    ],
)
def test_plain_prose_is_not_suspicious(text: str) -> None:
    """Otherwise every answer would pay for the patterns."""
    assert not may_hold_secret(text)


@given(st.text())
def test_lowering_keeps_the_position_of_every_character(text: str) -> None:
    """Positions found in one text are used in the other."""
    assert len(lowered(text)) == len(text)


@settings(max_examples=300)
@given(TEXTS | st.text(max_size=5).map(lambda part: (part + " ab. c, d") * 900), st.data())
def test_a_stream_is_cut_where_the_whole_text_is(text: str, data: st.DataObject) -> None:
    """Later text never moves a cut."""
    cut = next_cut(text)
    if cut >= 0:
        assert 0 < cut <= len(text)
        length = data.draw(st.integers(cut, len(text)))
        assert next_cut(text[:length]) in (cut, -1)
        assert next_cut(text + "more\n") == cut


def test_a_line_is_not_cut_from_the_value_that_follows_it() -> None:
    """Neither `password:` alone nor the next line alone can be recognized."""
    assert next_cut("password:\nx\ny\n") == len("password:\nx\n")
    assert next_cut("hello:\nx\n") == len("hello:\n")
    assert next_cut("mysql \\\n -px\nfine\n") == len("mysql \\\n -px\n")


def test_it_loads_without_the_patterns() -> None:
    """It runs before every write, also in programs that never see a secret."""
    code = "import sys; import aish.memory.secret_hints; sys.exit('aish.memory.secret_patterns' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_time_grows_linearly() -> None:
    """Four times the text may take ten times as long: far above noise, far below quadratic growth."""
    for unit in ("plain words and ", "a", "a:", "@", "x@", " -", "key"):
        short, long = (unit * (size // len(unit)) for size in (50_000, 200_000))
        once = cpu_seconds(partial(may_hold_secret, short))
        assert cpu_seconds(partial(may_hold_secret, long)) < 10 * once + 0.01
