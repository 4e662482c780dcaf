"""The transcript that a model gets for learning, and how its answer is parsed."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from timing import cpu_seconds

from aish.memory.candidates import GRAMMAR, INSTRUCTION, MOST, MOST_BYTES, Candidate, lesson, read_candidates
from aish.values.items import KINDS
from aish.values.turns import EXEC_MARK, INPUT_MARK, SUMMARIZER_META, JournalEntry, Role, ToolCall, Turn

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def entry(number: int, role: Role, content: str, meta: dict[str, Any] | None = None, **more: Any) -> JournalEntry:
    return JournalEntry(number=number, time=NOW, turn=Turn(role=role, content=content, **more), meta=meta or {})


def back(*turns: tuple[Role, str]) -> list[JournalEntry]:
    """Return the turns as a journal yields them: newest first."""
    return [entry(number, role, text) for number, (role, text) in enumerate(turns, start=1)][::-1]


def transcript(text: str) -> list[str]:
    head, _, rest = text.partition("\n\n---\n")
    assert head == INSTRUCTION
    body, _, end = rest.rpartition("\n---")
    assert end == ""
    return body.split("\n")


@pytest.mark.proves("M44", "M45")
def test_the_question_is_the_instruction_and_the_turns_in_their_order() -> None:
    """The journal is read backwards, but the model must read the turns in order."""
    read = lesson(back(("user", "q1"), ("assistant", "a1"), ("user", "q2"), ("assistant", "a2")))

    assert transcript(read.text) == ["user: q1", "assistant: a1", "user: q2", "assistant: a2"]
    assert (read.turns, read.origin) == (4, "model")
    assert "at most 10 lines" in INSTRUCTION
    assert all(f"`{kind}: `" in INSTRUCTION for kind in KINDS)


@pytest.mark.proves("M42")
def test_turns_of_the_summariser_are_left_out_and_use_no_budget() -> None:
    """Otherwise it would read its own question as something the user said."""
    entries = back(("user", "q1"), ("assistant", "a1"))
    own = [
        entry(4, "assistant", "fact: x", {"meta": SUMMARIZER_META}),
        entry(3, "user", INSTRUCTION * 99, {"meta": SUMMARIZER_META}),
    ]

    assert lesson([*own, *entries]) == lesson(entries)
    assert lesson([*entries[:1], *own, *entries[1:]]) == lesson(entries)


@pytest.mark.proves("M52")
@given(
    st.lists(st.text(st.characters(codec="utf-8"), max_size=400), min_size=1, max_size=12),
    st.integers(len(INSTRUCTION.encode()) + 20, len(INSTRUCTION.encode()) + 3000),
)
@settings(max_examples=60, deadline=None)
def test_the_question_never_exceeds_its_byte_limit(texts: list[str], limit: int) -> None:
    """The limit is in bytes, not characters: Chinese text needs three bytes per character."""
    entries = [entry(number, "user", text) for number, text in enumerate(texts)]

    read = lesson(entries, limit)

    assert len(read.text.encode()) <= limit
    assert 1 <= read.turns <= len(texts)


@pytest.mark.proves("M52")
def test_the_newest_turns_are_kept_when_not_all_fit() -> None:
    """The user most likely wants to keep what was said last."""
    turns: list[tuple[Role, str]] = [("user", f"{number:04} " + "猫" * 100) for number in range(1000)]

    read = lesson(back(*turns))

    numbers = [int(line[6:10]) for line in transcript(read.text)]
    assert numbers == list(range(numbers[0], 1000))
    assert read.turns == len(numbers)
    assert MOST_BYTES - 350 < len(read.text.encode()) <= MOST_BYTES == 65536


@pytest.mark.proves("M52")
def test_a_turn_that_is_too_long_is_truncated_at_its_end() -> None:
    """A partial character at the cut is removed."""
    read = lesson(back(("user", "old"), ("user", "猫" * 30_000)))

    (line,) = transcript(read.text)
    assert line.startswith("user: 猫猫")
    assert set(line[6:]) == {"猫"}
    assert read.turns == 1


@pytest.mark.proves("X4", "M63")
@pytest.mark.parametrize(
    ("foreign", "origin"),
    [
        ([entry(1, "user", f"{INPUT_MARK}\nfile\n\nq")], "file"),
        ([entry(1, "user", f"{EXEC_MARK}\nlisting\n\nq")], "tool:exec"),
        (
            [
                entry(2, "tool", "rain", call_id="c1"),
                entry(1, "assistant", "", tool_calls=(ToolCall("c1", "weather", "{}"),)),
            ],
            "tool:weather",
        ),
        ([entry(2, "tool", "rain", call_id="c1")], "tool:unknown"),
    ],
)
def test_learned_items_get_the_least_trusted_origin_of_the_turns(foreign: list[JournalEntry], origin: str) -> None:
    """One untrusted turn anywhere in the transcript is enough."""
    plain = back(("user", "q"), ("assistant", "a"))

    assert lesson([*plain, *foreign, *plain]).origin == origin
    assert lesson([*foreign, *plain]).origin == origin


@pytest.mark.proves("M52", "X4")
def test_turns_too_old_to_be_read_count_for_trust() -> None:
    """The answers that are read may be based on them."""
    entries = [*back(("user", "x" * 500)), entry(0, "user", f"{EXEC_MARK}\n{'y' * 5000}\n\nq")]

    assert lesson(entries, len(INSTRUCTION) + 2000).origin == "tool:exec"
    long = entry(1, "assistant", "z" * 5000)
    assert lesson([*entries[:1], long, *entries[1:]], len(INSTRUCTION) + 2000).origin == "tool:exec"


def test_an_empty_conversation_gives_an_empty_transcript() -> None:
    """The model is not asked about an empty conversation."""
    assert lesson([]).turns == 0
    assert lesson([entry(1, "user", "x", {"meta": SUMMARIZER_META})]).turns == 0


@pytest.mark.proves("M47")
@pytest.mark.parametrize(
    ("line", "candidate"),
    [
        ("fact: the cat is called Miso", ("fact", "the cat is called Miso")),
        ("pref: tabs", ("pref", "tabs")),
        ("context: works on a parser", ("context", "works on a parser")),
        ("- fact: likes tea", ("fact", "likes tea")),
        ("* pref: likes tea", ("pref", "likes tea")),
        ("  -fact: likes tea  ", ("fact", "likes tea")),
        ("FACT: likes tea", ("fact", "likes tea")),
        ("- **fact:** likes tea", ("fact", "likes tea")),
        ("**Fact**: likes tea", ("fact", "likes tea")),
        ("fact:likes: tea", ("fact", "likes: tea")),
        ("fact: likes\ttea   and  milk", ("fact", "likes tea and milk")),
        ('fact: {"kind":"forget","target":1}', ("fact", '{"kind":"forget","target":1}')),
    ],
)
def test_a_line_of_the_right_form_is_a_candidate(line: str, candidate: tuple[str, str]) -> None:
    """With or without a bullet, and with any decoration that models use."""
    assert read_candidates(line) == [Candidate(*candidate)]


@pytest.mark.proves("M47")
@pytest.mark.parametrize(
    "line",
    [
        "",
        "The user likes tea.",
        "Here are the facts:",
        "factual: tea",
        "forget: 1",
        "kind: fact",
        "fact tea",
        "fact:",
        "fact:   ",
        "fact: **",
        "fact: ab",
        "a fact: tea",
        '{"fact": "likes tea"}',
        '"fact: likes tea"',
        "> fact: likes tea",
        "note: likes tea",
        "\x00\x01\x02",
    ],
)
def test_a_line_of_another_form_is_ignored(line: str) -> None:
    """Other text around the candidate lines is allowed, and none of it is kept."""
    assert read_candidates(f"{line}\nfact: the only one") == [Candidate("fact", "the only one")]


@pytest.mark.proves("M45")
def test_at_most_ten_different_candidates_are_taken() -> None:
    """The user has to answer a question for each of them."""
    lines = [f"fact: number {number // 2:02}" for number in range(60)]

    found = read_candidates("\n".join(lines))

    assert [candidate.content for candidate in found] == [f"number {number:02}" for number in range(10)]
    assert read_candidates("fact: Tea\npref: tea") == [Candidate("fact", "Tea")]


@pytest.mark.proves("X4", "M47")
@given(st.text(max_size=200) | st.binary(max_size=200).map(lambda data: data.decode("utf-8", "replace")))
@settings(max_examples=80, deadline=None)
def test_a_candidate_is_always_one_short_line_of_a_known_kind(text: str) -> None:
    """No answer can look like two items, or like a tombstone."""
    for answer in (text, f"fact: {text}", f"- pref: {text}\ncontext: {text}"):
        found = read_candidates(answer)
        assert len(found) <= MOST
        for kind, content in found:
            assert kind in KINDS
            assert 3 <= len(content) <= 500
            assert len(content.splitlines()) == 1


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param("words and more words " * 50_000, id="prose"),
        pytest.param("x" * 1_000_000, id="one word"),
        pytest.param("[" * 1_000_000, id="brackets"),
        pytest.param("\n" * 100_000, id="lines"),
        pytest.param("*" * 1_000_000, id="stars"),
        pytest.param(" " * 20_000, id="blanks"),
        pytest.param("- " * 10_000, id="bullets"),
        pytest.param("fact" + " " * 20_000, id="a kind and blanks"),
        pytest.param("fact:" + " " * 50_000, id="a kind, a colon and blanks"),
        pytest.param("fact: " + "*" * 20_000, id="a kind and stars"),
    ],
)
def test_long_nonsense_is_no_candidate_and_is_parsed_quickly(answer: str) -> None:
    """Small models get stuck in repetitions, and the user is waiting at the prompt."""
    assert read_candidates(answer) == []

    quarter = answer[: len(answer) // 4]
    assert cpu_seconds(lambda: read_candidates(answer)) < 9 * cpu_seconds(lambda: read_candidates(quarter)) + 0.1


def test_an_endless_candidate_is_truncated() -> None:
    """The user has to read it before confirming."""
    (found,) = read_candidates("fact: " + "word " * 200_000)

    assert len(found.content) == 500
    assert found.content.endswith("…")


@pytest.mark.proves("M45")
def test_the_grammar_allows_only_candidate_lines() -> None:
    """It names the kinds, allows ten lines at most, and no line break inside a line."""
    assert all(f'"{kind}"' in GRAMMAR for kind in KINDS)
    assert "line{0,10}" in GRAMMAR
    assert r"[^\n:]" in GRAMMAR
