"""Eviction: as few of the oldest exchanges as possible, and never the current one."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from prompt_blocks import base_block
from world import World

from aish.context.blocks import Block
from aish.context.eviction import Limits, Size, excess, over_budget_warning
from aish.context.history import History
from aish.context.token_counts import PER_MESSAGE, TokenCounts, measure
from aish.settings.options import Settings
from aish.values.turns import ToolCall, Turn

sizes = st.builds(
    Size,
    turns=st.integers(min_value=1, max_value=5),
    tokens=st.integers(min_value=0, max_value=30),
    bytes=st.integers(min_value=0, max_value=30),
)
limits_of_any_kind = st.builds(
    Limits,
    max_turns=st.integers(min_value=0, max_value=15),
    token_budget=st.integers(min_value=0, max_value=100),
    max_bytes=st.integers(min_value=0, max_value=60),
    evict_to=st.sampled_from([0.1, 0.5, 0.75, 1.0]),
)


@st.composite
def conversations(draw: st.DrawFn) -> list[Turn]:
    """Generate exchanges: a question without an answer, with text, or with tool calls and text."""
    turns: list[Turn] = []
    for _ in range(draw(st.integers(min_value=1, max_value=6))):
        turns.append(Turn(role="user", content=draw(st.text(alphabet="abé", min_size=1, max_size=9))))
        for _ in range(draw(st.integers(min_value=0, max_value=2))):
            ids = draw(st.lists(st.sampled_from("123"), max_size=3, unique=True))
            calls = tuple(ToolCall(id=id, name="f", arguments="{}") for id in ids)
            turns.append(Turn(role="assistant", content="x", tool_calls=calls))
            turns += [Turn(role="tool", call_id=id, content="r") for id in draw(st.permutations(ids))]
    return turns


class Letters:
    """Counts one token per character."""

    model = "letters"

    async def count(self, text: str) -> int:
        return len(text)


def most_tokens(fixed: int, limits: Limits, share: float) -> float:
    """With a large system prompt, half of the room for turns is kept in any case."""
    return max(limits.token_budget * share, fixed + (limits.token_budget - fixed) * min(share, 0.5))


def evicted_one_by_one(fixed: int, exchanges: list[Size], limits: Limits) -> int:
    """The rule in its simplest form: evict the oldest exchange while over a limit; keep the current one.

    Once one has left, the share `evict_to` of each limit counts; what is fixed cannot leave.
    """
    left, share = list(exchanges), 1.0
    while len(left) > 1 and (
        sum(size.turns for size in left) > limits.max_turns * share
        or fixed + sum(size.tokens for size in left) > most_tokens(fixed, limits, share)
        or (limits.max_bytes and sum(size.bytes for size in left) > limits.max_bytes * share)
    ):
        left.pop(0)
        share = limits.evict_to
    return len(exchanges) - len(left)


@pytest.mark.proves("T15", "N16")
@given(fixed=st.integers(min_value=0, max_value=120), exchanges=st.lists(sizes, max_size=8), limits=limits_of_any_kind)
@example(fixed=0, exchanges=[], limits=Limits())
@example(fixed=99, exchanges=[Size(turns=1, tokens=1)] * 3, limits=Limits(token_budget=1))
@settings(deadline=None, max_examples=300)
def test_as_few_exchanges_leave_as_the_limits_allow(fixed: int, exchanges: list[Size], limits: Limits) -> None:
    """With too few evictions the server refuses the request; one too many loses context needlessly."""
    assert excess(fixed, exchanges, limits) == evicted_one_by_one(fixed, exchanges, limits)


@pytest.mark.parametrize(
    ("limits", "gone"),
    [
        (Limits(max_turns=6, token_budget=100, max_bytes=0), 0),
        (Limits(max_turns=5), 1),
        (Limits(max_turns=4), 1),
        (Limits(max_turns=3), 2),
        (Limits(max_turns=0), 2),
        (Limits(token_budget=40), 0),
        (Limits(token_budget=39), 1),
        (Limits(token_budget=29), 2),
        (Limits(max_bytes=300), 0),
        (Limits(max_bytes=299), 1),
        (Limits(max_bytes=1), 2),
    ],
)
@pytest.mark.proves("T15", "N16")
def test_a_limit_that_is_just_kept_moves_nothing_and_one_more_moves_the_oldest(limits: Limits, gone: int) -> None:
    """Three exchanges of 2 turns, 10 tokens and 100 bytes, with 10 fixed tokens."""
    assert excess(10, [Size(turns=2, tokens=10, bytes=100)] * 3, limits) == gone


@given(fixed=st.integers(min_value=0, max_value=120), exchanges=st.lists(sizes, max_size=8), limits=limits_of_any_kind)
def test_what_is_left_after_an_eviction_has_room_for_more(fixed: int, exchanges: list[Size], limits: Limits) -> None:
    """Otherwise turns leave with every question, and the server reads all others again. Nothing leaves without need."""
    gone = excess(fixed, exchanges, limits)
    left = exchanges[gone:]

    assert gone >= excess(fixed, exchanges, limits._replace(evict_to=1.0))
    assert (gone == 0) == (excess(fixed, exchanges, limits._replace(evict_to=1.0)) == 0)
    if gone and len(left) > 1:
        assert sum(size.turns for size in left) <= limits.max_turns * limits.evict_to
        assert fixed + sum(size.tokens for size in left) <= most_tokens(fixed, limits, limits.evict_to)
        assert not limits.max_bytes or sum(size.bytes for size in left) <= limits.max_bytes * limits.evict_to


def test_turns_leave_rarely_and_many_at_once() -> None:
    """Of a long conversation in which every exchange has the same size."""
    limits, exchanges, evictions = Limits(max_turns=40, token_budget=1000, evict_to=0.5), list[Size](), 0
    for _ in range(100):
        exchanges.append(Size(turns=2, tokens=100))
        gone = excess(100, exchanges, limits)
        evictions += bool(gone)
        del exchanges[:gone]
        assert not gone or len(exchanges) >= 4
    assert evictions <= 20


@pytest.mark.anyio
@pytest.mark.proves("C16")
@given(turns=conversations(), limits=limits_of_any_kind)
@settings(deadline=None)
async def test_what_stays_is_whole_and_fits_unless_it_is_the_question_itself(turns: list[Turn], limits: Limits) -> None:
    """Servers refuse half a tool group, and a prompt without the question makes no sense."""
    history = History(turns)
    groups = history.exchanges()
    size = await measure(TokenCounts(), Letters(), [Block("base", "0123456789")], history)

    dropped = history.drop_oldest(excess(size.fixed, size.exchanges, limits))

    left = await measure(TokenCounts(), Letters(), [Block("base", "0123456789")], history)
    assert [*dropped, *history.turns] == turns
    assert history.exchanges() == groups[len(groups) - len(left.exchanges) :]
    assert history.exchanges()[-1] == groups[-1]
    History(history.turns)  # raises if a result has lost its call
    fits = (
        len(history.turns) <= limits.max_turns
        and left.total <= limits.token_budget
        and sum(part.bytes for part in left.exchanges) <= (limits.max_bytes or 10**9)
    )
    assert fits or len(left.exchanges) == 1


@pytest.mark.proves("C3", "N16")
def test_the_limits_are_the_documented_ones_unless_they_are_set() -> None:
    """Turns and tokens are automatic; where nobody tells a window they are forty and 4096. No byte limit."""
    options = Settings().context

    assert (options.max_turns, options.token_budget) == ("auto", "auto")
    assert (options.use_tool_role, options.max_bytes) == (True, 0)
    assert Limits() == Limits(max_turns=40, token_budget=4096, max_bytes=0)
    assert excess(0, [Size(turns=1, tokens=1, bytes=10**9)] * 40, Limits()) == 0


@pytest.mark.proves("T15")
def test_a_system_prompt_over_the_budget_is_told_with_the_sizes_of_its_blocks() -> None:
    """Eviction cannot help then, so the user must know what to shorten."""
    blocks = [Block("base", "…", tokens=200), Block("project", "…", tokens=101)]

    assert over_budget_warning(blocks, Limits(token_budget=301)) == ""
    assert over_budget_warning(blocks, Limits(token_budget=300)) == (
        "the system prompt alone takes 301 tokens, more than token_budget=300 (base 200, project 101); "
        "raise context.token_budget or shorten a block"
    )


@pytest.mark.anyio
@pytest.mark.proves("T15")
async def test_a_conversation_goes_on_under_a_system_prompt_that_is_too_big(world: World) -> None:
    """The user is warned once, the newest question is still sent, and older exchanges are evicted."""
    session = world.session(["one", "two", "three"], {"context": {"token_budget": 20}})
    tokens = session.services.estimates.count("script", base_block().text)
    assert tokens + PER_MESSAGE > 20

    said = [await world.ask(session, question) for question in ("a?", "b?", "c?")]

    assert [each.text for each in said] == ["one", "two", "three"]
    warnings = [notice for each in said for notice in each.notices if "system prompt" in notice]
    assert warnings == [over_budget_warning([Block("base", "", tokens=tokens)], Limits(token_budget=20))]
    assert [turn.content for turn in session.history.turns] == ["c?", "three"]
