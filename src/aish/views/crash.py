"""A bug is told in one line; its details go to a file that a bug report can take along."""

import os
import traceback
from collections.abc import Callable

from aish.places import find_places


def file_report(may_hold_secret: Callable[[str], bool]) -> str:
    """Write the traceback of the exception being handled to a file, and say in one line where that is.

    What an exception quotes may be what the user typed; a `suspicious` line loses that part.
    """
    lines = traceback.format_exc().splitlines()
    harmless = (line if line.startswith(" ") or not may_hold_secret(line) else line.partition(":")[0] for line in lines)
    error = "\n".join(harmless)
    path = find_places(os.environ).state / "crash.txt"
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.write_text(error, encoding="utf-8")
        where = f"the details are in {path}"
    except OSError:
        where = error.rstrip().splitlines()[-1]
    return f"this is a bug in aish; {where}. What was said before is in the journal"
