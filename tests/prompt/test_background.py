"""The background block: which items it has, one line for each, and never more than the limit."""

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prompt_blocks import base_block, goal_block
from prompt_blocks import summary_block as summary

from aish.context.blocks import Block, arrange, compose
from aish.prompt.background import BACKGROUND_MARK, BackgroundLayer, background_text
from aish.prompt.goal import GOAL
from aish.values.items import Item

ROOMY = 100_000


def item(id: int, content: str, kind: str = "fact") -> Item:
    return Item(id, "2026-11-15T12:00:00.000Z", kind, content, {})


def as_block(text: str) -> Block:
    """The text as it is in a prompt."""
    layer = BackgroundLayer
    return Block(layer.name, text, layer.stability, order=layer.order, in_goal_mode=layer.in_goal_mode)


def size_of(*contents: str) -> int:
    """The characters that a block with these facts has."""
    return len("\n".join([BACKGROUND_MARK, *(f"- (fact) {content}" for content in contents)]))


@pytest.mark.proves("M26", "M27")
def test_the_block_has_its_mark_and_one_line_for_each_item() -> None:
    """The whole text, because models and people learn to know it by heart."""
    items = [item(9, "rides a tandem"), item(4, "likes short answers", "pref"), item(2, "moves house", "context")]

    block, ids = background_text(items, ROOMY)

    assert block == (
        "[background] (memory.jsonl; manage via :memory)\n"
        "- (fact) rides a tandem\n"
        "- (pref) likes short answers\n"
        "- (context) moves house"
    )
    assert (BackgroundLayer.name, BackgroundLayer.stability) == ("background", "conversation")
    assert ids == (9, 4, 2)


@pytest.mark.proves("M28", "M31")
@pytest.mark.parametrize("limit", [0, 1, 2000])
def test_without_items_there_is_no_block(limit: int) -> None:
    """Not even an empty line: the prompt is the same to the byte."""
    block, ids = background_text([], limit)

    assert (block, ids) == ("", ())
    assert compose([base_block(), as_block(block)]) == compose([base_block()])


@pytest.mark.proves("M24")
def test_an_item_that_fits_to_the_last_character_is_in_and_one_more_is_out() -> None:
    """The limit is of the whole block, with its mark."""
    both = [item(2, "newer"), item(1, "older")]

    assert background_text(both, size_of("newer", "older"))[1] == (2, 1)
    assert background_text(both, size_of("newer", "older") - 1)[1] == (2,)
    assert background_text(both, size_of("newer"))[1] == (2,)
    assert background_text(both, size_of("newer") - 1)[1] == ()


@pytest.mark.proves("M24")
def test_taking_ends_with_the_first_item_that_has_no_room_left() -> None:
    """A small old item must not slip in past a newer one: what is there is the newest, without holes."""
    items = [item(3, "a" * 30), item(2, "b" * 30), item(1, "c")]

    assert background_text(items, size_of("a" * 30, "b" * 30) - 1)[1] == (3,)


@pytest.mark.proves("M24")
def test_an_item_that_could_never_fit_is_passed_over() -> None:
    """Or one endless item, remembered last, would keep everything else out for ever."""
    items = [item(2, "x" * 500), item(1, "rides a tandem")]

    block, ids = background_text(items, 200)

    assert ids == (1,)
    assert "xxx" not in block


@pytest.mark.proves("M24")
def test_items_that_are_not_needed_are_not_read() -> None:
    """They come from a file that may have a million lines."""
    taken = []

    def endless() -> Iterator[Item]:
        for id in range(1_000_000, 0, -1):
            taken.append(id)
            yield item(id, "some thing or other")

    background_text(endless(), 400)

    assert len(taken) < 20


@pytest.mark.proves("M26")
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\v", "\f", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"])
def test_every_kind_of_line_break_in_an_item_becomes_a_blank(end: str) -> None:
    """An item that could start a line of its own could pretend to be another item, or another block."""
    block, _ = background_text([item(1, f"first{end}{end}[summary] second{end}")], ROOMY)

    assert block.splitlines() == [BACKGROUND_MARK, "- (fact) first [summary] second"]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(max_size=60), max_size=8), st.integers(0, 400))
def test_the_block_is_never_larger_than_allowed_and_never_has_a_stray_line(contents: list[str], limit: int) -> None:
    """Whatever was remembered."""
    items = [item(id, content) for id, content in enumerate(contents, start=1)]

    block, ids = background_text(items, limit)

    assert len(block) <= limit
    assert len(block.splitlines()) == (len(ids) + 1 if ids else 0)
    assert list(ids) == sorted(ids), "in the order they were given"


@pytest.mark.proves("M29", "M30")
def test_it_stands_between_the_base_and_the_summary_and_gives_way_to_a_goal() -> None:
    """What changes least comes first, so that a server's cache of the beginning stays good."""
    block, _ = background_text([item(1, "rides a tandem")], ROOMY)
    blocks = [summary("earlier"), as_block(block), base_block()]

    assert [one.name for one in arrange(blocks)] == ["base", "background", "summary"]
    assert [one.name for one in arrange([*blocks, goal_block("tidy up")])] == ["base", "summary", "goal"]
    assert compose([*blocks, goal_block("tidy up")]).endswith(GOAL.format(goal="tidy up"))
