"""Stand-ins for sockets: a fenced command gets one end of a private pair, and never a real socket.

So it can be told which address it wanted to reach, and, by the name query that it sends, which host.
"""

import errno
import ipaddress
import os
import re
import socket
import struct
from collections.abc import Callable

from aish.action.fence.wants import Want

_MOST = 64
_NAME_SERVICE = 53
_QUERY = 512  # bytes of the longest name query
# Services that programs ask in passing and do without.
_IN_PASSING = tuple(
    """
    /run/nscd/ /var/run/nscd/ /run/.nscd /run/systemd/userdb/ /var/run/systemd/userdb/ /run/systemd/journal/
    /run/systemd/resolve/ /run/systemd/io. /var/lib/sss/ /dev/log
    """.split()
)


class StandIns:
    """The stand-ins of one command. `note` gets what the command wanted to reach."""

    def __init__(self, note: Callable[[Want], None]) -> None:
        self._note = note
        self._ours: list[socket.socket] = []
        self._theirs: list[socket.socket] = []

    def give(self, family: int, kind: int, *, nonblocking: bool) -> int | None:
        """Return a descriptor to hand out instead of a socket of this family and kind; None if there is none."""
        if family not in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX):
            if family not in (socket.AF_NETLINK, 38):  # 38: sums and ciphers by the kernel; programs do without
                self._note(Want("reach", "use a raw socket"))
            return None
        if len(self._ours) >= _MOST or kind not in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
            if kind == socket.SOCK_RAW:
                self._note(Want("reach", "send raw packets"))
            return None
        # Never a pair of datagram sockets: those could send to any named socket.
        same = socket.SOCK_STREAM if kind == socket.SOCK_STREAM else socket.SOCK_SEQPACKET
        ours, theirs = socket.socketpair(socket.AF_UNIX, same)
        ours.setblocking(False)
        theirs.setblocking(not nonblocking)
        self._ours.append(ours)
        self._theirs.append(theirs)
        return theirs.fileno()

    def given(self) -> None:
        """Close our copies of what was handed out."""
        for theirs in self._theirs:
            theirs.close()
        self._theirs.clear()

    @property
    def readable(self) -> list[int]:
        return [ours.fileno() for ours in self._ours]

    def read(self, fd: int) -> None:
        """Read what was sent to a stand-in: if it is a name query, note the name. Then hang up."""
        ours = next((one for one in self._ours if one.fileno() == fd), None)
        if ours is None:
            return
        try:
            data = ours.recv(_QUERY)
        except OSError:
            data = b""
        if data:
            name = queried_name(data) or queried_name(data[2:])  # over TCP the length comes first
            self._note(Want("reach", f"reach {name}" if name else "send data over the network"))
        self._ours.remove(ours)
        ours.close()

    def address(self, family: int, data: bytes, *, listens: bool) -> int:
        """Note an address that was to be reached or listened on; return the error for the program, 0 for success."""
        if family == socket.AF_UNIX:
            name = socket_path(data)
            if name.startswith(_IN_PASSING):
                return errno.ECONNREFUSED
            verb = "listen on" if listens else "use"
            self._note(Want("socket", f"{verb} the socket {name}", minor=not listens))
            return errno.EACCES
        if family == socket.AF_UNSPEC:  # it disconnects
            return 0
        where = _network_address(family, data)
        if where is None:
            return errno.EACCES
        host, port = where
        if listens:
            if port:
                self._note(Want("listen", f"listen on port {port}"))
            return errno.EACCES if port else 0
        if port == _NAME_SERVICE:
            return 0  # the query that follows says which host it is about
        self._note(Want("reach", f"reach {host} port {port}" if port else f"reach {host}", minor=not port))
        return errno.EACCES


def socket_path(data: bytes) -> str:
    """Return the path in the address of a socket of this machine; with an @ if it is only a name."""
    return os.fsdecode(data[2:].split(b"\0")[0] if data[2:3] != b"\0" else b"@" + data[3:].rstrip(b"\0"))


def connected(path: str) -> int:
    """Return the descriptor of a socket that is connected to this path. Raises `OSError`."""
    with socket.socket(socket.AF_UNIX) as one:
        one.setblocking(False)  # the keeper never waits
        one.connect(path)
        one.setblocking(True)
        return one.detach()


def _network_address(family: int, data: bytes) -> tuple[str, int] | None:
    if family == socket.AF_INET and len(data) >= 8:
        return str(ipaddress.IPv4Address(data[4:8])), int(struct.unpack_from("!H", data, 2)[0])
    if family == socket.AF_INET6 and len(data) >= 24:
        return str(ipaddress.IPv6Address(data[8:24])), int(struct.unpack_from("!H", data, 2)[0])
    return None


def queried_name(data: bytes) -> str:
    """Return the host that a query of the name service asks for; empty if it is no such query."""
    if len(data) < 17 or data[2] & 0xF8 or data[4:6] != b"\0\1":
        return ""
    labels, at = [], 12
    while at < len(data) and data[at]:
        length = data[at]
        if length > 63 or at + 1 + length > len(data):
            return ""
        labels.append(data[at + 1 : at + 1 + length].decode("ascii", "replace"))
        at += 1 + length
    return re.sub(r"[^\w.-]", "?", ".".join(labels))  # nothing that could read as a sentence
