"""The HTTP client: every body framing, redirects, broken servers, and no sockets left open."""

import asyncio
import socket
import threading
import time
import zlib

import pytest
from fake_server import Asked, FakeServer, Say, reply_json
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tls_server import Speaker

from aish.model.body_decoding import BodyDecoder, page_title
from aish.model.http import HttpResponse, HttpTrouble, Patience, Reach, public, send

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


async def test_a_head_that_drips_is_given_up_in_time() -> None:
    """Each byte alone would be in time, and a script would wait for hours."""
    with (
        Speaker(drip) as server,
        pytest.raises(HttpTrouble, match=r"took more than 0\.2 s for the head of its response"),
    ):
        await send("GET", f"http://127.0.0.1:{server.port}", {}, b"", PATIENCE._replace(first=0.2))


def drip(connection: socket.socket) -> None:
    """Send a header that does not end, until the client leaves."""
    connection.sendall(b"HTTP/1.1 200 OK\r\nX: ")
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        connection.sendall(b"x")
        time.sleep(0.02)


@pytest.mark.parametrize("flood", [b"X: " + b"x" * (1 << 19), b"\r\nHTTP/1.1 100 Continue\r\n" * (1 << 14)])
async def test_a_head_without_end_is_given_up(flood: bytes) -> None:
    """Headers and interim responses are kept or waited for until the head is complete."""
    with (
        FakeServer(Say(raw=True, pieces=[b"HTTP/1.1 100 Continue\r\n", flood])) as server,
        pytest.raises(HttpTrouble, match="larger than 256 KB"),
    ):
        await fetch(server.url)


@pytest.mark.parametrize("page", [b"<title" * 9_000, b"<title>" * 9_000, b"<" * 65_536, b"<script>" * 8_000])
def test_the_title_of_a_hostile_page_is_found_at_once(page: bytes) -> None:
    """Each of these took seconds, in which not even Ctrl-C was seen."""
    started = time.process_time()
    page_title(page)
    assert time.process_time() - started < 1


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


@pytest.mark.parametrize("sign", "/?#[@")
async def test_a_password_is_in_no_message_also_if_it_is_written_wrongly(sign: str) -> None:
    """The part before the sign would be taken for a port, and the message of Python quotes it."""
    with pytest.raises(HttpTrouble) as caught:
        await fetch(f"http://ann:s3{sign}cret@127.0.0.1:port/v1", proxy="")
    assert "s3" not in str(caught.value) and "cret" not in str(caught.value)
    assert "write special characters of the login as in %40" in str(caught.value)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://models.example:8/v1?key=k", "https://models.example:8/v1"),
        ("https://ann:b@c@models.example/@d", "https://models.example/@d"),
        ("//ann:b@models.example//v1", "//models.example//v1"),
        ("ann:b@models.example/v1", "models.example/v1"),
        ("/v1/a@b", "/v1/a@b"),
        ("unix:///run/a.sock:/v1", "unix:///run/a.sock:/v1"),
    ],
)
def test_an_address_is_shown_without_login_and_query(url: str, shown: str) -> None:
    """Messages are stored."""
    assert public(url) == shown


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


def moved(to: str, status: int = 308) -> Say:
    return Say(status=status, headers={"Location": to})


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_a_redirect_within_the_host_is_followed_with_method_and_body(status: int) -> None:
    """Gateways add a slash or a version; a GET without the question would be useless."""
    with FakeServer(
        paths={"/v1/chat": moved("/api/v1/chat?a=b", status), "/api/v1/chat?a=b": reply_json([1])}
    ) as server:
        patience = PATIENCE._replace(reach=Reach(headers={"X-Team": "one"}))
        async with await send(
            "POST", f"{server.url}/v1/chat", {"Authorization": "Bearer k"}, b"hello", patience
        ) as reply:
            assert await reply.whole() == b"[1]"
    last = server.asked[-1]
    assert (last.method, last.path, last.body) == ("POST", "/api/v1/chat?a=b", b"hello")
    assert (last.headers["authorization"], last.headers["x-team"]) == ("Bearer k", "one")


@pytest.mark.parametrize(
    ("location", "message"),
    [
        ("http://models.example/v1?key=s3cret", r"redirects to another host, http://models\.example/v1; if that is"),
        ("//ann:s3cret@models.example/v1", r"redirects to another host, http://models\.example/v1; if that is right"),
        ("http://127.0.0.1:9/v1", r"redirects to another port, http://127\.0\.0\.1:9/v1; if that is right"),
        ("http://ann:s3cret@[", r"redirects to 'http://\[', which is no address"),
        ("ftp://127.0.0.1/", "is not an http"),
        ("/", "redirects again and again"),
    ],
)
async def test_a_redirect_that_is_not_followed_names_its_target(location: str, message: str) -> None:
    """The key must not go to a host that the user did not choose."""
    with FakeServer(moved(location)) as server, pytest.raises(HttpTrouble, match=message) as raised:
        await fetch(server.url)
    assert "s3cret" not in str(raised.value)


@pytest.mark.parametrize(
    "said",
    [
        moved(f"http://models.example/{'x' * 100_000}"),
        moved(f"http://{'x' * 100_000}/"),
        moved(f"http://[{'x' * 100_000}"),
        Say(headers={"Content-Encoding": "x" * 100_000}),
    ],
)
async def test_a_message_does_not_repeat_a_long_header(said: Say) -> None:
    """A head may have 256 KB, and a message is shown on one line and stored."""
    with FakeServer(said) as server, pytest.raises(HttpTrouble) as raised:
        await fetch(server.url)
    assert len(str(raised.value)) < 400


async def test_a_login_in_the_address_that_is_refused_is_named() -> None:
    """It is not the key that is wrong."""
    with (
        FakeServer(Say(status=401)) as server,
        pytest.raises(HttpTrouble, match=r"login of 'ann' .*; correct it in the endp"),
    ):
        await fetch(server.url.replace("//", "//ann:s3cret@"))


async def test_login_query_and_headers_of_the_settings_are_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gateways want a login in front, a version in the query, and headers with keys that are not in a file."""
    monkeypatch.setenv("TEAM_KEY", "k1")
    reach = Reach(headers={"X-Key": "$TEAM_KEY", "X-Both": "a ${TEAM_KEY} b"}, query="api-version=1")
    with FakeServer(reply_json({})) as server:
        url = server.url.replace("//", "//ann:p%40ss@")
        async with await send("GET", f"{url}/v1/models?x=y", {}, b"", PATIENCE._replace(reach=reach)) as reply:
            await reply.whole()
        monkeypatch.delenv("TEAM_KEY")
        with pytest.raises(HttpTrouble, match="the header X-Key needs the environment variable TEAM_KEY, which is not"):
            await send("GET", url, {}, b"", PATIENCE._replace(reach=reach))
    [asked] = server.asked
    assert asked.path == "/v1/models?x=y&api-version=1"
    assert asked.headers["authorization"] == "Basic YW5uOnBAc3M="  # ann:p@ss
    assert (asked.headers["x-key"], asked.headers["x-both"]) == ("k1", "a k1 b")


async def test_a_header_of_the_settings_replaces_ours_in_whatever_case() -> None:
    """Two keys or two hosts would be refused, or the wrong one used."""
    heads: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append((await reader.readuntil(b"\r\n\r\n")).lower())
        writer.write(WHOLE["counted"])
        writer.close()

    reach = Reach(headers={"authorization": "Bearer mine", "host": "models.example"})
    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        async with await send("GET", url, {"Authorization": "Bearer k"}, b"", PATIENCE._replace(reach=reach)) as reply:
            await reply.whole()
    [head] = heads
    assert (head.count(b"authorization:"), head.count(b"\r\nhost:"), b"mine" in head) == (1, 1, True)


def packed(how: str, text: bytes) -> bytes:
    bits = {"gzip": 31, "deflate": 15, "raw": -15}[how]
    packer = zlib.compressobj(wbits=bits)
    return packer.compress(text) + packer.flush()


@pytest.mark.parametrize("how", ["gzip", "deflate", "raw"])
async def test_a_compressed_body_is_decoded_however_it_arrives(how: str) -> None:
    """Some gateways compress everything, also if nobody asked for it; `deflate` has two meanings."""
    body, named = packed(how, b"data: hello\n\n" * 50), {"Content-Encoding": "deflate" if how == "raw" else how}
    for pieces in ([body], [body[place : place + 1] for place in range(len(body))]):
        with FakeServer(Say(pieces=pieces, headers=named)) as server:
            assert await fetch(server.url) == (200, b"data: hello\n\n" * 50)
    with FakeServer(Say(pieces=[body[:-3]], headers=named)) as server, pytest.raises(HttpTrouble, match="too early"):
        await fetch(server.url)


@pytest.mark.parametrize(
    ("encoding", "body", "message"),
    [
        ("gzip", packed("gzip", bytes(1 << 25)), "larger than 8 MB"),
        ("gzip", b"\x1f\x8bthis is no gzip", "is not compressed as its head says"),
        ("br", b"x", "in the encoding 'br', which was not asked for"),
        ("gzip, gzip", packed("gzip", packed("gzip", bytes(1 << 20))), "compressed its answer more than once"),
    ],
)
async def test_a_compressed_body_that_is_too_large_or_broken_is_given_up(
    encoding: str, body: bytes, message: str
) -> None:
    """32 MB of zeros are 32 KB on the wire; they must not fill the memory."""
    with (
        FakeServer(Say(pieces=[body], headers={"Content-Encoding": encoding})) as server,
        pytest.raises(HttpTrouble, match=message),
    ):
        await fetch(server.url)


async def test_a_compressed_body_is_decoded_in_small_pieces() -> None:
    """What is decoded at once must not depend on the server."""
    assert len(next(BodyDecoder("gzip").feed(packed("gzip", bytes(1 << 25))))) == 1 << 20


async def test_a_web_page_is_no_answer_and_of_an_error_page_only_the_title_is_kept() -> None:
    """A proxy, a login or an endpoint without /v1 answers with a page."""
    page = b"<html><head><title>502 Bad &amp; Gateway</title></head><body><h1>nginx</h1></body></html>"
    with FakeServer(Say(status=502, kind="text/html; charset=utf-8", pieces=[page])) as server:
        assert await fetch(server.url) == (502, b"502 Bad & Gateway")
        async with await send("GET", server.url, {}, b"", PATIENCE) as reply:
            with pytest.raises(HttpTrouble, match="sent a web page instead of an answer; check the endpoint"):
                await anext(reply.pieces())


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\x00\x00\x12\x04\x00\x00\x00\x00\x00" + bytes(18), "speaks HTTP/2 only; aish speaks HTTP/1.1"),
        (b"\x15\x03\x01\x00\x02\x02\x46", "the server wants TLS; write https:// instead of http://"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "an SSH server answers at this address"),
    ],
)
async def test_a_server_that_speaks_something_else_is_named(data: bytes, message: str) -> None:
    """The remedy is another port or scheme, not another model."""
    with FakeServer(Say(raw=True, pieces=[data])) as server, pytest.raises(HttpTrouble, match=message):
        await fetch(server.url)
