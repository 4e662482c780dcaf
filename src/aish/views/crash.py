"""A bug is told in one line; its details go to a file that a bug report can take along."""

import os
import traceback

from aish.memory.suspicion import suspicious
from aish.places import find_places


def file_report() -> str:
    """Write the traceback of the exception being handled to a file, and say in one line where that is."""
    error = "\n".join(_harmless(line) for line in traceback.format_exc().splitlines())
    path = find_places(os.environ).state / "crash.txt"
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.write_text(error, encoding="utf-8")
        where = f"the details are in {path}"
    except OSError:
        where = error.rstrip().splitlines()[-1]
    return f"this is a bug in aish; {where}. What was said before is in the journal"


def _harmless(line: str) -> str:
    """A line of a traceback; what an exception quotes may be what the user typed."""
    return line if line.startswith(" ") or not suspicious(line) else f"{line.partition(':')[0]}: (may hold a secret)"
