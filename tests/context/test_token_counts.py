"""Prompt size: everything that is sent is counted once, in tokens of the active model."""

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prompt_blocks import base_block
from world import World

from aish.context.blocks import Block
from aish.context.eviction import Limits, Size
from aish.context.history import History
from aish.context.token_counts import PER_MESSAGE, PromptSize, TokenCounts, measure
from aish.conversation.prompt import make_room
from aish.conversation.turn_context import TurnContext
from aish.model.estimate import Estimates
from aish.values.turns import Message, ToolCall, Turn

pytestmark = pytest.mark.anyio

BASE = Block("base", "0123456789", order=1)
GOAL = Block("goal", "01234", order=2)
TOOLS: list[Message] = [{"type": "function", "function": {"name": "ls", "parameters": {"type": "object"}}}]
CALL = ToolCall(id="1", name="ls", arguments='{"path": "/"}')
QUESTION = Turn(role="user", content="list it")
CALLING = Turn(role="assistant", content="I look", tool_calls=(CALL,))
RESULT = Turn(role="tool", call_id="1", content="a b c")


@dataclass
class Letters:
    """Counts `factor` tokens per character and records the counted texts. Another factor acts as another model."""

    model: str = "letters"
    factor: int = 1
    counted: list[str] = field(default_factory=list)

    async def count(self, text: str) -> int:
        self.counted.append(text)
        return self.factor * len(text)


@pytest.mark.proves("C20")
async def test_everything_that_is_sent_is_counted() -> None:
    """If the count were too small, the server would refuse the prompt."""
    history = History([QUESTION, CALLING, RESULT])
    history.hold("out")

    size = await measure(TokenCounts(), Letters(), [GOAL, BASE], history, TOOLS)

    turns = len("list it") + len("I look") + len("ls") + len('{"path": "/"}') + len("a b c")
    assert size == PromptSize(
        blocks=(BASE._replace(tokens=10), GOAL._replace(tokens=5)),
        exchanges=(Size(turns=3, tokens=turns + 3 * PER_MESSAGE, bytes=size.exchanges[0].bytes),),
        tools=len(json.dumps(TOOLS)),
        held=len("[exec output]\nout"),
    )
    marks = 2 * PER_MESSAGE  # one for the system message, one for the start of the answer
    assert size.fixed == 10 + 5 + len(json.dumps(TOOLS)) + len("[exec output]\nout") + marks
    assert size.total == size.fixed + turns + 3 * PER_MESSAGE


@pytest.mark.proves("C20")
async def test_held_output_costs_the_same_before_and_after_it_is_asked_about() -> None:
    """Held output is sent with the next question, so it must be counted before."""
    history = History()
    history.hold("x" * 500)
    waiting = (await measure(TokenCounts(), Letters(), [BASE], history)).total

    history.ask("why?")

    asked = (await measure(TokenCounts(), Letters(), [BASE], history)).total
    assert asked - waiting == len("\n\nwhy?") + PER_MESSAGE


async def test_nothing_to_send_costs_the_start_of_the_answer_only() -> None:
    """Without blocks there is no system message and no markers for it."""
    size = await measure(TokenCounts(), Letters(), [Block("summary", "")], History())

    assert size == PromptSize(blocks=(), exchanges=())
    assert size.total == PER_MESSAGE


@pytest.mark.proves("T11")
async def test_only_what_is_new_is_counted() -> None:
    """Each count is a request to the server, so turns must not be counted again."""
    token_counts, counter, history = TokenCounts(), Letters(), History([QUESTION, CALLING])

    await measure(token_counts, counter, [BASE], history, TOOLS)
    assert sorted(counter.counted) == sorted([BASE.text, "list it", "I look", "ls", CALL.arguments, json.dumps(TOOLS)])
    first = list(counter.counted)

    await measure(token_counts, counter, [BASE], history, TOOLS)
    assert counter.counted == first

    history.add(RESULT)
    await measure(token_counts, counter, [Block("base", "changed")], history, TOOLS)
    assert sorted(counter.counted[len(first) :]) == ["a b c", "changed"]


@pytest.mark.proves("T11")
@given(texts=st.lists(st.sampled_from(["yes", "no", "go on", "a longer text"]), min_size=1, max_size=12))
@settings(deadline=None, max_examples=30)
async def test_no_text_is_counted_twice_however_long_the_conversation(texts: list[str]) -> None:
    """The prompt is measured for every question."""
    token_counts, counter, history = TokenCounts(), Letters(), History()

    for place, text in enumerate(texts):
        history.add(Turn(role="assistant" if place % 2 else "user", content=text))
        size = await measure(token_counts, counter, [BASE], history)
        assert size.total == size.fixed + sum(PER_MESSAGE + len(said) for said in texts[: place + 1])

    assert Counter(counter.counted).most_common(1)[0][1] == 1


@pytest.mark.proves("T11")
async def test_a_turn_that_stays_is_not_counted_again_because_others_left(world: World) -> None:
    """Users repeat short texts such as "yes". Evicting one keeps the cached size for the others."""
    session = world.session()
    backend = session.backend
    estimates = backend.tokenizer.estimates = Recording(world.directory / "ratios.json")
    for text in ("yes", "first", "yes", "second"):
        session.history.add(Turn(role="user" if text == "yes" else "assistant", content=text))

    notices = await make_room(TurnContext(session), backend, Limits(max_turns=2))

    assert len(notices) == 1
    assert [turn.content for turn in session.history.turns] == ["yes", "second"]
    assert sorted(estimates.counted) == sorted([base_block().text, "first", "second", "yes"])


class Recording(Estimates):
    """Estimates that record the texts they counted."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.counted: list[str] = []

    def count(self, model: str, text: str) -> int:
        self.counted.append(text)
        return super().count(model, text)


@pytest.mark.proves("T13")
async def test_another_model_counts_at_once_and_the_first_remembers() -> None:
    """Each model has its own tokens, so counts of the previous model must not be reused."""
    token_counts, history = TokenCounts(), History([QUESTION])
    small, big = Letters("small"), Letters("big", factor=3)

    of_small = await measure(token_counts, small, [BASE], history)
    of_big = await measure(token_counts, big, [BASE], history)
    again = await measure(token_counts, small, [BASE], history)

    assert of_small.blocks[0].tokens == 10
    assert of_big.blocks[0].tokens == 30
    assert of_big.exchanges[0].tokens == 3 * len("list it") + PER_MESSAGE
    assert again == of_small
    assert small.counted == big.counted == [QUESTION.content, BASE.text]


@pytest.mark.proves("N16")
async def test_turns_weigh_the_bytes_they_are_sent_in() -> None:
    """Letters of other scripts take two or three bytes, so the byte limit must not count letters."""
    history = History([Turn(role="user", content="é€"), Turn(role="assistant", content="ok")])

    [exchange] = (await measure(TokenCounts(), Letters(), [], history)).exchanges

    assert exchange.bytes == 2 + 3 + 2


@pytest.mark.proves("N16")
async def test_calls_weigh_too() -> None:
    """A file that the model writes exists only in the arguments of a call."""
    call = ToolCall(id="1", name="write", arguments='{"text": "' + "x" * 1000 + '"}')
    history = History([QUESTION, Turn(role="assistant", tool_calls=(call,))])

    [exchange] = (await measure(TokenCounts(), Letters(), [], history)).exchanges

    assert exchange.bytes >= len(QUESTION.content) + len(call.arguments)


async def test_a_turn_with_half_a_character_can_be_measured() -> None:
    """A model may send text that cannot be encoded."""
    [exchange] = (
        await measure(TokenCounts(), Letters(), [], History([Turn(role="user", content="a\ud800b")]))
    ).exchanges

    assert exchange.turns == 1
    assert exchange.bytes >= 3
