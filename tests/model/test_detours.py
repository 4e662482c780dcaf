"""The ways to a server: through proxies, over sockets in the file system, and past certificates that are not right."""

import socket
import ssl
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from fake_server import FakeServer, Say, reply_json
from tls_server import CA, CERTIFICATES, Speaker, tls

from aish.model.detours import tls_trouble
from aish.model.http import HttpTrouble, Patience, Reach, send

pytestmark = pytest.mark.anyio

PATIENCE = Patience(connect=5, first=5, silence=5)
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


async def fetch(url: str, *, proxy: str | None = None, reach: Reach | None = None) -> tuple[int, bytes]:
    patience = PATIENCE._replace(reach=reach or Reach())
    async with await send("GET", url, {}, b"", patience, proxy=proxy) as reply:
        return reply.status, await reply.whole()


# Proxies


async def test_a_plain_request_goes_through_the_proxy_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The proxy gets the full URL and its own login, and resolves the host name."""
    with FakeServer(reply_json({})) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url.replace("//", "//me:se%40cret@"))
        assert await fetch("http://models.invalid/v1/models?a=b") == (200, b"{}")
        [asked] = proxy.asked
        assert (asked.method, asked.path) == ("GET", "http://models.invalid/v1/models?a=b")
        assert asked.headers["host"] == "models.invalid"
        assert asked.headers.get("proxy-authorization") == "Basic bWU6c2VAY3JldA=="  # me:se@cret


async def test_an_error_page_of_a_proxy_names_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy that cannot reach the server answers in its place, and may hang up before it has read the question."""
    page = Say(status=500, kind="text/html", pieces=[b"<title>500 Unable to connect</title>", b"-"], cut=True)
    with FakeServer(page) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        status, said = await fetch("http://models.invalid/v1")
    where = proxy.url.removeprefix("http://")
    assert (status, said.decode()) == (500, f"500 Unable to connect (by way of the proxy {where} (from http_proxy))")


def says(*pieces: bytes) -> Say:
    return Say(raw=True, pieces=list(pieces))


@pytest.mark.parametrize(
    ("target", "answer", "message"),
    [
        (
            "https",
            says(b"HTTP/1.1 407 No\r\nProxy-Authenticate: Basic\r\n\r\n"),
            "refused the login of 'me'; correct it in",
        ),
        ("http", says(b"HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n"), "refused the login of 'me'; correct it in"),
        ("https", says(b"HTTP/1.0 401 Unauthorized\r\n\r\n<html>"), "refused the login of 'me'; correct it in"),
        (
            "https",
            says(b"HTTP/1.0 403 Filtered\r\n\r\n<html>"),
            "refused to connect to models.invalid:443: 403 Filtered",
        ),
        ("https", says(), "does not answer; correct https_proxy, or add models.invalid to NO_PROXY"),
        ("https", says(b"<html>Welcome</html>"), "is not an HTTP proxy; if it is a SOCKS proxy, write socks5h://"),
        ("https", says(b"HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\n\r\nforged"), "before the TLS connection was open"),
    ],
)
async def test_a_proxy_that_refuses_is_named_with_its_variable_and_its_reason(
    monkeypatch: pytest.MonkeyPatch, target: str, answer: Say, message: str
) -> None:
    """Otherwise the user would suspect the model server."""
    with FakeServer(answer) as proxy:
        monkeypatch.setenv(f"{target}_proxy", proxy.url.replace("//", "//me:s3cret@"))
        with pytest.raises(HttpTrouble) as raised:
            await fetch(f"{target}://models.invalid/v1")
    said = str(raised.value)
    assert said.startswith(f"the proxy 127.0.0.1:{proxy.url.rpartition(':')[2]} (from {target}_proxy) ")
    assert message in said and "s3cret" not in said


@pytest.mark.parametrize(
    "answer", [b"HTTP/1.1 403 " + b"No" * 30_000, b"HTTP/1.1 407 No\r\nProxy-Authenticate: " + b"Other, " * 9_000]
)
async def test_a_message_does_not_repeat_a_long_answer_of_a_proxy(answer: bytes) -> None:
    """It is shown on one line."""
    with FakeServer(says(answer + b"\r\n\r\n")) as proxy, pytest.raises(HttpTrouble) as raised:
        await fetch("https://models.invalid/", proxy=proxy.url)
    assert len(str(raised.value)) < 400


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (Say(raw=True, pieces=[b"", b"never"], hold=threading.Event()), "sent nothing for 0.2 s (by way of the proxy"),
        (says(), "closed the connection (by way of the proxy"),
        (says(b"\x05\xff"), "is not HTTP (by way of the proxy"),
        (says(b"SSH-2.0-x\r\n"), "an SSH server answers at this address (by way of the proxy"),
        (says(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>Hi"), "web page instead of an answer (by way of"),
        (says(b"HTTP/1.1 401 No\r\nContent-Type: text/html\r\n\r\n<p>Hi"), "(from http_proxy) with the login of 'me'"),
    ],
)
async def test_a_proxy_for_plain_http_is_named_whatever_comes_from_it(
    monkeypatch: pytest.MonkeyPatch, answer: Say, message: str
) -> None:
    """It passes on what the server says, so nobody knows which of the two it was."""
    with FakeServer(answer) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url.replace("//", "//me:s3cret@"))
        said = b""
        try:
            patience = PATIENCE._replace(first=0.2)
            async with await send("GET", "http://models.invalid/v1", {}, b"", patience) as reply:
                said = (
                    await reply.whole() if reply.status >= 400 else b"".join([piece async for piece in reply.pieces()])
                )
        except HttpTrouble as trouble:
            said = str(trouble).encode()
    assert message in said.decode() and b"s3cret" not in said
    assert b"(from http_proxy)" in said


async def test_a_connection_that_breaks_behind_a_socks_proxy_names_the_proxy() -> None:
    """A proxy that says yes, and then closes because it cannot connect."""
    steps = ((b"\x05\x01\x00", b"\x05\x00"), (NAMED_5, b"\x05\x00\x00\x01" + bytes(6)))
    with Speaker(socks(*steps, then=b"")) as server:
        where = f"127.0.0.1:{server.port}"
        with pytest.raises(HttpTrouble, match=rf"\(by way of the proxy {where}\)"):
            await fetch("http://models.invalid/", proxy=f"socks5h://{where}")


async def test_a_proxy_that_hangs_or_is_away_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The remedy is the variable or NO_PROXY."""
    with FakeServer(Say(raw=True, pieces=[b"never"], hold=threading.Event())) as proxy:
        monkeypatch.setenv("ALL_PROXY", proxy.url)
        with pytest.raises(
            HttpTrouble, match=r"\(from ALL_PROXY\) did not connect to models.invalid:443 within 0.05 s; corr"
        ):
            await send("GET", "https://models.invalid", {}, b"", PATIENCE._replace(connect=0.05))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, but never listens
        monkeypatch.setenv("ALL_PROXY", f"socks5://127.0.0.1:{taken.getsockname()[1]}")
        with pytest.raises(
            HttpTrouble, match=r"cannot connect to the proxy .* \(from ALL_PROXY\): Connection refused; corr"
        ):
            await fetch("https://models.invalid")
    monkeypatch.setenv("ALL_PROXY", "gopher://ann:s3cret@h")
    with pytest.raises(HttpTrouble, match=r"^ALL_PROXY names a proxy of the kind 'gopher'"):
        await fetch("https://models.invalid")


def socks(*steps: tuple[bytes, bytes], then: bytes = ANSWER) -> Callable[[socket.socket], None]:
    """A SOCKS proxy that expects these bytes and gives these answers, and then plays the server."""

    def speak(connection: socket.socket) -> None:
        for expected, answer in steps:
            got = b""
            while len(got) < len(expected) and (more := connection.recv(len(expected) - len(got))):
                got += more
            connection.sendall(answer if got == expected else b"\x05\xff" + bytes(8))
        if then and connection.recv(1 << 16):
            connection.sendall(then)

    return speak


NAMED_5 = b"\x05\x01\x00\x03\x0emodels.invalid\x00\x50"
WELL_5 = b"\x05\x00\x00\x01" + bytes(6)


@pytest.mark.parametrize(
    ("proxy", "target", "steps"),
    [
        ("socks5h", "models.invalid", [(b"\x05\x01\x00", b"\x05\x00"), (NAMED_5, WELL_5)]),
        (
            "socks5h ann:p%40ss",
            "models.invalid",
            [(b"\x05\x02\x00\x02", b"\x05\x02"), (b"\x01\x03ann\x04p@ss", b"\x01\x00"), (NAMED_5, WELL_5)],
        ),
        (
            "socks5",
            "[fd00::7]",
            [
                (b"\x05\x01\x00", b"\x05\x00"),
                (b"\x05\x01\x00\x04\xfd" + bytes(14) + b"\x07\x00\x50", b"\x05\x00\x00\x03\x01x\x00\x00"),
            ],
        ),
        (
            "socks4a ann:",
            "models.invalid",
            [(b"\x04\x01\x00\x50\x00\x00\x00\x01ann\x00models.invalid\x00", b"\x00\x5a" + bytes(6))],
        ),
        ("socks4", "10.1.2.3", [(b"\x04\x01\x00\x50\x0a\x01\x02\x03\x00", b"\x00\x5a" + bytes(6))]),
    ],
)
async def test_socks_proxies_of_every_version(proxy: str, target: str, steps: list[tuple[bytes, bytes]]) -> None:
    """With h and a, the proxy looks up the name; a login is sent if the proxy wants it."""
    scheme, _, login = proxy.partition(" ")
    with Speaker(socks(*steps)) as server:
        url = f"{scheme}://{login and login + '@'}127.0.0.1:{server.port}"
        assert await fetch(f"http://{target}/", proxy=url) == (200, b"{}")


@pytest.mark.parametrize(
    ("proxy", "steps", "message"),
    [
        ("socks5h", [(b"\x05\x01\x00", b"\x05\xff")], "wants a login; write it as proxy=socks5h://NAME:PASSWORD@"),
        (
            "socks5h ann:s3cret",
            [(b"\x05\x02\x00\x02", b"\x05\x02"), (b"\x01\x03ann\x06s3cret", b"\x01\x01")],
            "refused the login of 'ann'",
        ),
        (
            "socks5h",
            [(b"\x05\x01\x00", b"\x05\x00"), (NAMED_5, b"\x05\x05\x00\x01" + bytes(6))],
            "cannot reach models.invalid:80: the connection was refused",
        ),
        ("socks5h", [(b"\x05\x01\x00", b"HT")], "does not speak SOCKS 5; try http:// instead"),
        ("socks5h", [(b"\x05\x01\x00", b"\x05")], "closed the connection; is it a proxy of the kind socks5h"),
        (
            "socks5h",
            [(b"\x05\x01\x00", b"\x05\x00"), (NAMED_5, WELL_5 + ANSWER)],
            "sent more than its reply; correct the setting, or add models.invalid to NO_PROXY",
        ),
        (
            "socks4a",
            [(b"\x04\x01\x00\x50\x00\x00\x00\x01\x00models.invalid\x00", b"\x00\x5b" + bytes(6))],
            "it was refused or failed",
        ),
        (
            "socks5",
            [(b"\x05\x01\x00", b"\x05\x00")],
            "cannot look up models.invalid: .*; with socks5h:// the proxy looks it up",
        ),
    ],
)
async def test_a_socks_proxy_that_refuses_says_why(proxy: str, steps: list[tuple[bytes, bytes]], message: str) -> None:
    """Each error of the protocol has words and a remedy."""
    scheme, _, login = proxy.partition(" ")
    with Speaker(socks(*steps, then=b"")) as server, pytest.raises(HttpTrouble, match=message) as raised:
        await fetch("http://models.invalid/", proxy=f"{scheme}://{login and login + '@'}127.0.0.1:{server.port}")
    assert "s3cret" not in str(raised.value)


async def test_tls_goes_through_a_socks_proxy() -> None:
    """The proxy passes bytes on; the certificate is that of the server."""
    with tls(FakeServer(reply_json({}))) as server:

        def pass_on(connection: socket.socket) -> None:
            connection.recv(3)
            connection.sendall(b"\x05\x00")
            connection.recv(64)
            connection.sendall(WELL_5)
            with socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2]))) as there:
                back = threading.Thread(target=_pump, args=(there, connection), daemon=True)
                back.start()
                _pump(connection, there)
                back.join(5)

        with Speaker(pass_on) as proxy:
            url = f"socks5h://127.0.0.1:{proxy.port}"
            assert await fetch("https://localhost:1/", proxy=url, reach=Reach(ca_file=CA)) == (200, b"{}")


def _pump(source: socket.socket, sink: socket.socket) -> None:
    try:
        while data := source.recv(1 << 16):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass


# Sockets in the file system


async def test_a_server_on_a_socket_in_the_file_system_is_reached(tmp_path: Path) -> None:
    """Behind the path of the socket comes that of the request."""
    asked = []

    def speak(connection: socket.socket) -> None:
        asked.append(connection.recv(1 << 16).split(b"\r\n"))
        connection.sendall(ANSWER)

    path = str(tmp_path / "model.sock")
    with Speaker(speak, path):
        assert await fetch(f"unix://{path}:/v1/models?a=b") == (200, b"{}")
    assert asked[0][:2] == [b"GET /v1/models?a=b HTTP/1.1", b"Host: localhost"]
    with pytest.raises(HttpTrouble, match=r"cannot connect to the socket .*model.sock: .*; is the server running"):
        await fetch(f"unix://{path}:/")


# Certificates


@pytest.mark.parametrize(
    ("certificate", "message"),
    [
        ("expired", "has expired; it must be renewed there, or the clock of this machine is wrong"),
        (
            "other",
            r"the certificate of 127.0.0.1:\d+ is for another host, not for 127.0.0.1; set the endpoint to the name",
        ),
        ("self", "is self-signed; if it is yours, set ca_file of its preset, or network.ca_file, to it"),
    ],
)
async def test_a_certificate_that_is_not_right_is_explained(certificate: str, message: str) -> None:
    """One line with the cause and the remedy; OpenSSL says CERTIFICATE_VERIFY_FAILED to all of them."""
    with tls(FakeServer(reply_json({})), certificate) as server, pytest.raises(HttpTrouble, match=message) as raised:
        await fetch(server.url, reach=Reach(ca_file=CA))
    assert not raised.value.refused, "trying again does not help"


async def test_an_unknown_authority_can_be_made_known_by_setting_or_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Companies have authorities of their own; other tools know them by these variables."""
    with tls(FakeServer(reply_json({}))) as server:
        with pytest.raises(HttpTrouble, match="is signed by an authority that this machine does not know; set ca_file"):
            await fetch(server.url)
        assert await fetch(server.url, reach=Reach(ca_file=CA)) == (200, b"{}")
        for variable in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
            monkeypatch.setenv(variable, CA)
            assert await fetch(server.url) == (200, b"{}")
            monkeypatch.setenv(variable, "/does/not/exist")
            with pytest.raises(
                HttpTrouble,
                match=f"cannot use /does/not/exist, which {variable} names: No such file.*; correct {variable}$",
            ):
                await fetch(server.url)
            monkeypatch.delenv(variable)
    with tls(FakeServer(reply_json({})), "self") as server:
        assert await fetch(server.url, reach=Reach(ca_file=str(CERTIFICATES / "self.pem"))) == (200, b"{}")


async def test_a_client_certificate_is_shown_to_a_server_that_wants_it() -> None:
    """And a server that wants one says so in words."""
    mine = str(CERTIFICATES / "client.pem")
    with tls(FakeServer(reply_json({})), wants_client=True) as server:
        assert await fetch(server.url, reach=Reach(ca_file=CA, client_cert=mine)) == (200, b"{}")
        with pytest.raises(
            HttpTrouble, match=r"wants a client certificate, set client_cert|wants a client certificate; set"
        ):
            await fetch(server.url, reach=Reach(ca_file=CA))
        with pytest.raises(HttpTrouble, match=r"cannot use the client certificate .*ca.pem: both must be in PEM form"):
            await fetch(server.url, reach=Reach(ca_file=CA, client_cert=mine, client_key=CA))


async def test_plain_http_behind_https_is_named() -> None:
    """A frequent mistake in an endpoint."""

    def refuse(connection: socket.socket) -> None:
        connection.recv(1 << 16)
        connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with (
        Speaker(refuse) as server,
        pytest.raises(HttpTrouble, match="does not speak TLS; if it speaks plain HTTP"),
    ):
        await fetch(f"https://127.0.0.1:{server.port}/v1")


async def test_a_server_that_speaks_only_http_2_over_tls_is_named() -> None:
    """OpenSSL has words for its refusal, but Python has no name."""
    refusal = ssl.SSLError(1, "[SSL] tlsv1 alert no application protocol (_ssl.c:1006)")

    assert str(tls_trouble(refusal, "h:443", "h")).startswith("h:443 speaks HTTP/2 only; aish speaks HTTP/1.1")
