"""Ask a SOCKS proxy for a connection: versions 4, 4a, 5 and 5h, with login."""

import asyncio
import ipaddress
import socket

from aish.model.proxies import Proxy

_WHOLE_BUFFER = 1 << 20  # larger than the buffer of a StreamReader
_REASONS_5 = {
    1: "it failed",
    2: "its rules do not allow it",
    3: "the network is unreachable",
    4: "the host is unreachable",
    5: "the connection was refused",
    6: "it took too long",
    7: "it cannot connect",
    8: "it does not know this kind of address",
}
_REASONS_4 = {91: "it was refused or failed", 92: "it wants identd", 93: "identd says another user"}


class _Replies:
    """What a proxy says. It reads all that has come: what stays in the stream would be taken for the server's words,
    also for those that come after a TLS handshake."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader
        self.rest = b""

    async def take(self, size: int) -> bytes:
        """Return the next bytes. Raises `EOFError` if they do not come."""
        while len(self.rest) < size:
            data = await self._reader.read(_WHOLE_BUFFER)
            if not data:
                raise EOFError
            self.rest += data
        taken, self.rest = self.rest[:size], self.rest[size:]
        return taken


async def ask_socks(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, proxy: Proxy, host: str, port: int
) -> None:
    """Let the proxy connect to the host. Raises `OSError` with the reason."""
    replies = _Replies(reader)
    try:
        if proxy.scheme in ("socks4", "socks4a"):
            await _ask_4(replies, writer, proxy, host, port)
        else:
            await _log_in_5(replies, writer, proxy)
            await _ask_5(replies, writer, proxy, host, port)
    except EOFError:
        raise OSError(f"{proxy.words} closed the connection; is it a proxy of the kind {proxy.scheme}?") from None
    if replies.rest:
        raise OSError(f"{proxy.words} sent more than its reply; {proxy.remedy(host)}")


async def _log_in_5(replies: _Replies, writer: asyncio.StreamWriter, proxy: Proxy) -> None:
    has_login = bool(proxy.user or proxy.password)
    writer.write(b"\x05\x02\x00\x02" if has_login else b"\x05\x01\x00")
    version, method = await replies.take(2)
    if version != 5:
        raise OSError(f"{proxy.words} does not speak SOCKS 5; try http:// instead of {proxy.scheme}://")
    if method == 0:
        return
    if method != 2 or not has_login:
        example = f"{proxy.scheme}://NAME:PASSWORD@{proxy.host}:{proxy.port}"
        raise OSError(f"{proxy.words} wants a login; write it as {proxy.variable or 'proxy'}={example}")
    user, password = proxy.user.encode()[:255], proxy.password.encode()[:255]
    writer.write(b"\x01" + bytes([len(user)]) + user + bytes([len(password)]) + password)
    _, refused = await replies.take(2)
    if refused:
        raise OSError(
            f"{proxy.words} refused the login of {proxy.user!r}; correct it in {proxy.variable or 'the setting'}"
        )


async def _ask_5(replies: _Replies, writer: asyncio.StreamWriter, proxy: Proxy, host: str, port: int) -> None:
    if proxy.scheme == "socks5" and not _is_address(host):
        host = await _resolve(host, port, socket.AF_UNSPEC)
    writer.write(b"\x05\x01\x00" + _address_5(host) + port.to_bytes(2, "big"))
    version, reply, _, kind = await replies.take(4)
    if version != 5 or reply:
        raise OSError(f"{proxy.words} cannot reach {host}:{port}: {_REASONS_5.get(reply, f'error {reply}')}")
    length = (await replies.take(1))[0] if kind == 3 else 16 if kind == 4 else 4
    await replies.take(length + 2)


def _address_5(host: str) -> bytes:
    if _is_address(host):
        address = ipaddress.ip_address(host)
        return (b"\x01" if address.version == 4 else b"\x04") + address.packed
    name = host.encode("idna")
    return b"\x03" + bytes([len(name)]) + name


async def _ask_4(replies: _Replies, writer: asyncio.StreamWriter, proxy: Proxy, host: str, port: int) -> None:
    name = b""
    if proxy.scheme == "socks4a" and not _is_address(host):
        packed, name = b"\x00\x00\x00\x01", host.encode("idna") + b"\x00"
    else:
        address = host if _is_address(host) else await _resolve(host, port, socket.AF_INET)
        if ":" in address:
            raise OSError(f"{proxy.words} cannot reach {host}: SOCKS 4 knows no IPv6; use socks5h://")
        packed = ipaddress.ip_address(address).packed
    writer.write(b"\x04\x01" + port.to_bytes(2, "big") + packed + proxy.user.encode() + b"\x00" + name)
    version, reply = (await replies.take(8))[:2]
    if version or reply != 90:
        raise OSError(f"{proxy.words} cannot reach {host}:{port}: {_REASONS_4.get(reply, f'error {reply}')}")


async def _resolve(host: str, port: int, family: int) -> str:
    """Return an address of the host, looked up here; socks4a and socks5h let the proxy do that."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, family=family, type=socket.SOCK_STREAM)
    except OSError as error:
        raise OSError(f"cannot look up {host}: {error.strerror}; with socks5h:// the proxy looks it up") from None
    return str(found[0][4][0])


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
