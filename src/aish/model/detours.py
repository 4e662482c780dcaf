"""The ways to a server that most connections do not need: proxies, sockets in the file system, certificates.

Implements `Detours` of `http.py`, and is loaded on first use.
"""

import asyncio
import os
import re
import ssl
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import SplitResult

from aish.model.body_decoding import BodyDecoder, page_title
from aish.model.http import CA_VARIABLES, HttpTrouble, Link, Patience, Reach, port_of, reason, remedy
from aish.model.proxies import BadProxy, Proxy, choose_proxy, parse_proxy, refused_login
from aish.model.socks import ask_socks
from aish.values.text import one_line

__all__ = ["connect", "decoder", "not_http", "page_title", "tls_trouble"]
_READ = 1 << 16
_WHOLE_BUFFER = 1 << 20  # larger than the buffer of a StreamReader
_TRUST = "set ca_file of its preset, or network.ca_file, to the file of its authority"
_CERTIFICATES = {
    9: "is not valid yet; check the clock of this machine",
    10: "has expired; it must be renewed there, or the clock of this machine is wrong",
    18: f"is self-signed; if it is yours, {_TRUST.replace('the file of its authority', 'it')}",
    19: f"is signed by an authority that this machine does not know; {_TRUST}",
    20: f"is signed by an authority that this machine does not know; {_TRUST}",
    21: f"cannot be checked, because the server sends no intermediate certificate; {_TRUST}",
    23: "was revoked",
}


async def connect(target: SplitResult, patience: Patience, proxy: str | None) -> Link:
    """Connect to a server by the way that settings and environment ask for."""
    if target.scheme == "unix":
        return await _connect_to_socket(target, patience)
    hop = _find_proxy(target, proxy)
    host, where = target.hostname or "", f"{target.hostname}:{port_of(target)}"
    tls = tls_context(patience.reach, os.environ) if target.scheme == "https" else None
    try:
        async with asyncio.timeout(patience.connect):
            if hop is None:
                return Link(*await asyncio.open_connection(host, port_of(target), ssl=tls))
            return await _through(hop, target, tls, patience.reach)
    except TimeoutError:
        late = f"{hop.words} did not connect to {where}" if hop else f"cannot connect to {where}"
        more = f"; {hop.remedy(host)}" if hop else ""
        raise HttpTrouble(f"{late} within {patience.connect:g} s{more}", refused=True) from None
    except ssl.SSLError as error:
        raise tls_trouble(error, where, host) from None
    except OSError as error:
        if hop:
            broke = f"cannot connect to {where} by way of {hop.words}: {reason(error)}; {hop.remedy(host)}"
            raise HttpTrouble(broke, refused=True) from None
        raise HttpTrouble(f"cannot connect to {where}: {reason(error)}; {remedy(error)}", refused=True) from None
    except ValueError:  # raised by getaddrinfo for an invalid name
        raise HttpTrouble(f"{host!r} is not a valid host name") from None


def _find_proxy(target: SplitResult, given: str | None) -> Proxy | None:
    variable, value = choose_proxy(target, os.environ) if given is None else ("", given)
    try:
        return parse_proxy(value, variable or "") if value else None
    except BadProxy as error:
        raise HttpTrouble(str(error)) from None


async def _connect_to_socket(target: SplitResult, patience: Patience) -> Link:
    path = target.path.partition(":")[0]
    try:
        async with asyncio.timeout(patience.connect):
            return Link(*await asyncio.open_unix_connection(path))
    except TimeoutError:
        raise HttpTrouble(f"cannot connect to {path} within {patience.connect:g} s", refused=True) from None
    except (OSError, ValueError) as error:
        why = reason(error) if isinstance(error, OSError) else str(error)
        raise HttpTrouble(f"cannot connect to the socket {path}: {why}; is the server running?", refused=True) from None


async def _through(proxy: Proxy, target: SplitResult, tls: ssl.SSLContext | None, reach: Reach) -> Link:
    host, port = target.hostname or "", port_of(target)
    outer = tls_context(Reach(ca_file=reach.ca_file), os.environ) if proxy.scheme == "https" else None
    try:
        reader, writer = await asyncio.open_connection(proxy.host, proxy.port, ssl=outer)
    except ssl.SSLError as error:
        trouble = tls_trouble(error, proxy.words, proxy.host)
        raise HttpTrouble(str(trouble)) from None
    except (OSError, ValueError) as error:
        why = reason(error) if isinstance(error, OSError) else "not a valid host name"
        raise HttpTrouble(f"cannot connect to {proxy.words}: {why}; {proxy.remedy(host)}", refused=True) from None
    try:
        if proxy.is_socks:
            await _ask_socks(reader, writer, proxy, host, port)
        elif tls is None:
            login = {"Proxy-Authorization": proxy.basic} if proxy.basic else {}
            return Link(
                reader, writer, _origin(target), login, proxy.with_login, lambda offered: refused_login(proxy, offered)
            )
        else:
            await _ask_http(reader, writer, proxy, host, port)
        if tls:
            await writer.start_tls(tls, server_hostname=host)
    except BaseException:  # close the socket on cancellation too
        writer.transport.abort()
        raise
    return Link(reader, writer, via=proxy.words)


def _origin(target: SplitResult) -> str:
    return f"http://{target.netloc.rpartition('@')[2]}"


async def _ask_socks(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, proxy: Proxy, host: str, port: int
) -> None:
    try:
        await ask_socks(reader, writer, proxy, host, port)
    except ConnectionError as error:
        raise HttpTrouble(f"{proxy.words} broke the connection: {reason(error)}") from None
    except OSError as error:
        raise HttpTrouble(str(error)) from None


async def _ask_http(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, proxy: Proxy, host: str, port: int
) -> None:
    """Ask an HTTP proxy for a tunnel."""
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    login = f"Proxy-Authorization: {proxy.basic}\r\n" if proxy.basic else ""
    writer.write(f"CONNECT {address} HTTP/1.1\r\nHost: {address}\r\n{login}\r\n".encode())
    head = b""
    while b"\r\n\r\n" not in head:
        try:
            data = await reader.read(_WHOLE_BUFFER)
        except OSError as error:
            raise HttpTrouble(f"{proxy.words} broke the connection: {reason(error)}") from None
        if (head + data)[:5] != b"HTTP/"[: len(head + data)]:
            hint = f"if it is a SOCKS proxy, write socks5h://{proxy.host}:{proxy.port}"
            raise HttpTrouble(f"{proxy.words} is not an HTTP proxy; {hint}, otherwise {proxy.remedy(host)}")
        if not data or len(head) > _READ:
            raise HttpTrouble(f"{proxy.words} does not answer; {proxy.remedy(host)}")
        head += data
    status, _, fields = head.partition(b"\r\n\r\n")[0].decode("latin-1").partition("\r\n")
    code, _, words = one_line(status.partition(" ")[2], 200).partition(" ")
    if code == "407" or (code == "401" and proxy.basic):  # tinyproxy means the same with both
        offered = re.findall(r"(?im)^proxy-authenticate:[ \t]*(.*?)\r?$", fields)
        raise HttpTrouble(refused_login(proxy, ", ".join(offered)))
    if not re.fullmatch(r"2\d\d", code):
        raise HttpTrouble(f"{proxy.words} refused to connect to {address}: {code} {words}; {proxy.remedy(host)}")
    if not head.endswith(b"\r\n\r\n"):  # leftover bytes would be read as the server's response
        raise HttpTrouble(f"{proxy.words} sent data before the TLS connection was open")


def tls_context(reach: Reach, env: Mapping[str, str]) -> ssl.SSLContext:
    """Return a context with the authorities and the client certificate of settings and environment."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    for origin, name in (("ca_file", reach.ca_file), *((name, env.get(name, "")) for name in CA_VARIABLES)):
        if not name:
            continue
        path = Path(name).expanduser()
        try:
            context.load_verify_locations(**{"capath" if path.is_dir() else "cafile": str(path)})
        except (OSError, ssl.SSLError) as error:
            why = "it has no certificates in PEM form" if isinstance(error, ssl.SSLError) else reason(error)
            raise HttpTrouble(f"cannot use {path}, which {origin} names: {why}; correct {origin}") from None
    if reach.client_cert:
        _load_client_certificate(context, reach)
    return context


def _load_client_certificate(context: ssl.SSLContext, reach: Reach) -> None:
    def no_password() -> str:
        raise HttpTrouble("the key in client_key has a passphrase; give it a copy without one, readable by you alone")

    cert, key = Path(reach.client_cert).expanduser(), Path(reach.client_key or reach.client_cert).expanduser()
    try:
        context.load_cert_chain(cert, key, no_password)
    except (OSError, ssl.SSLError) as error:
        why = "both must be in PEM form and belong together" if isinstance(error, ssl.SSLError) else reason(error)
        raise HttpTrouble(f"cannot use the client certificate {cert} with the key {key}: {why}") from None


def tls_trouble(error: ssl.SSLError, where: str, host: str) -> HttpTrouble:
    """Return what a failed TLS handshake means, and what to do."""
    if isinstance(error, ssl.SSLCertVerificationError):
        if error.verify_code in (62, 64):
            return HttpTrouble(
                f"the certificate of {where} is for another host, not for {host}; set the endpoint to the name in it"
            )
        known = _CERTIFICATES.get(error.verify_code) or f"is not valid: {error.verify_message}"
        return HttpTrouble(f"the certificate of {where} {known}")
    why = str(getattr(error, "reason", None) or error)
    said = why.upper().replace(" ", "_")  # some have a name, others only words
    for sign, words in _HANDSHAKES.items():
        if sign in said:
            return HttpTrouble(f"{where} {words}")
    return HttpTrouble(f"TLS connection to {where} failed: {why}")


_HANDSHAKES = {
    "WRONG_VERSION_NUMBER": "does not speak TLS; if it speaks plain HTTP, write http:// instead of https://",
    "HTTP_REQUEST": "does not speak TLS; if it speaks plain HTTP, write http:// instead of https://",
    "CERTIFICATE_REQUIRED": "wants a client certificate; set client_cert and client_key of its preset",
    "HANDSHAKE_FAILURE": "refused the TLS handshake; it may want a client certificate (client_cert) or another cipher",
    "UNKNOWN_CA": "does not know the authority of the client certificate; check client_cert",
    "BAD_CERTIFICATE": "refused the client certificate; check client_cert",
    "NO_APPLICATION_PROTOCOL": "speaks HTTP/2 only; aish speaks HTTP/1.1, so switch that on there",
    "PROTOCOL_VERSION": "speaks only versions of TLS that this machine refuses as too old",
    "UNSUPPORTED_PROTOCOL": "speaks only versions of TLS that this machine refuses as too old",
}


def decoder(encoding: str) -> BodyDecoder:
    """Return what decodes a body."""
    return BodyDecoder(encoding)


def not_http(data: bytes) -> str:
    """Return what a server is that does not answer in HTTP/1.1; empty if that is not known."""
    if data[:2] == b"\x15\x03":
        return "the server wants TLS; write https:// instead of http://"
    if data[:6] == b"HTTP/2" or (len(data) >= 9 and data[3] in (4, 7) and data[5:9] == bytes(4)):  # its first frame
        return "the server speaks HTTP/2 only; aish speaks HTTP/1.1, so switch that on there"
    if data[:4] == b"SSH-":
        return "an SSH server answers at this address; check the port of the endpoint"
    return ""
