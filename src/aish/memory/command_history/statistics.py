"""Figures about the commands that were run.

Pure: runs go in, numbers come out.
"""

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

from aish.values.past_command import PastCommand

_MOST = 10  # entries of each ranking
_NAME = re.compile(r"[A-Za-z_]\w*\+?=", re.ASCII)
_VALUE = r"""(?>(?:'[^']*'|"(?:\\.|[^"\\])*"|\$\([^()]*\)|`[^`]*`|\\.|[^\s'"\\])*)"""
_ASSIGNED = re.compile(rf"(?>(?:{_NAME.pattern}{_VALUE}(?:\s+|$))*)", re.ASCII | re.DOTALL)  # at the start


def program(command: str) -> str:
    """Return the first word of a command after the variables that it sets; empty if there is no other word."""
    words = _ASSIGNED.sub("", command.strip(), count=1).split(None, 1)
    return "" if not words or _NAME.match(words[0]) else words[0]  # a quote may be open


def statistics(runs: Iterable[PastCommand]) -> dict[str, Any]:
    """Count runs, failures, time, and the most frequent commands, programs and directories."""
    commands, programs, directories, sources = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    total = failed = known = 0
    seconds, first, last = 0.0, 0.0, 0.0
    for one in runs:
        total += 1
        commands[one.text] += 1
        if name := program(one.text):
            programs[name] += 1
        sources[one.source] += 1
        if one.directory:
            directories[one.directory] += 1
        if one.status is not None:
            known += 1
            failed += one.status != 0
        seconds += one.seconds or 0.0
        if one.time > 0:
            first, last = min(first or one.time, one.time), max(last, one.time)
    return {
        "runs": total,
        "commands": len(commands),
        "failed": failed,
        "with_status": known,
        "seconds": round(seconds, 3),
        "first": first,
        "last": last,
        "sources": dict(sources.most_common()),
        "top_commands": dict(commands.most_common(_MOST)),
        "top_programs": dict(programs.most_common(_MOST)),
        "top_directories": dict(directories.most_common(_MOST)),
    }
