"""Which fence can be had here, and why not a better one: found out by trying, not by version numbers."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Literal

from aish.action.fence.bounds import looking
from aish.action.fence.fence import Kind, fenced
from aish.action.fence.landlock import absence
from aish.action.fence.system_calls import numbers

Wanted = Literal["auto", "landlock", "bubblewrap", "off"]
KINDS: tuple[Kind, ...] = ("landlock", "bubblewrap")
_SECONDS = 10
_SANE_PATH = "/usr/local/bin:/usr/bin:/bin"
# Prints the name of everything that the fence does not stop. The arguments: a directory, a port, a process.
_ATTEMPTS = """
{ : > "$1/new"; } 2>/dev/null && echo 'creating files'
{ : >> "$1/file"; } 2>/dev/null && echo 'writing to files'
{ read -r line < "$1/hidden/file"; } 2>/dev/null && echo 'reading hidden files'
chmod 600 "$1/file" 2>/dev/null && echo 'changing modes'
{ exec 3<> "/dev/tcp/127.0.0.1/$2"; } 2>/dev/null && echo 'network connections'
kill -0 "$3" 2>/dev/null && [ "$3" -gt 1 ] && [ -d "/proc/$3" ] && echo 'signals to other processes'
{ : > "$TMPDIR/new"; } 2>/dev/null || echo 'nothing: its own temporary directory is closed too'
exit 0
"""


def kind(wanted: Wanted) -> Kind | None:
    """Return the fence for a setting; None if there is none. One that was chosen by name is never replaced."""
    return next((one for one in KINDS if wanted in ("auto", one) and not trouble(one)), None)


def isolating_kind(wanted: Wanted) -> Kind | None:
    """Return the fence for work without a user who looks at each command: bubblewrap if it can be had."""
    return "bubblewrap" if wanted == "auto" and not trouble("bubblewrap") else kind(wanted)


def why(wanted: Wanted) -> str:
    """Return why there is no fence, or not the usual one, as a message; empty if there is nothing to say."""
    if wanted == "off":
        return "the fence is off: commands of the model can do all that you can, so almost all of them ask"
    if found := kind(wanted):
        return trouble("landlock") if wanted == "auto" and found != "landlock" else ""
    told = [trouble(one) for one in KINDS if wanted in ("auto", one)]
    return f"no fence is available: {'; '.join(told)}; so almost all commands of the model ask"


def trouble(one: Kind) -> str:
    """Return why this fence cannot be used, as a message; empty if it can."""
    if sys.platform != "linux":
        return f"a fence needs Linux, and this is {sys.platform}"
    if not numbers():
        return f"a fence needs an x86_64 or aarch64 machine, and this is {os.uname().machine}"
    if one == "landlock" and absence():
        return absence()
    if one == "bubblewrap" and not shutil.which("bwrap"):
        return "bubblewrap is not installed (the package is usually called bubblewrap)"
    return trial(one, abi=None)


@cache
def trial(one: Kind, abi: int | None) -> str:
    """Try everything that the fence must stop; return what went wrong, empty if all was stopped.

    `abi` is the version of Landlock to use; None: the newest that the kernel has.
    """
    name = one.capitalize()
    with tempfile.TemporaryDirectory(prefix="aish-trial-") as place, socket.create_server(("127.0.0.1", 0)) as server:
        top = Path(place)
        (top / "hidden").mkdir()
        for path in (top / "file", top / "hidden/file"):
            path.write_text("text\n", encoding="ascii")
        words = ["bash", "--norc", "--noprofile", "-c", _ATTEMPTS, "trial"]
        words += [place, str(server.getsockname()[1]), str(os.getpid())]
        try:
            with fenced(looking([top / "hidden"], seconds=_SECONDS), one, abi=abi) as fence:
                tried = subprocess.run(
                    fence.wrap(words, place),
                    cwd=place,
                    env={"PATH": _SANE_PATH, "TMPDIR": str(fence.private)},
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    preexec_fn=fence.step,
                    pass_fds=fence.pass_fds,
                    start_new_session=True,
                    restore_signals=True,
                    timeout=2 * _SECONDS,
                    check=False,
                )
        except (OSError, subprocess.SubprocessError) as error:
            return f"{name} does not work here: {error}"
    if passed := tried.stdout.decode("utf-8", "replace").strip():
        return f"{name} does not stop {', '.join(passed.splitlines())}"
    if tried.returncode:
        said = tried.stderr.decode("utf-8", "replace").strip() or f"exit status {tried.returncode}"
        return f"{name} does not work here: {said.removeprefix('aish: ')}"
    return ""
