"""Token counting: which server is asked, how, and what happens without an answer."""

import asyncio
import json
import math
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from fake_server import FakeServer, Say, reply_json
from hypothesis import example, given, settings
from hypothesis import strategies as st
from world import World

from aish.model.estimate import Estimates
from aish.model.tokenizer import Server, Tokenizer, is_loopback
from aish.values.errors import AishError

pytestmark = pytest.mark.anyio

TEXT = "twelve chars"
ESTIMATE = 3


class Clock:
    """A clock that the test advances."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def tokenizer(endpoint: str | None, directory: Path, **options: Any) -> Tokenizer:
    async def server() -> Server:
        assert endpoint is not None
        return Server(endpoint)

    options = {"model": "some-model", "clock": Clock(), **options}
    return Tokenizer(estimates=Estimates(directory / "ratios.json"), server=server if endpoint else None, **options)


@contextmanager
def nobody() -> Iterator[str]:
    """Return an address that refuses connections."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, but never listens
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


@pytest.mark.proves("T2")
async def test_no_text_is_nothing_and_without_an_endpoint_the_count_is_an_estimate(tmp_path: Path) -> None:
    """Neither needs a server."""
    with FakeServer(reply_json({"tokens": [1]})) as server:
        assert await tokenizer(server.url, tmp_path).count("") == 0
    assert server.asked == []
    assert await tokenizer(None, tmp_path).count(TEXT) == ESTIMATE


@pytest.mark.proves("T3")
@pytest.mark.parametrize("tail", ["", "/", "/v1", "/v1/"])
async def test_the_server_is_asked_at_its_root_and_its_tokens_are_counted(tmp_path: Path, tail: str) -> None:
    """The path belongs to llama.cpp, outside the OpenAI API."""
    with FakeServer(paths={"/tokenize": reply_json({"tokens": [5, {"id": 7, "piece": "x"}, 9, 11]})}) as server:
        assert await tokenizer(server.url + tail, tmp_path).count("¡hola!\n") == 4
    [asked] = server.asked
    assert (asked.method, asked.path) == ("POST", "/tokenize")
    assert asked.json == {"content": "¡hola!\n", "model": "some-model"}


async def test_the_key_goes_along_and_a_missing_one_only_means_an_estimate(tmp_path: Path) -> None:
    """A server that needs a key for chats also needs it for counting."""

    async def key() -> str:
        return "s3cret"

    async def no_key() -> str:
        raise AishError("the key is missing")

    with FakeServer(reply_json({"tokens": [1, 2]})) as server:
        counting = tokenizer(server.url, tmp_path)
        for find, expected in ((key, 2), (no_key, ESTIMATE)):

            async def where(find: Any = find) -> Server:
                return Server(server.url, find)

            counting.server = where
            assert await counting.count(TEXT) == expected
    assert [asked.headers["authorization"] for asked in server.asked] == ["Bearer s3cret"]


@pytest.mark.proves("T4")
async def test_a_silent_server_is_waited_for_as_long_as_the_settings_say(world: World) -> None:
    """Counting delays the answer, so its timeout is 2 s by default."""
    silent = Say(raw=True, pieces=[b"never"], hold=threading.Event())
    with FakeServer(silent) as server:
        preset = {"kind": "openai", "endpoint": server.url}
        program = world.program({"tokenize": {"timeout_ms": 60}, "models": {"slow": preset}})
        async with asyncio.timeout(1):
            assert await program.backend("slow").tokenizer.count(TEXT) == ESTIMATE
        assert await asyncio.to_thread(server.gone.wait, 5)
    assert len(server.asked) == 1
    assert world.program({"models": {"slow": preset}}).backend("slow").tokenizer.timeout == 2.0


@pytest.mark.proves("T5", "T8")
@pytest.mark.parametrize(
    "answer",
    [
        *(reply_json({"error": "no"}, status=status) for status in (404, 405, 501)),
        reply_json({"count": 3}),
        reply_json({"tokens": 3}),
        reply_json({"tokens": []}),
        reply_json([1, 2, 3]),
        reply_json(None),
        Say(kind="text/html", pieces=[b"<h1>It works!</h1>"]),
    ],
)
async def test_a_server_that_cannot_count_is_asked_once_in_a_run(tmp_path: Path, answer: Say) -> None:
    """Asking again would only delay every turn."""
    with FakeServer(answer) as server:
        counting = tokenizer(server.url, tmp_path)
        before = counting.ability
        assert [await counting.count(TEXT) for _ in range(3)] == [ESTIMATE] * 3
        assert (before, counting.ability) == ("unknown", "no")
        assert isinstance(counting.clock, Clock)
        counting.clock.now += 1e9
        assert await counting.count(TEXT) == ESTIMATE
    assert len(server.asked) == 1


@pytest.mark.proves("T5", "T8")
@pytest.mark.parametrize(
    "busy",
    [
        Say(raw=True, pieces=[]),
        Say(raw=True, pieces=[b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"]),
        Say(raw=True, pieces=[b"never"], hold=threading.Event()),
        reply_json({"error": "loading model"}, status=503),
    ],
    ids=["hangs up", "breaks off", "is silent", "is loading"],
)
async def test_a_busy_server_is_left_alone_for_longer_each_time_and_then_asked_again(tmp_path: Path, busy: Say) -> None:
    """Pauses of 30 s, 60 s, 120 s …: a busy server may recover. One answer resets the pause."""
    able = reply_json({"tokens": [1] * 7})
    with FakeServer(busy, busy, busy, able, busy, able) as server:
        counting = tokenizer(server.url, tmp_path)
        clock = counting.clock
        assert isinstance(clock, Clock)

        async def count(*, busy: bool) -> int:
            counting.timeout = 0.05 if busy else 5.0
            return await counting.count(TEXT)

        for asked, pause in enumerate([30, 60, 120], start=1):
            assert await count(busy=True) == ESTIMATE
            assert (len(server.asked), counting.ability) == (asked, "unknown")
            clock.now += pause - 0.01
            assert await count(busy=True) == ESTIMATE
            assert len(server.asked) == asked
            clock.now += 0.02

        assert await count(busy=False) == 7
        assert (len(server.asked), counting.ability) == (4, "yes")
        assert await count(busy=True) == ESTIMATE  # busy again: the pause restarts at 30 s
        clock.now += 30.01
        assert await count(busy=False) == 7
    assert len(server.asked) == 6


@pytest.mark.proves("T5")
async def test_a_refused_connection_pauses_and_the_pause_does_not_grow_for_ever(tmp_path: Path) -> None:
    """A server that starts later must be found within minutes."""
    with nobody() as endpoint:
        counting = tokenizer(endpoint, tmp_path)
        clock = counting.clock
        assert isinstance(clock, Clock)
        pauses = []
        for _ in range(7):
            assert await counting.count(TEXT) == ESTIMATE
            pauses.append(counting.abilities[endpoint].paused_until - clock.now)
            clock.now += pauses[-1]
        assert pauses == [30, 60, 120, 240, 480, 600, 600]
        assert counting.ability == "unknown"


@pytest.mark.proves("T6")
async def test_ability_belongs_to_the_endpoint_and_not_to_the_model(world: World) -> None:
    """The ability is cached for all models of an endpoint, and for no other endpoint."""
    with FakeServer(reply_json({}, status=404)) as unable, FakeServer(reply_json({"tokens": [1]})) as able:
        presets = {
            "one": {"kind": "openai", "endpoint": unable.url, "model": "model-1"},
            "two": {"kind": "openai", "endpoint": f"{unable.url}/v1/", "model": "model-2"},
            "other": {"kind": "openai", "endpoint": able.url, "model": "model-1"},
        }
        program = world.program({"models": presets})
        counts = {name: await program.backend(name).tokenizer.count(TEXT) for name in presets}
    assert counts == {"one": ESTIMATE, "two": ESTIMATE, "other": 1}
    assert {name: program.backend(name).tokenizer.ability for name in presets} == {
        "one": "no",
        "two": "no",
        "other": "yes",
    }
    assert (len(unable.asked), len(able.asked)) == (1, 1)


@pytest.mark.proves("T9")
@pytest.mark.parametrize(
    ("mode", "local", "near", "far"),
    [
        ("auto", False, True, False),
        ("auto", True, True, True),
        ("true", False, True, True),
        ("false", True, False, False),
    ],
)
async def test_text_goes_to_a_server_only_where_the_setting_lets_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str, local: bool, near: bool, far: bool
) -> None:
    """Off means no request at all. The proxy would see a request to the remote server, and sees none."""
    with FakeServer(reply_json({"tokens": [1] * 9})) as server, FakeServer(reply_json({"tokens": [1] * 9})) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        nearby = tokenizer(server.url, tmp_path, mode=mode, local=local)
        distant = tokenizer("http://models.invalid/v1", tmp_path, mode=mode, local=local)
        assert await nearby.count(TEXT) == (9 if near else ESTIMATE)
        assert await distant.count(TEXT) == (9 if far else ESTIMATE)
    assert (len(server.asked), len(proxy.asked)) == (near, far)


@pytest.mark.proves("T9")
@pytest.mark.parametrize(
    ("endpoint", "expected"),
    [
        ("http://127.0.0.1:8080/v1", True),
        ("http://127.8.9.10/v1", True),
        ("http://localhost/v1", True),
        ("http://LOCALHOST:1", True),
        ("http://[::1]:8080", True),
        ("http://192.168.1.5:8080", False),
        ("https://api.example/v1", False),
        ("http://localhost.evil.example", False),
        ("http://127.0.0.1.evil.example", False),
        ("http://127.evil.example", False),
        ("http://127.0.0.1@evil.example", False),
        ("", False),
        ("http://[::1", False),
    ],
)
async def test_only_this_machine_counts_as_loopback(endpoint: str, expected: bool) -> None:
    """A name that only starts like a loopback address is a remote server, which must not get the text."""
    assert is_loopback(endpoint) is expected


async def counted(endpoint: str | None, text: str, directory: Path) -> int:
    return await tokenizer(endpoint, directory, mode="true", timeout=1.0, abilities={}).count(text)


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.just("tokens") | st.text(max_size=2), inner, max_size=2)
    ),
)
bodies = st.binary(max_size=50) | anything.map(lambda value: json.dumps(value).encode())
answers = st.builds(
    lambda status, body, cut: Say(status=status, kind="application/json", pieces=[body], cut=cut),
    st.sampled_from([200]) | st.integers(100, 599),
    bodies.filter(bool),
    st.booleans(),
) | bodies.map(lambda body: Say(raw=True, pieces=[body]))


@pytest.mark.proves("T1")
async def test_a_count_never_raises_whatever_the_text_and_whatever_the_server_says(tmp_path: Path) -> None:
    """A failure here would break every turn."""
    with FakeServer() as server:

        @settings(max_examples=150, deadline=None)
        @given(st.text(st.characters(), max_size=20), answers)
        @example("\ud800", reply_json({"tokens": [1]}))
        @example("x", Say(status=101, pieces=[b"x"], headers={"Upgrade": "h2c", "Connection": "Upgrade"}))
        @example("x", Say(raw=True, pieces=[b'HTTP/1.1 200 OK\r\n\r\n{"tokens": ' + b"[" * 100_000]))
        def check(text: str, answer: Say) -> None:
            server.answers = [answer]
            count = asyncio.run(counted(server.url, text, tmp_path))
            assert isinstance(count, int)
            assert count >= 0
            if answer.status != 200:
                assert count == math.ceil(len(text) / 4)

        await asyncio.to_thread(check)


@pytest.mark.proves("T1")
@pytest.mark.parametrize(
    "endpoint",
    ["", "nonsense", "ftp://x", "http://", "http://127.0.0.1:99999", "http://[::1", "http://a..b", "http://\x00"],
)
async def test_a_count_never_raises_whatever_the_address(tmp_path: Path, endpoint: str) -> None:
    """Users edit the address by hand."""

    async def server() -> Server:
        return Server(endpoint)

    for mode in ("auto", "true"):
        counting = tokenizer("unused", tmp_path, mode=mode)
        counting.server = server
        assert await counting.count(TEXT) == ESTIMATE


@pytest.mark.proves("T1")
async def test_a_server_that_cannot_be_started_means_an_estimate(tmp_path: Path) -> None:
    """The embedded model may not be installed."""

    async def server() -> Server:
        raise AishError("not here")

    counting = tokenizer("unused", tmp_path)
    counting.server = server
    assert (await counting.count(TEXT), counting.ability) == (ESTIMATE, "unknown")
