"""Try some ways out: `python -m escapes GROUND NAME…`, with the ground as JSON.

Prints a line for each: its name, and `out` or why it was stopped. Each attempt is a process of its own.
"""

import fcntl
import json
import os
import subprocess
import sys

from escapes.every import ATTEMPTS
from escapes.ground import REPORT, Attempt, Ground, Stopped


def main() -> None:
    ground, names = Ground(**json.loads(sys.argv[1])), sys.argv[2:]
    for name in names:
        read, write = (_moved(fd) for fd in os.pipe())
        pid = os.fork()
        if pid == 0:
            os.close(read)
            os.write(write, _try(ATTEMPTS[name], ground).replace("\n", " ").encode("utf-8", "replace"))
            os._exit(0)
        os.close(write)
        with os.fdopen(read, "rb") as file:
            said = file.read().decode()
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        print(f"{name}\t{said or f'stopped: ended by {status}'}", flush=True)


def _try(function: Attempt, ground: Ground) -> str:
    try:
        function(ground)
    except (OSError, Stopped, ValueError, subprocess.SubprocessError) as error:
        return f"stopped: {error}"
    return "out"


def _moved(fd: int) -> int:
    moved = fcntl.fcntl(fd, fcntl.F_DUPFD, REPORT)
    os.close(fd)
    return moved


if __name__ == "__main__":
    main()
