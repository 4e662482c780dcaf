"""What of a turn counts as the words of its speaker."""

from datetime import UTC, datetime

import pytest

from aish.memory.finding.turn_text import said_from, searchable_text
from aish.values.turns import EXEC_MARK, FILES_MARK, INPUT_MARK, JournalEntry, Turn
from aish.values.typed_words import TYPED_META

QUESTION = "what does it do?"
NOW = datetime(2026, 11, 18, tzinfo=UTC)


@pytest.mark.parametrize(
    "front",
    [
        f'{FILES_MARK}\n--- file "a.py", 1 line, 9 characters\nprint(1)\n--- end of file "a.py"',
        f"{INPUT_MARK}\nprint(1)",
        f"{EXEC_MARK}\n$ cat a.py\nprint(1)",
    ],
)
@pytest.mark.parametrize("meta", [{}, {TYPED_META: 1}])
def test_what_comes_with_a_question_is_found_but_is_not_the_words_of_the_user(
    front: str, meta: dict[str, object]
) -> None:
    """Otherwise lists of hits begin with a file instead of the question."""
    entry = JournalEntry(number=1, time=NOW, turn=Turn("user", f"{front}\n\n{QUESTION}"), meta=meta)
    text = searchable_text(entry)
    assert "print(1)" in text
    assert text[said_from(entry, text) :] == QUESTION
