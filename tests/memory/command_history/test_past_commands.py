"""The list of commands in memory, and what is found in it."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aish.memory.command_history.past_commands import PER_CHUNK, Builder, PastCommands, Wanted
from aish.values.past_command import LONGEST_COMMAND, PastCommand


def listed(*commands: PastCommand | str) -> PastCommands:
    """Return a list of commands, newest first."""
    builder = Builder()
    for number, one in enumerate(commands):
        builder.add(PastCommand(one, 1_000_000.0 - number, source="bash") if isinstance(one, str) else one)
    past = PastCommands()
    past.replace(builder.finish(), builder.words)
    return past


def found(past: PastCommands, words: str = "", **bounds: object) -> list[str]:
    return [one.text for batch in past.search(Wanted(words, **bounds)) for one in batch]  # type: ignore[arg-type]  # kept short


def test_each_command_is_listed_once_at_its_newest_place() -> None:
    past = listed("make", "ls", "make")
    assert found(past) == ["make", "ls"]
    past.add(PastCommand("ls", 2_000_000.0))
    assert found(past) == ["ls", "make"]
    past.add(PastCommand("new", 2_000_001.0))
    assert found(past) == ["new", "ls", "make"]


def test_all_words_must_be_in_a_command_in_any_order() -> None:
    past = listed("git push origin main", "git pull", "push the git")

    assert found(past, "push git") == ["git push origin main", "push the git"]


def test_abbreviations_are_found_after_words() -> None:
    past = listed("git checkout main", "gcm lint", "ls")

    assert found(past, "gcm") == ["gcm lint", "git checkout main"]
    assert found(past, "xcm") == []
    assert found(past, "gitm check") == ["git checkout main"]


def test_letters_far_apart_are_no_abbreviation() -> None:
    """Otherwise each long command would match everything."""
    assert found(listed("g" + "x" * 30 + "m"), "gm") == []


def test_capitals_count_if_they_are_typed() -> None:
    past = listed("cat README", "cat readme")

    assert found(past, "readme") == ["cat README", "cat readme"]
    assert found(past, "README") == ["cat README"]


def test_bounds_choose_directory_status_and_time() -> None:
    here = PastCommand("make here", 300.0, "/src", 0)
    failed = PastCommand("make fail", 200.0, "/src", 2)
    there = PastCommand("make there", 100.0, "/tmp", 0)
    past = listed(here, failed, there, PastCommand("make old", 50.0, source="bash"))

    assert found(past, "make", directory="/src") == ["make here", "make fail"]
    assert found(past, "make", status="failed") == ["make fail"]
    assert found(past, "make", status="succeeded") == ["make here", "make there"]
    assert found(past, "make", since=150.0) == ["make here", "make fail"]
    assert found(past, "make", until=150.0) == ["make there", "make old"]


def test_a_run_that_only_the_shell_dated_gets_the_details_of_our_own_record() -> None:
    """bash writes the same command into its file, perhaps a second later."""
    past = listed(PastCommand("make", 101.0, source="bash"), PastCommand("make", 100.0, "/src", 2, 3.0))

    assert next(past.newest()) == PastCommand("make", 100.0, "/src", 2, 3.0)


def test_the_newest_line_with_the_same_beginning_is_suggested() -> None:
    past = listed("git push", "git pull --rebase", "git pu")

    assert past.suggest("git pu") == "git push"
    assert past.suggest("git pul") == "git pull --rebase"
    assert past.suggest("git push") == ""
    past.add(PastCommand("git pull", 2_000_000.0))
    assert past.suggest("git pu") == "git pull"
    past.clear()
    assert past.suggest("git pu") == ""


def test_names_of_commands_that_were_run_are_known() -> None:
    past = listed("mytool sync all", "FOO=1 other x", PastCommand("what is this", 1.0, "/", 127))
    past.add(PastCommand("fresh start", 2.0, "/", 0))
    past.add(PastCommand("why is it", 2.0, source="typed"))

    assert [past.ran(word) for word in ("mytool", "other", "fresh", "FOO=1", "what", "why")] == [1, 1, 1, 0, 0, 0]


def test_a_typed_line_does_not_hide_what_is_known_of_the_command() -> None:
    past = listed()
    run = PastCommand("make", 1.0, "/src", 2)
    past.add(run)
    past.add(PastCommand("make", 2.0, source="typed"))

    assert list(past.newest()) == [run]


def test_commands_of_several_lines_are_found_and_do_not_shift_others() -> None:
    past = listed("for x in 1\ndo echo $x\ndone", "échelle", "after")

    assert found(past, "done") == ["for x in 1\ndo echo $x\ndone"]
    assert found(past, "after") == ["after"]
    assert found(past, "ÉCHELLE".lower()) == ["échelle"]


TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=12)


@given(st.lists(TEXTS, max_size=30), st.text("ab \n", max_size=4))
def test_search_and_suggestion_agree_with_looking_at_each_command(texts: list[str], words: str) -> None:
    past, each = listed(*texts), list(dict.fromkeys(texts))
    full = [text for text in each if all(term in text.lower() for term in words.split())]

    assert found(past, words)[: len(full)] == full
    start = words.strip() or "a"
    assert past.suggest(start) == next((text for text in each if text.startswith(start) and text != start), "")


@pytest.mark.parametrize("words", ["a" * 40, "a" * 39 + "b", "ab" * 20, "x y z", "é" * 9])
def test_no_query_and_no_command_makes_a_step_slow(words: str) -> None:
    """Patterns for letters in order could take exponential time."""
    past = listed(*("a" * 300 + str(number) for number in range(PER_CHUNK)))
    begun = time.monotonic()
    steps = sum(1 for _ in past.search(Wanted(words)))

    assert steps >= 2
    assert time.monotonic() - begun < 5.0


def test_nothing_is_suggested_for_pasted_data() -> None:
    """Comparing it at each key would take seconds; a longer line cannot be known."""
    long = "x" * LONGEST_COMMAND
    past = PastCommands()
    past.add(PastCommand(f"{long} more"))
    assert past.suggest(long) == "" and past.suggest(long[1:])
