"""The history: in order of time, and coarser the older it is."""

import pytest

from aish.memory.notes.document import Entry, parse
from aish.memory.notes.history import MOST_IN_A_MONTH, add_to_day, fold, periods

HISTORY = (
    "# History\n\nMine.\n\n## 2025-03-02\n\n- Started.\n\n## 2026-09-01\n\n- Moved house. <!-- bbbbb 2026-09-01 -->\n"
    "  It took days.\n\nA long story.\n\n### Boxes\n\n- Lost a box.\n\n## 2026-09-10\n\n- Painted.\n- moved HOUSE\n\n"
    "## 2026-11-16\n\n- Planted.\n\n## Someday\n\n- Rest.\n"
)


def test_a_day_is_put_in_order_of_time() -> None:
    """Also when the clock goes backwards."""
    document = parse("# History\n\n## 2026-11-16\n\n- a\n\n## Notes\n\ntext\n")
    for day, id in (("2026-11-18", "bbbbb"), ("2026-11-17", "ccccc"), ("2026-11-16", "ddddd"), ("2020-01-01", "fffff")):
        document = add_to_day(document, day, Entry(id, day, f"on {day}"))

    assert document.sections == ["History", "2020-01-01", "2026-11-16", "2026-11-17", "2026-11-18", "Notes"]
    assert [entry.text for entry in document.entries] == [
        *("on 2020-01-01", "a", "on 2026-11-16", "on 2026-11-17", "on 2026-11-18")
    ]


def test_blocks_are_listed_with_their_entries() -> None:
    found = periods(parse(HISTORY + "## 2026-13-45\n\n- no date\n"))

    assert [(one.name, [entry.text.split("\n")[0] for entry in one.entries]) for one in found] == [
        ("2025-03-02", ["Started."]),
        ("2026-09-01", ["Moved house.", "Lost a box."]),
        ("2026-09-10", ["Painted.", "moved HOUSE"]),
        ("2026-11-16", ["Planted."]),
    ]


@pytest.mark.proves("R15")
def test_old_blocks_are_folded_and_the_originals_archived() -> None:
    folded = fold(parse(HISTORY), "2026-11-17")

    kept = folded.kept
    assert kept.sections == ["History", "2025", "2026-09", "2026-11-16", "Someday"]
    assert [entry.text for entry in kept.entries if entry.section == "2026-09"] == [
        *("Moved house.", "Lost a box.", "Painted.")
    ]
    assert kept.find("bbbbb") == Entry("bbbbb", "2026-09", "Moved house.", "2026-09-01")
    assert kept.prose == [("History", "Mine.")]
    start, end = HISTORY.index("## 2025-03-02"), HISTORY.index("## 2026-11-16")
    assert folded.archived == HISTORY[start:end]


@pytest.mark.proves("R15")
def test_months_become_years_and_nothing_is_folded_twice() -> None:
    once = fold(parse(HISTORY), "2026-11-17").kept
    later = fold(once, "2027-12-01")

    assert fold(once, "2026-11-17") == (once, "")
    assert later.kept.sections == ["History", "2025", "2026", "Someday"]
    assert [entry.text for entry in later.kept.entries if entry.section == "2026"][:2] == [
        "Moved house.",
        "Lost a box.",
    ]
    assert later.archived.startswith("## 2026-09\n")


def test_a_folded_block_has_a_limit() -> None:
    days = "".join(f"## 2026-01-{day:02}\n\n" + "".join(f"- {day} {n}\n" for n in range(9)) for day in range(1, 29))
    folded = fold(parse(days), "2026-11-17")

    assert len(folded.kept.entries) == MOST_IN_A_MONTH
    assert len(parse(folded.archived).entries) == 28 * 9


@pytest.mark.parametrize(
    "text", ["", "no headings\n- a\n", "## 2026-01-01", "## 2026-01-01\r\n\r\n```\r\nopen\r\n", "## 0000\n- a\n"]
)
def test_odd_histories_can_be_folded(text: str) -> None:
    kept, archived = fold(parse(text), "2026-11-17")

    words = set(text.split()) - {"##"}
    assert words <= set((kept.text + archived).split())
