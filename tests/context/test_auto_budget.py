"""The automatic budget: the window, less room for the answer, below what a prompt may cost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aish.context.auto_budget import ANY_TURNS, Money, auto_budget, auto_turns


@pytest.mark.proves("T24")
@pytest.mark.parametrize(
    ("window", "answer", "money", "tokens"),
    [
        (0, 0, None, 4096),
        (8192, 0, None, 6144),
        (32_768, 0, None, 24_576),
        (131_072, 0, None, 114_688),
        (1_000_000, 0, None, 875_000),
        (8192, 4000, None, 4192),
        (8192, 100_000, None, 4096),
        (200_000, 0, Money(0.0, 0.1), 175_000),
        (200_000, 0, Money(0.15, 0.1), 175_000),
        (200_000, 0, Money(2.5, 0.1), 40_000),
        (200_000, 0, Money(75.0, 0.1), 4096),
        (200_000, 0, Money(None, 0.1), 33_333),
        (4000, 0, Money(75.0, 0.1), 3000),
    ],
)
def test_a_budget_leaves_room_for_the_answer_and_is_capped_by_money(
    window: int, answer: int, money: Money | None, tokens: int
) -> None:
    """Without a cap, a conversation with a large hosted model would cost dollars for each question."""
    assert auto_budget(window, answer, money).tokens == tokens


def test_the_reason_names_what_limits_the_budget() -> None:
    """It is shown by `:context`."""
    assert auto_budget(8192, 0, None).why == "the window of 8,192 tokens less room for the answer"
    assert auto_budget(200_000, 0, Money(None, 0.1)).why == (
        "what $0.1 pay for, at an assumed price of $3 for a million tokens; the window has 200,000 tokens"
    )


@given(st.integers(1, 1 << 40), st.integers(0, 1 << 40), st.none() | st.floats(0, 1e6), st.floats(0, 1e6))
def test_a_budget_is_always_inside_the_window(window: int, answer: int, price: float | None, dollars: float) -> None:
    """Servers tell any number, and settings may have any."""
    for money in (None, Money(price, dollars)):
        tokens = auto_budget(window, answer, money).tokens
        assert window // 2 <= tokens <= window or (money and 4096 <= tokens <= window)


@pytest.mark.proves("C3")
def test_turns_are_limited_only_where_there_are_few_tokens() -> None:
    """A small model loses the thread in a long list of short turns."""
    assert [auto_turns(tokens) for tokens in (4096, 8192, 8193)] == [40, 40, ANY_TURNS]
