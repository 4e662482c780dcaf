"""Front matter is written by people and read by several programs: the clear is read, the rest is one line to act on."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aish.values.front_matter import MOST_CHARS, FrontMatter, read_front_matter


@pytest.mark.parametrize(
    ("head", "value"),
    [
        ("v: plain text", "plain text"),
        ("v: 'it''s'  # comment", "it's"),
        (r'v: "tab\t \u00e9 \U0001F600 \ud800"', "tab\t é 😀 �"),
        ("v: text # comment", "text"),
        ("v: issue#12", "issue#12"),
        ("v: >\n  one\n  two\n\n  three\n", "one two\nthree"),
        ("v: >-\n  one\n    kept\n  two", "one\n  kept\ntwo"),
        ("v: |\n  one\n    two\n\n  three", "one\n  two\n\nthree"),
        ("v: |2\n   one\n  two", " one\ntwo"),
        ("v: one\n  two\n  three", "one two three"),
        ("v:\n  one\n  two", "one two"),
        ('v: "one\n  two\n\n  three"', "one two\nthree"),
        ("v: [a, 'b, c', \"d\"]", ["a", "b, c", "d"]),
        ("v: [\n  a,\n  b,  # comment\n]", ["a", "b"]),
        ("v: {a: b, c: [d, {e: f}], g: http://x/y}", {"a": "b", "c": ["d", {"e": "f"}], "g": "http://x/y"}),
        ('v: {"a":"b","c":true}', {"a": "b", "c": True}),
        ("v:\n- a\n- b: c\n  d: e\n- - f\n  - g", ["a", {"b": "c", "d": "e"}, ["f", "g"]]),
        ("v:\n  a:\n    b: c\n  d: |\n    e\n  f:", {"a": {"b": "c"}, "d": "e", "f": None}),
        ("v: true\nw: false", True),
        ("v: 1.10", "1.10"),
        ("v:", None),
    ],
)
def test_the_usual_forms_of_yaml_are_read(head: str, value: object) -> None:
    """The expected values are those of a full YAML reader, but numbers stay as they were written."""
    found = read_front_matter(f"---\n{head}\n---\nbody")
    assert found.fields["v"] == value
    assert found.body == "body"
    assert not found.problems


@pytest.mark.parametrize(
    ("head", "value"),
    [
        ("v: Use when: asked", "Use when: asked"),
        ("v: **/*.py", "**/*.py"),
        ("v: [WIP] a draft", "[WIP] a draft"),
        ('v: "quoted" at the start', '"quoted" at the start'),
        ("v: @name", "@name"),
        ('v: "never closed', '"never closed'),
        ("v: [never, closed", "[never, closed"),
    ],
)
def test_what_is_clear_but_not_valid_is_read_as_text(head: str, value: str) -> None:
    """Public files have such lines, and other programs accept them."""
    found = read_front_matter(f"---\n{head}\nname: x\n---\n")
    assert found.fields == {"v": value, "name": "x"}


def test_names_are_the_same_with_hyphens_and_capitals() -> None:
    """`allowed-tools` is common in public files."""
    found = read_front_matter("---\nAllowed-Tools: Read, Bash(git add:*, git status) Grep\n---\n")
    assert found.words("allowed_tools") == ("Read", "Bash(git add:*, git status)", "Grep")
    assert read_front_matter("---\npaths:\n  - a\n  - 'b c'\n  - {x: y}\n---\n").words("paths") == ("a", "b c")
    assert read_front_matter("---\nname: [x]\n---\n").text("name") == ""


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("# A heading\n", "no front matter: begin the file with a line ---, fields, and a line ---"),
        ("", "no front matter: begin the file with a line ---, fields, and a line ---"),
        ("---\nname: x\n", "the front matter has no end: add a line --- after its fields"),
        ("---\nname: x\nfoo\n---\n", "line 3 is not a field: write it as name: value"),
        ("---\nname: x\nname: y\n---\n", "line 3: name is there twice, and the last one counts"),
        ("---\nhooks:\n  a:\n    b: c\n   d: e\nname: x\n---\n", "line 2: hooks cannot be read"),
        (f"---\nv: {'[' * 60_000}\n---\n", "line 2: v cannot be read: it is nested too deeply"),
        (
            f"---\nv: {'x' * MOST_CHARS}\n---\n",
            "the front matter is too long to be read: shorten it to 65,536 characters",
        ),
    ],
)
def test_a_problem_is_one_line_that_says_what_to_do(text: str, problem: str) -> None:
    """A person looks for it in an editor, so it has the number of the line."""
    problems = read_front_matter(text).problems
    assert problems[0].startswith(problem)
    assert all("\n" not in one for one in problems)


def test_a_field_that_cannot_be_read_leaves_the_others() -> None:
    """A skill with broken hooks still has a name and a body."""
    found = read_front_matter("---\nname: x\nhooks:\n  a:\n    b: c\n   d: e\ndescription: y\n---\nbody")
    assert found.fields == {"name": "x", "description": "y"}
    assert len(found.problems) == 1
    assert found.body == "body"


def test_blank_lines_a_byte_order_mark_and_windows_line_ends_are_fine() -> None:
    """Editors add them."""
    assert read_front_matter("\ufeff\r\n---\r\nname: x\r\n---\r\nbody\r\n") == FrontMatter({"name": "x"}, "body\n")


@pytest.mark.parametrize(
    "line",
    ["a: [\n", "a: '\n", 'a: "\\"\n', "- [", "a'", "{a:", "a: |\n", "-\n", "a:\n ", " \n", ": ", '"\\', "a: >\n\n"],
)
def test_no_text_takes_long(line: str) -> None:
    """Each repeats a form for which a careless reader needs quadratic time."""
    repeated = line * (MOST_CHARS // len(line) - 10)
    start = time.process_time()
    for text in (f"---\n{repeated}\n---\n", f"---\nv: [{repeated}\n---\n", f"---\nv:\n  {repeated}\n---\n"):
        read_front_matter(text)
    assert time.process_time() - start < 3


@given(st.text(alphabet="ab:-# \n\t\"'[]{},|>\\\0é*&!", max_size=200))
def test_any_text_is_read_without_an_exception(text: str) -> None:
    """Files of other people can contain anything."""
    found = read_front_matter(f"---\n{text}\n---\nbody")
    assert len(found.problems) <= 11
