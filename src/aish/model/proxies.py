"""Which proxy the environment names for a server, by the rules of curl, and what to say about it."""

import base64
import ipaddress
import re
from collections.abc import Mapping
from urllib.parse import SplitResult, unquote, urlsplit

from aish.model.http import is_this_machine
from aish.values.named_tuple import NamedTuple
from aish.values.text import one_line

_SCHEMES = ("http", "https", "socks4", "socks4a", "socks5", "socks5h")
_PORTS = {"https": 443}  # of others: 1080, as for curl


class BadProxy(Exception):
    """The value of a variable is not the address of a proxy."""


class Proxy(NamedTuple):
    """A proxy: how it is spoken to, where it is, the login for it, and the variable that names it."""

    scheme: str
    host: str
    port: int
    user: str = ""
    password: str = ""
    variable: str = ""

    @property
    def is_socks(self) -> bool:
        return self.scheme.startswith("socks")

    @property
    def words(self) -> str:
        """What it is called in messages; never with its password."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"the proxy {host}:{self.port}" + (f" (from {self.variable})" if self.variable else "")

    @property
    def with_login(self) -> str:
        return f"{self.words} with the login of {self.user!r}" if self.user else self.words

    @property
    def basic(self) -> str:
        """The value of the header that logs in; empty without a login."""
        return f"Basic {basic_login(self.user, self.password)}" if self.user or self.password else ""

    def remedy(self, host: str) -> str:
        variable = self.variable or "the setting"
        return f"correct {variable}, or add {host} to NO_PROXY"


def basic_login(user: str, password: str) -> str:
    return base64.b64encode(f"{user}:{password}".encode()).decode()


def choose_proxy(
    target: SplitResult, env: Mapping[str, str], *, upper_http: bool = False
) -> tuple[str, str] | tuple[None, None]:
    """Return the variable that names a proxy for this address and its value. Loopback addresses never use one.

    As with curl, HTTP_PROXY does not count, because a web server sets it from a header of its clients; `upper_http`
    lets it count.
    """
    host = (target.hostname or "").rstrip(".")
    if is_this_machine(host):
        return None, None
    scheme = target.scheme
    names = [f"{scheme}_proxy", *([f"{scheme.upper()}_PROXY"] if scheme != "http" or upper_http else [])]
    for name in (*names, "all_proxy", "ALL_PROXY"):
        if value := env.get(name, "").strip():
            port = target.port or (443 if scheme == "https" else 80)
            skipped = env.get("no_proxy") or env.get("NO_PROXY") or ""
            return (None, None) if is_excepted(host, port, skipped) else (name, value)
    return None, None


def proxy_for(target: SplitResult, env: Mapping[str, str]) -> str:
    """Return the URL of the proxy for this address, as other clients read it; empty for none."""
    _, value = choose_proxy(target, env, upper_http=True)
    return (value if "://" in value else f"http://{value}") if value else ""


def is_excepted(host: str, port: int, no_proxy: str) -> bool:
    """Return whether NO_PROXY names this host: by name, domain, address or network, with or without port."""
    host = host.lower().strip("[]").rstrip(".")
    return any(_fits(host, port, part) for part in re.split(r"[,\s]+", no_proxy.lower()) if part)


def _fits(host: str, port: int, part: str) -> bool:
    if part == "*":
        return True
    with_port = re.fullmatch(r"(\[[^]]*\]|[^:]*):(\d+)", part)
    if with_port:
        if int(with_port[2]) != port:
            return False
        part = with_port[1]
    part = part.strip("[]").lstrip(".").rstrip(".")
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return bool(part) and (host == part or host.endswith(f".{part}"))
    try:
        return address in ipaddress.ip_network(part, strict=False)
    except ValueError:
        return False


def parse_proxy(value: str, variable: str = "") -> Proxy:
    """Return the proxy that a value names. Raises `BadProxy` with a message that has no password in it."""
    named = f"{variable} " if variable else "the proxy setting "
    try:
        parts = urlsplit(value if "://" in value else f"http://{value}")
        port, host = parts.port, (parts.hostname or "").rstrip(".")
        host.encode("idna")
    except ValueError:
        raise BadProxy(f"{named}is not the address of a proxy; write it as http://HOST:PORT") from None
    scheme = "socks4" if parts.scheme == "socks" else parts.scheme
    if scheme not in _SCHEMES:
        raise BadProxy(
            f"{named}names a proxy of the kind {scheme!r}, which aish does not know; it knows {', '.join(_SCHEMES)}"
        )
    if not host:
        raise BadProxy(f"{named}names no host; write it as {scheme}://HOST:PORT")
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    return Proxy(scheme, host, port or _PORTS.get(scheme, 1080), user, password, variable)


def refused_login(proxy: Proxy, offered: str) -> str:
    """Return what to say about a 407; `offered` is the Proxy-Authenticate header."""
    kinds = re.findall(r"(?:^|,)\s*([A-Za-z][\w-]*)(?=\s|,|$)", offered)
    if kinds and not any(kind.lower() == "basic" for kind in kinds):
        how = one_line(", ".join(kinds), 100)
        return (
            f"{proxy.words} wants a login by {how}, which aish does not speak; use a local proxy that does, such as px"
        )
    if proxy.user:
        return f"{proxy.words} refused the login of {proxy.user!r}; correct it in {proxy.variable or 'the setting'}"
    example = f"{proxy.scheme}://NAME:PASSWORD@{proxy.host}:{proxy.port}"
    return f"{proxy.words} wants a login (407); write it as {proxy.variable or 'proxy'}={example}"
