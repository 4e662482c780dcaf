"""Operations: each is checked against what is there, and moves, never loses, what it replaces."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aish.memory.ledger_lines import folded
from aish.memory.notes.document import Document, Entry, parse
from aish.memory.notes.operations import (
    LONGEST_TEXT,
    Add,
    Applied,
    Forget,
    Invalidate,
    Operation,
    Supersede,
    ToHistory,
    apply,
    clean_text,
)

TODAY = "2026-11-17"
MEMORY = "# Memory\n\n## Decisions\n\n- Deploys run from main. <!-- bbbbb 2026-01-02 by=model from=c/1-2 -->\n- Tabs\n"


def run(
    operations: Sequence[Operation], memory: str = MEMORY, history: str = "# History\n", *, by_user: bool = False
) -> Applied:
    ids = iter(f"zzzz{digit}" for digit in "23456789" * 9)
    return apply(parse(memory), parse(history), operations, today=TODAY, new_id=lambda: next(ids), by_user=by_user)


def reasons(applied: Applied) -> list[str]:
    return [one.reason for one in applied.results]


def many(count: int, words: str = "a fact that takes some room") -> str:
    return "".join(
        f"- {words} {number} <!-- bbb{'23456789'[number // 8]}{'23456789'[number % 8]} -->\n" for number in range(count)
    )


def ids_of(memory: str) -> list[str]:
    return [entry.id for entry in parse(memory).entries]


def test_an_entry_is_added_with_its_date_and_origin() -> None:
    applied = run([Add("Preferences", "Likes  metric\nunits", "model", "c/3-4", "2026-12-17")])

    assert applied.results[0][1:4] == (True, "", "zzzz2")
    assert applied.memory.find("zzzz2") == Entry(
        "zzzz2", "Preferences", "Likes metric units", TODAY, "2026-12-17", "model", "c/3-4"
    )
    assert applied.memory.sections == ["Memory", "Preferences", "Decisions"]


@pytest.mark.parametrize("text", ["deploys  run FROM main", "Ｄeploys run from main.", "tabs"])
def test_what_is_known_is_not_added_again(text: str) -> None:
    applied = run([Add("Constraints", text)])

    assert reasons(applied) == ["already known"]
    assert applied.memory.text == MEMORY


def test_a_superseded_entry_goes_to_the_history_with_its_end() -> None:
    """Otherwise nobody could answer what it was before."""
    applied = run([Supersede("bbbbb", "Deploys run from release", "user", "c/9-9")])

    assert applied.memory.text == MEMORY.replace(
        "Deploys run from main. <!-- bbbbb 2026-01-02 by=model from=c/1-2 -->",
        "Deploys run from release <!-- zzzz2 2026-11-17 from=c/9-9 -->",
    )
    assert applied.history.text == (
        "# History\n\n## 2026-11-17\n\n"
        "- Until 2026-11-17: Deploys run from main. <!-- bbbbb 2026-01-02 by=model from=c/1-2 -->\n"
    )


def test_two_programs_cannot_supersede_the_same_text() -> None:
    """The second one has not seen what the first one wrote."""
    applied = run([Supersede("bbbbb", "Deploys run from release"), Supersede("bbbbb", "No deploys")])

    assert reasons(applied) == ["", "there is no entry bbbbb"]


def test_superseding_by_what_is_known_only_moves_the_old_text() -> None:
    applied = run([Supersede("bbbbb", "TABS"), Supersede("bbbbb", "x"), Supersede("", "x")])

    assert [one.applied for one in applied.results] == [True, False, False]
    assert [entry.text for entry in applied.memory.entries] == ["Tabs"]


def test_invalid_and_old_entries_move_to_the_history() -> None:
    history = "## 2026-11-17\n\n- Shipped.\n"
    invalid = run([Invalidate("bbbbb", "we stopped")], history=history)
    moved = run([ToHistory("bbbbb")], history=history)

    assert [entry.text for entry in invalid.history.entries] == [
        "Shipped.",
        "Until 2026-11-17: Deploys run from main. (we stopped)",
    ]
    assert [entry.text for entry in moved.history.entries] == ["Shipped.", "Deploys run from main."]
    assert invalid.memory == moved.memory == parse(MEMORY).remove("bbbbb")


def test_an_interrupted_change_adds_nothing_twice_to_the_history() -> None:
    first = run([Invalidate("bbbbb")])
    again = run([Invalidate("bbbbb")], history=first.history.text)

    assert again == first


def test_an_entry_that_an_interrupted_change_moved_in_other_words_gets_another_id() -> None:
    """Two entries of a note must not have the same id."""
    applied = run([ToHistory("bbbbb")], history=run([Invalidate("bbbbb")]).history.text)

    assert [entry.id for entry in applied.history.entries] == ["bbbbb", "zzzz2"]


def test_entries_of_several_lines_move_as_they_are() -> None:
    applied = run([Invalidate("bbbbb")], memory="- one\n  - two\n\n  three <!-- bbbbb -->\n")

    assert applied.history.entries[0].text == "Until 2026-11-17: one\n- two\n\nthree"


def test_a_forgotten_entry_is_in_no_note() -> None:
    applied = run([Forget("bbbbb")])

    assert "main" not in applied.memory.text + applied.history.text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        (" \n\t ", "empty"),
        ("---", "empty"),
        ("x" * (LONGEST_TEXT + 1), "longer than 300"),
        ("# Decisions", "a heading"),
        ("one\n<!-- bbbbb -->", "a heading, a comment or a code block"),
        ("one -->", "a heading, a comment or a code block"),
        ("```sh", "a heading, a comment or a code block"),
        ("~~~ one", "a heading, a comment or a code block"),
    ],
    ids=lambda value: value[:12],
)
def test_a_text_that_could_be_structure_is_refused(text: str, reason: str) -> None:
    applied = run([Add("Decisions", text), Supersede("bbbbb", text)])

    assert all(reason in one for one in reasons(applied))
    assert applied.memory.text == MEMORY


@given(st.text(max_size=60), st.text(max_size=30), st.text(max_size=20), st.text(max_size=20))
def test_no_text_can_forge_an_entry_a_section_or_an_id(text: str, section: str, origin: str, source: str) -> None:
    """Whatever a model returns is at most one line in one entry."""
    before = parse(MEMORY)
    applied = run([Add(section, text, origin, source, source), Invalidate("bbbbb", text)])

    kept = [entry for entry in applied.memory.entries if entry.id not in ("zzzz2", "")]
    assert kept == [] and len(applied.memory.entries) <= 2
    assert len(applied.memory.sections) <= len(before.sections) + 1
    assert len(applied.history.entries) == 1 and applied.history.sections == ["History", TODAY]
    if applied.results[0].applied:
        [entry] = [entry for entry in applied.memory.entries if entry.id == "zzzz2"]
        assert entry.text == clean_text(text)[0] and "\n" not in entry.text


def test_control_characters_and_bullets_are_cleaned() -> None:
    assert clean_text("- * a\x1b[31m b\x00c\u2028d\x85") == ("a␛[31m b␀c d�", "")


def test_an_unknown_section_is_refused_only_if_it_is_none() -> None:
    applied = run([Add("", "a"), Add("## \n", "b"), Add("<!-- x -->", "c"), Add("## Eigenes ", "d")])

    assert [one.applied for one in applied.results] == [False, False, False, True]
    assert applied.memory.sections[-1] == "Eigenes"


def test_the_caller_can_refuse_a_text() -> None:
    applied = apply(
        parse(MEMORY), parse(""), [Add("A", "secret plan"), Forget("bbbbb")], today=TODAY, new_id=lambda: "zzzzz",
        refuse=lambda operation: "purged" if "secret" in getattr(operation, "text", "") else "",
    )  # fmt: skip

    assert reasons(applied) == ["purged", ""]


def test_more_than_twenty_operations_change_nothing() -> None:
    """A model that returns so many has not understood the task."""
    applied = run([Add("Decisions", f"fact {number}") for number in range(21)])

    assert set(reasons(applied)) == {"more than 20 operations at once"}
    assert applied.memory.text == MEMORY


@pytest.mark.proves("S13")
@pytest.mark.parametrize("kind", [Forget, ToHistory, Invalidate])
def test_a_list_that_removes_half_of_the_entries_is_refused(kind: type[Forget]) -> None:
    memory = many(6)
    half, less = [kind(id) for id in ids_of(memory)[:3]], [kind(id) for id in ids_of(memory)[:2]]

    refused = run(half, memory)
    assert reasons(refused) == ["together, the operations would remove half of the entries"] * 3
    assert (refused.memory.text, refused.history.text) == (memory, "# History\n")
    assert all(one.applied for one in run(less, memory).results)
    assert all(one.applied for one in run(half, memory, by_user=True).results)


@pytest.mark.proves("S13")
def test_a_list_that_removes_most_of_the_text_is_refused() -> None:
    memory = many(4, "word " * 30)
    shorter = [Supersede(id, f"short {id}") for id in ids_of(memory)[:3]]

    assert reasons(run(shorter, memory)) == ["together, the operations would remove most of the text"] * 3
    assert all(one.applied for one in run(shorter[:2], memory).results)
    assert all(one.applied for one in run(shorter, memory, by_user=True).results)


@pytest.mark.parametrize(
    "memory", ["", "just a text\n", "- bare\n\n```\nopen\n", "---\na: 1\n---\n", "# 决定\r\n- 一\r\n"]
)
def test_any_note_can_get_an_entry(memory: str) -> None:
    applied = run([Add("Decisions", "one"), Add("decisions", "two")], memory)

    assert [entry.text for entry in applied.memory.entries if entry.id] == ["one", "two"]
    assert {folded(entry.section) for entry in applied.memory.entries if entry.id} == {"decisions"}


def test_documents_without_changes_are_the_same() -> None:
    applied = run([Forget("zzzzz")])

    assert isinstance(applied.memory, Document) and applied.memory.text == MEMORY
