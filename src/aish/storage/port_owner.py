"""Whose program listens on a port of this machine: a server of another user must not get questions unasked."""

import os

_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
_LISTENS, _SYSTEM = "0A", 1000  # the state of a socket; the first id of a person on usual systems
_LONGEST = 1 << 22  # bytes of a table


def is_trusted_port(port: int) -> bool:
    """Return whether all programs that listen on the port are the user's own or the system's.

    True, too, if the system does not tell: there, users cannot be told apart.
    """
    owners = set[int]()
    for table in _TABLES:
        try:
            with open(table, "rb") as file:
                rows = file.read(_LONGEST).decode("ascii", "replace").splitlines()[1:]
        except OSError:
            continue
        owners |= {int(fields[7]) for fields in map(str.split, rows) if _is_listening(fields, port)}
    return all(owner == os.getuid() or owner < _SYSTEM for owner in owners)


def _is_listening(fields: list[str], port: int) -> bool:
    if len(fields) < 8 or fields[3] != _LISTENS or not fields[7].isdecimal():
        return False
    return fields[1].endswith(f":{port:04X}")
