"""What the model is sent in a conversation: held output, evicted turns, failed and truncated answers."""

from itertools import pairwise
from typing import Any

import pytest
from fake_server import Asked, FakeServer, Say, reply_json, sse
from world import World, script_of

from aish.conversation.session import Session
from aish.prompt.base import BASE
from aish.prompt.summary import SummaryLayer
from aish.values.turns import Message

pytestmark = pytest.mark.anyio

MARKS = 5  # tokens of the chat template around each message and before the answer


def said(messages: tuple[Message, ...] | list[Message]) -> list[tuple[str, str]]:
    """Return role and text of what was sent, without the system prompt."""
    return [(message["role"], message["content"]) for message in messages if message["role"] != "system"]


def kept(session: Session) -> list[tuple[str, str, str]]:
    """Return role, text and state of the turns in the journal."""
    return [(entry.turn.role, entry.turn.content, entry.turn.state) for entry in session.journal.entries()]


WORDS = "make the tests pass "


def tokens_of(messages: list[Message]) -> int:
    """Return the size of a prompt if every character is a token."""
    return MARKS + sum(MARKS + len(message["content"]) for message in messages)


def counting(text: str = "Yes.", off: int = 0) -> FakeServer:
    """A server that counts every character as a token, and reports prompt tokens that are `off` from the real count."""

    def answer(asked: Asked) -> Say:
        return sse(text, usage=(tokens_of(asked.json["messages"]) + off, len(text)))

    def tokenize(asked: Asked) -> Say:
        return reply_json({"tokens": [0] * len(asked.json["content"])})

    return FakeServer(answer, paths={"/tokenize": tokenize})


def talk_to(world: World, server: FakeServer, **settings: Any) -> Session:
    return world.session(settings={"model": "srv", "models": {"srv": {"endpoint": server.url}}, **settings})


@pytest.mark.proves("C7", "C8", "C9")
async def test_output_of_commands_waits_for_the_next_question_and_goes_in_front_of_it(world: World) -> None:
    """Strict chat templates refuse two user turns in a row, so output never becomes a separate turn."""
    session = world.session(["first", "second"])
    for output in ("a.txt\nb.txt", "", " \n", "exit 1"):
        session.history.hold(output)
    assert session.history.turns == ()

    await world.ask(session, "why?")
    await world.ask(session, "and now?")

    carried = "[exec output]\na.txt\nb.txt\n[exec output]\nexit 1\n\nwhy?"
    second = [("user", carried), ("assistant", "first"), ("user", "and now?")]
    assert [said(request.messages) for request in script_of(session).requests] == [second[:1], second]
    assert kept(session)[0] == ("user", carried, "complete")


@pytest.mark.proves("C9")
async def test_held_output_is_not_lost_with_an_answer_that_failed(world: World) -> None:
    """If the server was down, the user must not have to run the command again."""
    session = world.session(["!down", "ok"])
    session.history.hold("the only copy")

    await world.ask(session, "what is this?")
    session.history.hold("and more")
    await world.ask(session, "once more")

    carried = "[exec output]\nthe only copy\n[exec output]\nand more\n\nonce more"
    assert said(script_of(session).requests[-1].messages) == [("user", carried)]


@pytest.mark.proves("C16")
async def test_more_than_max_turns_drops_the_oldest_exchange_and_says_so_in_one_line(world: World) -> None:
    """The user is told what was dropped from the prompt, and the journal keeps it."""
    session = world.session(["A1", "A2", "A3"], {"context": {"max_turns": 4}})
    asked = [await world.ask(session, question) for question in ("q1", "q2", "q3")]

    assert session.last_size is not None
    line = (
        f"2 older turns were dropped from the prompt ({session.last_size.total} of 4096 tokens); "
        "to keep more, raise context.max_turns; later ones are counted in :cost"
    )
    assert [each.notices for each in asked] == [[], [], [line]]
    sent = said(script_of(session).requests[-1].messages)
    assert sent == [("user", "q2"), ("assistant", "A2"), ("user", "q3")]
    assert [text for _, text, _ in kept(session)] == ["q1", "A1", "q2", "A2", "q3", "A3"]


@pytest.mark.proves("C16", "T15")
async def test_an_exchange_leaves_when_the_budget_is_hit_not_before_and_not_after(world: World) -> None:
    """By the server's own count, the prompt fits, and with one more exchange it would not."""
    budget = len(BASE) + 912  # for three exchanges and a question; the server counts characters
    with counting("y" * 100) as server:
        session = talk_to(world, server, context={"token_budget": budget, "evict_to": 1.0})
        lines = [(await world.ask(session, f"{number}" * 100)).notices for number in range(1, 8)]
        prompts = [asked.json["messages"] for asked in server.chats()]

    exchange = 2 * (MARKS + 100)
    assert all(tokens_of(prompt) <= budget for prompt in prompts)
    for prompt, notices in zip(prompts, lines, strict=True):
        if notices:
            text = f"2 older turns were dropped from the prompt ({tokens_of(prompt)} of {budget} tokens)"
            assert notices == [f"{text}; to keep more, raise context.token_budget; later ones are counted in :cost"]
            assert tokens_of(prompt) + exchange > budget
    assert [bool(notices) for notices in lines] == [False] * 4 + [True] + [False] * 2  # said once
    assert all([m["role"] for m in prompt[1:]] == ["user", "assistant"] * 3 + ["user"] for prompt in prompts[4:])


@pytest.mark.proves("T15", "X8")
async def test_turns_leave_rarely_and_many_at_once(world: World) -> None:
    """After each eviction the server reads again what follows. By default a quarter of the budget is free then."""
    budget = len(BASE) + 4 * 1000
    with counting("y" * 100) as server:
        session = talk_to(world, server, context={"token_budget": budget})
        for number in range(40):
            await world.ask(session, f"{number % 10}" * 100)
        prompts = [asked.json["messages"] for asked in server.chats()]

    sizes = [tokens_of(prompt) for prompt in prompts]
    dropped = [after for before, after in pairwise(sizes) if after < before]
    assert 2 <= len(dropped) <= 8
    assert all(size <= budget * 3 // 4 for size in dropped) and max(sizes) > budget * 3 // 4
    assert max(sizes) <= budget


@pytest.mark.proves("T15")
async def test_a_system_prompt_over_the_budget_is_said_once_with_its_sizes_and_the_answer_still_comes(
    world: World,
) -> None:
    """A budget that is too small must be reported, but only once."""
    with counting() as server:
        session = talk_to(world, server, context={"token_budget": 300})
        first, second = await world.ask(session, "q1"), await world.ask(session, "q2")
        base = len(server.chats()[0].json["messages"][0]["content"])

    assert (first.text, second.text) == ("Yes.", "Yes.")
    assert [line for line in first.notices + second.notices if "older turns" not in line] == [
        f"the system prompt alone takes {base} tokens, more than token_budget=300 (base {base}); "
        "raise context.token_budget or shorten a block"
    ]


@pytest.mark.proves("C18")
async def test_reset_clears_turns_and_held_output_and_keeps_the_journal(world: World) -> None:
    """The model's context is empty, and the conversation continues in the same journal."""
    session = world.session(["A1", "A2"])
    await world.ask(session, "q1")
    session.history.hold("waiting")
    session.layer(SummaryLayer).summary = "a summary"

    session.reset()
    await world.ask(session, "q2")

    request = script_of(session).requests[-1]
    assert said(request.messages) == [("user", "q2")]
    assert "a summary" not in request.messages[0]["content"]
    assert [text for _, text, _ in kept(session)] == ["q1", "A1", "q2", "A2"]
    assert len(world.journals()) == 1


@pytest.mark.proves("N24")
async def test_a_failed_answer_leaves_its_question_out_of_the_next_prompt(world: World) -> None:
    """Otherwise the next prompt would have two questions in a row. The journal has both, with their states."""
    session = world.session(["!no server", "half of it…", "whole"])
    for question in ("q1", "q2", "q3"):
        await world.ask(session, question)

    sent = said(script_of(session).requests[-1].messages)
    assert sent == [("user", "q2"), ("assistant", "half of it…"), ("user", "q3")]
    assert kept(session) == [
        ("user", "q1", "complete"),
        ("assistant", "", "failed"),
        ("user", "q2", "complete"),
        ("assistant", "half of it…", "failed"),
        ("user", "q3", "complete"),
        ("assistant", "whole", "complete"),
    ]


TEXT = b'data: {"choices":[{"delta":{"content":"Half"}}]}\n\n'


@pytest.mark.proves("N24")
@pytest.mark.parametrize(
    "broken",
    [
        Say(pieces=[TEXT]),
        Say(pieces=[TEXT], cut=True),
        Say(pieces=[TEXT, b"data: {not json\n\n"]),
        Say(pieces=[TEXT, b'data: {"error": {"message": "out of memory"}}\n\n']),
        sse("Half", finish="length"),
    ],
    ids=["no finish", "cut line", "garbage", "error", "token limit"],
)
async def test_an_answer_that_did_not_reach_its_end_is_never_recorded_as_complete(world: World, broken: Say) -> None:
    """A later reader of the journal must not take half an answer for a complete one."""
    with FakeServer(broken) as server:
        session = talk_to(world, server, tokenize={"use_endpoint": "false"})
        answer = await world.ask(session, "tell me")

    assert answer.text == "Half"
    assert answer.done.state != "complete"
    ((role, text, state),) = kept(session)[1:]
    assert (role, text, state) == ("assistant", "Half", answer.done.state)


async def test_a_question_that_is_too_long_is_cut_for_the_model_and_said_and_kept_whole(world: World) -> None:
    """A pasted log may be longer than any window: the model gets its head and tail, the journal all of it."""
    question = "HEAD " + "x" * 50_000 + " TAIL"
    with counting() as server:
        session = talk_to(world, server, context={"token_budget": 8192})
        answer = await world.ask(session, question)
        prompt = server.chats()[0].json["messages"]

    sent = prompt[1]["content"]
    left_out = f"{50_010 - len(sent):,} characters left out"
    assert answer.notices == [f"the message is too long for the model: {left_out} (:context shows the budget)"]
    assert tokens_of(prompt) <= 8192
    assert len(sent) > 2500, "most of the budget is for the question"
    assert sent.startswith("HEAD ") and sent.endswith(" TAIL") and "characters left out" in sent
    assert kept(session)[0] == ("user", question, "complete")


async def test_a_server_that_stops_counting_what_is_sent_is_noticed_once(world: World) -> None:
    """Some servers silently drop the start of a prompt; only their token counts show it, and not one count alone."""

    def cutting(asked: Asked) -> Say:
        return sse("Yes.", usage=(min(tokens_of(asked.json["messages"]) // 4, 2500), 2))

    with FakeServer(cutting, paths={"/tokenize": reply_json({}, status=404)}) as server:
        session = talk_to(world, server, context={"token_budget": 60_000})
        told = [(await world.ask(session, f"{number}. {WORDS * 200}")).notices for number in range(5)]

    (line,) = [line for notices in told for line in notices]
    assert "it may have dropped part of the conversation; if its window is smaller, set models.srv.window" in line
    assert line.startswith("the server counted only 2,500 prompt tokens, although the prompt grew to ")


@pytest.mark.parametrize("off", [-500, 500, 10**12])
async def test_a_server_that_counts_in_its_own_way_is_no_reason_for_an_alarm(world: World, off: int) -> None:
    """Many leave out tools or what is in their cache, and some lie; what is impossible is estimated instead."""
    with counting(off=off) as server:
        session = talk_to(world, server)
        answers = [await world.ask(session, "x" * 100) for _ in range(3)]

    assert [answer.notices for answer in answers] == [[], [], []]
    assert all(answer.done.usage and answer.done.usage.prompt_tokens < 10**7 for answer in answers)


@pytest.mark.proves("N24")
@pytest.mark.parametrize("reason", ["content_filter", "error", "abort", "max_tokens"])
async def test_an_answer_that_the_server_ended_early_is_not_called_complete(world: World, reason: str) -> None:
    """After a filter or a crash behind it, a server may end half a sentence without an error."""
    with FakeServer(sse("Half", finish=reason)) as server:
        session = world.program({"model": "m", "models": {"m": {"endpoint": server.url}}}).session()
        said = await world.ask(session, "q")

    assert (said.text, said.done.state) == ("Half", "interrupted")
    assert len(said.notices) == 1
