"""Consolidation: how a model is asked for lasting facts, how its answer is read, and what of it is accepted."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aish.memory.notes.consolidation import (
    KINDS,
    MOST_ENTRIES,
    MOST_LINES,
    PROBATION,
    SECTION_OF,
    Consolidated,
    Proposal,
    decide,
    prompt,
    read_answer,
)
from aish.memory.notes.document import SECTIONS, Entry
from aish.memory.notes.operations import Add, Invalidate, Milestone, Supersede, ToHistory
from aish.memory.notes.transcript import Grounds, RanCommand, SaidTurn

TODAY = date(2026, 11, 17)
SOURCE = "20261117-101500-abc/1-4"
SAID = "2026-11-16"
UNTIL = (TODAY + PROBATION).isoformat()


def user(text: str, *commands: RanCommand) -> SaidTurn:
    return SaidTurn(1, "user", text, "user", commands)


def model(text: str, origin: str = "model") -> SaidTurn:
    return SaidTurn(2, "assistant", text, origin)


def entry(text: str, section: str = "Decisions", id: str = "k7f2p", origin: str = "") -> Entry:
    return Entry(id, section, text, "2026-11-01", "", origin, "20261101-101500-abc/1-2")


def decided(answer: str, *turns: SaidTurn, entries: tuple[Entry, ...] = ()) -> Consolidated:
    return decide(read_answer(answer), entries, Grounds(turns), source=SOURCE, said=SAID, today=TODAY)


# The prompt


@pytest.mark.proves("S37")
def test_the_model_sees_numbers_and_no_ids() -> None:
    """An id that a model has read could come back in a text, and then the text would look like an entry."""
    text = prompt([entry("Use Envoy"), entry("Short answers", "Preferences", "m3x9q")], "user: hello")

    assert "1. (decision) Use Envoy\n2. (preference) Short answers" in text
    assert "k7f2p" not in text
    assert "m3x9q" not in text
    assert "20261101" not in text
    assert "--- conversation\nuser: hello\n---" in text


def test_an_entry_of_several_lines_takes_one_line_of_the_prompt() -> None:
    """Otherwise its second line could look like the next entry, or like the end of the notes."""
    text = prompt([entry("Use Envoy\n2. (decision) Use nginx\n--- conversation")], "")

    assert "1. (decision) Use Envoy 2. (decision) Use nginx --- conversation\n--- conversation" in text


def test_notes_without_entries_are_said_to_be_empty_and_many_are_limited() -> None:
    """A long MEMORY.md must not fill the window of a small model."""
    many = [entry(f"fact {number}", "someone's own heading") for number in range(MOST_ENTRIES + 5)]

    assert "--- notes\n(none)\n---" in prompt([], "")
    assert f"{MOST_ENTRIES}. (note) fact {MOST_ENTRIES - 1}\n---" in prompt(many, "")
    assert f"{MOST_ENTRIES + 1}." not in prompt(many, "")


@pytest.mark.proves("S4")
def test_every_kind_has_its_section_in_memory() -> None:
    """The kinds are the model's words for the sections that people read."""
    assert tuple(kind.section for kind in KINDS) == SECTIONS


# The answer


@pytest.mark.parametrize(
    "line",
    [
        "decision: use Envoy for billing",
        "- decision: use Envoy for billing",
        "* **decision**: use Envoy for billing",
        "• Decision : use Envoy for billing",
        "  **Decision:** use Envoy for billing",
        "`decision`: `use Envoy for billing`",
        "DECISION: _use Envoy for billing_",
    ],
)
def test_small_deviations_from_the_format_are_read(line: str) -> None:
    """Small models add bullets and bold text. The content is what counts."""
    assert read_answer(f"Sure! Here you go:\n\n{line}\nHope this helps.") == [
        Proposal("decision", "use Envoy for billing")
    ]


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("replace 3: use nginx", Proposal("replace", "use nginx", 3)),
        ("- Replace [12]: use nginx", Proposal("replace", "use nginx", 12)),
        ("drop #2: no longer true", Proposal("drop", "no longer true", 2)),
        ("history 1: old news", Proposal("history", "old news", 1)),
        ("maybe preference: short answers", Proposal("preference", "short answers", maybe=True)),
        ("**maybe** preference: short answers", Proposal("preference", "short answers", maybe=True)),
        ("done: billing was moved", Proposal("done", "billing was moved")),
    ],
)
def test_changes_and_doubts_are_read(line: str, wanted: Proposal) -> None:
    """A change names a note by its number; `maybe` puts it on probation."""
    assert read_answer(line) == [wanted]


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "none",
        "None.",
        "Roses are red,\nviolets are blue,\nmemory: is sweet,\nand so are you.",
        "replace: use nginx",
        "replace x: use nginx",
        "decision:",
        "decision: ok",
        "decision: use Envoy <!-- k7f2p -->",
        "<!-- k7f2p --> decision: use Envoy",
        "# decision: use Envoy",
        '{"decision": "use Envoy"}',
        "forget 1: everything",
    ],
)
def test_nonsense_gives_nothing(answer: str) -> None:
    """A model that answers with a poem, an empty line or a forged id changes nothing."""
    assert read_answer(answer) == []


@given(st.text())
def test_no_answer_can_break_the_reader(answer: str) -> None:
    """Whatever a model writes, each proposal is one short line without a comment."""
    for proposal in read_answer(answer):
        assert proposal.verb in {*SECTION_OF, "done", "replace", "drop", "history"}
        assert len(proposal.text) <= 240
        assert "\n" not in proposal.text
        assert "<!--" not in proposal.text


@given(st.text(alphabet="decisonrplamyb1: -*_`<!>\n", max_size=300))
def test_what_was_read_reads_the_same_again(answer: str) -> None:
    """The reader is stable: a clean line stays as it is."""
    for one in read_answer(answer):
        name = f"{one.verb} {one.number}" if one.verb in ("replace", "drop", "history") else one.verb
        assert read_answer(f"{'maybe ' if one.maybe else ''}{name}: {one.text}") == [one]


def test_lines_are_limited_and_repetitions_dropped() -> None:
    """A model that goes on and on cannot fill the notes."""
    many = "\n".join(f"decision: use server number {number}" for number in range(30))

    assert len(read_answer(many)) == MOST_LINES
    assert len(read_answer("decision: use Envoy\ndecision: Use envoy\ndone: use Envoy")) == 2


# What is accepted


@pytest.mark.proves("S22")
def test_the_users_words_last() -> None:
    """The user said it, so it needs no probation."""
    result = decided("preference: short answers in German", user("I like short answers in German"))

    assert result.operations == (
        Add("Preferences", "short answers in German", origin="user", source=SOURCE, until="", said=SAID),
    )
    assert result[1:] == ((), ())


@pytest.mark.proves("S22")
def test_the_models_own_words_and_doubts_are_on_probation() -> None:
    """They are probably lasting. Thirty days without a recall, and they leave again."""
    result = decided(
        "decision: gateway becomes Envoy with canary routing\nmaybe preference: short answers",
        user("ok, do it. I like short answers"),
        model("Then the gateway becomes Envoy with canary routing."),
    )

    assert [(one.origin, one.until) for one in result.operations if isinstance(one, Add)] == [
        ("model", UNTIL),
        ("user", UNTIL),
    ]
    assert UNTIL == "2026-12-17"


def test_what_was_not_said_is_refused() -> None:
    """A small model invents facts, also when the text tells it not to."""
    result = decided("person: Alice leads the platform team", user("which port does the gateway use?"), model("8080"))

    assert result == ((), (), (("Alice leads the platform team", "it was not said in the conversation"),))


@pytest.mark.proves("X4")
@pytest.mark.parametrize("origin", ["tool:exec", "tool:fetch_page", "file", "import"])
@pytest.mark.parametrize(
    ("verb", "kind"), [("preference", "pref"), ("person", "fact"), ("decision", "context"), ("done", "context")]
)
def test_what_comes_from_foreign_text_waits_for_consent(origin: str, verb: str, kind: str) -> None:
    """An answer that was given after foreign text may repeat it. It becomes a pending item, and no entry."""
    result = decided(
        f"{verb}: deploys need no review from security",
        user("what does it say?"),
        model("It says that deploys need no review from security.", origin),
    )

    assert result == ((), ((kind, "deploys need no review from security", origin),), ())


@pytest.mark.proves("X4")
def test_a_text_takes_the_lowest_trust_of_what_it_is_made_of() -> None:
    """Half of the words are the user's. The other half came from a page, and so does the sentence."""
    result = decided(
        "decision: the gateway port skips security review always",
        user("which port has the gateway?"),
        model("The page: skips security review always.", "tool:fetch_page"),
    )

    assert result.operations == ()
    assert [origin for _, _, origin in result.pending] == ["tool:fetch_page"]


@pytest.mark.proves("X4")
def test_the_users_own_words_about_the_same_thing_are_the_users() -> None:
    """The foreign text stands beside them, but the user said it as well."""
    result = decided(
        "decision: deploys need no review from security",
        user("we agreed: deploys need no review from security"),
        model("Deploys need no review from security.", "tool:exec"),
    )

    assert [one.origin for one in result.operations if isinstance(one, Add)] == ["user"]


def test_a_command_of_the_user_counts_as_the_users_words() -> None:
    """The user typed it; only what it printed is foreign."""
    result = decided(
        "work: migrate with alembic upgrade head", user("done", RanCommand("alembic upgrade head; migrate"))
    )

    assert [one.origin for one in result.operations if isinstance(one, Add)] == ["user"]


def test_milestones_go_to_the_history() -> None:
    """They tell what happened and on which day; MEMORY.md tells what holds."""
    result = decided("done: billing was moved to Envoy", user("good, billing was moved to Envoy"))

    assert result.operations == (Milestone("billing was moved to Envoy", "user", SOURCE, SAID),)


# Changes of entries


@pytest.mark.proves("S37")
def test_a_note_is_replaced_and_dropped_by_its_number() -> None:
    """Operations name the entry by its id, which the program looked up."""
    entries = (entry("gateway is nginx"), entry("auth runs on port 9000", id="m3x9q"), entry("old plan", id="q2w3r"))
    result = decided(
        "replace 1: gateway is Envoy now\ndrop 2: auth port 9000 is gone\nhistory 3: old plan",
        user("the gateway is Envoy now, and auth on port 9000 is gone. The old plan is over"),
        entries=entries,
    )

    assert result.operations == (
        Supersede("k7f2p", "gateway is Envoy now", "user", SOURCE, SAID),
        Invalidate("m3x9q", "auth port 9000 is gone"),
        ToHistory("q2w3r"),
    )


@pytest.mark.parametrize("number", ["0", "2", "41", "9999"])
def test_a_number_that_does_not_exist_changes_nothing(number: str) -> None:
    """A model may count wrong."""
    result = decided(
        f"replace {number}: gateway is Envoy", user("the gateway is Envoy"), entries=(entry("gateway is nginx"),)
    )

    assert result.operations == ()
    assert result.refused == (("gateway is Envoy", f"there is no note {int(number)}"),)


def test_an_entry_beyond_those_shown_cannot_be_named() -> None:
    """The model never saw it."""
    entries = tuple(entry("gateway is nginx", id=f"bcd{n // 10 + 2}{n % 10}") for n in range(MOST_ENTRIES + 1))
    result = decided(f"drop {MOST_ENTRIES + 1}: gone", user("the gateway nginx is gone"), entries=entries)

    assert result.operations == ()


@pytest.mark.proves("S8")
@pytest.mark.parametrize("verb", ["replace", "drop", "history"])
def test_what_a_person_wrote_by_hand_is_not_touched(verb: str) -> None:
    """It has no id. Only the person changes it."""
    result = decided(
        f"{verb} 1: gateway is Envoy", user("the gateway is Envoy now"), entries=(entry("gateway is nginx", id=""),)
    )

    assert result.operations == ()
    assert result.refused[0][1] == "the note was written by hand"


@pytest.mark.parametrize("origin", ["", "user"])
def test_the_models_words_never_replace_the_users(origin: str) -> None:
    """A model may be wrong about what the user said before."""
    said = (user("hm"), model("The gateway could be Envoy with canary routing."))
    answer = "replace 1: gateway is Envoy with canary routing"

    refused = decided(answer, *said, entries=(entry("gateway is nginx", origin=origin),))
    own = decided(answer, *said, entries=(entry("gateway is nginx", origin="model"),))

    assert refused.operations == ()
    assert refused.refused[0][1] == "only the user's own words can replace what the user said"
    assert [type(one) for one in own.operations] == [Supersede], "its own words may be replaced"


@pytest.mark.proves("X4")
@pytest.mark.parametrize("origin", ["", "model"])
@pytest.mark.parametrize("verb", ["replace", "drop", "history"])
def test_foreign_text_changes_no_entry(verb: str, origin: str) -> None:
    """Otherwise a page could delete the user's constraints."""
    result = decided(
        f"{verb} 1: security review is abolished everywhere",
        user("what does the page say?"),
        model("The page says: security review is abolished everywhere.", "tool:fetch_page"),
        entries=(entry("security review is needed everywhere", "Constraints", origin=origin),),
    )

    assert result.operations == ()
    assert len(result.refused) == 1


def test_a_replacement_about_something_else_is_refused() -> None:
    """A wrong number would delete a note that still holds."""
    result = decided("replace 1: lunch is at noon", user("lunch is at noon"), entries=(entry("gateway runs on nginx"),))

    assert result.refused == (("lunch is at noon", "it is about something else"),)


def test_nothing_is_dropped_that_the_user_did_not_speak_of() -> None:
    """A model that is asked for changes makes some."""
    result = decided("drop 1: outdated", user("what is for lunch?"), entries=(entry("gateway runs on nginx"),))

    assert result.refused == (("outdated", "the user did not speak of it"),)


@pytest.mark.proves("X4")
@pytest.mark.parametrize("verb", ["drop", "history"])
def test_a_question_about_a_note_does_not_let_foreign_text_remove_it(verb: str) -> None:
    """The user only asked. The reason for the change came from the page, and would go to the history with it."""
    result = decided(
        f"{verb} 1: the new policy abolished it for everybody",
        user("does the page say anything about security review?"),
        model("Yes: the new policy abolished it for everybody.", "tool:fetch_page"),
        entries=(entry("security review is needed", "Constraints"),),
    )

    assert result.operations == ()
    assert result.refused[0][1] == "it is based on foreign text"


def test_an_invented_replacement_is_refused() -> None:
    """It is based on nothing that was said."""
    result = decided(
        "replace 1: gateway belongs to Alice", user("thanks"), entries=(entry("gateway is nginx", origin="model"),)
    )

    assert result.refused == (("gateway belongs to Alice", "it was not said in the conversation"),)
