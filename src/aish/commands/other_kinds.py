"""What `:recall` finds beside turns: remembered items and commands, each with its kind."""

import re
from datetime import UTC, datetime
from itertools import chain, islice
from typing import Any

from aish.commands.shell import Shell
from aish.memory.command_history.past_commands import Wanted
from aish.values.errors import AishError
from aish.values.items import Item
from aish.values.named_tuple import NamedTuple
from aish.values.past_command import PastCommand
from aish.values.text import for_terminal, one_line
from aish.values.times import ago

_MOST = 5  # of each kind
_MOST_READ = 10_000  # items; each is read from the disk
_BOUND = re.compile(r"-\S|\w+:\S")  # words of a query that only turns understand


class OtherKinds(NamedTuple):
    """What was found, as lines and as records."""

    lines: list[str]
    records: list[dict[str, Any]]


def other_kinds(shell: Shell, query: str) -> OtherKinds:
    """Find items and commands that have all words of a query. A query with bounds is about turns."""
    terms = query.replace('"', " ").split()
    if not terms or any(map(_BOUND.match, query.split())):
        return OtherKinds([], [])
    items, commands = _items(shell, terms), _commands(shell, terms)
    lines = [_line("remembered", f"{item.id}: {item.content}", shell.width) for item in items]
    lines += [_line("command", f"{one.text}{_where(shell, one)}", shell.width) for one in commands]
    records: list[dict[str, Any]] = [{"kind": "item", "id": item.id, "text": item.content} for item in items]
    records += [
        {"kind": "command", "text": one.text, "directory": one.directory, "status": one.status} for one in commands
    ]
    return OtherKinds(lines, records)


def _items(shell: Shell, terms: list[str]) -> list[Item]:
    if not shell.session.remembers:
        return []
    wanted = [term.casefold() for term in terms]
    try:
        found = (item for item in islice(shell.program.memory.items(), _MOST_READ) if _has_all(item.content, wanted))
        return list(islice(found, _MOST))
    except AishError:
        return []  # the commands of memory report it


def _has_all(text: str, terms: list[str]) -> bool:
    folded = text.casefold()
    return all(term in folded for term in terms)


def _commands(shell: Shell, terms: list[str]) -> list[PastCommand]:
    if not shell.past:
        return []
    wanted = Wanted(" ".join(terms), only_commands=True, abbreviations=False)
    return list(islice(chain.from_iterable(shell.past.search(wanted)), _MOST))


def _where(shell: Shell, one: PastCommand) -> str:
    """Return when and where a command was run, as far as it is known."""
    when = ago(datetime.fromtimestamp(one.time, UTC), shell.program.now()) if one.time > 0 else ""
    failed = f"exit status {one.status}" if one.status else ""
    known = [part for part in (when, one.directory, failed) if part]
    return f"   ({', '.join(known)})" if known else ""


def _line(kind: str, text: str, width: int) -> str:
    return f"{kind:<11} {for_terminal(one_line(text, max(width - 12, 20)))}"
