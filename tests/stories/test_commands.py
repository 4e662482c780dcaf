"""The colon commands, as a user types them into the shell."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from world import World, at

from aish.commands.manual import COMMANDS
from aish.conversation.held_output import hold_output
from aish.intake.line import ColonCommand, Question, read_line
from aish.values.errors import AishError
from aish.values.outcomes import Outcome
from aish.values.turns import SUMMARIZER_META, Turn

pytestmark = pytest.mark.anyio


class Typist:
    """Types lines into a shell and reads the replies."""

    def __init__(self, world: World, *answers: str) -> None:
        self._world = world
        self.program = world.program(
            {
                "model": "script",
                "models": {
                    "script": {"kind": "scripted", "answers": list(answers)},
                    "other": {"kind": "scripted", "answers": ["from the other"]},
                },
            }
        )
        self.clock = at("2026-05-04T12:00:00")
        self.program.now = lambda: self.clock
        self.session = self.program.session()
        self.shell = world.shell(self.program, self.session)

    async def type(self, line: str) -> str:
        self.clock += timedelta(seconds=1)
        match read_line(line):
            case ColonCommand():
                try:
                    return (await self._world.type(self.shell, line)).text
                except AishError as error:
                    return f"{type(error).__name__}: {error}"
            case Question(text):
                return (await self._world.ask(self.session, text)).text
        return ""

    async def types(self, *lines: str) -> list[str]:
        return [await self.type(line) for line in lines]


@pytest.mark.proves("P5")
async def test_new_begins_another_journal_and_resume_brings_the_first_back(world: World) -> None:
    """Starting a new conversation loses nothing."""
    typist = Typist(world, "A1", "B1", "A2")
    await typist.type("a1?")
    first = typist.session.journal.id

    assert await typist.types(":new", "b1?") == ["started a new conversation", "B1"]
    assert typist.session.journal.id != first
    assert (await typist.type(":resume")).splitlines() == [
        f"resumed {first}: 2 turns, 2 of them in the prompt",
        "you: a1?",
        "script: A1",
    ]
    assert await typist.type("a2?") == "A2"

    assert world.journals()[0].stem == first
    assert [turn.content for turn in typist.session.history.turns] == ["a1?", "A1", "a2?", "A2"]
    assert len(world.journals()) == 2


@pytest.mark.proves("P5")
async def test_conversations_are_found_by_number_name_and_beginning_of_the_id(world: World) -> None:
    """The list is numbered from the newest; a name belongs to the conversation that received it last."""
    typist = Typist(world, *"ABC")
    ids = []
    for question in ("first?", "second?", "third?"):
        await typist.types(":new", question)
        ids.append(typist.session.journal.id)
    assert await typist.type(":save work") == "this conversation is now named work"

    listed = (await typist.type(":sessions")).splitlines()
    when = [at(f"2026-05-04T12:00:0{second}").astimezone().strftime("%Y-%m-%d %H:%M") for second in (6, 4, 2)]
    assert listed == [
        f"  1* {when[0]}    2 turns  [work] third?",
        f"  2  {when[1]}    2 turns  second?",
        f"  3  {when[2]}    2 turns  first?",
    ]
    assert (await typist.type(":sessions 1")).splitlines() == listed[:1]
    for words, wanted in (("3", ids[0]), ("work", ids[2]), (ids[1], ids[1]), (ids[0][:-2], ids[0])):
        assert (await typist.type(f":resume {words}")).startswith(f"resumed {wanted}: 2 turns")
    await typist.type(":save work")
    assert (await typist.type(":resume work")).startswith(f"resumed {ids[0]}")


@pytest.mark.proves("P5")
async def test_what_cannot_be_found_or_named_is_said_and_changes_nothing(world: World) -> None:
    """Every error message says what to do instead."""
    typist = Typist(world, "A")
    assert await typist.types(":sessions", ":resume", ":history", ":export") == [
        "no conversations yet",
        "NotFound: there is no other conversation to resume",
        "no turns yet",
        f"# Conversation {typist.session.journal.id}",
    ]
    await typist.type("a?")
    here = typist.session.journal.id

    assert await typist.types(":save", ":save 7", ":resume 2", ":resume nope", ":sessions many", ":history 0") == [
        "BadUsage: missing name; use :save NAME",
        "BadUsage: a name needs at least one letter, because numbers refer to places in the list",
        "NotFound: no conversation '2'; see :sessions",
        "NotFound: no conversation 'nope'; see :sessions",
        "BadUsage: expected a number of 1 or more, got 'many'",
        "BadUsage: expected a number of 1 or more, got '0'",
    ]
    assert typist.session.journal.id == here
    assert [turn.content for turn in typist.session.history.turns] == ["a?", "A"]


@pytest.mark.proves("P5")
async def test_of_two_conversations_begun_within_one_second_the_later_is_the_newest(world: World) -> None:
    """Scripts are fast: `--continue` and `:resume` must reliably find the later of two conversations."""
    typist = Typist(world, *"ABCDEFGH")
    for number in range(8):
        typist.clock += timedelta(milliseconds=2) - timedelta(seconds=2)  # typing takes a second each
        await typist.types(":new", f"question {number}")

    rows = (await typist.type(":sessions")).splitlines()

    assert [row.rsplit(" ", 1)[1] for row in rows] == [str(number) for number in reversed(range(8))]


@pytest.mark.proves("P5", "N24")
async def test_history_shows_the_last_turns_and_marks_those_that_did_not_end(world: World) -> None:
    """This includes turns that were dropped from the prompt, and turns before a reset."""
    typist = Typist(world, "A1", "half…", "!down", "A4")
    await typist.types("q1", "q2", ":reset", "q3", "q4")

    whole = ["you: q1", "script: A1", "you: q2", "script: half… [failed]"]
    whole += ["you: q3", "script:  [failed]", "you: q4", "script: A4"]
    assert (await typist.type(":history")).splitlines() == whole
    assert (await typist.type(":history 3")).splitlines() == whole[-3:]


@pytest.mark.proves("P5")
async def test_export_writes_markdown_for_people_and_json_for_programs(world: World) -> None:
    """It is shown without a file name, written with one, and never overwrites a file."""
    typist = Typist(world, "**Four**, says\nthe model.", "half…")
    await typist.types("2+2?", "more")
    id = typist.session.journal.id
    times = ["2026-05-04T12:00:01.000Z", "2026-05-04T12:00:01.000Z", "2026-05-04T12:00:02.000Z"]

    markdown = await typist.type(":export")
    lines = [json.loads(line) for line in (await typist.type(":export json")).splitlines()]
    target = world.directory / "talk of mine.md"
    written, again = await typist.types(f":export md {target}", f":export {target}")
    missing = await typist.type(f":export json {world.directory}/no/such/place")

    assert await typist.type(":export markdown") == markdown  # the names of `aish export --format`
    assert len((await typist.type(":export jsonl")).splitlines()) == len(lines)
    assert markdown == (
        f"# Conversation {id}\n"
        "\n## you · 2026-05-04 12:00\n\n2+2?\n"
        "\n## script · 2026-05-04 12:00\n\n**Four**, says\nthe model.\n"
        "\n## you · 2026-05-04 12:00\n\nmore\n"
        "\n## script · 2026-05-04 12:00, failed\n\nhalf…"
    )
    for line in lines:
        line.pop("channel", None)
    said = (("user", "2+2?"), ("assistant", "**Four**, says\nthe model."), ("user", "more"))
    assert lines[:3] == [
        {
            "conversation": id,
            "time": time,
            "role": role,
            **({"name": "script"} if role == "assistant" else {}),
            "text": text,
        }
        for time, (role, text) in zip(times, said, strict=True)
    ]
    assert (lines[3]["text"], lines[3]["state"]) == ("half…", "failed")
    assert written == f"written to {target}"
    assert target.read_text(encoding="utf-8") == markdown + "\n"
    assert again == f"BadUsage: {target} already exists; choose another name"
    assert missing.startswith("StoreTrouble: cannot write") and "No such file or directory" in missing


async def test_context_draws_every_part_of_the_prompt_with_its_share(world: World) -> None:
    """The rows add up to the total above them, and with the free tokens to the whole budget."""
    typist = Typist(world, "A1")
    assert await typist.type(":tokens " + "w" * 40) == "10 tokens (estimated)"
    await typist.type("q1")
    typist.session.history.hold("x" * 400)

    first, *rows, last = (await typist.type(":context")).splitlines()

    parts = {row[:12].strip(): int(row.rsplit(None, 3)[1].replace(",", "")) for row in rows}
    assert list(parts) == ["base", "2 turns", "held output", "marks", "free"]
    used = sum(tokens for name, tokens in parts.items() if name != "free")
    assert first.startswith(f"{used:,} of 4,096 tokens ({round(used / 40.96)} %), price unknown")
    assert used + parts["free"] == 4096
    assert last == "budget: 4,096 tokens, set by context.token_budget"
    assert await typist.type(":tokens") == f"{used:,} tokens (estimated)"


@pytest.mark.parametrize("width", [40, 45, 80, 250])
async def test_help_knows_every_command_and_explains_one(world: World, width: int) -> None:
    """The list, the explanation and the manual come from the same text. The list fits a narrow window, too."""
    typist = Typist(world)
    typist.shell.width = width

    page = await typist.type(":help")
    one = await typist.type(":help :resume")

    assert max(len(line) for line in [*page.splitlines(), *one.splitlines()]) <= width
    words = " ".join(page.split())
    assert all(f"{command.usage} {command.summary}" in words for command in COMMANDS)
    assert page.startswith("Conversation\n\n:new")
    resume = COMMANDS.find("resume")
    assert one.split() == f":resume [NUMBER|NAME|ID] {resume.summary} {resume.details}".split()
    manual = Path(__file__).parents[2] / "docs" / "commands.md"
    assert all(f"## `{command.usage}`" in manual.read_text(encoding="utf-8") for command in COMMANDS)


@pytest.mark.parametrize("width", [20, 40, 60, 80, 200])
async def test_the_first_page_of_help_has_every_command_in_a_group(world: World, width: int) -> None:
    """On a screen of the usual size, all of it is seen at once, with the next prompt below it."""
    typist = Typist(world)
    typist.shell.width, typist.shell.height = width, 24

    page = await typist.type(":help")
    keys = await typist.type(":help keys")

    names = {word[1:] for word in page.split() if word.startswith(":")}
    assert {command.name for command in COMMANDS if " " not in command.name} <= names
    assert "Keys" in page and all(key in keys for key in ("Ctrl-R", "Alt-Enter", "Ctrl-D"))
    assert max(len(line) for line in [*page.splitlines(), *keys.splitlines()]) <= max(width, 40)
    assert width < 80 or len(page.splitlines()) < 24


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        (":sessi", "NotFound: there is no command :sessi; did you mean :session or :sessions?"),
        (":tim", "no turns in that period"),
        (":hi", "no turns yet"),
        (
            ":re",
            "NotFound: there is no command :re; did you mean :remember or :recall or :recent or :reset or :resume?",
        ),
        (":hlep", "NotFound: there is no command :hlep; did you mean :help?"),
        (":exprot notes.md", "NotFound: there is no command :exprot; did you mean :export?"),
        (":frobnicate now", "NotFound: there is no command :frobnicate; :help lists them"),
        (":help frob", "NotFound: there is no command :frob; :help lists them"),
        (":cost everything", "BadUsage: expected :cost, :cost detail or :cost all"),
    ],
)
async def test_a_beginning_is_enough_and_a_mistake_gets_a_hint(world: World, line: str, answer: str) -> None:
    """Users need not type or remember the whole name."""
    assert await Typist(world).type(line) == answer


@pytest.mark.parametrize("line", [":q", ":quit", ":exit", ":qui"])
async def test_every_way_to_leave_leaves(world: World, line: str) -> None:
    """Users type what they know from other shells."""
    typist = Typist(world)

    assert (await typist.type(line), typist.shell.leaving) == ("", True)


@pytest.mark.parametrize(
    "line",
    [
        ":resume " + "9" * 5000,
        ":history 000000001" + "9" * 5000,
        ":export a\0b",
        ":export ~nosuchuser/talk.md",
        ":export md /",
        ":save " + "x" * 100_000,
        ":model \x1b[2J",
        ":help " + "x" * 100_000,
    ],
    ids=lambda line: line[:12],
)
async def test_nothing_that_can_be_typed_after_a_colon_ends_the_shell(world: World, line: str) -> None:
    """A mistyped command gets a message, not a crash."""
    typist = Typist(world, "still here")

    await typist.type(line)

    assert await typist.type("hello?") == "still here"


async def test_a_conversation_is_listed_by_its_first_question(world: World) -> None:
    """The output of a command that was sent along is not its title, and neither is what a summarizer was told."""
    program = world.program({"model": "script", "models": {"script": {"kind": "scripted", "answers": ["A1", "A2"]}}})
    shell = world.shell(program)
    hold_output(shell.session, "ls -la", Outcome(0, "total 0\nkettle.log\n\nwhat is this?\n"))
    await world.ask(shell.session, "first line of it\n\nand the second?")
    hold_output(shell.session, "make", Outcome(2, "boom\n"))
    await world.ask(shell.session, "why did it fail?")

    assert "first line of it and the second?" in (await world.type(shell, ":sessions")).text
    await world.type(shell, ":new")
    resumed = (await world.type(shell, ":resume 1")).text
    assert "you: why did it fail?\nscript: A2" in resumed and "[exec output]" not in resumed


@pytest.mark.parametrize(
    ("content", "meta", "title"),
    [
        ("[exec output]\n$ ls\nx\n\nwhat now?", {"typed": 1}, "what now?"),
        ("[exec output]\n$ ls\nx\n\nwhat now?", {}, "what now?"),
        ("[standard input]\ndata\n\nexplain", {}, "explain"),
        ("[exec output]\n(proposed by the model)\n$ ls\nx", {"typed": 0}, "$ ls"),
        ("[exec output]", {"typed": 0}, ""),
    ],
)
def test_a_title_is_never_our_own_mark(world: World, content: str, meta: dict[str, Any], title: str) -> None:
    conversations = world.program().conversations
    journal = conversations.new(datetime.now(UTC), {})
    told = {"meta": SUMMARIZER_META}
    journal.add(Turn("user", "Read this conversation between a user and an assistant."), datetime.now(UTC), told)
    journal.add(Turn("user", content), datetime.now(UTC), meta)

    assert [one.title for one in conversations.list()] == [title]


async def test_what_a_summarizer_was_told_is_not_part_of_the_history(world: World) -> None:
    """The user never said it."""
    script = {"kind": "scripted", "answers": ["A1", "fact: it is blue"]}
    shell = world.shell(world.program({"model": "script", "models": {"script": script}}))
    await world.ask(shell.session, "what colour is it?")
    world.answers = ["y"]
    await world.type(shell, ":memory summarize")

    assert (await world.type(shell, ":history")).text == "you: what colour is it?\nscript: A1"
    assert "Read this conversation" not in (await world.type(shell, ":export md")).text
