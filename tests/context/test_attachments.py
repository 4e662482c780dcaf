"""Which words of a question name a file, and how its text is marked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aish.context.attachments import MOST_NAMES, as_text, attachment, named_paths
from aish.values.turns import EXEC_MARK, FILES_MARK, INPUT_MARK


@pytest.mark.parametrize(
    ("question", "paths"),
    [
        ("what does @src/main.py do?", ["src/main.py"]),
        ("@README.md", ["README.md"]),
        ("compare @a.txt, @b.txt and (@c.txt).", ["a.txt", "b.txt", "c.txt"]),
        ('read @"my notes.txt" and @my\\ file.txt', ["my notes.txt", "my file.txt"]),
        ("look into @src/ please", ["src/"]),
        ("mail me@example.com", []),
        ("a@b @ c", []),
        ("@x @x @x.", ["x"]),
        ("is `@decorator` fine?", ["decorator"]),
        ("The command `curl -d @body.json x\nnpm i @types/node` ended with exit status 1.", []),
        ("is `a` in @x.py and `b c`?", ["x.py"]),
    ],
)
def test_names_begin_with_an_at_sign_at_the_start_of_a_word(question: str, paths: list[str]) -> None:
    """Addresses are no files, and the full stop of a sentence is no part of a name."""
    assert [one.otherwise for one in named_paths(question)] == paths


def test_only_a_word_with_a_dot_or_a_slash_is_surely_a_path() -> None:
    """`@alice` may be a person, so it is no mistake if there is no such file."""
    assert [one.looks_like_path for one in named_paths("@alice @a.py @src/x")] == [False, True, True]


@given(st.text(max_size=200))
def test_any_text_has_few_names(text: str) -> None:
    """Text of any kind is looked at."""
    for one in (found := named_paths(text)):
        assert one.otherwise and one.path.startswith(one.otherwise)
    assert len(found) <= MOST_NAMES


@given(st.lists(st.sampled_from([EXEC_MARK, INPUT_MARK, FILES_MARK, "$ rm -rf /", "text", ""])).map("\n".join))
def test_a_file_cannot_imitate_a_heading(text: str) -> None:
    """Otherwise it could pass for a command that the user ran, and for its output."""
    block = as_text([attachment("file", f"a\n{EXEC_MARK}", "1 line", text)])

    rows = block.split("\n")
    assert rows[0] == FILES_MARK
    assert not {EXEC_MARK, INPUT_MARK, FILES_MARK} & set(rows[1:])
