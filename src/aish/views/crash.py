"""Report a bug in one line, and write the details to a file for a bug report."""

import os
import traceback
from collections.abc import Callable

from aish.places import find_places
from aish.storage.files import make_directory, private_opener


def file_report(may_hold_secret: Callable[[str], bool]) -> str:
    """Write the traceback of the current exception to a file, and return one line that says where.

    An exception may quote what the user typed, so its text is dropped if it may hold a secret.
    """
    lines = traceback.format_exc().splitlines()
    harmless = (line if line.startswith(" ") or not may_hold_secret(line) else line.partition(":")[0] for line in lines)
    error = "\n".join(harmless)
    path = find_places(os.environ).state / "crash.txt"
    try:
        make_directory(path.parent)
        with open(path, "w", encoding="utf-8", opener=private_opener) as file:
            file.write(error)
        where = f"the details are in {path}"
    except OSError:
        where = error.rstrip().splitlines()[-1]
    return f"this is a bug in aish; {where}. The conversation so far is in the journal"
