"""Which items of the ledger may be brought to a turn."""

from typing import Any

import pytest

from aish.memory.recall.gather import ledger_memos
from aish.values.items import Item, read_time
from aish.values.recall import Memo

TIME = "2026-05-04T12:00:00.000Z"


def item(kind: str = "fact", **record: Any) -> Item:
    return Item(7, TIME, kind, "The kettle is blue.", record)


def test_an_item_of_the_user_becomes_a_memo() -> None:
    """With its id, its time, and the name that its kind has in notes."""
    [memo] = ledger_memos([item("pref", source="user")])

    assert memo == Memo("ledger:7", "ledger", "preference", "The kettle is blue.", read_time(TIME))


@pytest.mark.parametrize("origin", ["tool:fetch", "file", "import", "model"])
def test_words_of_others_are_not_brought_up_until_the_user_confirms_them(origin: str) -> None:
    """Poisoned memory must not reach a prompt by itself."""
    assert ledger_memos([item(origin=origin), item(source=origin)]) == []
    assert len(ledger_memos([item(origin=origin, confirmed=True)])) == 1


def test_an_item_written_by_hand_or_in_a_conversation_is_the_user_s() -> None:
    """The file belongs to the user."""
    assert len(ledger_memos([item(), item(source="20260504-120000-abcd")])) == 2
