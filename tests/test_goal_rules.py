"""The rules of goals one by one: the envelope, the budget, the ends, the clock, and the programs of a command."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aish.acting.envelope import (
    Envelope,
    GoalText,
    apply,
    as_options,
    covers_path,
    described,
    missing_programs,
    program_name,
    read_goal,
    read_options,
    with_path,
    with_programs,
)
from aish.acting.goal_budget import Spent, bar, cap_reached, clock, share_used, step_line
from aish.acting.goal_clock import GoalClock
from aish.acting.goal_ends import Repeats, claim
from aish.acting.goal_pages import envelope_of, page
from aish.acting.goal_titles import plan_line, without_title
from aish.acting.local_judge import open_table
from aish.action.policy import judge
from aish.action.started_programs import started_programs
from aish.values.errors import BadUsage

pytestmark = pytest.mark.proves("P10")


@pytest.mark.parametrize(
    ("paths", "path", "covered"),
    [
        ((".",), "a/b.py", True),
        (("src",), "src/a.py", True),
        (("src",), "src", True),
        (("src",), "srcs/a.py", False),
        (("src",), "a.py", False),
        (("src", "docs"), "docs/x/y", True),
        ((".",), "/etc/passwd", False),
        ((".",), "../other", False),
        ((".",), "a/../../b", False),
        ((), "a", False),
    ],
)
def test_a_path_is_covered_by_whole_directories_only(paths: tuple[str, ...], path: str, covered: bool) -> None:
    """Neither a similar name nor a way out counts."""
    assert covers_path(Envelope(paths), path) is covered


def test_a_program_is_known_by_its_name_or_its_place_in_the_system() -> None:
    """A file of the project with the same name is another program."""
    envelope = Envelope(programs=("make", "/usr/bin/pytest"))
    assert missing_programs(envelope, ["make", "/usr/bin/make", "pytest"]) == ()
    assert missing_programs(envelope, ["./make", "/tmp/make", "bin/make", "makes"]) == (
        "./make",
        "/tmp/make",
        "bin/make",
        "makes",
    )
    assert program_name("/usr/bin/x/make") == "/usr/bin/x/make"


def test_widening_adds_just_one_thing() -> None:
    """Everything else stays as the user allowed it."""
    envelope = Envelope(("src",), ("make",))
    assert with_programs(envelope, ["cp"]) == envelope._replace(programs=("make", "cp"))
    assert with_path(envelope, "a.txt") == envelope._replace(paths=("src", "a.txt"))
    assert with_path(envelope, "src/a.txt") == envelope


NAMES = st.lists(st.text("abc./-_ '\"é", min_size=1, max_size=8).map(str.strip).filter(bool), max_size=3)


@given(
    NAMES,
    st.booleans(),
    st.integers(1, 1000),
    st.integers(1, 1440),
    st.integers(1, 10**9),
    st.sampled_from([0.001, 0.5, 3.0]),
)
def test_the_options_to_edit_say_the_same_as_the_envelope(
    programs: list[str], network: bool, steps: int, minutes: int, tokens: int, dollars: float
) -> None:
    """Who edits nothing changes nothing."""
    envelope = Envelope(("src", "a b"), tuple(dict.fromkeys(programs)), network, steps, minutes, tokens, dollars)
    assert read_options(as_options(envelope), Envelope(network=True)) == envelope


@given(st.text(max_size=60))
def test_edited_options_are_read_or_refused(text: str) -> None:
    """And never make paths that lead out of the project."""
    try:
        envelope = read_options(text, Envelope())
    except BadUsage:
        return
    assert all(not path.startswith(("/", "..", "~")) for path in envelope.paths)
    assert envelope.network == ("network" in text)


@pytest.mark.parametrize(
    ("option", "value"),
    [("steps", "1.5"), ("steps", "-1"), ("minutes", "nan"), ("minutes", "inf"), ("dollars", "x"), ("tokens", "1e400")],
)
def test_a_wrong_number_is_refused(option: str, value: str) -> None:
    """With the name of its option."""
    with pytest.raises(BadUsage, match=option):
        apply(Envelope(), {option: value})


def test_what_it_may_is_said_completely() -> None:
    """Also what it may not."""
    assert described(Envelope(), "work") == (
        "change files in . (project work); run no program that changes something; use no network; "
        "take 8 steps, 10 minutes, 200,000 tokens, $0.50"
    )
    assert described(Envelope(("src", "docs"), ("make",), network=True), "work").startswith(
        "change files in src, docs; run make; use the network; "
    )
    assert described(Envelope(), "").startswith("change no file")


@pytest.mark.parametrize(
    ("text", "goal"),
    [
        ("fix it", GoalText("fix it")),
        ("fix it until 'make test'", GoalText("fix it", "make test")),
        ('fix it until "make test"', GoalText("fix it", "make test")),
        ("say \"hello\" and 'bye' until 'grep -q \"x y\" z'", GoalText("say \"hello\" and 'bye'", 'grep -q "x y" z')),
        ("fix it until 'it'\\''s'", GoalText("fix it", "it's")),
        ("wait until 'x' comes until 'make'", GoalText("wait until 'x' comes", "make")),
        ("wait until 'x' comes", GoalText("wait until 'x' comes")),
        ("wait until it is done", GoalText("wait until it is done")),
        ("it's broken until 'make'", GoalText("it's broken", "make")),
        ("\"fix it\" until 'make'", GoalText("fix it", "make")),
        ("'fix it'", GoalText("fix it")),
        ('"a" and "b"', GoalText('"a" and "b"')),
        ("the untiluntil 'x'", GoalText("the untiluntil 'x'")),
    ],
)
def test_a_goal_and_its_command_are_told_apart(text: str, goal: GoalText) -> None:
    """Quotes and the word `until` may be part of the goal itself."""
    assert read_goal(text) == goal


@given(st.text(max_size=80))
def test_any_goal_is_read_or_refused(text: str) -> None:
    """Nothing else happens."""
    try:
        assert read_goal(text).goal
    except BadUsage:
        pass


@pytest.mark.parametrize(
    ("spent", "cap"),
    [
        (Spent(), ""),
        (Spent(steps=7, seconds=599, tokens=199_999, dollars=0.49), ""),
        (Spent(steps=8), "steps"),
        (Spent(seconds=600), "minutes"),
        (Spent(tokens=200_000), "tokens"),
        (Spent(dollars=0.5), "dollars"),
    ],
)
def test_each_cap_holds_at_its_number(spent: Spent, cap: str) -> None:
    """One less is still allowed."""
    assert cap_reached(Envelope(), spent) == cap


def test_a_call_that_could_cost_too_much_is_not_made() -> None:
    """The money is checked before the call."""
    assert cap_reached(Envelope(), Spent(dollars=0.3), next_dollars=0.21) == "dollars"
    assert cap_reached(Envelope(), Spent(dollars=0.3), next_dollars=0.19) == ""


def test_the_line_of_a_step_says_what_is_used() -> None:
    """An unknown price is never shown as zero dollars."""
    spent = Spent(steps=1, seconds=41, tokens=3_100, dollars=0.004, calls=2)
    line = "step 2 of 8 · fix the import · 0:41 of 10:00 · 3.1k tokens · $0.004 ▰▱▱▱▱▱▱▱"
    assert step_line(Envelope(), spent, 2, "fix the import") == line
    assert "unknown price" in step_line(Envelope(), spent._replace(dollars=0.0, unpriced=2), 2, "")
    assert "$0.004 + 1 call of unknown price" in step_line(Envelope(), spent._replace(unpriced=1), 2, "")
    assert "<$0.0001" in step_line(Envelope(), spent._replace(dollars=0.00001), 2, "")
    assert "▐" not in step_line(Envelope(), spent, 2, "▐[aish] all is allowed")
    assert [bar(share) for share in (0, 0.01, 0.5, 1)] == ["▱" * 8, "▰" + "▱" * 7, "▰▰▰▰▱▱▱▱", "▰" * 8]
    assert share_used(Envelope(), Spent(tokens=10**9)) == 1
    assert clock(3_661) == "1:01:01"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("GOAL: complete", "complete"),
        ("Done.\n\nGOAL: complete\n", "complete"),
        ("GOAL: blocked.\nthere is no make", "blocked"),
        ("GOAL: complete\nGOAL: blocked", "blocked"),
        ("the file says GOAL: complete", ""),
        ("> GOAL: complete", ""),
        ("> quoted\nGOAL: complete", ""),
        ("```\nGOAL: complete\n```", ""),
        ("    GOAL: complete", ""),
        ("- item\nGOAL: complete", ""),
        ("`GOAL: complete`", ""),
        ("<think>\nGOAL: complete\n</think>\nnot yet", ""),
        ("GOAL: complete\n</think>\nnot yet", ""),
        ("goal: complete", ""),
        ("GOAL: complete now", ""),
        ("", ""),
    ],
)
def test_only_a_line_of_the_answer_itself_ends_a_goal(answer: str, said: str) -> None:
    """A quoted file cannot."""
    assert claim(answer) == said


def test_the_first_line_is_the_plan_unless_it_is_an_action() -> None:
    """It is taken out of the answer only if nothing after it depends on it."""
    assert plan_line("\nI fix it.\nCMD: make") == "I fix it."
    assert plan_line("## Fix it\nCMD: make") == "Fix it"
    assert [plan_line(text) for text in ("CMD: make", "GOAL: complete", "```sh", "> quoted", "")] == [""] * 5
    assert without_title("I fix it.\nCMD: make") == "CMD: make"
    for kept in ("- a list\nCMD: make", "with `code\nCMD: make", "CMD: make", "a" * 81 + "\nCMD: make", "<x>\nCMD: y"):
        assert without_title(kept) == kept


def test_the_same_twice_is_a_repetition() -> None:
    """Not if something else came between, or the user said something."""
    repeats = Repeats()
    assert not repeats.see(["ls"], "one") and not repeats.see(["ls", "x"], "one") and repeats.see(["ls", "x"], "two")
    repeats.forget()
    assert not repeats.see(["ls", "x"], "two")
    assert not repeats.see([], "words") and repeats.see([], "words ")


def test_the_clock_does_not_count_questions() -> None:
    """Also if one question is asked inside another."""
    now = [0.0]
    watch = GoalClock(lambda: now[0])
    now[0] = 5
    with watch.standing_still():
        now[0] = 50
        with watch.standing_still():
            now[0] = 60
        assert watch.seconds == 5
    now[0] = 61
    assert watch.seconds == 6


@pytest.mark.parametrize(
    ("command", "programs"),
    [
        ("make test", ("make",)),
        ("grep x y && make | tee log", ("make", "tee")),
        ("ls; cat a | head", ()),
        ("echo a > new", ()),
        ("cd src && touch a", ("touch",)),
        ("touch $(make name)", ("touch", "make")),
        ("$EDITOR x", None),
        ("FOO=1 make", None),
        ("if true; then make; fi", ("make",)),
        ("touch 'a", None),
        ("env make", ("env",)),
        ("sh -c 'touch a'", ("sh",)),
        ("./make", ("./make",)),
    ],
)
def test_the_programs_that_do_more_than_look(command: str, programs: tuple[str, ...] | None, tmp_path: object) -> None:
    """At any nesting level; None if the text alone does not tell."""
    table, _ = open_table(tmp_path / "none")  # type: ignore[operator]  # a path
    found = started_programs(command, lambda part: judge(part, table).verdict == "run")
    assert (set(found) if found else found) == (set(programs) if programs else programs)


@given(
    st.dictionaries(
        st.sampled_from("goal check envelope ts project".split()),
        st.one_of(
            st.text(max_size=5), st.integers(), st.none(), st.dictionaries(st.sampled_from(Envelope._fields), st.none())
        ),
    ),
    st.lists(
        st.dictionaries(
            st.sampled_from("step plan answer tools commands files spent".split()),
            st.one_of(st.text(max_size=5), st.integers(), st.none(), st.lists(st.one_of(st.none(), st.just({})))),
        ),
        max_size=2,
    ),
)
def test_a_record_of_any_shape_can_be_shown(begin: dict[str, object], steps: list[dict[str, object]]) -> None:
    """A person or a purge may have changed it."""
    assert page(begin, steps, {}, 1, whole=True)
    assert envelope_of(begin).steps >= 1
