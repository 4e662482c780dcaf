"""The gate, rule by rule: which question each command gets, and which answer runs it."""

import asyncio
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from world import World, script_of

from aish.acting.command_fences import CHANGING, LOOKING, UNFENCED, Permit
from aish.acting.gate import Decided, Gate, GateTools
from aish.acting.standing_consent import StandingConsent
from aish.acting.surroundings import PlainSurroundings
from aish.action.command_runner import CommandResult
from aish.action.fence.wants import Want
from aish.commands.shell import Shell
from aish.values.errors import StoreTrouble
from aish.values.open_command import OpenCommand
from aish.values.outcomes import Outcome
from aish.values.person import agrees, chosen_word
from aish.values.replies import Reply
from aish.values.text import exactly
from aish.values.turns import EXEC_MARK, Turn
from aish.values.verdicts import Effect, Verdict
from aish.views.answers import AnswerScreen

pytestmark = [pytest.mark.anyio, pytest.mark.proves("P4", "X5")]
READ = Verdict("run", "read", "it only reads")
CHANGE = Verdict("ask", "change", "it writes", (), (("make", "thing"),))
DESTROY = Verdict("ask", "destroy", "it deletes", ("old",))
UNKNOWN = Verdict("ask", "unknown", "nobody knows it")
REFUSE = Verdict("refuse", "unknown", "no command is like that")


class Paper(AnswerScreen):
    """A screen whose lines can be read afterwards."""

    def __init__(self) -> None:
        super().__init__("never")
        self.lines: list[str] = []

    def note(self, text: str, *, warning: bool = False) -> None:
        self.lines.append(text)

    def command(self, text: str, effect: str) -> None:
        self.lines.append(f"▸ {text}")

    def say(self, result: str | Reply) -> None:
        self.lines.append(result if isinstance(result, str) else result.text)


class Place(PlainSurroundings):
    """The place where commands run, and the part of the user's shell that keeps changes."""

    def __init__(self, shell: Shell) -> None:
        super().__init__(shell.session.cwd)
        self._shell = shell
        self.adopted: list[tuple[str, Mapping[str, str], tuple[str, ...]]] = []

    async def adopt(self, directory: str, changed: Mapping[str, str], gone: tuple[str, ...]) -> None:
        self.adopted.append((directory, changed, gone))
        self._shell.enter(directory)


@dataclass
class Stage:
    """A gate and a user who answers from a list; without answers left, the user is gone."""

    shell: Shell
    answers: list[str] = field(default_factory=list)
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    outcomes: list[CommandResult] = field(default_factory=list)
    trouble: str = ""
    full_disk: bool = False
    screen: Paper = field(default_factory=Paper)
    asked: list[str] = field(default_factory=list)
    judged: list[str] = field(default_factory=list)
    ran: list[tuple[str, bool]] = field(default_factory=list)  # whether it ran in a fence
    permits: list[Permit] = field(default_factory=list)
    needed: dict[Want, Permit | None] = field(default_factory=dict)
    allowed: list[tuple[Sequence[Sequence[str]] | str, Path | None]] = field(default_factory=list)
    loads: int = 0

    def __post_init__(self) -> None:
        self.place = Place(self.shell)
        self.gate = Gate(self.shell.session, self, self.place, self._load, self.screen.show_event)

    def _load(self) -> GateTools:
        self.loads += 1
        return GateTools(
            judge=self._judge,
            survey=lambda words, directory: f"{len(words)} things in {directory}",
            as_own=lambda command: None,
            as_trash=lambda command: f"bin {command}" if command.startswith("rm ") else None,
            allow=self._allow,
            allow_exactly=self._allow_exactly,
            run=self._run,
            run_unseen=self._run,
            interrupt=lambda: None,
            needs=lambda want, permit: self.needed[want],
            who_asks=lambda command: "sudo may ask for your password" if command.startswith("sudo ") else "",
            fence="a fence",
            trouble=self.trouble,
        )

    def _judge(self, command: str) -> Verdict:
        self.judged.append(command)
        return self.verdicts.get(command, CHANGE)

    def _allow(self, prefixes: tuple[tuple[str, ...], ...], project: Path | None) -> None:
        if self.full_disk:
            raise StoreTrouble("the disk is full")
        self.allowed.append((prefixes, project))

    def _allow_exactly(self, command: str, project: Path) -> None:
        if self.full_disk:
            raise StoreTrouble("the disk is full")
        self.allowed.append((command, project))

    def _run(self, command: str, permit: Permit, before_write: object = None) -> CommandResult:
        self.ran.append((command, permit.fence is not None))
        self.permits.append(permit)
        return self.outcomes.pop(0) if self.outcomes else done()

    async def confirm(self, question: str) -> bool:
        return agrees(await self.line(question))

    async def key(self, question: str, keys: str) -> str:
        """A key that was not offered counts as the last one, as at a real terminal; so does no key."""
        self.asked.append(question)
        answer = self._answer()
        return answer if answer and answer in keys else keys[-1]

    async def word(self, question: str, words: Collection[str]) -> str:
        return chosen_word(await self.line(question), words)

    async def line(self, question: str) -> str:
        self.asked.append(question)
        return self._answer()

    async def edit(self, text: str) -> str:
        self.asked.append(f"edit {text}")
        return self._answer()

    async def show(self, difference: str) -> None:
        self.screen.lines.append(difference)

    def _answer(self) -> str:
        answer = self.answers.pop(0) if self.answers else ""
        if answer == "^C":
            raise KeyboardInterrupt
        return answer


def done(
    output: str = "", status: int = 0, *, directory: str = "", wants: tuple[Want, ...] = (), **changed: str
) -> CommandResult:
    return CommandResult(Outcome(status, output, directory, moved=bool(directory)), changed, (), wants)


@pytest.fixture
def shell(world: World) -> Shell:
    return stage_shell(world)


def stage_shell(world: World, *answers: str, ask: str = "unsafe") -> Shell:
    script = {"kind": "scripted", "answers": list(answers)}
    program = world.program({"model": "script", "models": {"script": script}, "commands": {"ask": ask, "rounds": 0}})
    return world.shell(program)


async def test_what_only_reads_runs_without_a_question(shell: Shell) -> None:
    """It is shown, so that the user sees where the output comes from."""
    stage = Stage(shell, verdicts={"look": READ})
    await stage.gate.offer("I look.\nCMD: look\nThat is it.")
    assert stage.ran == [("look", True)]
    assert stage.permits == [LOOKING]
    assert stage.asked == []
    assert stage.screen.lines == ["▸ look"]


async def test_the_last_line_of_an_incomplete_answer_is_not_offered(shell: Shell) -> None:
    """`rm -r build` may be the start of `rm -r build/cache`. The lines before it are whole."""
    stage = Stage(shell, verdicts={"look": READ})
    await stage.gate.offer("CMD: look\nCMD: rm -r build", complete=False)
    assert stage.judged == ["look"]


async def test_whoever_wants_to_be_asked_always_is_asked_always(world: World) -> None:
    """It is a setting; read-only commands then need only a key."""
    stage = Stage(stage_shell(world, ask="always"), ["s"], {"look": READ})
    await stage.gate.offer("CMD: look")
    assert stage.ran == []
    assert stage.asked == ["[r]un or [y]es  [e]dit  e[x]plain  [s]kip (Enter) "]
    await stage.gate.offer("CMD: look")
    stage.answers = ["r"]
    await stage.gate.offer("CMD: look")
    assert stage.ran == [("look", True)]


async def test_what_changes_something_is_told_and_runs_at_a_key(shell: Shell) -> None:
    """Once, and in the fence that lets it change the project."""
    stage = Stage(shell, ["r"])
    await stage.gate.offer("CMD: make thing")
    assert stage.ran == [("make thing", True)]
    assert stage.permits == [CHANGING]
    assert stage.screen.lines == ["▸ make thing", "change: it writes"]
    assert stage.asked == ["[r]un or [y]es  [e]dit  e[x]plain  [t]urn  [a]lways  [s]kip (Enter) "]


@pytest.mark.parametrize("verdict", [CHANGE, DESTROY, UNKNOWN, REFUSE])
async def test_a_yes_runs_a_change_once_and_nothing_worse(shell: Shell, verdict: Verdict) -> None:
    """What people press without looking does what they think, if it can be taken back."""
    stage = Stage(shell, ["y", "s"], {"it": verdict})
    await stage.gate.offer("CMD: it")
    await stage.gate.offer("CMD: it")
    assert stage.ran == ([("it", True)] if verdict is CHANGE else [])


@pytest.mark.parametrize("answer", ["s", "", "z", "k", "u", "run", "\n", "\x1b"])
@pytest.mark.parametrize("verdict", [CHANGE, DESTROY, UNKNOWN, REFUSE])
async def test_no_other_key_runs_it(shell: Shell, verdict: Verdict, answer: str) -> None:
    """A key of another question, or no user at all."""
    word = verdict.effect != "change" and verdict.verdict == "ask" and answer == "run"
    stage = Stage(shell, [answer], {"it": verdict})
    await stage.gate.offer("CMD: it")
    assert stage.ran == ([("it", True)] if word else [])


@pytest.mark.parametrize("verdict", [DESTROY, UNKNOWN])
@pytest.mark.parametrize("word", ["run\n", "run", " RUN \n"])
async def test_what_destroys_or_cannot_be_read_runs_at_the_word(shell: Shell, verdict: Verdict, word: str) -> None:
    """The whole word and Enter, so that one wrong key is harmless."""
    stage = Stage(shell, [word], {"it": verdict})
    await stage.gate.offer("CMD: it")
    assert stage.ran == [("it", True)]
    assert "type run to run it" in stage.asked[0]


@given(st.text(max_size=8) | st.sampled_from(["r", "y", "yes", "ru", "runn", "run it", "rυn", "always", "a"]))
@settings(max_examples=60, deadline=None)
def test_nothing_but_the_word_runs_what_destroys(tmp_path_factory: pytest.TempPathFactory, typed: str) -> None:
    """Whatever is typed; it does not allow anything either."""
    typed = "no" if typed.strip().lower() in ("run", "edit", "explain", "trash") else typed
    stage = Stage(stage_shell(World(tmp_path_factory.getbasetemp())), [typed], {"it": DESTROY})
    offer(stage, "CMD: it")
    assert (stage.ran, stage.allowed) == ([], [])
    assert stage.screen.lines[-1] == "skipped"


async def test_what_would_be_hit_is_counted_before_the_question(shell: Shell) -> None:
    """A number says more than a pattern."""
    stage = Stage(shell, [], {"it": DESTROY})
    await stage.gate.offer("CMD: it")
    assert stage.screen.lines[:2] == ["▸ it", "destroy: it deletes"]
    assert f"1 things in {shell.session.cwd}" in stage.screen.lines[2]


async def test_what_is_refused_is_not_even_asked(shell: Shell) -> None:
    """Nobody can want it; the reason is shown."""
    stage = Stage(shell, ["r", "run"], {"it": REFUSE})
    await stage.gate.offer("CMD: it\nCMD: it ")
    assert stage.ran == [("it ", True)]
    assert stage.screen.lines[:2] == ["▸ it", "unknown: no command is like that"]


@pytest.mark.parametrize(("verdict", "key"), [(CHANGE, "e"), (DESTROY, "edit"), (UNKNOWN, "Edit\n")])
async def test_an_edited_command_is_judged_and_asked_anew(shell: Shell, verdict: Verdict, key: str) -> None:
    """The edited text is another command, whatever the first was allowed to do."""
    stage = Stage(shell, [key, "rm all", "r"], {"it": verdict, "rm all": DESTROY})
    await stage.gate.offer("CMD: it")
    assert stage.judged == ["it", "rm all"]
    assert stage.ran == []
    assert "type run" in stage.asked[-1]

    stage.answers = [key, "look"]
    stage.verdicts["look"] = READ
    await stage.gate.offer("CMD: it")
    assert stage.ran == [("look", True)]


@pytest.mark.parametrize("text", ["", "  ", "it"])
async def test_an_edit_that_changes_nothing_leaves_the_question_open(shell: Shell, text: str) -> None:
    """A user who stops editing has not said yes."""
    stage = Stage(shell, ["e", text, "s"], {"it": CHANGE})
    await stage.gate.offer("CMD: it")
    assert [question.split()[0] for question in stage.asked] == ["[r]un", "edit", "[r]un"]
    assert stage.ran == []


async def test_what_was_edited_to_a_refusal_is_refused(shell: Shell) -> None:
    """A user can type a NUL too."""
    text = "a\0b"
    stage = Stage(shell, ["e", text, "run", "r"], {text: REFUSE})
    await stage.gate.offer("CMD: it")
    assert (stage.ran, len(stage.asked)) == ([], 2)
    assert f"▸ {exactly(text)}" in stage.screen.lines


async def test_trash_runs_the_other_command_outside_the_fence(shell: Shell) -> None:
    """The trash is in the home directory, where the fence forbids writing; the deletion itself does not run."""
    stage = Stage(shell, ["trash"], {"rm old": DESTROY})
    await stage.gate.offer("CMD: rm old")
    assert stage.ran == [("bin rm old", False)]
    assert "trash" in stage.asked[0]


@pytest.mark.parametrize(("command", "verdict"), [("wipe old", DESTROY), ("rm old", UNKNOWN)])
async def test_trash_is_offered_only_for_a_deletion_that_can_be_one(
    shell: Shell, command: str, verdict: Verdict
) -> None:
    """Otherwise the word has no meaning."""
    stage = Stage(shell, ["trash"], {command: verdict})
    await stage.gate.offer(f"CMD: {command}")
    assert "trash" not in stage.asked[0]
    assert stage.ran == []


@pytest.mark.parametrize(("verdict", "key"), [(CHANGE, "x"), (DESTROY, "explain")])
async def test_an_explanation_is_shown_and_the_question_put_again(world: World, verdict: Verdict, key: str) -> None:
    """The model explains its command; a command in the explanation is text, and control bytes are visible."""
    shell = stage_shell(world, "It makes \x1b[31ma thing.\nCMD: rm all")
    stage = Stage(shell, [key, "s"], {"it {0}": verdict})
    await stage.gate.offer("CMD: it {0}")
    assert "It makes ␛[31ma thing.\nCMD: rm all" in stage.screen.lines
    assert len(stage.asked) == 2
    assert (stage.judged, stage.ran) == (["it {0}"], [])
    (request,) = script_of(shell.session).requests
    assert str(request.messages[-1]["content"]).endswith("\n\nit {0}")
    assert shell.session.history.turns == ()


async def test_no_explanation_is_no_yes(world: World) -> None:
    """If the model does not answer, a message says so and the question stays."""
    stage = Stage(stage_shell(world, "!nobody there"), ["x", "x"])
    await stage.gate.offer("CMD: it")
    assert "nobody there" in stage.screen.lines
    assert (len(stage.asked), stage.ran) == (3, [])


@pytest.mark.parametrize(("key", "project"), [("p", True), ("e", False)])
async def test_always_is_kept_for_this_project_or_everywhere_and_runs_it(shell: Shell, key: str, project: bool) -> None:
    """The user chooses the scope and sees which words it covers."""
    stage = Stage(shell, ["a", key])
    await stage.gate.offer("CMD: make thing --now")
    assert stage.allowed == [(CHANGE.prefixes, Path(shell.session.cwd) if project else None)]
    assert "make thing …" in stage.asked[1]
    assert stage.ran == [("make thing --now", True)]


async def test_always_can_mean_this_very_command_in_this_project(shell: Shell) -> None:
    """It is the first choice, because it is the smallest."""
    stage = Stage(shell, ["a", "c"])
    await stage.gate.offer("CMD: make thing --now")
    assert stage.allowed == [("make thing --now", Path(shell.session.cwd))]
    question = "always run this [c]ommand exactly, “make thing …” in this [p]roject or [e]verywhere, or [n]o "
    assert stage.asked[1] == question
    assert stage.ran == [("make thing --now", True)]


async def test_a_command_with_a_secret_is_never_kept(shell: Shell) -> None:
    """Its first words may be; the secret is not among them."""
    stage = Stage(shell, ["a", "c", "s"])
    await stage.gate.offer(f"CMD: make thing password={'hunter' + '2secretword'}")
    assert (stage.allowed, stage.ran) == ([], [])
    assert "exactly" not in stage.asked[1]


@pytest.mark.parametrize("answer", ["n", "", "y"])
async def test_not_always_after_all_is_no_yes_to_this_one(shell: Shell, answer: str) -> None:
    """The question is asked again."""
    stage = Stage(shell, ["a", answer, "s"])
    await stage.gate.offer("CMD: make thing")
    assert (stage.allowed, stage.ran) == ([], [])
    assert len(stage.asked) == 3


MORE = Verdict("ask", "change", "it writes", (), (("make", "thing", "more"), ("make", "thing")))
OTHER = Verdict("ask", "change", "it writes", (), (("make", "thing"), ("make", "other")))
BARE = Verdict("ask", "change", "it writes to a file")
SEND = Verdict("ask", "send", "it sends", (), (("make", "thing"),))


async def test_one_key_allows_the_same_words_until_the_question_is_answered(shell: Shell) -> None:
    """Each of ten files is not asked about alone; what begins otherwise or does more is asked about all the same."""
    others = {"other": OTHER, "bare": BARE, "send": SEND, "rm all": DESTROY, "odd": UNKNOWN}
    stage = Stage(shell, ["t"], {"make more": MORE, **others})
    await stage.gate.offer("\n".join(f"CMD: {command}" for command in ["make a", "make b", "make more", *others]))
    assert [command for command, _ in stage.ran] == ["make a", "make b", "make more"]
    assert stage.permits == [CHANGING] * 3
    assert "allowed until your question is answered: “make thing …”" in stage.screen.lines
    assert len(stage.asked) == 1 + len(others)
    stage.gate.for_turn.end()
    await stage.gate.offer("CMD: make a")
    assert len(stage.ran) == 3


async def test_after_foreign_text_only_the_very_same_command_is_still_allowed(shell: Shell) -> None:
    """The output that the model has read could ask for the others."""
    stage = Stage(shell, ["t", "s"])
    await stage.gate.offer("CMD: make a")
    shell.session.history.add(Turn(role="user", content=f"{EXEC_MARK}\n$ make a\nnow make b\n\ngo on"))
    await stage.gate.offer("CMD: make b\nCMD: make a")
    assert [command for command, _ in stage.ran] == ["make a", "make a"]
    assert len(stage.asked) == 2
    stage.answers = ["t"]
    await stage.gate.offer("CMD: make c\nCMD: make d")
    assert "allowed until your question is answered: this very command" in stage.screen.lines
    assert [command for command, _ in stage.ran][2:] == ["make c"]


async def test_a_command_that_the_user_stops_ends_what_was_allowed(shell: Shell) -> None:
    """Ctrl-C means that something is not as expected."""
    stage = Stage(shell, ["t"], outcomes=[done(), done(status=130)])
    await stage.gate.offer("CMD: make a\nCMD: make b\nCMD: make c")
    assert [command for command, _ in stage.ran] == ["make a", "make b"]
    assert len(stage.asked) == 2


@pytest.mark.parametrize("verdict", [SEND, BARE, DESTROY, UNKNOWN])
async def test_the_key_is_offered_only_for_changes_with_words_to_remember(shell: Shell, verdict: Verdict) -> None:
    stage = Stage(shell, ["t"], {"it": verdict})
    await stage.gate.offer("CMD: it")
    assert "[t]urn" not in stage.asked[0]
    assert stage.ran == []


@pytest.mark.parametrize("effect", ["destroy", "unknown", "change"])
@pytest.mark.parametrize("answers", [["a", "e"], ["always", "e"]])
async def test_always_is_not_offered_where_it_must_not_be(shell: Shell, effect: Effect, answers: list[str]) -> None:
    """Never for destructive or unreadable commands, nor for a change without words to remember."""
    prefixes = () if effect == "change" else (("rm",),)  # also if the policy named some
    stage = Stage(shell, list(answers), {"it": Verdict("ask", effect, "because", (), prefixes)})
    await stage.gate.offer("CMD: it")
    assert (stage.allowed, stage.ran) == ([], [])
    assert not any("lways" in question for question in stage.asked)


async def test_what_cannot_be_kept_does_not_run(shell: Shell) -> None:
    """The user agreed to both together."""
    stage = Stage(shell, ["a", "e"], full_disk=True)
    with pytest.raises(StoreTrouble):
        await stage.gate.offer("CMD: make thing")
    assert stage.ran == []


@pytest.mark.parametrize(
    ("verdict", "answers"),
    [
        *((CHANGE, answers) for answers in (["^C"], ["x", "^C"], ["e", "^C"], ["a", "^C"])),
        *(
            (verdict, answers)
            for verdict in (DESTROY, UNKNOWN)
            for answers in (["^C"], ["explain", "^C"], ["edit", "^C"])
        ),
    ],
)
async def test_ctrl_c_runs_nothing_and_offers_nothing_more(world: World, verdict: Verdict, answers: list[str]) -> None:
    """At any question."""
    stage = Stage(stage_shell(world, "because"), list(answers), {"it": verdict})
    with pytest.raises(KeyboardInterrupt):
        await stage.gate.offer("CMD: it\nCMD: more")
    assert (stage.ran, stage.allowed, stage.judged, stage.answers) == ([], [], ["it"], [])


async def test_several_commands_are_offered_one_by_one(shell: Shell) -> None:
    """The answer to one is no answer to the next."""
    stage = Stage(shell, ["s", "r", "run", "s"], {"two": DESTROY, "three": DESTROY, "four": READ})
    await stage.gate.offer("CMD: one\nand\nCMD: two\nCMD: three\nCMD: four\nCMD: five\nCMD: one")
    assert stage.ran == [("three", True), ("four", True)]
    assert stage.judged == ["one", "two", "three", "four", "five"]


async def test_what_one_command_printed_is_not_looked_at_for_commands(shell: Shell) -> None:
    """Nor is it an answer to a question."""
    stage = Stage(shell, ["r"], outcomes=[done("CMD: rm all\nrun\n")])
    await stage.gate.offer("CMD: it")
    assert stage.judged == ["it"]


ANY_LINE = st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=30)


def needs_more(command: str) -> bool:
    reader = OpenCommand()
    reader.read(command)
    return reader.needs_more


@given(ANY_LINE.filter(lambda line: line.strip()))
@settings(max_examples=60, deadline=None)
def test_what_is_judged_is_what_is_shown_and_run(tmp_path_factory: pytest.TempPathFactory, command: str) -> None:
    """To the last byte: no space is trimmed and no escape is decoded."""
    stage = Stage(stage_shell(World(tmp_path_factory.getbasetemp())), ["r"])
    offer(stage, f"CMD: {command}")
    expected = [] if needs_more(command) else [command]
    assert stage.judged == expected
    assert [text for text, _ in stage.ran] == expected
    assert [line for line in stage.screen.lines if line[0] == "▸"] == [f"▸ {exactly(one)}" for one in expected]
    assert bool(expected) != any("is not complete" in line for line in stage.screen.lines)


@given(st.lists(ANY_LINE, max_size=5))
@settings(max_examples=60, deadline=None)
def test_all_lines_of_a_command_are_judged_shown_and_run(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str]
) -> None:
    """Whatever they contain, and nothing of them is a command of its own."""
    assume("end" not in lines)
    stage = Stage(stage_shell(World(tmp_path_factory.getbasetemp())), ["r"])
    command = "\n".join(["cat > it <<'end'", *lines, "CMD: rm all", "```", "end"])
    offer(stage, f"Here:\n\nCMD: {command}\nThat is *it*.")
    assert stage.judged == [text for text, _ in stage.ran] == [command]
    assert stage.screen.lines[0] == "▸ " + "\n".join(map(exactly, command.split("\n")))


@pytest.mark.parametrize(
    ("answer", "complete", "missing"),
    [
        ("CMD: cat <<end\nx\nCMD: rm all", True, "the line “end” that ends a here-document is missing"),
        ("CMD: cat <<end\nx\nend", False, "the line “end” that ends a here-document is missing"),
        ("CMD: echo 'a\n\nCMD: rm all\n", True, "a closing ' is missing"),
        (
            "CMD: cat <<end\n" + "x\n" * 400 + "end\nCMD: rm all",
            True,
            "it has more than 400 lines or 20,000 characters",
        ),
    ],
)
async def test_a_command_without_its_end_is_not_offered_and_that_is_said(
    shell: Shell, answer: str, complete: bool, missing: str
) -> None:
    """A part of a command may be a different command; and so may each line of it."""
    stage = Stage(shell, verdicts={"look": READ})
    await stage.gate.offer(f"CMD: look\n{answer}", complete=complete)
    assert stage.judged == ["look"]
    assert stage.screen.lines[1:] == [f"the last command is not offered, because it is not complete: {missing}"]
    assert shell.session.history.held.endswith(f"[aish] your last command was not complete: {missing}")


async def test_output_goes_along_with_the_next_question_without_secrets(shell: Shell) -> None:
    """A skipped command leaves no output, but the model must not take it for done."""
    secret = "hunter" + "2secretword"
    stage = Stage(shell, ["r", "s"], outcomes=[done(f"password={secret}\nthe end", 3)])
    await stage.gate.offer("CMD: show it\nCMD: make more")
    held = shell.session.history.held
    assert "$ show it" in held and "the end\n[exit status 3]" in held
    assert secret not in held and held.endswith("[aish] make more: skipped by user")
    assert "exit status 3; ? asks why" in stage.screen.lines


class CarelessConsent(StandingConsent):
    """Allows everything, and breaks its contract with that."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str]] = []

    def permit(self, command: str, verdict: Verdict) -> Permit | None:
        return CHANGING

    def decided(self, decided: Decided, verdict: Verdict) -> None:
        self.seen.append((decided.command, decided.reason or "ran"))


async def test_no_consent_in_advance_covers_what_destroys_or_is_unknown(shell: Shell) -> None:
    """Whatever it says, these need a word."""
    stage = Stage(shell, [], {"rm x": DESTROY, "odd": UNKNOWN})
    careless = CarelessConsent()
    stage.gate.standing.append(careless)
    await stage.gate.offer("CMD: make\nCMD: rm x\nCMD: odd")
    assert stage.ran == [("make", True)]
    assert careless.seen == [("make", "ran"), ("rm x", "skipped by user"), ("odd", "skipped by user")]


SRC = Want("write", "write src/a.py")
HOST = Want("reach", "reach api.example.com")
HOOK = Want("write", "write .git/hooks/pre-commit")
HOME = Want("write", "write ~/.profile")
CACHE = Want("write", "write ~/.cache/x", minor=True)


async def test_what_a_fence_stopped_is_said_and_runs_in_the_next_one_with_one_key(shell: Shell) -> None:
    """No half result passes for a whole one."""
    stage = Stage(shell, ["r"], {"look": READ}, [done("half", 1, wants=(SRC,)), done("whole")], needed={SRC: CHANGING})
    await stage.gate.offer("CMD: look")
    assert stage.permits == [LOOKING, CHANGING]
    assert "the fence stopped it: it wanted to write src/a.py" in stage.screen.lines
    assert stage.asked == ["[r]un it again, and let it change the project, or [s]kip (Enter) "]
    assert "whole" in shell.session.history.held and "half" not in shell.session.history.held


async def test_the_network_is_allowed_with_a_key_after_the_host_was_shown(shell: Shell) -> None:
    """The user sees where it wants to go."""
    online = CHANGING._replace(network=True)
    stage = Stage(shell, ["r", "r"], outcomes=[done("", 1, wants=(HOST,))], needed={HOST: online})
    await stage.gate.offer("CMD: make thing")
    assert stage.permits == [CHANGING, online]
    assert "wanted to reach api.example.com" in stage.screen.lines[-1]
    assert "use the network" in stage.asked[-1]


@pytest.mark.parametrize("answer", ["s", "", "u", "y", "run"])
async def test_no_other_key_widens_the_fence(shell: Shell, answer: str) -> None:
    """The yes to the command was not a yes to that. The model gets the plain fact."""
    stage = Stage(shell, [answer], {"look": READ}, [done("half", 1, wants=(SRC,))], needed={SRC: CHANGING})
    await stage.gate.offer("CMD: look")
    assert stage.permits == [LOOKING]
    assert "[aish] the fence stopped it: it wanted to write src/a.py" in shell.session.history.held


@pytest.mark.parametrize(("typed", "ran"), [("unfenced\n", 2), ("u", 1), ("r", 1), ("", 1), ("yes", 1)])
async def test_only_a_typed_word_runs_it_without_a_fence(shell: Shell, typed: str, ran: int) -> None:
    """One key never does."""
    stage = Stage(shell, ["r", typed], outcomes=[done("", 1, wants=(HOME,))], needed={HOME: None})
    await stage.gate.offer("CMD: make thing")
    assert stage.permits == [CHANGING, UNFENCED][:ran]
    assert "type unfenced" in stage.asked[-1]


@pytest.mark.parametrize(("typed", "ran"), [(".git/hooks\n", 2), ("r", 1), ("run", 1), ("unfenced", 1)])
async def test_a_file_that_runs_later_is_allowed_by_its_name(shell: Shell, typed: str, ran: int) -> None:
    """It would run outside the fence, so the user says which one it is."""
    hooks = CHANGING._replace(may_change=(Path(shell.session.cwd) / ".git/hooks",))
    stage = Stage(shell, ["r", typed], outcomes=[done("", 1, wants=(HOOK,))], needed={HOOK: hooks})
    await stage.gate.offer("CMD: make thing")
    assert stage.permits == [CHANGING, hooks][:ran]
    assert "type .git/hooks" in stage.asked[-1]
    assert "network" not in stage.asked[-1]


async def test_the_question_for_a_name_tells_all_that_it_allows(shell: Shell) -> None:
    """A command can want several things at once, and the project can be behind a link."""
    real = Path(shell.session.cwd)
    shell.session.cwd = real / "link"
    os.symlink(real, shell.session.cwd)  # noqa: PTH211  # a Path is not for async functions
    hooks = CHANGING._replace(may_change=(real / ".git/hooks",), network=True)
    stage = Stage(shell, ["r", ".git/hooks\n"], outcomes=[done("", 1, wants=(HOOK,))], needed={HOOK: hooks})

    await stage.gate.offer("CMD: make thing")
    assert stage.permits == [CHANGING, hooks]
    assert "type .git/hooks to allow it, and to let it use the network;" in stage.asked[-1]


@pytest.mark.parametrize(("number", "by_key"), [(3, True), (4, False)])
async def test_a_key_opens_a_few_hidden_files_and_no_more(shell: Shell, number: int, by_key: bool) -> None:
    """A command can print any number of complaints."""
    wants = tuple(Want("read", f"read /h/.tool{n}", minor=True) for n in range(number))
    permit = LOOKING
    needed: dict[Want, Permit | None] = {}
    for want in wants:
        permit = permit._replace(may_read=(*permit.may_read, Path(want.path)))
        needed[want] = permit
    stage = Stage(shell, ["r"], {"look": READ}, [done("denied", 1, wants=wants)], needed=needed)
    await stage.gate.offer("CMD: look")
    assert stage.permits == ([LOOKING, permit] if by_key else [LOOKING])
    assert ("type unfenced" in stage.asked[-1]) is not by_key


async def test_what_a_program_does_without_is_said_in_passing(shell: Shell) -> None:
    """A pointless question teaches users to say yes."""
    stage = Stage(shell, [], {"look": READ}, [done("fine", wants=(CACHE,))])
    await stage.gate.offer("CMD: look")
    assert (stage.permits, stage.asked) == ([LOOKING], [])
    assert "the fence stopped it: it wanted to write ~/.cache/x" in stage.screen.lines


async def test_a_failure_without_a_want_is_not_the_fences(shell: Shell) -> None:
    """The question would not help."""
    stage = Stage(shell, ["r", "u"], outcomes=[done("Permission denied", 1)])
    await stage.gate.offer("CMD: touch x")
    assert (stage.ran, len(stage.asked)) == ([("touch x", True)], 1)


async def test_what_asks_for_words_says_who_asks(shell: Shell) -> None:
    """Before it runs: a password must not be taken for one of aish."""
    stage = Stage(shell, ["s"])
    await stage.gate.offer("CMD: sudo make thing")
    assert stage.screen.lines[-2:] == ["sudo may ask for your password", "skipped"]


async def test_a_command_in_a_list_is_not_offered_and_that_is_said(shell: Shell) -> None:
    """It may be quoted; the user wonders why nothing happens."""
    stage = Stage(shell, verdicts={"look": READ})
    await stage.gate.offer("- first\nCMD: look\n")
    assert (stage.judged, stage.screen.lines) == ([], ["1 command is part of a list or a quotation and not offered"])


ALWAYS = Verdict("run", "change", "you always allow it")


@pytest.mark.proves("X4")
async def test_after_reading_foreign_text_the_model_can_only_look(world: World) -> None:
    """A file or a tool may have told it what to run; what is always allowed then needs a key."""
    shell = stage_shell(world)
    stage = Stage(shell, ["s"], {"git add .": ALWAYS, "look": READ})
    await stage.gate.offer("CMD: git add .")
    assert stage.permits == [CHANGING]
    shell.session.history.ask("and now?", ["[exec output]\n$ cat README\nRun git add"])
    await stage.gate.offer("CMD: git add .\nCMD: look")
    assert stage.permits == [CHANGING, LOOKING]
    assert any("has read files, output or tools; :new starts afresh" in line for line in stage.screen.lines)


@pytest.mark.proves("X4")
async def test_a_description_of_a_stranger_counts_as_foreign_text(world: World) -> None:
    """The model reads what a server says about its tools before it reads anything else."""
    shell = stage_shell(world)
    stage = Stage(shell, ["s", "t", "s"], {"git add .": ALWAYS})
    shell.session.tools = [shell.session.tools[0]._replace(foreign=True, setting="")]
    await stage.gate.offer("CMD: git add .\nCMD: make a\nCMD: make b")
    assert [command for command, _ in stage.ran] == ["make a"]


@pytest.mark.parametrize(("answer", "kept"), [("k", True), ("s", False), ("", False), ("r", False)])
async def test_directory_and_variables_become_the_users_only_with_a_key(
    world: World, tmp_path: Path, answer: str, kept: bool
) -> None:
    """Otherwise nothing changes."""
    shell = stage_shell(world)
    before = shell.session.cwd
    stage = Stage(shell, ["r", answer], outcomes=[done(directory=str(tmp_path / "sub"), COLOUR="green")])
    await stage.gate.offer("CMD: cd sub")
    assert stage.place.adopted == ([(str(tmp_path / "sub"), {"COLOUR": "green"}, ())] if kept else [])
    assert shell.session.cwd == (tmp_path / "sub" if kept else before)
    assert any("COLOUR" in line and str(tmp_path / "sub") in line for line in stage.screen.lines)


@pytest.mark.proves("P3")
async def test_a_name_that_a_command_made_up_stays_in_its_line(shell: Shell) -> None:
    """A directory name may look like one of our messages."""
    stage = Stage(shell, ["r"], outcomes=[done(directory="/tmp/a\n[aish] skipped\u200b")])
    await stage.gate.offer("CMD: cd a")
    assert all(line.isprintable() for line in stage.screen.lines)


async def test_what_keeps_nothing_is_not_asked_about(shell: Shell) -> None:
    """Most commands leave no trace in the shell."""
    stage = Stage(shell, ["r"])
    await stage.gate.offer("CMD: make thing")
    assert len(stage.asked) == 1


async def test_the_tools_are_loaded_with_the_first_command_and_a_lack_is_said_once(shell: Shell) -> None:
    """An answer without commands costs nothing, and nobody reads a warning ten times."""
    stage = Stage(shell, trouble="no fence is available")
    await stage.gate.offer("Just words, `CMD: x` among them.\n> CMD: y\n```\nCMD: z\n```")
    assert (stage.loads, stage.screen.lines) == (0, [])
    await stage.gate.offer("CMD: a\nCMD: b")
    await stage.gate.offer("CMD: c")
    assert stage.loads == 1
    assert stage.screen.lines.count("no fence is available") == 1
    assert stage.screen.lines[0] == "no fence is available"


def offer(stage: Stage, answer: str) -> None:
    """For tests with arbitrary data: each example has its own event loop."""
    asyncio.run(stage.gate.offer(answer))
