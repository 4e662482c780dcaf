"""Three-way merge: what one side changed is kept, and what both changed is reported."""

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from aish.memory.ledger_lines import folded
from aish.memory.notes.document import Document, Entry, parse
from aish.memory.notes.merge import Conflict, Merged, merge

BASE = "# Memory\n\n## Decisions\n\n- Use tabs <!-- bbbbb -->\n- Ship on Friday <!-- ccccc -->\n- bare\n"
IDS = ("bbbbb", "ccccc", "ddddd", "fffff", "ggggg")
TEXTS = ("one", "two", "three words here", "四", "five")


def merged(mine: Callable[[str], str], theirs: Callable[[str], str], base: str = BASE) -> Merged:
    return merge(parse(base), parse(mine(base)), parse(theirs(base)))


def texts(document: Document) -> list[str]:
    return [entry.text for entry in document.entries]


@st.composite
def documents(draw: st.DrawFn) -> Document:
    """Return a small note. Two of them often have the same ids, with the same or another text."""
    document = parse(
        draw(st.sampled_from(("", "# Memory\n\ntext\n", "intro\n\n## B\n- bare one\n- bare two\n\nend\n")))
    )
    for id in draw(st.lists(st.sampled_from(IDS), unique=True)):
        section = draw(st.sampled_from(("A", "B", "")))
        document = document.add(section, Entry(id, section, draw(st.sampled_from(TEXTS)) + id))
    return document


def test_different_entries_changed_on_both_sides_are_both_taken() -> None:
    result = merged(lambda text: text.replace("tabs", "spaces"), lambda text: text.replace("Friday", "Monday"))

    assert result == (parse(BASE.replace("tabs", "spaces").replace("Friday", "Monday")), [])


def test_an_entry_changed_on_both_sides_stays_as_the_person_wrote_it_and_is_reported() -> None:
    result = merged(lambda text: text.replace("tabs", "spaces"), lambda text: text.replace("tabs", "two tabs"))

    assert result.document.text == BASE.replace("tabs", "two tabs")
    assert result.conflicts == [Conflict("bbbbb", "Use tabs", "Use spaces", "Use two tabs")]


def test_the_same_change_on_both_sides_is_no_conflict() -> None:
    result = merged(
        lambda text: text.replace("tabs", "spaces") + "- mine\n",
        lambda text: text.replace("tabs", "spaces") + "- hers\n",
    )

    assert texts(result.document) == ["Use spaces", "Ship on Friday", "bare", "hers", "mine"]
    assert result.conflicts == []


def test_removed_by_one_and_changed_by_the_other_is_reported() -> None:
    def without(text: str) -> str:
        return text.replace("- Use tabs <!-- bbbbb -->\n", "")

    kept = merged(without, lambda text: text.replace("tabs", "two tabs"))
    gone = merged(lambda text: text.replace("tabs", "spaces"), without)

    assert texts(kept.document) == ["Use two tabs", "Ship on Friday", "bare"]
    assert kept.conflicts == [Conflict("bbbbb", "Use tabs", "", "Use two tabs")]
    assert texts(gone.document) == ["Ship on Friday", "bare"]
    assert gone.conflicts == [Conflict("bbbbb", "Use tabs", "Use spaces", "")]


def test_removed_by_one_side_only_is_removed() -> None:
    def without(text: str) -> str:
        return text.replace("- bare\n", "")

    assert texts(merged(without, lambda text: text + "- more\n").document) == ["Use tabs", "Ship on Friday", "more"]
    assert texts(merged(lambda text: text + "- more\n", without).document) == ["Use tabs", "Ship on Friday", "more"]


def test_an_entry_that_only_got_an_id_is_the_same() -> None:
    """The program gives ids to entries of the person, who may change or remove them meanwhile."""

    def named(text: str) -> str:
        return text.replace("- bare\n", "- bare <!-- ddddd -->\n").replace("tabs", "spaces")

    assert texts(merged(named, lambda text: text.replace("- bare\n", "")).document) == ["Use spaces", "Ship on Friday"]
    kept = merged(named, lambda text: text + "\nmore text\n")
    assert kept.document.entries[2] == Entry("ddddd", "Decisions", "bare")


def test_text_outside_entries_comes_from_the_person() -> None:
    result = merged(
        lambda text: text.replace("tabs", "spaces"), lambda text: "My notes.\n\n" + text.replace("Decisions", "决定")
    )

    assert result.document.text == "My notes.\n\n" + BASE.replace("Decisions", "决定").replace("tabs", "spaces")
    assert result.conflicts == []


def test_text_outside_entries_that_only_the_program_changed_is_kept() -> None:
    result = merged(lambda text: text + "\nGoal: ship\n", lambda text: text.replace("tabs", "spaces"))

    assert result.document.text == BASE.replace("tabs", "spaces") + "\nGoal: ship\n"


def test_text_outside_entries_that_both_changed_is_reported() -> None:
    result = merged(lambda text: text + "\nGoal: ship\n", lambda text: text + "\nGoal: rest\n")

    assert result.document.text == BASE + "\nGoal: rest\n"
    [conflict] = result.conflicts
    assert "Goal: ship" in conflict.mine and "Goal: rest" in conflict.theirs and conflict.id == ""


def test_a_moved_entry_moves() -> None:
    def moved(text: str) -> str:
        document = parse(text)
        return document.replace("bbbbb", document.entries[0]._replace(section="Preferences")).text

    result = merged(moved, lambda text: text + "- more\n")
    assert [entry.section for entry in result.document.entries if entry.id == "bbbbb"] == ["Preferences"]
    assert texts(result.document).count("Use tabs") == 1


@given(documents(), documents())
def test_a_change_on_one_side_only_is_taken_exactly(base: Document, other: Document) -> None:
    assert merge(base, other, base) == (other, [])
    assert merge(base, base, other) == (other, [])
    assert merge(base, other, other) == (other, [])


@given(documents(), documents(), documents())
def test_nothing_that_only_one_side_added_or_changed_is_lost(base: Document, mine: Document, theirs: Document) -> None:
    """An entry is in the result, or it is in a conflict, or the other side removed it unchanged."""
    result = merge(base, mine, theirs)

    old = {entry.id: entry for entry in base.entries if entry.id}
    reported = {conflict.id for conflict in result.conflicts}
    there = {entry.id: entry for entry in result.document.entries}
    for side, other in ((mine, theirs), (theirs, mine)):
        others = {entry.id: entry for entry in other.entries}
        for entry in side.entries:
            if not entry.id:
                continue
            before, hers = old.get(entry.id), others.get(entry.id)
            if before and before.content == entry.content:
                continue  # unchanged on this side
            alone = hers == before or (hers and hers.content == (before or entry).content)
            if side is theirs or alone:
                assert there[entry.id].text == entry.text
            else:
                assert entry.id in reported or (hers and hers.content == entry.content)
    assert len(there) == len({entry.id for entry in result.document.entries})
    bare = {folded(entry.text) for one in (mine, theirs) for entry in one.entries if not entry.id}
    kept = {folded(entry.text) for entry in base.entries if not entry.id}
    assert {folded(entry.text) for entry in result.document.entries if not entry.id} >= bare - kept
