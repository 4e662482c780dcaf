"""The commands of memory as a user types them: their output, their records, and the model's prompt afterwards."""

import json
from datetime import timedelta
from typing import Any

import pytest
from world import World, at, script_of

from aish.commands.manual import COMMANDS
from aish.conversation.session import Session
from aish.prompt.background import BACKGROUND_MARK
from aish.prompt.goal import GoalLayer
from aish.prompt.summary import SummaryLayer
from aish.values.errors import AishError, BadUsage, Declined, NotFound
from aish.values.replies import Reply

pytestmark = pytest.mark.anyio

TOKEN = "gh" + "p_" + "Zq3Lw8Rt5Yp2" * 3


class Typist:
    """Types lines into a shell with its own clock, and reads the prompts of the model."""

    def __init__(self, world: World, *answers: str, memory: dict[str, Any] | None = None, forgets: bool = False):
        self.world = world
        script = {"kind": "scripted", "answers": [*answers, *["fine"] * 9]}
        values: dict[str, Any] = {"model": "script", "models": {"script": script}}
        if memory is not None:
            values["memory"] = memory
        self.program = world.program(values)
        self.clock = at("2026-05-04T12:00:00")
        self.program.now = lambda: self.clock
        self.session: Session = self.program.session(remembers=not forgets)
        self.shell = world.shell(self.program, self.session)

    async def reply(self, line: str) -> Reply:
        self.clock += timedelta(seconds=1)
        return await self.world.type(self.shell, line)

    async def type(self, line: str) -> str:
        """Return the output or the error."""
        try:
            return (await self.reply(line)).text
        except AishError as error:
            return str(error)

    async def ask(self, question: str = "well?") -> str:
        """Ask the model, and return the system prompt it got."""
        self.clock += timedelta(seconds=1)
        await self.world.ask(self.session, question)
        return self.prompt

    @property
    def prompt(self) -> str:
        return str(script_of(self.session).requests[-1].messages[0]["content"])

    @property
    def remembered(self) -> list[str]:
        """Return the lines of the memory block in the last prompt."""
        _, mark, block = self.prompt.partition(BACKGROUND_MARK + "\n")
        return block.split("\n") if mark else []

    async def listed(self, words: str = "") -> list[str]:
        reply = await self.reply(f":memory list {words}")
        return [row[4] for row in reply.table.rows] if reply.table else []

    def wait(self, **ago: float) -> None:
        self.clock += timedelta(**ago)

    def lines(self) -> list[dict[str, Any]]:
        path = self.program.memory_file
        return [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []


# Remembering


@pytest.mark.proves("M32", "M23")
async def test_a_new_item_is_in_the_prompt_of_the_next_turn(world: World) -> None:
    """Without a restart, and without telling the model."""
    typist = Typist(world)
    await typist.ask()
    before = typist.prompt

    said = await typist.type(":remember I ride a tandem")
    await typist.ask()

    assert said == "remembered (id 1): I ride a tandem"
    assert BACKGROUND_MARK not in before
    assert typist.prompt == f"{before}\n\n{BACKGROUND_MARK}\n- (fact) I ride a tandem"


@pytest.mark.proves("M32", "M33", "M3")
async def test_remember_is_memory_add_fact(world: World) -> None:
    """The first is a short form of the second, so their records differ in id and time only."""
    typist = Typist(world)

    await typist.type(":remember one thing")
    await typist.type(":memory add fact another thing")
    _, first, second = typist.lines()

    assert {**first, "content": ""}.keys() == {**second, "content": ""}.keys()
    assert (first["kind"], first["content"], first["source"]) == ("fact", "one thing", "user")
    assert (second["kind"], second["content"], second["source"]) == ("fact", "another thing", "user")


@pytest.mark.proves("M33")
@pytest.mark.parametrize(
    ("words", "kind", "content"),
    [
        ("pref short answers", "pref", "short answers"),
        ("context the move is in May", "context", "the move is in May"),
        ("fact water is wet", "fact", "water is wet"),
        ("factories are loud", "fact", "factories are loud"),
        ("Pref is a word", "fact", "Pref is a word"),
        ("my pref is tea", "fact", "my pref is tea"),
        ("fact fact: two of them", "fact", "fact: two of them"),
        ("pref   with   blanks", "pref", "with   blanks"),
        ("forget the milk", "fact", "forget the milk"),
    ],
)
async def test_the_first_word_is_the_kind_only_if_it_is_one(world: World, words: str, kind: str, content: str) -> None:
    """Everything else is part of the text."""
    typist = Typist(world)

    await typist.type(f":memory add {words}")

    assert [(line["kind"], line["content"]) for line in typist.lines()[1:]] == [(kind, content)]


@pytest.mark.parametrize("line", [":remember", ":memory add", ":memory add pref", ":remember   "])
async def test_an_empty_text_is_refused(world: World, line: str) -> None:
    """An empty item would only take up space."""
    typist = Typist(world)

    with pytest.raises(BadUsage, match="nothing to remember: the text is empty"):
        await typist.reply(line)

    assert typist.lines() == []


@pytest.mark.proves("M57")
async def test_a_known_text_is_not_written_again(world: World) -> None:
    """Differences in case, blanks and the full stop do not count."""
    typist = Typist(world)
    await typist.type(":remember I ride a tandem")

    assert await typist.type(":remember  i RIDE  a tandem. ") == "already known (id 1)"
    assert len(typist.lines()) == 2


async def test_tags_and_keys_are_options_in_front(world: World) -> None:
    """An unknown option is not silently taken as text."""
    typist = Typist(world)

    await typist.type(":memory add --tag home --tag bikes --key ride pref a tandem")

    (line,) = typist.lines()[1:]
    assert (line["tags"], line["key"], line["kind"], line["content"]) == (["home", "bikes"], "ride", "pref", "a tandem")
    assert "there is no option --color" in await typist.type(":memory add --color red a tandem")
    assert await typist.type(":memory add --tag") == "--tag needs a value"
    assert len(typist.lines()) == 2


@pytest.mark.proves("M62")
@pytest.mark.parametrize(
    ("answer", "kept"), [("y", True), ("yes", True), ("", None), ("n", None), ("mask", False), ("m", False)]
)
async def test_a_secret_is_remembered_only_after_a_question(world: World, answer: str, kept: bool | None) -> None:
    """Yes keeps it as it is, `mask` keeps the rest, any other answer writes nothing."""
    typist = Typist(world)
    world.answers = [answer]

    await typist.type(f":remember the key is {TOKEN}")

    (question,) = world.asked
    assert question.endswith("save it unmasked? [y/N/mask] ") and TOKEN not in question
    written = [line["content"] for line in typist.lines()[1:]]
    if kept is None:
        assert written == []
    else:
        assert len(written) == 1 and (TOKEN in written[0]) is kept
        assert written[0].startswith("the key is ")


# In the prompt


@pytest.mark.proves("M31", "M28")
async def test_with_an_empty_memory_the_prompt_has_no_memory_block(world: World, tmp_path: Any) -> None:
    """To the byte: an empty memory costs no tokens, also after the last item was forgotten."""
    never = Typist(World(tmp_path / "another"), memory={"inject_max_chars": 0, "propose": False})
    typist = Typist(world)
    plain = await never.ask()

    assert await typist.ask() == plain
    await typist.type(":remember I ride a tandem")
    assert await typist.ask() != plain
    await typist.type(":memory forget 1")
    assert await typist.ask() == plain


@pytest.mark.proves("M24")
async def test_the_newest_items_are_in_the_prompt_as_far_as_they_fit(world: World) -> None:
    """The rest stay in the file and in the list."""
    limit = len(BACKGROUND_MARK) + 3 * (1 + len("- (fact) thing number 1"))
    typist = Typist(world, memory={"inject_max_chars": limit, "propose": False})
    for number in range(1, 6):
        await typist.type(f":remember thing number {number}")

    await typist.ask()

    assert typist.remembered == ["- (fact) thing number 5", "- (fact) thing number 4", "- (fact) thing number 3"]
    assert len(await typist.listed()) == 5


@pytest.mark.proves("M26")
async def test_an_item_of_many_lines_is_one_line_of_the_prompt(world: World) -> None:
    """Otherwise it could look like another item."""
    typist = Typist(world)
    await typist.type(":remember first line\n- (pref) second line\r\nthird")

    await typist.ask()

    assert typist.remembered == ["- (fact) first line - (pref) second line third"]
    assert typist.lines()[1]["content"] == "first line\n- (pref) second line\nthird", "the file has it as it was said"


@pytest.mark.proves("M29", "M30")
async def test_goal_mode_leaves_memory_out_of_the_prompt(world: World) -> None:
    """A goal has its own context, and its prompts do not count as uses of an item."""
    typist = Typist(world)
    typist.session.layer(SummaryLayer).summary = "we talked"
    await typist.type(":remember I ride a tandem")
    typist.session.layer(GoalLayer).goal = "tidy up"
    with_goal = await typist.ask()
    unused = await typist.type(":memory why 1")
    typist.session.layer(GoalLayer).goal = ""
    without = await typist.ask()

    assert "tandem" not in with_goal and with_goal.endswith("The goal: tidy up")
    assert without.index("You are aish") < without.index(BACKGROUND_MARK) < without.index("[summary]")
    assert "in prompts     never" in unused
    assert "in prompts     1 conversation, last " in await typist.type(":memory why 1")


@pytest.mark.proves("M32b")
async def test_another_shell_does_not_change_the_prompt_in_the_middle_of_a_conversation(world: World) -> None:
    """The server's prompt cache stays valid until the user asks for the change."""
    typist, other = Typist(world), Typist(world)
    await typist.type(":remember I ride a tandem")
    before = await typist.ask()

    await other.type(":remember the sea is salty")
    assert await typist.ask() == before
    said = await typist.type(":memory inject")
    await typist.ask()

    assert said == f"2 items in the prompt, {len(typist.prompt) - typist.prompt.index('[background]')} characters"
    assert typist.remembered == ["- (fact) the sea is salty", "- (fact) I ride a tandem"]


@pytest.mark.proves("M38", "M14")
async def test_inject_brings_an_edit_by_hand_into_the_prompt(world: World) -> None:
    """The file belongs to the user: a line without checksum is valid, and a damaged one is skipped and reported."""
    typist = Typist(world)
    await typist.type(":remember I ride a tandem")
    await typist.ask()
    with world.places.memory.open("a", encoding="utf-8") as file:
        file.write('{"id": 7, "kind": "pref", "content": "short answers"}\n')
        file.write('{"id": 8, "kind": "pref", "conte\n')
        file.write('{"id": 9, "kind": "whim", "content": "no such kind"}\n')

    said = (await typist.type(":memory inject")).split("\n")
    await typist.ask()

    assert "memory.jsonl: 1 damaged lines are skipped; see: aish doctor" in said
    assert any("has the unknown kind 'whim', so it is ignored" in line for line in said)
    assert typist.remembered == ["- (fact) I ride a tandem", "- (pref) short answers"]
    assert "damaged" not in await typist.type(":memory inject"), "it is said once"
    assert await typist.type(":remember a next one") == "remembered (id 10): a next one"


@pytest.mark.proves("M4")
async def test_problems_found_during_a_change_are_reported(world: World) -> None:
    """Skipped lines are reported by the first command that finds them."""
    typist = Typist(world)
    await typist.type(":remember I ride a tandem")
    await typist.ask()
    with world.places.memory.open("a", encoding="utf-8") as file:
        file.write('{"id": 9, "kind": "whim", "content": "no such kind"}\n')

    said = await typist.type(":remember the sea is salty")
    said += "".join((await world.ask(typist.session, "well?")).notices)

    assert "has the unknown kind 'whim', so it is ignored" in said


@pytest.mark.proves("M32b", "M38")
async def test_a_new_conversation_and_a_resumed_one_read_the_file_again(world: World) -> None:
    """Items written by others meanwhile are included from the start."""
    typist, other = Typist(world), Typist(world)
    await typist.ask()
    await other.type(":remember the sea is salty")
    await typist.ask()
    assert typist.remembered == []

    await typist.type(":new")
    await typist.ask()
    assert typist.remembered == ["- (fact) the sea is salty"]
    await other.type(":memory forget 1")
    await typist.type(":resume")
    await typist.ask()

    assert typist.remembered == []
    assert [message["role"] for message in script_of(typist.session).requests[-1].messages].count("user") == 3


async def test_reset_reads_the_file_again_too(world: World) -> None:
    """The model starts again, and its memory is read again."""
    typist, other = Typist(world), Typist(world)
    await typist.ask()
    await other.type(":remember the sea is salty")

    await typist.type(":reset")
    await typist.ask()

    assert typist.remembered == ["- (fact) the sea is salty"]


@pytest.mark.proves("M40", "M13")
async def test_after_a_restart_the_list_and_the_prompt_have_it(world: World) -> None:
    """This is the purpose of memory."""
    first = Typist(world)
    await first.type(":memory add pref short answers")
    await first.program.close()

    second = Typist(world)
    await second.ask()

    assert await second.listed() == ["short answers"]
    assert second.remembered == ["- (pref) short answers"]


async def test_a_conversation_that_keeps_nothing_neither_reads_nor_writes_memory(world: World) -> None:
    """`--no-memory` leaves no traces, and the model gets no memory tool."""
    before = Typist(world)
    await before.type(":remember I ride a tandem")
    await before.program.close()
    files = {path: path.read_bytes() for path in world.home.rglob("*") if path.is_file()}
    typist = Typist(world, memory={"propose": True, "prune_older_than_days": 0}, forgets=True)
    typist.wait(days=100)

    await typist.ask("remember that I like tea")

    request = script_of(typist.session).requests[-1]
    assert "tandem" not in str(request.messages) and request.tools == ()
    assert await typist.type(":memory inject") == "0 items in the prompt, 0 characters"
    for line in (":remember more", ":memory list", ":memory forget 1", ":memory undo", ":memory purge tandem"):
        assert await typist.type(line) == "memory is switched off for this run (--no-memory)"
    kept = {path: path.read_bytes() for path in world.home.rglob("*") if path.is_file() and path.name != "costs.jsonl"}
    assert kept == files


# Listing


@pytest.mark.proves("M34")
async def test_the_list_shows_id_age_time_kind_content_and_source_newest_first(world: World) -> None:
    """This is what a user needs to decide about an item."""
    typist = Typist(world)
    await typist.type(":remember I ride a tandem")
    typist.wait(days=3)
    await typist.type(":memory add --tag work pref short answers")

    reply = await typist.reply(":memory list")

    assert reply.table is not None
    assert reply.table.head == ("id", "age", "time", "kind", "content", "source")
    shown = [(*row[:2], *row[3:]) for row in reply.table.rows]
    assert shown == [
        ("2", "now", "pref", "short answers #work", "user"),
        ("1", "3 days", "fact", "I ride a tandem", "user"),
    ]
    assert all(len(row[2]) == len("2026-05-04 12:00") for row in reply.table.rows)
    assert [one["id"] for one in reply.data] == [2, 1]


@pytest.mark.proves("M34")
async def test_the_list_is_filtered_by_kind_tag_words_and_number(world: World) -> None:
    """Filters are combined; a message says when nothing matches."""
    typist = Typist(world)
    await typist.type(":memory add --tag home --tag bikes fact I ride a TANDEM at home")
    await typist.type(":memory add --tag work pref short answers")
    await typist.type(":memory add --tag home context the home is being painted")

    assert await typist.listed("fact") == ["I ride a TANDEM at home #home #bikes"]
    assert await typist.listed("--kind pref") == ["short answers #work"]
    assert await typist.listed("home tandem") == ["I ride a TANDEM at home #home #bikes"]
    assert len(await typist.listed("--tag home")) == 2
    assert await typist.listed("--tag home --tag bikes") == ["I ride a TANDEM at home #home #bikes"]
    assert await typist.listed("context PAINT") == ["the home is being painted #home"]
    assert await typist.listed("--limit 1") == ["the home is being painted #home"]
    assert await typist.listed("facts") == []
    nothing = await typist.reply(":memory list fact painted")
    assert (nothing.text, nothing.found) == ("no matching items", False)
    assert (await typist.reply(":memory")).data == (await typist.reply(":memory list")).data
    assert "unknown kind 'whim'" in await typist.type(":memory list --kind whim")
    assert await typist.type(":memory list --limit many") == "expected a number, got 'many'"


async def test_an_empty_memory_says_so(world: World) -> None:
    """Every command that lists something has a message for an empty result."""
    typist = Typist(world)

    for line, said in {
        ":memory list": "no items yet",
        ":memory pending": "nothing is pending",
        ":memory log": "no changes yet",
        ":memory clear": "no items yet",
        ":memory accept all": "nothing is pending",
        ":memory reject all": "nothing is pending",
        ":memory at now": "no items at",
    }.items():
        reply = await typist.reply(line)
        assert reply.text.startswith(said), line
        assert not reply.found, line
    assert not world.places.memory.exists(), "looking writes nothing"
    assert await typist.type(":memory undo") == "nothing to undo"


@pytest.mark.proves("M39")
async def test_help_lists_every_command_of_memory_and_explains_each(world: World) -> None:
    """Commands that are not listed are not found."""
    typist = Typist(world)
    listed = " ".join((await typist.type(":help")).split())  # long lines are wrapped
    names = ["remember", "memory", *(command.name for command in COMMANDS.below("memory"))]

    assert len(names) == 20
    for name in names:
        command = COMMANDS.find(name)
        assert f"{command.usage} " in listed and command.summary in listed
        told = " ".join((await typist.type(f":help {name}")).split())
        assert told.startswith(f"{command.usage} {command.summary}")


@pytest.mark.proves("M63")
async def test_why_shows_where_an_item_was_said_and_which_prompts_had_it(world: World) -> None:
    """The user can find out why the model knows something."""
    typist = Typist(world, "Nice.", "Yes.")
    await typist.ask("I have a new bike")
    await typist.type(":remember I ride a tandem")
    fresh = (await typist.type(":memory why 1")).split("\n")
    await typist.ask("which bike?")
    typist.wait(days=2)
    used = (await typist.type(":memory why #1")).split("\n")

    id = typist.session.journal.id
    assert fresh[0] == "item           1 (fact) I ride a tandem"
    assert fresh[1] == "from           user"
    assert fresh[2] == f"said in        {id}, turn 2: Nice."
    assert fresh[3].startswith("recorded       2026-05-0") and fresh[3].endswith(" (now)")
    assert fresh[4:] == ["state          active", "in prompts     never", "recalled       never"]
    assert used[3].endswith(" (2 days)")
    assert used[5].startswith("in prompts     1 conversation, last 2026-05-0") and used[5].endswith(f" ({id})")


@pytest.mark.proves("X1")
async def test_why_says_when_an_item_was_recalled(world: World) -> None:
    """An item that does not fit into [background] is brought to a question that needs it."""
    session = world.session(["Red."], {"memory": {"inject_max_chars": 0}})
    session.memory.remember("my tandem is red", source="user")

    await world.ask(session, "which colour is my tandem?")

    facts = session.memory.explain(1, session.services.conversations)
    assert facts["in prompts"] == "never"
    assert facts["recalled"].startswith("1 conversation, last ")


async def test_why_counts_the_conversations_that_had_the_item(world: World) -> None:
    """Each conversation counts once, however many turns or prompt changes it had."""
    typist = Typist(world)
    await typist.type(":remember I ride a tandem")
    for number in range(3):
        await typist.ask()
        await typist.type(f":remember thing number {number}")
        await typist.ask()
        typist.wait(days=1)
        await typist.type(":new")

    (uses,) = [line for line in (await typist.type(":memory why 1")).split("\n") if line.startswith("in prompts")]

    assert uses.startswith("in prompts     3 conversations, last 2026-05-06") and "first 2026-05-04" in uses


@pytest.mark.proves("M58", "M59")
async def test_why_shows_what_happened_to_an_item(world: World) -> None:
    """Superseded, forgotten, restored: each with the id of the other item."""
    typist = Typist(world)
    await typist.type(":remember I ride a tandem")
    await typist.type(":memory edit 1 I ride a tricycle")
    await typist.type(":memory forget 2")
    await typist.type(":memory undo")
    await typist.type(":memory set editor = helix")
    await typist.type(":memory set editor = kakoune")

    assert "state          superseded by 2 2026-05-0" in await typist.type(":memory why 1")
    assert "superseded     1: I ride a tandem" in await typist.type(":memory why 2")
    assert "state          forgotten 2026-05-0" in await typist.type(":memory why 2")
    assert "from           user; restores 2" in await typist.type(":memory why 4")
    assert "state          superseded by another item with its key" in await typist.type(":memory why 5")
    assert "superseded     5: editor = helix" in await typist.type(":memory why 6")
    for number, said in {"99": "there is no item 99", "3": "item 3 was purged or was never an item"}.items():
        with pytest.raises(NotFound, match=said):
            await typist.reply(f":memory why {number}")


async def test_why_works_with_an_invalid_conversation_name(world: World) -> None:
    """The line may come from a file of somebody else."""
    typist = Typist(world)
    await typist.type(":remember I ride a tandem")
    with world.places.memory.open("a", encoding="utf-8") as file:
        file.write('{"id": 5, "kind": "fact", "content": "x", "conversation": "a\\u0000b", "turn": 1}\n')

    assert "said in        a\0b, turn 1" in await typist.type(":memory why 5")


@pytest.mark.proves("M60")
async def test_the_log_has_every_change_newest_first(world: World) -> None:
    """Including undone changes."""
    typist = Typist(world)
    await typist.type(":remember I ride a tandem")
    await typist.type(":memory edit 1 I ride a tricycle")
    await typist.type(":memory set editor = helix")
    await typist.type(":memory forget 2")
    await typist.type(":memory undo")

    reply = await typist.reply(":memory log")

    assert reply.table is not None
    assert [row[0] + " " + " ".join(row[2:]) for row in reply.table.rows] == [
        "5 restored 2 as 5: (fact) I ride a tricycle",
        "4 forgot 2: I ride a tricycle",
        "3 set 3: (fact) editor = helix",
        "2 edited 1 into 2: (fact) I ride a tricycle",
        "1 added 1: (fact) I ride a tandem",
    ]
    assert reply.table.rows[4][1] == "2026-05-04 12:00:01"
    short = await typist.reply(":memory log 2")
    assert short.table is not None and short.table.rows == reply.table.rows[:2]


@pytest.mark.proves("M60")
async def test_memory_can_be_shown_as_it_was_at_a_time(world: World) -> None:
    """On a day, at a time, some days ago: before an item was changed, forgotten or added."""
    typist = Typist(world)
    await typist.type(":remember I ride a tandem")  # 4 May, noon
    typist.wait(days=2)
    await typist.type(":memory edit 1 I ride a tricycle")  # 6 May
    await typist.type(":memory set editor = helix")
    typist.wait(days=2)
    await typist.type(":memory forget 2")  # 8 May
    await typist.type(":memory set editor = kakoune")
    typist.wait(days=2)  # 10 May

    async def at_time(words: str) -> list[str]:
        reply = await typist.reply(f":memory at {words}")
        return [row[4] for row in reply.table.rows] if reply.table else []

    assert await at_time("2026-05-01") == []
    assert await at_time("2026-05-04 11:59Z") == []
    assert await at_time("2026-05-05") == ["I ride a tandem"]
    assert await at_time("2026-05-07") == ["editor = helix", "I ride a tricycle"]
    assert await at_time("3 days ago") == ["editor = helix", "I ride a tricycle"]
    assert await at_time("yesterday") == ["editor = kakoune"] == await at_time("now")
    assert "is not a date; try" in await typist.type(":memory at some day")
    assert await typist.type(":memory at") == "missing date: :memory at 2026-11-15"
    assert (await typist.type(":memory at 2020-01-01")).startswith("no items at 2020-01-01 23:59")


# Changing


@pytest.mark.proves("M35", "M9", "M11")
async def test_forgetting_shows_the_items_and_a_wrong_id_changes_nothing(world: World) -> None:
    """Not even the valid ids of a command change, so that the user can check again."""
    typist = Typist(world)
    await typist.type(":remember I ride a tandem")
    await typist.type(":remember the sea is salty")

    assert await typist.type(":memory forget 1") == "forgotten (id 1): I ride a tandem"
    size = len(typist.lines())
    assert await typist.type(":memory forget 1") == "item 1 no longer exists; nothing was changed"
    assert await typist.type(":memory forget 2 9") == "there is no item 9; see :memory list"
    assert await typist.type(":memory forget 3") == "item 3 no longer exists; nothing was changed"
    assert await typist.type(":memory forget") == "missing id; see :memory list"
    assert await typist.type(":memory forget the sea") == "expected a number, got 'the'"
    assert await typist.type(":memory forget 99999999999999999999") == "expected a number, got '99999999999999999999'"
    assert len(typist.lines()) == size
    assert await typist.listed() == ["the sea is salty"]


async def test_several_items_are_forgotten_and_restored_together(world: World) -> None:
    """One command is one change."""
    typist = Typist(world)
    for word in ("one", "two", "three"):
        await typist.type(f":remember number {word}")

    assert await typist.type(":memory forget 1, #3") == "forgotten (id 1): number one\nforgotten (id 3): number three"
    assert await typist.listed() == ["number two"]
    assert await typist.type(":memory undo") == "undone: forgot 1: number one and 1 more"
    assert sorted(await typist.listed()) == ["number one", "number three", "number two"]


@pytest.mark.proves("M36", "M60")
@pytest.mark.parametrize("answer", ["", "n", "no", "maybe", "Y E S", "\0"])
async def test_clear_asks_and_anything_but_yes_means_no(world: World, answer: str) -> None:
    """The default is no when something can be lost."""
    typist = Typist(world)
    await typist.type(":remember I ride a tandem")
    world.answers = [answer]

    reply = await typist.reply(":memory clear")

    assert world.asked == ["forget all 1 item? [y/N] "]
    assert (reply.text, reply.found) == ("nothing was changed", False)
    assert len(typist.lines()) == 2


@pytest.mark.proves("M36", "M60", "M8")
@pytest.mark.parametrize("answer", ["y", "YES ", None])
async def test_clear_writes_a_tombstone_for_each_item_and_undo_brings_all_back(
    world: World, answer: str | None
) -> None:
    """All lines stay in the file, and ids continue."""
    typist = Typist(world)
    await typist.type(":remember I ride a tandem")
    await typist.type(":memory add pref short answers")
    before = world.places.memory.read_bytes()
    world.answers = [answer] if answer else []

    assert await typist.type(f":memory clear{'' if answer else ' --yes'}") == "forgot 2 items; undo with :memory undo"
    await typist.ask()
    assert world.places.memory.read_bytes().startswith(before)
    assert [(line["kind"], line["target"]) for line in typist.lines()[3:]] == [("forget", 2), ("forget", 1)]
    assert typist.remembered == [] == await typist.listed()
    await typist.type(":memory undo")
    await typist.ask()

    assert sorted(typist.remembered) == ["- (fact) I ride a tandem", "- (pref) short answers"]
    assert [line["id"] for line in typist.lines()[1:]] == [1, 2, 3, 4, 5, 6]
    assert len(world.asked) == (answer is not None)


@pytest.mark.proves("M58")
async def test_edit_opens_the_text_and_the_new_item_supersedes_the_old_one(world: World) -> None:
    """The old line stays in the file; the new one keeps kind, tags and key."""
    typist = Typist(world)
    await typist.type(":memory add --tag bikes --key ride pref I ride a tandem")
    await typist.ask()
    world.answers = ["I ride a tricycle"]

    said = await typist.type(":memory edit 1")
    await typist.ask()

    assert world.asked == ["I ride a tandem"], "the text is in the editor"
    assert said == "remembered (id 2): I ride a tricycle"
    assert typist.remembered == ["- (pref) I ride a tricycle"]
    old, new = typist.lines()[1:]
    assert new["supersedes"] == [1]
    assert {name: new[name] for name in ("kind", "tags", "key")} == {
        name: old[name] for name in ("kind", "tags", "key")
    }


@pytest.mark.proves("M58")
async def test_an_edit_that_changes_nothing_writes_nothing(world: World) -> None:
    """Leaving the editor, an empty line, the same text, or the text of another item."""
    typist = Typist(world)
    await typist.type(":remember I ride a tandem")
    await typist.type(":remember the sea is salty")
    size = len(typist.lines())
    world.answers = ["", "  I ride a tandem ", "The sea is SALTY"]

    assert await typist.type(":memory edit 1") == "nothing was changed"
    assert await typist.type(":memory edit 1") == "unchanged"
    assert await typist.type(":memory edit 1") == "already known (id 2)"
    assert await typist.type(":memory edit 9 text") == "there is no item 9; see :memory list"
    assert await typist.type(":memory edit") == "missing id; see :memory list"
    assert len(typist.lines()) == size
    assert await typist.type(":memory edit 1 I ride a  tandem") == "remembered (id 3): I ride a tandem"
    assert await typist.type(":memory edit 1 again") == "item 1 no longer exists; nothing was changed"


@pytest.mark.proves("M59")
async def test_a_key_has_one_value_and_the_older_ones_are_never_in_a_prompt(world: World) -> None:
    """Also after the newest is forgotten: an old value does not return."""
    typist = Typist(world)
    assert await typist.type(":memory set editor = helix") == "remembered (id 1): editor = helix"
    await typist.type(":memory set  Editor=kakoune ")
    await typist.type(":memory set --kind pref shell = fish = good")
    await typist.ask()

    assert typist.remembered == ["- (pref) shell = fish = good", "- (fact) editor = kakoune"]
    await typist.type(":memory forget 2")
    await typist.ask()
    assert typist.remembered == ["- (pref) shell = fish = good"]
    for wrong in (":memory set editor helix", ":memory set = helix", ":memory set editor =", ":memory set"):
        with pytest.raises(BadUsage, match="expected KEY = VALUE, such as: "):
            await typist.reply(wrong)


@pytest.mark.proves("M59", "M60")
async def test_undo_of_a_set_brings_the_older_value_back(world: World) -> None:
    """It supersedes the newer one."""
    typist = Typist(world)
    await typist.type(":memory set editor = helix")
    await typist.type(":memory set editor = kakoune")

    await typist.type(":memory undo")
    assert await typist.listed() == ["editor = helix"]
    await typist.type(":memory set editor = kakoune")

    assert await typist.listed() == ["editor = kakoune"]


@pytest.mark.proves("M59", "M60")
async def test_undo_of_a_set_does_not_bring_back_a_value_that_was_forgotten_before(world: World) -> None:
    """Only the last change is undone, not the one before it."""
    typist = Typist(world)
    await typist.type(":memory set editor = helix")
    await typist.type(":memory forget 1")
    await typist.type(":memory set editor = kakoune")

    await typist.type(":memory undo")

    assert await typist.listed() == []


@pytest.mark.proves("M60")
async def test_undo_reports_the_reverted_change_and_continues_backwards(world: World) -> None:
    """Back to the first one, by appending only; the prompt follows."""
    typist = Typist(world)
    await typist.type(":remember I ride a tandem")
    await typist.type(":memory edit 1 I ride a tricycle")
    await typist.type(":memory forget 2")
    await typist.ask()
    said, shown, file = [], [], world.places.memory.read_bytes()

    for _ in range(4):
        said.append(await typist.type(":memory undo"))
        await typist.ask()
        shown.append(typist.remembered)
        assert world.places.memory.read_bytes().startswith(file)
        file = world.places.memory.read_bytes()

    assert said == [
        "undone: forgot 2: I ride a tricycle",
        "undone: edited 1 into 2: (fact) I ride a tricycle",
        "undone: added 1: (fact) I ride a tandem",
        "nothing to undo",
    ]
    assert shown == [["- (fact) I ride a tricycle"], ["- (fact) I ride a tandem"], [], []]


async def test_a_repeated_change_can_be_undone_again(world: World) -> None:
    """Undo reverts the last change of the user, not an undo."""
    typist = Typist(world)
    for _ in range(3):
        await typist.type(":remember I ride a tandem")
        await typist.type(":memory undo")

    assert await typist.listed() == []
    assert await typist.type(":memory undo") == "nothing to undo"


# Pending items


async def proposed(world: World, *contents: str) -> Typist:
    """Return a typist with a model that proposed these items."""
    calls = "\n".join(f"TOOL: memory_add {json.dumps({'kind': 'fact', 'content': text})}" for text in contents)
    typist = Typist(world, calls, memory={"propose": True})
    await typist.ask("tell me something")
    return typist


@pytest.mark.proves("M63")
async def test_a_proposal_is_pending_until_the_user_accepts_it(world: World) -> None:
    """No prompt has it before that, and its source stays the model."""
    typist = await proposed(world, "the user has a dog", "the user has a cat")
    pending = await typist.reply(":memory pending")
    assert pending.table is not None
    assert [(row[0], row[4], row[5]) for row in pending.table.rows] == [
        ("2", "the user has a cat", "model"),
        ("1", "the user has a dog", "model"),
    ]
    assert await typist.listed() == []

    assert await typist.type(":memory accept 1") == "remembered (id 1): the user has a dog"
    await typist.ask()
    assert typist.remembered == ["- (fact) the user has a dog"]
    assert await typist.type(":memory reject 2") == "dropped: the user has a cat"

    assert await typist.type(":memory pending") == "nothing is pending"
    why = await typist.type(":memory why 1")
    assert "from           model, confirmed by the user" in why
    assert f"said in        {typist.session.journal.id}, turn " in why
    assert await typist.type(":memory accept 1") == "no pending item 1; see :memory pending"
    assert await typist.type(":memory accept") == "missing id; see :memory pending"
    assert await typist.type(":memory reject dog") == "expected a number, got 'dog'"


async def test_all_pending_items_are_accepted_or_rejected_at_once(world: World) -> None:
    """An item the user has added meanwhile is already known, and is not written twice."""
    typist = await proposed(world, "the user has a dog", "the user has a cat", "the user has a fish")
    await typist.type(":remember The user has a cat.")

    said = await typist.type(":memory accept all")

    assert sorted(said.split("\n")) == [
        "already known (id 1): The user has a cat.",
        "remembered (id 2): the user has a fish",
        "remembered (id 3): the user has a dog",
    ]
    assert len(await typist.listed()) == 3
    assert not (await typist.reply(":memory pending")).found


async def test_rejecting_all_leaves_nothing_pending_and_adds_nothing(world: World) -> None:
    """The prompt does not change."""
    typist = await proposed(world, "the user has a dog", "the user has a cat")

    assert sorted((await typist.type(":memory reject all")).split("\n")) == [
        "dropped: the user has a cat",
        "dropped: the user has a dog",
    ]
    assert not (await typist.reply(":memory pending")).found
    assert typist.lines() == []


async def test_a_wrong_id_among_those_to_accept_changes_nothing(world: World) -> None:
    """As with forget: nothing is half done."""
    typist = await proposed(world, "the user has a dog")

    with pytest.raises(NotFound):
        await typist.reply(":memory accept 1 9")

    assert typist.lines() == []


@pytest.mark.proves("M37", "M48", "M49")
async def test_summarize_shows_each_candidate_and_writes_only_the_accepted_ones(world: World) -> None:
    """Accepted, refused, or accepted with an edit; the prompt follows."""
    typist = Typist(
        world, "Nice.", "fact: has a tandem\npref: likes hills\n- context: rides to Rome\nI hope that helps."
    )
    await typist.ask("I rode my tandem over the hills to Rome")
    world.answers = ["y", "", "edit", "is on the way to Rome"]

    said = await typist.type(":memory summarize")
    await typist.ask()

    assert world.asked[0] == "fact: has a tandem\nkeep? [y/N/edit] "
    assert said == "[aish] memory: added 2 candidates"
    assert typist.remembered == ["- (context) is on the way to Rome", "- (fact) has a tandem"]
    assert [line["source"] for line in typist.lines()[1:]] == [typist.session.journal.id] * 2


# Purging


@pytest.mark.proves("M61")
@pytest.mark.parametrize("answer", ["", "n", "\0"])
async def test_purge_asks_first_and_anything_but_yes_means_no(world: World, answer: str) -> None:
    """There is no undo, so there is a question."""
    typist = Typist(world)
    await typist.type(":remember I ride a tandem")
    before, world.answers = world.places.memory.read_bytes(), [answer]

    assert await typist.type(":memory purge 1") == "nothing was changed"
    assert world.asked == ["permanently erase 1 (I ride a tandem) everywhere? [y/N] "]
    assert world.places.memory.read_bytes() == before


@pytest.mark.proves("M61", "M60")
async def test_a_purge_also_erases_the_running_conversation(world: World) -> None:
    """The model must not repeat them later, and undo does not restore them."""
    typist = Typist(world, "A tandem is a fine thing.")
    await typist.ask("I have a TANDEM")
    await typist.type(":remember my tandem is green")
    typist.session.layer(SummaryLayer).summary, typist.session.layer(GoalLayer).goal = (
        "about a tandem",
        "sell the tandem",
    )
    world.answers = ["y"]

    said = await typist.type(":memory purge tandem")
    await typist.ask("what did I say?")

    assert said.endswith("; it will not be learned again") and said.startswith("erased in ")
    request = script_of(typist.session).requests[-1]
    assert "tandem" not in str(request.messages).lower()
    assert "[purged] is a fine thing" in str(request.messages)
    assert await typist.listed() == []
    assert await typist.type(":memory undo") == "nothing to undo"
    with pytest.raises(Declined, match="this was purged, so it is not saved again"):
        await typist.reply(":remember My  tandem is GREEN.")


@pytest.mark.proves("M61", "M59")
@pytest.mark.parametrize("how", ["edit", "key"])
async def test_a_purge_does_not_bring_back_what_the_item_superseded(world: World, how: str) -> None:
    """A corrected fact must not return because its correction was erased."""
    typist = Typist(world)
    await typist.type(":memory set bike = a tandem")
    await typist.type(":memory set bike = a tricycle" if how == "key" else ":memory edit 1 bike = a tricycle")

    await typist.type(":memory purge --yes 2")
    await typist.ask()

    assert await typist.listed() == [] == typist.remembered
    assert await typist.type(":memory at now") != "", "nor when history is asked for"


@pytest.mark.proves("M61")
@pytest.mark.parametrize("item", ["--tag magpie-nest a place in the garden", "the magpie-nest is empty"])
async def test_purged_words_are_not_learned_again_from_any_source(world: World, item: str) -> None:
    """The rule is about the words, not about the item that had them."""
    typist = Typist(world)
    await typist.type(f":memory add {item}")
    await typist.type(":memory purge --yes magpie-nest")

    with pytest.raises(Declined, match="this was purged"):
        await typist.reply(":remember magpie-nest")


@pytest.mark.proves("M61")
async def test_the_question_before_a_purge_names_every_item_that_goes_with_it(world: World) -> None:
    """An item that contains the text of another is erased with it, and the user must know that before confirming."""
    typist = Typist(world)
    await typist.type(":remember rhubarb")
    await typist.type(":remember no rhubarb in the pie")

    await typist.type(":memory purge 1")

    (question,) = world.asked
    assert "1 (rhubarb)" in question and "2 (no rhubarb in the pie)" in question


@pytest.mark.proves("M61")
async def test_a_purge_that_is_not_possible_is_reported(world: World) -> None:
    """An unknown id, and words that would match far too much."""
    typist = Typist(world)
    await typist.type(":remember I ride a tandem")
    await typist.type(":memory purge --yes 1")

    with pytest.raises(NotFound, match="there is no item 1, or it is purged already"):
        await typist.reply(":memory purge 1")
    with pytest.raises(BadUsage, match="the text to erase is too short"):
        await typist.reply(":memory purge tea")
    with pytest.raises(BadUsage):
        await typist.reply(":memory purge")


@pytest.mark.proves("M2")
async def test_the_ledger_can_be_somewhere_else(world: World) -> None:
    """For example on a shared disk or under version control."""
    elsewhere = world.directory / "shared" / "mine.jsonl"
    typist = Typist(world, memory={"path": str(elsewhere), "propose": False})

    await typist.type(":remember I ride a tandem")
    await typist.ask()

    assert typist.remembered == ["- (fact) I ride a tandem"]
    assert b"tandem" in elsewhere.read_bytes()
    assert not world.places.memory.exists()
