"""The HTTP client: every body framing, broken servers, proxies, and no sockets left open."""

import asyncio
import socket
import threading
from urllib.parse import urlsplit

import pytest
from fake_server import Asked, FakeServer, Say, reply_json
from hypothesis import example, given, settings
from hypothesis import strategies as st

from aish.model.http import HttpResponse, HttpTrouble, Patience, proxy_for, send

pytestmark = pytest.mark.anyio

PATIENCE = Patience(connect=5, first=5, silence=5)
WHOLE = {
    "chunked": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nhello \r\n5;x=y\r\nworld\r\n0\r\n\r\n",
    "counted": b"HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nhello world",
    "until close": b"HTTP/1.1 200 OK\r\nX-Some: thing\r\n\r\nhello world",
    "old": b"HTTP/1.0 200 OK\r\n\r\nhello world",
}


async def fetch(url: str, *, proxy: str | None = None) -> tuple[int, bytes]:
    async with await send("GET", url, {}, b"", PATIENCE, proxy=proxy) as reply:
        return reply.status, await reply.whole()


async def receive(data: bytes) -> tuple[int, bytes]:
    """Return the parsed response of a server that sends these bytes and closes the connection."""
    ours, theirs = socket.socketpair()
    with theirs:
        theirs.sendall(data)
    reader, writer = await asyncio.open_connection(sock=ours)
    async with HttpResponse(reader, writer, PATIENCE) as reply:
        await reply.head()
        return reply.status, await reply.whole()


async def seen(event: threading.Event) -> bool:
    return await asyncio.to_thread(event.wait, 5)


@pytest.mark.parametrize("framing", WHOLE)
async def test_a_body_is_the_same_in_every_framing_and_however_it_arrives(framing: str) -> None:
    """Servers choose the framing, and the network splits the body anywhere."""
    data = WHOLE[framing]
    bytewise = [data[place : place + 1] for place in range(len(data))]
    for pieces in ([data], bytewise):
        with FakeServer(Say(raw=True, pieces=pieces)) as server:
            assert await fetch(server.url) == (200, b"hello world")


@pytest.mark.parametrize("framing", ["chunked", "counted"])
async def test_no_beginning_of_a_response_passes_for_the_whole(framing: str) -> None:
    """If the length is declared, an early close means that the answer is incomplete."""
    data = WHOLE[framing]
    for size in range(len(data)):
        with pytest.raises(HttpTrouble):
            await receive(data[:size])
    assert await receive(data) == (200, b"hello world")


@pytest.mark.parametrize("status", [100, 102, 103])
async def test_interim_responses_are_passed_over(status: int) -> None:
    """A gateway may send interim 1xx responses first."""
    ours, theirs = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=ours)
    with theirs:
        async with HttpResponse(reader, writer, PATIENCE) as reply:
            theirs.sendall(b"HTTP/1.1 %d Wait\r\nLink: </x>\r\n\r\n" % status)
            waiting = asyncio.create_task(reply.head())
            assert (await asyncio.wait([waiting], timeout=0.05))[0] == set()
            theirs.sendall(WHOLE["counted"])
            await waiting
            assert (reply.status, await reply.whole()) == (200, b"hello world")


@settings(max_examples=200, deadline=None)
@given(st.binary() | st.tuples(st.integers(100, 599), st.binary()).map(lambda x: b"HTTP/1.1 %d\r\n%b\r\n\r\n" % x))
@example(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nhello")
@example(b"HTTP/1.1 200 OK\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\nhello")
@example(b"SSH-2.0-OpenSSH_9.2\r\n")
@example(b"<html>not what you think</html>")
def test_whatever_a_server_sends_is_a_response_or_trouble_and_nothing_else(data: bytes) -> None:
    """Another program may listen on that port. That must not cause a traceback."""
    try:
        asyncio.run(receive(data))
    except HttpTrouble as trouble:
        assert str(trouble)


async def test_a_body_without_end_is_given_up() -> None:
    """An error page is read whole, but a broken server must not exhaust memory."""
    flood = Say(raw=True, pieces=[b"HTTP/1.1 200 OK\r\n\r\n", *([b"x" * (1 << 20)] * 9)])
    with FakeServer(flood) as server, pytest.raises(HttpTrouble, match="larger than 8 MB"):
        await fetch(server.url)


@pytest.mark.parametrize(
    "address",
    [
        "",
        "localhost:8080",
        "ftp://127.0.0.1/",
        "http://",
        "http:///v1",
        "http://127.0.0.1:99999/v1",
        "http://127.0.0.1:port/v1",
        "http://[::1/v1",
        "http://one..two/v1",
        f"http://{'x' * 64}.example/v1",
    ],
)
async def test_an_address_that_is_none_is_trouble_with_a_message(address: str) -> None:
    """Users type addresses, so a mistake must give a message, not a traceback."""
    with pytest.raises(HttpTrouble) as caught:
        await fetch(address, proxy="")
    assert str(caught.value)


async def test_no_value_can_add_a_header_or_a_request() -> None:
    """A key from a file or an address from the settings may contain a newline."""
    with FakeServer(reply_json({})) as server:

        @settings(max_examples=60, deadline=None)
        @given(st.text(st.sampled_from("\r\n\t :aX/\x00\x85\u2028é") | st.characters(), max_size=30))
        @example("x\r\nX-Evil: 1")
        @example("x\r\n\r\nGET /evil HTTP/1.1\r\n\r\n")
        @example("x\nX-Evil: 1")
        @example("x\rX-Evil: 1")
        def check(text: str) -> None:
            async def ask() -> None:
                headers = {"Authorization": f"Bearer {text}"}
                async with await send("GET", f"{server.url}/a?b={text}", headers, b"", PATIENCE) as reply:
                    await reply.whole()

            server.asked.clear()
            asyncio.run(ask())
            [asked] = server.asked
            assert asked.headers.keys() == {"host", "content-length", "connection", "authorization"}

        await asyncio.to_thread(check)


@pytest.mark.parametrize("target", ["http://models.invalid/v1", "https://models.invalid/v1"])
async def test_a_cancelled_wait_closes_the_socket(target: str) -> None:
    """Ctrl-C must disconnect at once from a slow server or proxy."""
    came = threading.Event()

    def silent(asked: Asked) -> Say:
        came.set()
        return Say(raw=True, pieces=[b"too late"], hold=threading.Event())

    with FakeServer(silent) as server:
        task = asyncio.create_task(fetch(target, proxy=server.url))
        assert await seen(came)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await seen(server.gone)


async def test_leaving_a_reply_early_closes_the_socket() -> None:
    """The server should not generate an answer that is not read."""
    with FakeServer(Say(pieces=[b"first", b"second"], hold=threading.Event())) as server:
        async with await send("GET", server.url, {}, b"", PATIENCE) as reply:
            async for piece in reply.pieces():
                assert piece == b"first"
                break
        assert await seen(server.gone)


PROXY = "http://proxy.example:3128"


@pytest.mark.parametrize(
    ("target", "env", "expected"),
    [
        ("http://models.example", {}, ""),
        ("http://models.example", {"http_proxy": PROXY}, PROXY),
        ("http://models.example", {"HTTP_PROXY": PROXY}, PROXY),
        ("http://models.example", {"https_proxy": PROXY}, ""),
        ("https://models.example", {"https_proxy": PROXY}, PROXY),
        ("https://models.example", {"all_proxy": PROXY}, PROXY),
        ("https://models.example", {"https_proxy": "proxy.example:3128"}, PROXY),
        ("https://models.example", {"https_proxy": PROXY, "no_proxy": "*"}, ""),
        ("https://models.example", {"https_proxy": PROXY, "no_proxy": "models.example"}, ""),
        ("https://models.example", {"https_proxy": PROXY, "NO_PROXY": "other.example, .Example"}, ""),
        ("https://a.models.example", {"https_proxy": PROXY, "no_proxy": "models.example"}, ""),
        ("https://notmodels.example", {"https_proxy": PROXY, "no_proxy": "models.example"}, PROXY),
        ("https://models.example", {"https_proxy": PROXY, "no_proxy": ","}, PROXY),
        ("http://127.0.0.1:8080", {"all_proxy": PROXY}, ""),
        ("http://127.1.2.3:8080", {"all_proxy": PROXY}, ""),
        ("http://localhost:8080", {"all_proxy": PROXY}, ""),
        ("http://[::1]:8080", {"all_proxy": PROXY}, ""),
        ("http://127.0.0.1.evil.example", {"all_proxy": PROXY}, PROXY),
    ],
)
async def test_the_environment_chooses_the_proxy(target: str, env: dict[str, str], expected: str) -> None:
    """As in other programs: by scheme, with exceptions, and never for loopback."""
    assert proxy_for(urlsplit(target), env) == expected


async def test_a_plain_request_goes_through_the_proxy_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The proxy gets the full URL and its own login, and resolves the host name."""
    with FakeServer(reply_json({})) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url.replace("//", "//me:se%40cret@"))
        assert await fetch("http://models.invalid/v1/models?a=b") == (200, b"{}")
        [asked] = proxy.asked
        assert (asked.method, asked.path) == ("GET", "http://models.invalid/v1/models?a=b")
        assert asked.headers["host"] == "models.invalid"
        assert asked.headers.get("proxy-authorization") == "Basic bWU6c2VAY3JldA=="  # me:se@cret


async def test_a_proxy_that_refuses_the_tunnel_is_named_with_its_reason_and_left() -> None:
    """Otherwise the user would suspect the model server."""
    no = Say(raw=True, pieces=[b"HTTP/1.1 407 Proxy Login Needed\r\n\r\n", b"-"], hold=threading.Event())
    with FakeServer(no) as proxy:
        with pytest.raises(HttpTrouble, match=r"the proxy 127\.0\.0\.1 refused: HTTP/1\.1 407 Proxy Login Needed"):
            await fetch("https://models.invalid/v1", proxy=proxy.url.replace("//", "//me:secret@"))
        [asked] = proxy.asked
        assert (asked.method, asked.path) == ("CONNECT", "models.invalid:443")
        assert asked.headers["proxy-authorization"] == "Basic bWU6c2VjcmV0"
        assert await seen(proxy.gone)


async def test_a_proxy_that_hangs_up_is_named() -> None:
    """A broken proxy is not reported as an unreachable model."""
    message = r"the proxy 127\.0\.0\.1 does not answer"
    with FakeServer(Say(raw=True, pieces=[])) as proxy, pytest.raises(HttpTrouble, match=message):
        await fetch("https://models.invalid/v1", proxy=proxy.url)


async def test_a_proxy_that_speaks_for_the_server_is_not_believed() -> None:
    """Otherwise plain data from the proxy would be read as TLS data from the server."""
    forged = b"HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged"
    with (
        FakeServer(Say(raw=True, pieces=[forged])) as proxy,
        pytest.raises(HttpTrouble, match="before the TLS connection was open"),
    ):
        await fetch("https://models.example/", proxy=proxy.url)


async def test_the_password_of_a_proxy_is_in_no_message() -> None:
    """Errors are shown and stored in the journal."""
    with pytest.raises(HttpTrouble) as raised:
        await fetch("http://models.example/", proxy="socks5://ann:s3cret@proxy.example:1080")

    assert "s3cret" not in str(raised.value)
