"""`aish models check`: what a model can do is tried, remembered and used; and learned while it answers."""

import json
from collections.abc import AsyncGenerator
from types import SimpleNamespace
from typing import Any

import pytest
from fake_server import Answer, Asked, FakeServer, Say, reply_json, sse
from world import World, script_of

from aish.conversation.model_check import ModelCheck
from aish.model.model_cards import ModelCard
from aish.program import Program
from aish.values.events import ChatRequest, Finished, ModelEvent, TextPiece, Usage

pytestmark = pytest.mark.anyio

SAYS_WINDOW = reply_json({"default_generation_settings": {"n_ctx": 16384}})
ON: dict[str, Any] = {"memory": {"propose": True}}
WRITTEN = '{"name": "memory_add", "arguments": {"kind": "fact"}}'  # without what it must have


def calls(name: str, arguments: str) -> Say:
    call = {"index": 0, "id": "c1", "function": {"name": name, "arguments": arguments}}
    chunks: list[dict[str, Any]] = [{"choices": [{"delta": {"tool_calls": [call]}}]}]
    chunks.append({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]})
    chunks.append({"choices": [], "usage": {"prompt_tokens": 60, "completion_tokens": 9}})
    return Say(pieces=[f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks])


def serving(answer: Answer, props: Say | None = None) -> FakeServer:
    """Return a server that answers chats this way, and knows nothing else but its window."""
    nothing = reply_json({}, status=404)
    return FakeServer(answer, paths={"/props": props or nothing, "/v1/models": nothing, "/tokenize": nothing})


def last(asked: Asked) -> str:
    return str(asked.json["messages"][-1]["content"])


def able(asked: Asked) -> Say:
    """A model that does everything that it is asked to."""
    question = last(asked)
    if "tools" in asked.json:
        return calls("get_temperature", json.dumps({"city": "Oslo" if "Oslo" in question else "Paris, France"}))
    if "JSON" in question:
        return sse('{"city": "Tokyo", "country": "Japan"}')
    if "shell command" in question:
        return sse("Use this:\n\nCMD: ls -la\n")
    for language, answer in (
        ("Hauptstadt", "Es ist Paris."),
        ("capital", "La capital es Roma."),
        ("首都", "东京。"),
    ):
        if language in question and "JSON" not in question:
            return sse(answer)
    size = len(question) // 4 + 20
    return sse("one ", "two ", "three", usage=(size, 3))


def clumsy(asked: Asked) -> Say:
    """A model of a server that reads the last 2,000 tokens only."""
    question = last(asked)
    if "tools" in asked.json:
        return sse('I would use get_temperature {"city": "Paris"}')
    if "shell command" in question:
        return sse("- Run this:\nCMD: ls\n")
    return sse("Of course!", usage=(min(len(question) // 4 + 20, 2_000), 3))


def configured(world: World, server: FakeServer, extra: str = "") -> None:
    world.configure(f'model = "srv"\n[models.srv]\nendpoint = "{server.url}"\nmodel = "m1"\n{extra}\n')


def card(world: World, *, code: int = 0) -> dict[str, Any]:
    ran = world.aish("models", "check", "srv", "--json")
    assert ran.code == code, ran
    found: dict[str, Any] = json.loads(ran.out)
    return found


def listed(world: World) -> str:
    rows = json.loads(world.aish("models", "--json").out)
    return str(next(row["tools"] for row in rows if row["name"] == "srv"))


def offered(program: Program, name: str = "srv") -> bool:
    session = program.session(model=name)
    return bool(session.offered_tools(session.backend))


def test_a_model_that_can_do_everything_gets_a_card_that_says_so(world: World) -> None:
    """The card has the window that the server reports and numbers that were measured."""
    with serving(able, SAYS_WINDOW) as server:
        configured(world, server)
        before = listed(world)
        found = card(world)
        plain = world.aish("models", "check", "srv")
        after = listed(world)
        bodies = [asked.json for asked in server.chats()]

    assert (before, after) == ("unknown", "yes")
    assert [found[name]["able"] for name in ("tools", "json", "commands", "languages", "window")] == [True] * 5
    assert found["languages"]["text"] == "answered in German, Spanish, Chinese"
    assert found["commands"]["text"] == "proposed 'ls -la'"
    assert found["window_tokens"] == 16384
    assert found["tokens_per_second"] > 0
    assert found["first_token_seconds"] > 0
    assert max(len(body["messages"][-1]["content"]) // 4 for body in bodies) > 4_096, "larger than usual limits"
    assert all(body["max_tokens"] <= 200 for body in bodies)
    assert plain.out.splitlines()[0] == "calls tools      yes                    2 of 2 calls were correct"
    assert [line.split("  ")[0] for line in plain.out.splitlines()] == [
        "calls tools",
        "answers in JSON",
        "keeps to CMD:",
        "languages",
        "window",
        "speed",
        "first token",
    ]


def test_a_model_that_can_do_nothing_gets_a_card_with_the_reasons(world: World) -> None:
    """Also that its server cuts long prompts without a word."""
    with serving(clumsy) as server:
        configured(world, server)
        found = card(world)
        word = listed(world)

    assert [found[name]["able"] for name in ("tools", "json", "commands", "window")] == [False] * 4
    assert found["tools"]["text"] == "wrote about get_temperature instead of calling it"
    assert found["json"]["text"] == "answered 'Of course!'"
    assert found["commands"]["text"] == "put the command into a list or a quotation, where it is not offered"
    assert found["window"]["text"].endswith("tokens only 2,000 were read")
    assert found["window_tokens"] is None
    assert word == "no"


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (calls("get_temp", '{"city": "Paris"}'), "called 'get_temp', which it was not offered"),
        (calls("get_temperature", "Paris"), "called the tool with arguments that are not a JSON object"),
        (calls("get_temperature", "{}"), "called the tool with wrong arguments: {}"),
        (sse("It is 20 degrees."), "answered without a call"),
        (reply_json({"error": {"message": "m1 does not support tools"}}, status=400), "the server refuses tools"),
    ],
)
def test_a_wrong_call_is_no_call_and_the_card_says_what_was_wrong(world: World, answer: Say, text: str) -> None:
    """A name or arguments that are almost right would fail in every conversation."""
    with serving(lambda asked: answer if "tools" in asked.json else able(asked)) as server:
        configured(world, server)
        found = card(world)["tools"]

    assert found == {"able": False, "text": text}


def test_what_cannot_be_tried_is_a_result_and_forgets_nothing(world: World) -> None:
    """The server breaks in the middle of the check: the earlier result stays."""
    broken = reply_json({"error": {"message": "out of memory\x1b[31m"}}, status=400)
    with serving(able) as server:
        configured(world, server)
        card(world)
        server.answers = [lambda asked: broken if "tools" in asked.json or "fox" in last(asked) else able(asked)]
        found = card(world)
        ran = world.aish("models", "check", "srv")
        word = listed(world)

    assert found["tools"]["able"] is None
    assert found["tools"]["text"].startswith("could not try: the server answered 400: out of memory")
    assert found["window"]["able"] is None
    assert found["json"]["able"] is True
    assert "\x1b" not in ran.out
    assert word == "yes"


def test_a_model_that_cannot_be_reached_exits_with_three(world: World) -> None:
    """Nothing is remembered about it. An unknown name is a mistake of the caller."""
    world.configure('model = "srv"\n[network]\nretries = 0\n[models.srv]\nendpoint = "http://127.0.0.1:1"\n')
    found = card(world, code=3)
    plain = world.aish("models", "check")
    unknown = world.aish("models", "check", "clouds")

    assert "Connection refused" in found["error"]
    assert (plain.code, plain.out) == (3, "")
    assert "could not try srv: " in plain.err
    assert unknown.code == 1
    assert "there is no model 'clouds'" in unknown.err
    assert not world.places.model_cards.exists()


def test_a_check_is_in_the_costs_and_stays_below_the_cap(world: World) -> None:
    """Like every other call."""
    with serving(able) as server:
        configured(world, server, "[prices.m1]\ninput = 1.0\noutput = 1.0")
        card(world)
        costs = json.loads(world.aish("cost", "--json").out)
        sent = len(server.chats())
        capped = world.aish("models", "check", "srv", "--set", "cost.cap_at_dollars_per_day=0.000001")
        after = len(server.chats())

    assert [part["category"] for part in costs["parts"]] == ["check"]
    assert costs["total"]["calls"] == sent
    assert (capped.code, after) == (1, sent)


def test_the_result_decides_whether_tools_are_offered_and_a_setting_decides_before_it(world: World) -> None:
    """A model that cannot call tools works with `CMD:` lines. The embedded one is offered tools if it can."""
    with serving(clumsy) as server:
        configured(world, server)
        card(world)

        def models(**preset: Any) -> Program:
            return world.program({**ON, "model": "srv", "models": {"srv": {"endpoint": server.url, **preset}}})

        unable, forced = models(model="m1"), models(model="m1", tools=True)
        other = models(model="m2")
    assert (offered(unable), offered(forced), offered(other)) == (False, True, True)

    program = world.program(ON)
    assert not offered(program, "embedded")
    program.cards.saw_tools(program.backend("embedded").identity, "called it", able=True)
    assert offered(program, "embedded")
    assert not offered(world.program({**ON, "models": {"embedded": {"kind": "embedded", "tools": False}}}), "embedded")


async def test_a_server_that_refuses_tools_is_not_offered_them_in_the_next_run_either(world: World) -> None:
    """Each run used to send a request that was bound to fail. Another model of that server is not meant."""
    refusal = reply_json({"error": {"message": "m1 does not support tools"}}, status=400)
    with FakeServer(refusal, sse("A1"), sse("A2")) as server:

        def program(model: str = "m1") -> Program:
            preset = {"endpoint": server.url, "model": model}
            return world.program(
                {**ON, "model": "srv", "tokenize": {"use_endpoint": "false"}, "models": {"srv": preset}}
            )

        one = await world.ask(program().session(), "q1")
        two = await world.ask(program().session(), "q2")
        bodies = [asked.json for asked in server.chats()]

        assert [("tools" in body) for body in bodies] == [True, False, False]
        assert "srv does not accept tools; continuing without them (to try again: aish models check srv)" in one.notices
        assert not [text for text in two.notices if "tools" in text]
        assert offered(program("m2"))


async def test_a_model_that_writes_calls_as_text_gets_no_tools_from_then_on(world: World) -> None:
    """It is said once, with the way to try it again. Nothing of what it wrote is run."""
    session = world.session([WRITTEN, "A2"], ON)
    one = await world.ask(session, "q1")
    two = await world.ask(session, "q2")
    requests = script_of(session).requests

    assert one.notices == [
        "script wrote a call of memory_add as text; it is offered no tools for a week "
        "(to try it: aish models check script)"
    ]
    assert (one.text, two.notices) == (WRITTEN, [])
    assert [bool(request.tools) for request in requests] == [True, False]
    shell = world.shell(
        session_program := world.program({"model": "script", "models": {"script": {"kind": "scripted"}}})
    )
    assert "tools: no " in (await world.type(shell, ":model")).text
    assert session_program.cards.of("script:script").tools.text == (
        "wrote a call of memory_add as text instead of making it"
    )


async def test_a_call_that_is_written_with_fitting_arguments_is_run(world: World) -> None:
    """Small models know what to call, but not how. It is said once, and the text is not taken for the answer."""
    call = '{"name": "memory_add", "arguments": {"kind": "fact", "content": "the cat is called Miso"}}'
    session = world.session([f"I note it.\n<tool_call>\n{call}\n</tool_call>", f"```json\n{call}\n```", "Done."], ON)
    one = await world.ask(session, "my cat is called Miso")

    said = "script writes its calls as text, such as that of memory_add; they are run like other calls"
    assert [text for text in one.notices if "as text" in text] == [said]
    assert one.text == "Done."
    second = script_of(session).requests[1].messages[-2:]
    assert (second[0]["content"], second[0]["tool_calls"][0]["function"]["name"]) == ("I note it.\n", "memory_add")
    assert "status" in second[1]["content"]
    assert world.program().cards.takes_tools("script:script") is True


async def test_a_setting_keeps_tools_whatever_the_model_writes(world: World) -> None:
    """The user has decided."""
    preset = {"kind": "scripted", "answers": [WRITTEN, "A2"], "tools": True}
    session = world.session(settings={**ON, "models": {"script": preset}})
    one = await world.ask(session, "q1")
    await world.ask(session, "q2")

    assert one.notices == []
    assert [bool(request.tools) for request in script_of(session).requests] == [True, True]


async def test_a_model_that_calls_a_tool_is_known_to_be_able_to(world: World) -> None:
    """Then the list says so, without a check."""
    call = 'TOOL: memory_add {"kind": "fact", "content": "the cat is called Miso"}'
    session = world.session([call, "Done."], ON)
    await world.ask(session, "my cat is called Miso")

    assert world.program().cards.takes_tools("script:script") is True


async def test_a_model_that_only_runs_commands_is_tried_with_them(world: World) -> None:
    """A very small one is offered nothing else, so its card says whether that works."""
    runs = ['TOOL: run_command {"command": "df -h"}', 'TOOL: run_command {"command": "uname -a"}']
    for answers, expected in (
        ([*runs, "Paris."], (True, "runs commands: 3 of 3 answers were correct")),
        ([runs[0], "4.15"], (False, "Which version of the kernel is this? answered '4.15'")),
        ([*runs, 'TOOL: run_command {"command": "curl x"}'], (False, "What is the capital of France? ran 'curl x'")),
    ):
        session = world.session(["Hello.", "one two", "CMD: ls", *answers, *["."] * 8])
        backend = session.backend
        backend.prompt_form = "run"
        found = await ModelCheck(session, backend, "").run()

        assert isinstance(found, ModelCard)
        assert (found.tools.able, found.tools.text) == expected


class SlowModel:
    """A model on a busy machine: reads and writes some tokens a second, of a clock of its own."""

    def __init__(self, reads: float, writes: float) -> None:
        self.now, self.reads, self.writes = 0.0, reads, writes
        self.longest = 0.0  # seconds of one request
        self.prompts: list[int] = []

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ModelEvent]:
        started, most = self.now, request.max_tokens or 0
        prompt = sum(len(str(one["content"])) // 3 for one in request.messages) + 30
        self.now += prompt / self.reads
        written = min(most, 40)
        for _ in range(written):
            yield TextPiece("wort ")
            self.now += 1 / self.writes
        self.prompts.append(prompt)
        self.longest = max(self.longest, self.now - started)
        yield Usage(prompt, written)
        yield Finished()

    async def close(self) -> None:
        """Nothing is open."""


@pytest.mark.parametrize(("reads", "writes"), [(12.0, 3.0), (25.0, 4.0), (120.0, 12.0), (5_000.0, 90.0)])
async def test_a_slow_machine_gets_shorter_prompts_and_a_whole_card(
    world: World, monkeypatch: pytest.MonkeyPatch, reads: float, writes: float
) -> None:
    """The line about the window says what was read, not that there was no time."""
    session, slow = world.session(["."]), SlowModel(reads, writes)
    session.backend.model = slow
    monkeypatch.setattr("aish.conversation.model_check.time", SimpleNamespace(monotonic=lambda: slow.now))
    found = await ModelCheck(session, session.backend, "Be brief. " * 100).run()

    assert isinstance(found, ModelCard)
    assert found.window.able is True
    assert found.languages.tried == (reads > 12)  # the last one may not be reached
    assert found.window.text.endswith("too slow to try a longer one") == (reads < 1_000)
    assert found.tokens_per_second == pytest.approx(writes, rel=0.1)
    assert slow.now < 160 and slow.longest < 60  # a real clock would have stopped the last request after 150 s
    assert max(slow.prompts) > 300
