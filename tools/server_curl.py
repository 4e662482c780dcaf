"""Compare the proxies that aish uses with those of curl: the same variables and address, and who is asked for what.

All names of the comparison lead to sockets that note the first words of a client and close.
"""

import asyncio
import itertools
import os
import random
import socket
import subprocess
import threading
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from server_programs import SYSTEM, listen

from aish.model import detours
from aish.model.http import HttpTrouble, Patience, provide_detours, send

NAMES = {name: f"10.77.1.{place}" for place, name in enumerate(("curl.test", "a.curl.test", "p1.test", "p2.test"), 1)}
_PORTS = (80, 443, 1080, 3128, 8080, 8443)
_TARGETS = (
    "http://curl.test/x",
    "https://curl.test/x",
    "http://a.curl.test:8080/x",
    "http://10.77.1.1/x",
    "https://10.77.1.1:8443/x",
    "http://curl.test./x",
)
_VARIABLES = ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
_PROXIES = (
    *("http://p1.test:3128", "p1.test:3128", "p1.test", "HTTP://p1.test:3128/", "http://ann:p%40ss@p1.test:3128"),
    *("https://p1.test", "socks5://p1.test", "socks5h://ann:p%40ss@p1.test:1080", "socks4://p1.test"),
    *(
        "socks4a://p1.test:1080",
        "socks://p1.test:1080",
        "ftp://p1.test",
        "http://ann@p1.test:3128",
        "http://:pw@p1.test:3128",
    ),
)
_EXCEPTIONS = (
    *("*", "curl.test", ".curl.test", "CURL.TEST", "curl.test.", "test", "est", "other.test,curl.test", "curl"),
    *("other.test curl.test", "other.test, curl.test", "a.curl.test", "10.77.1.0/24", "10.77.1.1", "10.77.1.1/32"),
    *("10.77.0.0/15", "10.77.1", "10.77.1.*", "*.curl.test", ",", "other.test,*", "0.0.0.0/0", "curl.test:80"),
)
MEANT = {  # differences that stay: what they look like, and why
    "socks4a": "an address goes to a `socks4a` proxy as an address, which older ones understand; by curl as a name",
    "other.test,*": "`*` among other names is everything; for curl only alone",
    "curl.test:80": "NO_PROXY may have ports, which curl does not read",
    "0.0.0.0/0": "a network of no bits is every address; for curl it is none",
}


class Seen(NamedTuple):
    """Who was asked for what."""

    where: str
    words: str


class Notes:
    """Listens on all addresses of the comparison, and notes what clients say first."""

    def __init__(self) -> None:
        self._heard: list[Seen] = []
        self._sockets = [listen("0.0.0.0", port) for port in _PORTS]
        for one in self._sockets:
            threading.Thread(target=self._accept, args=(one,), daemon=True).start()

    def close(self) -> None:
        for one in self._sockets:
            one.shutdown(socket.SHUT_RDWR)
            one.close()

    def taken(self) -> Seen:
        heard, self._heard = self._heard, []
        return heard[0] if heard else Seen("nobody", "")

    def _accept(self, listening: socket.socket) -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(2)
                host, port = connection.getsockname()
                place = len(self._heard)
                self._heard.append(Seen(f"{host}:{port}", ""))
                try:
                    words = _first_words(connection)
                except OSError:
                    words = ""
                self._heard[place : place + 1] = [Seen(f"{host}:{port}", words)]


def _first_words(connection: socket.socket) -> str:
    data = connection.recv(1 << 16)
    if data[:1] == b"\x16":
        return "TLS"
    if data[:1] == b"\x04":
        return f"SOCKS 4 {data[1:].hex()}"
    if data[:1] == b"\x05":
        login = b""
        connection.sendall(b"\x05\x02" if 2 in data[2:] else b"\x05\x00")
        if 2 in data[2:]:
            login = connection.recv(600)
            connection.sendall(b"\x01\x00")
        return f"SOCKS 5 {login.hex()} {connection.recv(600).hex()}"
    lines = data.decode("latin-1").split("\r\n")
    return " ".join([lines[0], *(line for line in lines if line.lower().startswith("proxy-authorization"))])


def settings() -> Iterator[tuple[str, dict[str, str]]]:
    """Yield addresses and variables."""
    for target, proxy in itertools.product(_TARGETS, _PROXIES):
        yield target, {"ALL_PROXY": proxy}
    for target, name in itertools.product(_TARGETS, _EXCEPTIONS):
        yield target, {"all_proxy": "http://p1.test:3128", "NO_PROXY": name}
    chance = random.Random(7)
    for _ in range(200):
        env = {name: chance.choice(("", "http://p1.test:3128", "http://p2.test:3128")) for name in _VARIABLES}
        env |= {name: chance.choice(("", "", "curl.test", "*")) for name in ("no_proxy", "NO_PROXY")}
        yield chance.choice(_TARGETS), {name: value for name, value in env.items() if chance.random() < 0.6}


def compare() -> tuple[int, list[str], list[str]]:
    """Return the number of settings, differences that are meant, and those that are not."""
    provide_detours(lambda: detours)
    notes, meant, others, number = Notes(), list[str](), list[str](), 0
    for target, env in settings():
        number += 1
        theirs, ours = _by_curl(target, env, notes), _by_aish(target, env, notes)
        if theirs != ours:
            numeric = "://10." in target and env.get("ALL_PROXY", "").startswith("socks4a")
            why = MEANT.get("socks4a" if numeric else env.get("NO_PROXY", ""))
            (meant if why else others).append(why or f"{target} {env}: curl asks {theirs}, aish asks {ours}")
    notes.close()
    return number, sorted(set(meant)), others


def _by_curl(target: str, env: Mapping[str, str], notes: Notes) -> Seen:
    words = ["curl", "-q", "-s", "-m", "5", target]
    subprocess.run(words, env={"PATH": SYSTEM, **env}, capture_output=True, check=False)
    return notes.taken()


def _by_aish(target: str, env: Mapping[str, str], notes: Notes) -> Seen:
    async def ask() -> None:
        try:
            (await send("GET", target, {}, b"", Patience(connect=5, first=5, silence=5))).close()
        except HttpTrouble:
            return

    for name in (*_VARIABLES, "no_proxy", "NO_PROXY"):
        os.environ.pop(name, None)
    os.environ.update(env)
    asyncio.run(ask())
    for name in env:
        del os.environ[name]
    return notes.taken()
