"""Names that complete in a shell line: variables, users, hosts and jobs. Nothing is run to find them."""

import pwd
import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

HOST_COMMANDS = frozenset(
    "ssh scp sftp rsync mosh ping ping6 telnet ftp nc ncat host dig nslookup traceroute tracepath mtr".split()
)
_LARGE = 2_000_000  # bytes read of a file with hosts
_NO_HOSTS = frozenset("0.0.0.0 255.255.255.255 broadcasthost".split())


def assigned(line: str) -> set[str]:
    """Return the names of variables that a line could set."""
    found = set(re.findall(r"(?<![\w$-])([A-Za-z_]\w*)(?:\[[^]]*\])?\+?=", line[:100_000]))
    for names in re.findall(r"\b(?:read|export|declare|local|typeset)((?:[ \t]+[\w-]+)+)", line[:100_000]):
        found.update(name for name in names.split() if name.isidentifier())
    return found


def users() -> list[str]:
    """Return the names of all users of this machine."""
    return sorted({entry.pw_name for entry in pwd.getpwall()})


def hosts(home: Path) -> list[str]:
    """Return the hosts that ssh and this machine know by name."""
    files = (home / ".ssh/config", home / ".ssh/known_hosts", Path("/etc/ssh/ssh_known_hosts"), Path("/etc/hosts"))
    return sorted({host for file in files for host in _hosts_in(str(file), _changed(file))})


def _changed(file: Path) -> int:
    try:
        return file.stat().st_mtime_ns
    except OSError:
        return 0


@lru_cache(maxsize=16)
def _hosts_in(name: str, changed: int) -> frozenset[str]:
    """Return the hosts in one file; it is read again when it has changed."""
    try:
        with Path(name).open("rb") as file:
            text = file.read(_LARGE).decode("utf-8", "replace") if changed else ""
    except OSError:
        return frozenset()
    read = {"config": _configured, "hosts": _listed}.get(Path(name).name, _known)
    return frozenset(host for host in read(text) if host not in _NO_HOSTS and re.fullmatch(r"[\w.:-]+", host))


def _configured(text: str) -> Iterable[str]:
    lines = re.findall(r"(?im)^[ \t]*host[ \t=]+([^#\n]+)", text)
    return (word for line in lines for word in line.split() if not re.search(r"[*?!]", word))


def _known(text: str) -> Iterable[str]:
    """Read known_hosts. Names that are stored as hashes cannot be read."""
    for line in text.splitlines():
        words = line.split()
        names = words[1] if line.startswith("@") and len(words) > 1 else words[0] if words else ""
        if not names.startswith(("#", "|")):
            yield from (re.sub(r"^\[(.*)\]:\d+$", r"\1", name) for name in names.split(","))


def _listed(text: str) -> Iterable[str]:
    return (word for line in text.splitlines() for word in line.partition("#")[0].split()[1:])


def jobs(text: str) -> list[tuple[str, str]]:
    """Read what `jobs` printed: the name of each job, as `%1`, and its state and command."""
    found = re.findall(r"(?m)^\[(\d+)\][ \t]*[-+]?[ \t]*(.*?)[ \t]*$", text)
    return [(f"%{number}", " ".join(state.split())) for number, state in found]
