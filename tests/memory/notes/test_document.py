"""Notes as documents: every byte survives, and edits change nothing else."""

from collections.abc import Callable
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aish.memory.ledger_lines import folded
from aish.memory.notes.document import SECTIONS, Document, Entry, parse, plain
from aish.memory.notes.entry import ALPHABET
from aish.values.errors import NotFound

# Lines that mean something in Markdown, so that random notes have structure.
LINES = (
    *("", " ", "\t", "text", "  text", "    text", "\ttext", "more words here", "---", "===", "***", "* * *", "..."),
    *("- one", "* two", "+ three", "1. four", "14. five", "2) six", " - seven", "  - eight", "   - nine", "\t- ten"),
    *("-", "- ", "-      far", "- ```", "- # title", "-\tten", "1.", "- - in one line", "- [ ] task", "- --", "* **"),
    *("# Title", "## Decisions", "### 决定", "#", "####### no", "## Preferences ##", "Title", "## decisions"),
    *("```", "  ```", "~~~", "   ~~~~", "```python", "<!--", "-->", "<!-- hidden -->", "  <!-- - no -->", "> quote"),
    *(
        "- a <!-- bbbbb -->",
        "- b <!-- bbbbb 2026-11-17 -->",
        "- c <!-- ccccc until=2026-12-01 by=model -->",
        "  <!-- ddddd -->",
    ),
    *("| a | b |", "<div>", "[link]: x", "- x <!-- note -->", "a: b", "\ufeff- bom", "\u2028", "x\r", "- tail  "),
)
notes = st.builds(
    lambda lines, ends, final, bom: bom + "".join(a + b for a, b in zip(lines, ends, strict=True)) + final,
    st.shared(st.lists(st.sampled_from(LINES), max_size=14), key="lines"),
    st.shared(st.lists(st.sampled_from(LINES), max_size=14), key="lines").flatmap(
        lambda lines: st.sampled_from(("\n", "\r\n")).map(lambda end: [end] * len(lines))
    ),
    st.sampled_from(("", "last", "- last")),
    st.sampled_from(("", "", "", "\ufeff")),
)
texts = st.text(st.characters(codec="utf-8", exclude_characters="\r\n\0"), min_size=1, max_size=40)


def new_ids() -> Callable[[], str]:
    numbers = count()

    def new_id() -> str:
        number, letters = next(numbers), ""
        for _ in range(5):
            number, place = divmod(number, len(ALPHABET))
            letters = ALPHABET[place] + letters
        return letters

    return new_id


def contents(document: Document) -> list[tuple[str, ...]]:
    return [(entry.id, folded(entry.section), *entry.content) for entry in document.entries]


def words_outside(document: Document) -> str:
    """Return the words outside entries. An edit may add an empty comment, which ends a list item."""
    return "".join(document.outside.replace("<!-- -->", "").split())


@given(st.text() | notes)
def test_any_text_is_given_back_exactly(text: str) -> None:
    assert parse(text).text == text


@given(notes, st.sampled_from((*SECTIONS, "decisions", "新", "Title", "")))
def test_adding_keeps_every_other_byte_and_entry(text: str, section: str) -> None:
    """A person's words are theirs: an addition only inserts."""
    document = parse(text)
    added = document.add(section, Entry("zzzzz", section, "a new thing", "2026-11-17", origin="model"))

    entry = added.find("zzzzz")
    assert entry and folded(entry.section) == folded(section)
    assert entry.content == ("a new thing", "2026-11-17", "", "model", "")
    assert [one for one in contents(added) if one[0] != "zzzzz"] == contents(document)
    start = next((n for n, (a, b) in enumerate(zip(text, added.text, strict=False)) if a != b), len(text))
    assert added.text.startswith(text[:start]) and added.text.endswith(text[start:])
    assert [title for title in added.sections if folded(title) != folded(section)] == [
        title for title in document.sections if folded(title) != folded(section)
    ]


@given(notes)
def test_ids_are_given_to_all_entries_and_nothing_else_changes(text: str) -> None:
    document = parse(text)
    named = document.with_ids(new_ids())

    assert all(entry.id for entry in named.entries)
    assert len({entry.id for entry in named.entries}) == len(named.entries)
    assert [one[1:] for one in contents(named)] == [one[1:] for one in contents(document)]
    assert named.with_ids(new_ids()) == named
    assert named.outside == document.outside


@given(notes, st.integers(0, 20), texts)
def test_replacing_and_removing_change_one_entry(text: str, number: int, words: str) -> None:
    document = parse(text).with_ids(new_ids())
    if not document.entries:
        return
    old = document.entries[number % len(document.entries)]
    new = f"Now {' '.join(words.split())}".replace("<", "").strip()
    removed, replaced = document.remove(old.id), document.replace(old.id, old._replace(text=new, id="zzzzz"))

    others = [one for one in contents(document) if one[0] != old.id]
    assert contents(removed) == others
    assert contents(replaced) == [
        (("zzzzz", one[1], new, *one[3:]) if one[0] == old.id else one) for one in contents(document)
    ]
    assert words_outside(replaced) == words_outside(removed) == words_outside(document)


@given(notes)
def test_every_entry_can_be_written_again(text: str) -> None:
    """A merge or an undo writes entries of a person, also ones with several lines."""
    document = parse(text).with_ids(new_ids())
    for entry in document.entries:
        again = document.remove(entry.id).add(entry.section, entry)
        assert sorted(contents(again)) == sorted(contents(document))


@given(notes)
def test_the_model_sees_no_ids(text: str) -> None:
    document = parse(text).with_ids(new_ids())

    seen = plain(document)
    assert not any(f"<!-- {entry.id}" in seen for entry in document.entries)


def test_fields_of_an_entry_are_in_a_comment() -> None:
    fields = "2026-11-17 until=2026-12-17 by=tool:exec from=20261117-101500-abc/12-18"
    line = f"- Deploys run from main. <!-- k7f2p {fields} -->"
    document = parse(f"## Decisions\n\n{line}\n")

    values = ("2026-11-17", "2026-12-17", "tool:exec", "20261117-101500-abc/12-18")
    assert document.entries == [Entry("k7f2p", "Decisions", "Deploys run from main.", *values)]
    assert document.remove("k7f2p").add("decisions", document.entries[0]).text == document.text
    assert plain(document) == "## Decisions\n\n- Deploys run from main.\n"


def test_entries_are_list_items_at_the_top_level() -> None:
    """Nested items, code in items and wrapped lines belong to their entry; code and comments have none."""
    text = (
        "---\ntags:\n- not this\n---\n"
        "before <!-- - nor this -->\n* one\nwrapped\n\n  second paragraph\n"
        "1. two\n   - nested\n     ```\n     - code\n     ```\n"
        "* * *\n```\n- code\n```\n<!--\n- hidden\n-->\n+ three\n- \n    - code, not an item\n"
    )

    assert [entry.text for entry in parse(text).entries] == [
        "one\nwrapped\n\nsecond paragraph",
        "two\n- nested\n  ```\n  - code\n  ```",
        "three",
        "- code, not an item",
    ]


def test_sections_may_have_any_language_level_and_form() -> None:
    text = "\ufeff# 项目\r\n- eins\r\n\r\nDecisions\r\n---------\r\n- zwei\r\n###### tief ##\r\n- drei"
    document = parse(text)

    assert document.sections == ["项目", "Decisions", "tief"]
    assert [entry.section for entry in document.entries] == ["项目", "Decisions", "tief"]
    added = document.add("DECISIONS", Entry("zzzzz", "", "vier"))
    assert added.text == text.replace("- zwei\r\n", "- zwei\r\n- vier <!-- zzzzz -->\r\n")
    assert added.add("tief", Entry("xxxxx", "", "fünf")).text.endswith("- drei\r\n- fünf <!-- xxxxx -->\r\n")


def test_prose_is_read_with_its_section() -> None:
    document = parse("intro\nmore\n\n# A\n- entry\n\n| a | b |\n```sh\nmake\n```\n<!-- no -->\n")

    assert document.prose == [("", "intro\nmore"), ("A", "| a | b |"), ("A", "```sh\nmake\n```")]


def test_a_new_section_goes_where_it_belongs() -> None:
    document = parse("# Memory\n\n### Preferences\n\n- a\n\n#### detail\n\ntext\n\n### Open Loops\n- b\n\n### Mine\n")
    for number, section in enumerate(("decisions", "Identity / Participants", "Other")):
        document = document.add(section, Entry(f"zzzz{number + 2}", section, "new"))

    assert document.sections == [
        *("Memory", "Identity / Participants", "Preferences", "detail", "Decisions", "Open Loops", "Mine", "Other")
    ]
    assert "### Decisions\n\n- new" in document.text


def test_an_id_that_stands_twice_counts_once() -> None:
    """Somebody copied a line: the copy is an entry of its own."""
    document = parse("- one <!-- bbbbb 2026-11-17 -->\n- two <!-- bbbbb 2026-11-18 by=model -->\n")
    assert [entry.id for entry in document.entries] == ["bbbbb", ""]

    named = document.with_ids(new_ids())
    assert named.text == "- one <!-- bbbbb 2026-11-17 -->\n- two <!-- bbbbc 2026-11-18 by=model -->\n"


def test_code_at_the_end_of_an_entry_does_not_show_the_comment() -> None:
    """Text after the end of a code block would be code."""
    text = "- run:\n  ```sh\n  make\n  ```\n"
    named = text + "  <!-- bbbbb -->\n"

    assert parse(text).with_ids(new_ids()).text == named
    assert parse("").add("", parse(named).entries[0]).text == named


def test_an_id_survives_edits_by_hand_around_it() -> None:
    """People add words after the comment, or nested items below it."""
    document = parse("- one <!-- bbbbb --> and more\n  - below\n- two\n  <!-- ccccc -->\n- <!-- ddddd -->\n")

    assert [(entry.id, entry.text) for entry in document.entries] == [
        ("bbbbb", "one and more\n- below"),
        ("ccccc", "two"),
    ]


@pytest.mark.parametrize("comment", ["<!-- https -->x", "<!-- todo -->", "<!-- bbbbb later -->", "<!-- bbbbbb -->"])
def test_comments_of_other_people_are_no_ids(comment: str) -> None:
    assert parse(f"- one {comment}\n").entries[0].text == f"one {comment}" or comment.startswith("<!-- https")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("- a\n<<<<<<< HEAD\n- b\n=======\n- c\n>>>>>>> other\n", "merge markers"),
        ("```\n>>>>>>> other\n```\n", "merge markers"),
        ("- a\0\n", "NUL"),
        ("- " + "ä" * (1 << 19) + "\n", "1 MB"),
        ("a\n=======\nb\n", ""),
        ("text <<<<<<< here\n", ""),
    ],
    ids=lambda value: value[:10],
)
def test_notes_that_the_program_must_not_write(text: str, problem: str) -> None:
    document = parse(text)

    assert problem in document.problem and bool(document.problem) == bool(problem)
    assert document.text == text


def test_an_unknown_entry_cannot_be_changed() -> None:
    document = parse("- one\n")
    for id in ("bbbbb", ""):
        with pytest.raises(NotFound, match="there is no entry"):
            document.remove(id)
        with pytest.raises(NotFound, match="there is no entry"):
            document.replace(id, Entry("", "", "x"))


def test_a_value_cannot_end_the_comment_that_holds_it() -> None:
    """Sources and origins come from other programs."""
    forged = Entry("bbbbb", "", "one", "2026-1-1", "soon", "x --> <!-- ccccc by=user", "a\nb -- c")
    document = parse("").add("A", forged).add("A", Entry("ddddd", "", "two"))

    assert document.text == "## A\n\n- one <!-- bbbbb by=x-cccccbyuser from=ab-c -->\n- two <!-- ddddd -->\n"
