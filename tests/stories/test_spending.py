"""Costs: past spending, the possible cost of a call, and the user's decision."""

import json
from datetime import datetime
from typing import Any

import pytest
from fake_server import Asked, FakeServer, Say, reply_json, sse
from world import Typist, World, at, script_of

from aish.context.eviction import Size
from aish.context.token_counts import PromptSize
from aish.conversation.session import Session
from aish.conversation.spending import confirm_cost
from aish.program import Program

pytestmark = pytest.mark.anyio

PRICEY = {"script": {"input": 1000.0, "output": 1000.0}}  # a tenth of a cent per token


async def cost(world: World, program: Program, session: Session, words: str = "") -> list[str]:
    return (await world.type(world.shell(program, session), f":cost {words}")).text.splitlines()


@pytest.mark.proves("P7")
@pytest.mark.parametrize("caps", [{"cap_at_dollars": 0.5}, {"cap_at_dollars_per_day": 0.5}])
async def test_a_call_that_could_cross_the_cap_is_asked_about_before_it_is_made(
    world: World, caps: dict[str, float]
) -> None:
    """Declining sends no request. Agreeing sends one, and the next call asks again."""
    session = world.session(["A1", "A2"], {"prices": PRICEY, "cost": caps})

    refused = await world.ask(session, "q1")
    assert script_of(session).requests == []
    assert (refused.text, refused.done.state, refused.done.dollars) == ("", "failed", None)

    world.consent = True
    allowed = await world.ask(session, "q2")
    assert allowed.text == "A1"
    assert [m["content"] for m in script_of(session).requests[0].messages[1:]] == ["q2"]

    assert len(world.confirms) == 2
    assert "this call could cost about $1." in world.confirms[0]
    assert "exceeds the cap of $0.5" in world.confirms[0]


@pytest.mark.proves("P7")
@pytest.mark.parametrize("cap", ["cap_at_dollars", "cap_at_dollars_per_day"])
@pytest.mark.parametrize(("dollars", "questions"), [(1.25, 0), (1.249, 1)], ids=["at the cap", "over the cap"])
async def test_a_call_that_could_just_reach_the_cap_is_not_asked_about(
    world: World, cap: str, dollars: float, questions: int
) -> None:
    """The exact cap may be spent. 250 tokens are sent, and the answer is assumed to have at most 1000."""
    session = world.session(["A1"], {"prices": PRICEY, "cost": {cap: dollars}})
    size = PromptSize(blocks=(), exchanges=(Size(turns=1, tokens=245),))
    assert size.total == 250

    await confirm_cost(session, session.backend, size, Typist(world))

    assert len(world.confirms) == questions


@pytest.mark.proves("P7")
async def test_nothing_is_asked_below_the_cap_or_without_one(world: World) -> None:
    """Needless questions would make users remove the cap."""
    session = world.session(["A1", "A2"], {"prices": PRICEY, "cost": {"cap_at_dollars": 5.0}})

    await world.ask(session, "q1")
    await world.ask(world.session(["A1"], {"prices": PRICEY}), "q1")

    assert world.confirms == []


@pytest.mark.proves("P7")
async def test_what_was_spent_before_counts_also_after_a_restart(world: World) -> None:
    """The cap belongs to the conversation, not to the process."""
    settings: dict[str, Any] = {
        "models": {"script": {"kind": "scripted", "answers": ["A1"], "max_tokens": 10}},
        "prices": PRICEY,
        "cost": {"cap_at_dollars": 0.5},
    }
    first = world.session(settings=settings)
    assert (await world.ask(first, "q1")).text == "A1"

    again = world.session(settings=settings)
    again.resume(first.journal.id)
    await world.ask(again, "q2")
    other = world.session(settings=settings)
    await world.ask(other, "q3")

    assert len(world.confirms) == 1
    assert "spent in this conversation that exceeds the cap of $0.5" in world.confirms[0]


@pytest.mark.proves("P7")
async def test_a_day_ends_at_midnight_of_the_user(world: World) -> None:
    """Yesterday's costs do not count today, in any conversation."""
    program = world.program(
        {
            "model": "script",
            "models": {"script": {"kind": "scripted", "answers": ["A"] * 3, "max_tokens": 10}},
            "prices": PRICEY,
            "cost": {"cap_at_dollars_per_day": 0.5},
        }
    )
    noon = datetime(2026, 5, 4, 12).astimezone()
    for day, asked in ((0, 0), (0, 1), (1, 1)):
        program.now = lambda day=day: noon.replace(day=4 + day)  # type: ignore[misc]  # the default binds the day
        await world.ask(program.session(), "q")
        assert len(world.confirms) == asked
    assert "spent today that exceeds the cap" in world.confirms[0]


@pytest.mark.proves("P7")
async def test_a_model_of_unknown_price_is_asked_about_when_there_is_a_cap(world: World) -> None:
    """Unknown is not free."""
    session = world.session(["A1"], {"cost": {"cap_at_dollars": 100.0}})

    await world.ask(session, "q1")

    assert script_of(session).requests == []
    assert world.confirms == ["the price of script is unknown, so the cost cap cannot be enforced. Continue anyway?"]


@pytest.mark.proves("P7", "P6")
async def test_a_fallback_is_held_to_the_cap_as_well(world: World) -> None:
    """When the free model is unreachable, the paid fallback must not exceed the cap without asking."""
    with FakeServer(sse("dear")) as server:
        session = world.session(
            ["!down"],
            {
                "fallback": ["cloud"],
                "models": {"cloud": {"endpoint": server.url}},
                "prices": {"script": {"input": 0.0}, "cloud": {"input": 1000.0, "output": 1000.0}},
                "cost": {"cap_at_dollars": 0.5},
                "tokenize": {"use_endpoint": "false"},
            },
        )
        answer = await world.ask(session, "q1")

        assert server.chats() == []
    assert len(world.confirms) == 1
    assert answer.text == ""


@pytest.mark.proves("P7")
async def test_cost_shows_calls_tokens_and_money_by_model_and_over_all_conversations(world: World) -> None:
    """An unknown price is shown as unknown, never as free."""
    settings: dict[str, Any] = {
        "model": "paid",
        "models": {
            "paid": {"kind": "scripted", "answers": ["four"] * 2},
            "other": {"kind": "scripted", "answers": ["12345678"]},
        },
        "prices": {"paid": {"input": 10.0, "output": 100.0}},
    }
    program = world.program(settings)
    program.now = lambda: at("2026-05-04T12:00:00")
    earlier, session = program.session(), program.session()
    one = (await world.ask(earlier, "q1")).done.usage
    two = (await world.ask(session, "q2")).done.usage
    session.model = "other"
    three = (await world.ask(session, "q3")).done.usage
    assert one and two and three
    paid = (one.prompt_tokens * 10 + 100) / 1e6

    assert await cost(world, program, session) == [
        f"total: 2 calls, {two.prompt_tokens + three.prompt_tokens} tokens in, 3 out, ${paid:.4f} + 1 of unknown price"
    ]
    everything = await cost(world, program, session, "all")
    assert everything[0].startswith("total: 3 calls, ")
    assert sorted(everything[1:]) == [
        f"other, main: 1 call, {three.prompt_tokens} tokens in, 2 out, unknown",
        f"paid, main: 2 calls, {one.prompt_tokens + two.prompt_tokens} tokens in, 2 out, ${2 * paid:.4f}",
    ]


@pytest.mark.proves("T17")
async def test_cost_detail_ends_with_the_size_of_the_prompt(world: World) -> None:
    """Scripts and status bars parse this exact line."""

    def tokenize(asked: Asked) -> Say:
        return reply_json({"tokens": [0] * len(asked.json["content"])})

    with FakeServer(sse("y" * 100), paths={"/tokenize": tokenize}) as server:
        settings = {"model": "srv", "models": {"srv": {"endpoint": server.url}}, "context": {"token_budget": 2000}}
        program = world.program(settings)
        session = program.session()
        await world.ask(session, "x" * 100)
        session.history.hold("z" * 30)
        base = len(server.chats()[0].json["messages"][0]["content"])
        detail = await cost(world, program, session, "detail")

    size = base + 5 + 105 + 105 + len("[exec output]\n") + 30 + 5
    assert detail[-1] == f"[estimated session ctx: {size} tokens; token_budget=2000 ({round(size / 20)}% used)]"
    assert [line.split(":")[0] for line in detail[:-1]] == ["total", "srv, main"]


@pytest.mark.proves("P7")
def test_the_command_line_shows_the_same_books(world: World) -> None:
    """`aish cost` shows the total of all conversations, as text and as JSON."""
    world.script("four", extra="[prices.script]\ninput = 10.0\noutput = 100.0")
    used = json.loads(world.aish("--json", "q1").out)
    world.aish("q2")

    plain, as_json = world.aish("cost"), json.loads(world.aish("cost", "--json").out)

    sums = {
        "calls": 2,
        "prompt_tokens": 2 * used["usage"]["prompt_tokens"],
        "completion_tokens": 2,
        "dollars": pytest.approx(2 * used["dollars"], abs=1e-6),
        "unpriced_calls": 0,
    }
    assert as_json == {"total": sums, "parts": [{"model": "script", "category": "main", **sums}]}
    assert plain.out.splitlines()[0].startswith(f"total: 2 calls, {sums['prompt_tokens']} tokens in, 2 out, $0.00")


@pytest.mark.proves("P7")
async def test_a_call_that_costs_nothing_is_made_also_beyond_the_cap(world: World) -> None:
    """The embedded model still answers when the cap is reached."""
    models = {"free": {"kind": "scripted", "answers": ["F1"]}}
    prices = {**PRICEY, "free": {"input": 0.0, "output": 0.0}}
    session = world.session(["A1"], {"prices": prices, "cost": {"cap_at_dollars": 0.01}, "models": models})
    world.consent = True
    await world.ask(session, "q1")
    world.confirms.clear()

    session.model = "free"

    assert (await world.ask(session, "q2")).text == "F1"
    assert world.confirms == []


@pytest.mark.proves("P7")
async def test_cost_is_of_this_conversation_whatever_else_this_run_of_the_program_did(world: World) -> None:
    """A new conversation starts at zero, and a resumed one at its previous cost."""
    settings = {"model": "script", "models": {"script": {"kind": "scripted", "answers": ["A"] * 3}}, "prices": PRICEY}
    program = world.program(settings)
    session = program.session()
    await world.ask(session, "q1")
    first = session.journal.id

    session.start_new()
    assert (await cost(world, program, session))[0].startswith("total: 0 calls")

    session.resume(first)
    assert (await cost(world, program, session))[0].startswith("total: 1 call,")
    later = world.program(settings)
    again = later.session()
    again.resume(first)
    assert (await cost(world, later, again))[0].startswith("total: 1 call,")
