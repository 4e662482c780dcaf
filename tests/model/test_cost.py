"""Costs: exact sums by model and category, for one conversation, one day and in total."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aish.model.cost import CostBook, ModelCall, Price, Sum, by_model, total, worst_case
from aish.values.errors import StoreTrouble
from aish.values.events import Usage

NOON = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
USAGE = Usage(1000, 100, 400)


def call(
    dollars: float | None = 1.0,
    *,
    conversation: str = "c1",
    model: str = "m",
    category: str = "main",
    hours: float = 0.0,
    usage: Usage = USAGE,
) -> ModelCall:
    return ModelCall(NOON + timedelta(hours=hours), conversation, model, category, usage, dollars)


@pytest.mark.proves("P7")
@pytest.mark.parametrize(
    ("price", "usage", "dollars"),
    [
        (Price(input=3.0, output=15.0), Usage(1_000_000, 0), 3.0),
        (Price(input=3.0, output=15.0), Usage(0, 1_000_000), 15.0),
        (Price(input=3.0, output=15.0), Usage(1000, 100), 0.0045),
        (Price(input=3.0, output=15.0, cached=0.3), Usage(1000, 100, 400), 0.00342),
        (Price(input=3.0, output=15.0), Usage(1000, 100, 400), 0.0045),
        (Price(input=3.0, output=15.0, cached=0.0), Usage(1000, 0, 1000), 0.0),
        (Price(input=3.0, output=15.0, cached=0.3), Usage(1000, 0, 5000), 0.0003),
        (Price(input=0.0, output=0.0), Usage(1000, 100), 0.0),
    ],
)
def test_a_price_is_for_a_million_tokens_and_cached_ones_have_their_own(
    price: Price, usage: Usage, dollars: float
) -> None:
    """Cached tokens cannot exceed prompt tokens. Without their own price they cost the same as others."""
    assert price.of(usage) == pytest.approx(dollars, abs=1e-12)


counts = st.integers(0, 10_000_000)
prices = st.floats(0, 1000)


@pytest.mark.proves("P7")
@given(st.builds(Price, prices, prices, st.none() | prices), counts, counts, st.integers(0, 20_000_000))
def test_no_call_costs_less_than_nothing_nor_more_than_the_worst_case(
    price: Price, prompt: int, answer: int, cached: int
) -> None:
    """The cap uses the worst case, so real costs must stay below it."""
    if price.cached is not None and price.cached > price.input:
        price = price._replace(cached=price.input)  # cached tokens are never more expensive

    assert 0 <= price.of(Usage(prompt, answer, cached)) <= worst_case(price, prompt, answer) * (1 + 1e-9)


@pytest.mark.proves("P7")
@pytest.mark.parametrize(
    ("dollars", "money"),
    [
        ([], "$0.0000"),
        ([0.0], "$0.0000"),
        ([0.25, 0.5], "$0.7500"),
        ([None], "unknown"),
        ([None, None], "unknown"),
        ([0.25, None, None], "$0.2500 + 2 of unknown price"),
        ([0.0, None], "$0.0000 + 1 of unknown price"),
    ],
)
def test_an_unknown_price_is_never_shown_as_nothing(dollars: list[float | None], money: str) -> None:
    """$0.0000 would look free."""
    assert total(call(each) for each in dollars).money == money


@pytest.mark.proves("P7")
def test_calls_are_summed_by_model_and_category_in_the_order_of_first_use() -> None:
    """Calls, tokens and money, each in its own row."""
    calls = [
        call(0.5, model="b"),
        call(0.25, model="a", category="summary"),
        call(None, model="a"),
        call(0.125, model="b"),
        call(2.0, model="a"),
    ]

    sums = by_model(calls)
    assert list(sums.items()) == [
        (("b", "main"), Sum(2, 2000, 200, 0.625, 0)),
        (("a", "summary"), Sum(1, 1000, 100, 0.25, 0)),
        (("a", "main"), Sum(2, 2000, 200, 2.0, 1)),
    ]
    assert total(calls) == Sum(5, 5000, 500, 2.875, 1)


@pytest.mark.proves("P7")
def test_all_conversations_are_in_one_file_newest_first(tmp_path: Path) -> None:
    """Totals span processes and days, and every number survives the round trip."""
    path = tmp_path / "data" / "costs.jsonl"
    calls = [
        call(0.1, conversation="c1"),
        call(None, conversation="c2", model="naïve model", category="summary", hours=1),
        call(0.0, conversation="c1", hours=2, usage=Usage(0, 0)),
    ]
    for each in calls:
        CostBook(path).add(each)

    assert list(CostBook(path).all()) == calls[::-1]


@pytest.mark.proves("P7")
def test_what_a_conversation_has_cost_counts_earlier_runs_and_this_one_once(tmp_path: Path) -> None:
    """The cap includes earlier calls of a resumed conversation, whenever the sum is read."""
    path = tmp_path / "costs.jsonl"
    CostBook(path).add(call(1.0))
    CostBook(path).add(call(8.0, conversation="c2"))
    CostBook(path).add(call(None))

    early, late = CostBook(path), CostBook(path)
    assert (early.spent_in("c1"), early.spent_in("c2"), early.spent_in("new")) == (1.0, 8.0, 0.0)
    for book, dollars in ((early, 2.0), (late, 4.0)):
        book.add(call(dollars))
        book.add(call(16.0, conversation="new"))
    assert (early.spent_in("c1"), early.spent_in("new")) == (3.0, 16.0)
    assert late.spent_in("c1") == 7.0  # it read the file after the other process had written
    assert late.spent_in("new") == 32.0


@pytest.mark.proves("P7")
def test_what_a_day_has_cost_counts_all_conversations_since_then(tmp_path: Path) -> None:
    """The daily cap counts all conversations."""
    path = tmp_path / "costs.jsonl"
    book = CostBook(path)
    assert book.spent_since(NOON) == 0.0
    for hours, conversation, dollars in ((-30, "c1", 1.0), (-1, "c1", 2.0), (0, "c2", 4.0), (1, "c3", 8.0)):
        CostBook(path).add(call(dollars, conversation=conversation, hours=hours))

    assert book.spent_since(NOON) == 12.0
    assert book.spent_since(NOON - timedelta(days=1)) == 14.0
    assert book.spent_since(NOON - timedelta(days=9)) == 15.0
    assert book.spent_since(NOON + timedelta(days=1)) == 0.0


@pytest.mark.proves("P7")
def test_a_call_before_the_day_does_not_count_although_it_is_not_in_the_file(tmp_path: Path) -> None:
    """A shell that runs past midnight with a full disk starts the new day with the full cap."""
    (tmp_path / "costs.jsonl").symlink_to(tmp_path / "real")  # writes never follow a symlink
    book = CostBook(tmp_path / "costs.jsonl")
    for hours, dollars in ((-1, 2.0), (0, 4.0), (1, 8.0)):
        with pytest.raises(StoreTrouble):
            book.add(call(dollars, hours=hours))

    assert book.spent_since(NOON) == 12.0


@pytest.mark.proves("P7")
@pytest.mark.parametrize("asked_before", [True, False])
def test_money_counts_although_the_file_cannot_be_written(tmp_path: Path, asked_before: bool) -> None:
    """A full disk must not bypass the cap, whether or not the sum was read before."""
    CostBook(tmp_path / "real").add(call(1.0))
    (tmp_path / "costs.jsonl").symlink_to(tmp_path / "real")  # readable, but writes never follow a symlink
    book = CostBook(tmp_path / "costs.jsonl")
    before = (book.spent_in("c1"), book.spent_since(NOON)) if asked_before else (1.0, 1.0)
    for dollars in (2.0, 4.0):
        with pytest.raises(StoreTrouble):
            book.add(call(dollars))

    assert total(book.session).dollars == 6.0
    assert before == (1.0, 1.0)
    assert (book.spent_in("c1"), book.spent_since(NOON)) == (7.0, 7.0)


@pytest.mark.proves("P7")
def test_money_that_was_not_to_be_written_counts_for_the_caps_all_the_same(tmp_path: Path) -> None:
    """A conversation without a journal (its calls are only in `session`) still costs money."""
    path = tmp_path / "costs.jsonl"
    CostBook(path).add(call(1.0, conversation="other"))
    book = CostBook(path)
    book.session.append(call(2.0))

    assert book.spent_in("c1") == 2.0
    assert book.spent_since(NOON) == 3.0


def test_damaged_and_foreign_lines_do_not_hide_the_sums(tmp_path: Path) -> None:
    """The file may have been edited, torn, or written by another version."""
    path = tmp_path / "costs.jsonl"
    CostBook(path).add(call(1.0))
    foreign = [
        b'{"meta":{"format":9}}',
        b'{"ts":"yesterday","conversation":"c1","dollars":5}',
        b'{"ts":"0001-01-01T00:00:00+14:00","conversation":"c1","model":"m","category":"main","prompt_tokens":1,'
        b'"completion_tokens":1,"cached_tokens":0,"dollars":5}',
        b'{"ts":"2026-05-04T12:00:00","conversation":"c1","model":"m","category":"main","prompt_tokens":1,'
        b'"completion_tokens":1,"cached_tokens":0,"dollars":4.0}',  # edited by hand, without a time zone: read as UTC
        b'{"ts":"2026-05-04T12:00:00Z","conversation":"c1","model":"m","category":"main","prompt_tokens":"many",'
        b'"completion_tokens":1,"cached_tokens":0,"dollars":8.0}',
        b"\xff\xfe",
        b"[]",
        b'{"ts":"2026-05-04T1',
    ]
    with path.open("ab") as file:
        file.write(b"\n".join(foreign))
    CostBook(path).add(call(2.0))

    book = CostBook(path)
    assert book.spent_in("c1") == 7.0
    assert book.spent_since(NOON) == 7.0
