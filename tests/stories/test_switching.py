"""Which model answers, what happens when it is unreachable, and how its tokens are counted."""

from typing import Any

import pytest
from fake_server import Answer, Asked, FakeServer, Say, reply_json, sse
from world import World

from aish.conversation.prompt import prompt_size
from aish.conversation.session import Session
from aish.model.scripted import ScriptedModel
from aish.program import Program
from aish.values.errors import NotFound
from aish.values.turns import Message, ToolCall, Turn

pytestmark = pytest.mark.anyio

ESTIMATED = {"use_endpoint": "false"}


def scripts(**answers: list[str]) -> dict[str, Any]:
    return {name: {"kind": "scripted", "answers": given} for name, given in answers.items()}


def asked_of(program: Program, name: str) -> list[str]:
    """Return the questions that a scripted preset got."""
    model = program.backend(name).model
    assert isinstance(model, ScriptedModel)
    return [str(request.messages[-1]["content"]) for request in model.requests]


@pytest.mark.proves("P6")
async def test_model_changes_at_any_time_and_the_conversation_stays(world: World) -> None:
    """The new model gets the earlier turns. An unknown name changes nothing."""
    program = world.program({"model": "fast", "models": scripts(fast=["A1"], deep=["A2", "A3"])})
    session = program.session()
    shell = world.shell(program, session)
    await world.ask(session, "q1")

    assert (await world.type(shell, ":model deep")).text == "now using deep; tools: unknown"
    second = await world.ask(session, "q2")
    with pytest.raises(NotFound, match="there is no model 'clouds'; there are: embedded, fast, deep"):
        await world.type(shell, ":model clouds")
    third = await world.ask(session, "q3")

    assert [each.done.model for each in (second, third)] == ["deep", "deep"]
    model = program.backend("deep").model
    assert isinstance(model, ScriptedModel)
    assert [m["content"] for m in model.requests[0].messages[1:]] == ["q1", "A1", "q2"]
    assert (await world.type(shell, ":model")).text.splitlines()[1:] == [
        f"  {'fast':<12} {'':<28} tools: unknown  plays a script",
        f"* {'deep':<12} {'':<28} tools: unknown  plays a script",
    ]


@pytest.mark.proves("P6")
async def test_the_first_rule_that_matches_chooses_the_model_and_it_is_said_in_one_line(world: World) -> None:
    """A rule applies to one question, and the switch is always reported."""
    rules = [{"match": "(?i)prove|why", "model": "deep"}, {"match": "why", "model": "never"}]
    models = scripts(fast=["quick", "quick"], deep=["slow"], never=["wrong"])
    program = world.program({"model": "fast", "rules": rules, "models": models})
    session = program.session()

    one, two, three = [await world.ask(session, question) for question in ("what?", "WHY?", "when?")]

    assert (one.text, two.text, three.text) == ("quick", "slow", "quick")
    assert (asked_of(program, "fast"), asked_of(program, "deep")) == (["what?", "when?"], ["WHY?"])
    assert one.notices == three.notices == []
    assert len(two.notices) == 1 and "deep" in two.notices[0]


@pytest.mark.proves("P6")
async def test_fallbacks_step_in_one_after_the_other_and_each_switch_is_one_line(world: World) -> None:
    """The user sees why another model answers, and the chosen one is tried again with the next question."""
    models = scripts(cloud=["!no network", "back"], near=["!asleep"], tiny=["I am here."])
    program = world.program({"model": "cloud", "fallback": ["near", "tiny"], "models": models})
    session = program.session()

    one, two = await world.ask(session, "q1"), await world.ask(session, "q2")

    assert one.notices == ["cloud: no network; continuing with near", "near: asleep; continuing with tiny"]
    assert (one.text, one.done.model, one.done.trouble) == ("I am here.", "tiny", None)
    assert (two.text, two.done.model, two.notices) == ("back", "cloud", [])


@pytest.mark.proves("P6")
async def test_a_model_that_broke_off_is_not_replaced(world: World) -> None:
    """A partial answer of one model followed by another model's answer would look like one answer."""
    models = scripts(cloud=["half…"], tiny=["other"])
    program = world.program({"model": "cloud", "fallback": ["tiny"], "models": models})

    answer = await world.ask(program.session(), "q1")

    assert (answer.text, answer.done.state, answer.notices) == ("half…", "failed", [])
    assert asked_of(program, "tiny") == []


def with_a_tool_call(session: Session) -> None:
    """Add a tool call to the conversation."""
    call = ToolCall(id="c1", name="weather", arguments='{"city":"Oslo"}')
    session.history.add(Turn(role="user", content="weather?"))
    session.history.add(Turn(role="assistant", tool_calls=(call,)))
    session.history.add(Turn(role="tool", content="rain", call_id="c1"))
    session.history.add(Turn(role="assistant", content="It rains."))


FOLDED: list[Message] = [
    {"role": "user", "content": "weather?"},
    {"role": "assistant", "content": '[tool: weather]\n{"city":"Oslo"}\n[result]\nrain\nIt rains.'},
]


@pytest.mark.proves("C21")
@pytest.mark.parametrize(
    "refusal",
    [
        reply_json({"error": {"message": "Unknown role: tool"}}, status=400),
        reply_json(
            {"error": "Jinja Exception: Conversation roles must alternate user/assistant/user/assistant/..."},
            status=500,
        ),
    ],
)
async def test_a_server_that_refuses_the_tool_role_is_asked_again_in_plain_text(world: World, refusal: Say) -> None:
    """The refusal is detected once per endpoint and reported once. Other endpoints keep the tool role."""
    answers = [sse(text, usage=None) for text in ("A1", "A2", "A3")]
    with FakeServer(refusal, *answers[:2]) as strict, FakeServer(answers[2]) as modern:
        models = {"strict": {"endpoint": strict.url}, "modern": {"endpoint": modern.url}}
        session = world.session(settings={"model": "strict", "models": models, "tokenize": ESTIMATED})
        with_a_tool_call(session)

        one, two = await world.ask(session, "q1"), await world.ask(session, "q2")
        session.model = "modern"
        three = await world.ask(session, "q3")
        first, retried, later = [asked.json["messages"] for asked in strict.chats()]
        elsewhere = modern.chats()[0].json["messages"]

    assert [each.text for each in (one, two, three)] == ["A1", "A2", "A3"]
    assert one.notices == ["strict does not accept the tool role; tool results are sent as plain text from now on"]
    assert two.notices == three.notices == []
    assert [m["role"] for m in first] == ["system", "user", "assistant", "tool", "assistant", "user"]
    assert retried[1:] == [*FOLDED, {"role": "user", "content": "q1"}]
    assert later[1:3] == FOLDED
    assert [m["role"] for m in elsewhere][:4] == ["system", "user", "assistant", "tool"]


@pytest.mark.proves("C21")
async def test_a_server_that_refuses_the_plain_text_too_is_not_asked_for_ever(world: World) -> None:
    """Two requests, then the reason is shown."""
    with FakeServer(reply_json({"error": {"message": "Unknown role: user"}}, status=400)) as server:
        session = world.session(
            settings={"model": "srv", "models": {"srv": {"endpoint": server.url}}, "tokenize": ESTIMATED}
        )
        one, two = await world.ask(session, "q1"), await world.ask(session, "q2")
        assert len(server.chats()) == 3

    assert [each.done.state for each in (one, two)] == ["failed", "failed"]
    assert two.done.trouble and "Unknown role: user" in two.done.trouble.reason


@pytest.mark.proves("T5", "T9")
@pytest.mark.parametrize(("mode", "requests"), [("false", 0), ("auto", 1), ("true", 1)])
async def test_a_server_without_a_tokenizer_is_asked_once_and_never_when_it_is_off(
    world: World, mode: str, requests: int
) -> None:
    """Off means no request. A 404 is cached for this process, also for new conversations."""
    with FakeServer(sse("A"), paths={"/tokenize": reply_json({}, status=404)}) as server:
        models = {"one": {"endpoint": server.url}, "two": {"endpoint": f"{server.url}/v1/"}}
        program = world.program({"model": "one", "models": models, "tokenize": {"use_endpoint": mode}})
        for name in ("one", "two"):
            session = program.session(model=name)
            for question in ("q1", "q2"):
                answer = await world.ask(session, question)
                assert answer.text == "A"
            assert session.backend.tokenizer.ability == ("no" if requests else "unknown")
        asked = [each.path for each in server.asked if each.path != "/v1/chat/completions"]

    assert asked == ["/tokenize"] * requests


@pytest.mark.proves("T13")
async def test_counts_follow_the_model_at_once(world: World) -> None:
    """Eviction uses the tokenizer of the model that gets the request."""

    def counts(size: int) -> FakeServer:
        def tokenize(asked: Asked) -> Say:
            return reply_json({"tokens": [0] * (len(asked.json["content"]) * size)})

        return FakeServer(sse("yes", usage=None), paths={"/tokenize": tokenize})

    with counts(1) as small, counts(3) as big:
        models = {"small": {"endpoint": small.url}, "big": {"endpoint": big.url}}
        program = world.program({"model": "small", "models": models})
        session = program.session()
        shell = world.shell(program, session)
        await world.ask(session, "x" * 100)
        before, ten = await prompt_size(session, session.backend), (await world.type(shell, ":tokens 1234567890")).text
        await world.type(shell, ":model big")
        after, thirty = (
            await prompt_size(session, session.backend),
            (await world.type(shell, ":tokens 1234567890")).text,
        )

    assert (ten, thirty) == ("10 tokens (counted by the model's server)", "30 tokens (counted by the model's server)")
    assert before.exchanges[0].tokens == 2 * 5 + 100 + len("yes")
    assert after.exchanges[0].tokens == 2 * 5 + 3 * (100 + len("yes"))
    assert after.blocks[0].tokens == 3 * before.blocks[0].tokens


@pytest.mark.proves("T24")
async def test_an_automatic_budget_is_three_quarters_of_the_window_that_the_server_tells(world: World) -> None:
    """The rest is for the answer. Without a reported window the default budget applies."""
    props: dict[str, Answer] = {"/props": reply_json({"default_generation_settings": {"n_ctx": 1000}})}
    with FakeServer(sse("A", usage=None), paths=props) as telling, FakeServer(sse("A", usage=None)) as silent:
        models = {"telling": {"endpoint": telling.url}, "silent": {"endpoint": silent.url}}
        settings = {"model": "telling", "models": models, "context": {"token_budget": "auto"}, "tokenize": ESTIMATED}
        session = world.session(settings=settings)
        budgets = [
            (await session.endpoints.limits(session.services.open_backend(name))).token_budget for name in models
        ]

    assert budgets == [750, 4096]


@pytest.mark.proves("P6", "T13")
async def test_the_prompt_is_cut_to_the_window_of_the_model_that_steps_in(world: World) -> None:
    """A prompt that fits the unreachable model may be too long for a smaller fallback."""
    props = reply_json({"default_generation_settings": {"n_ctx": 400}})
    with FakeServer(sse("A", usage=None), paths={"/props": props}) as server:
        settings = {
            "model": "down",
            "fallback": ["small"],
            "network": {"retries": 0},
            "context": {"token_budget": "auto", "summarize_evicted": False},
            "tokenize": ESTIMATED,
            "models": {"down": {"endpoint": "http://127.0.0.1:9"}, "small": {"endpoint": server.url}},
        }
        session = world.program(settings).session()
        for number in range(3):
            await world.ask(session, f"{number}" * 300)

        questions = [message["content"][0] for message in server.chats()[-1].json["messages"][1:]]

    assert questions == ["2"]
