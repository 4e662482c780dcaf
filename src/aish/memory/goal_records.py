"""Records of goals: one file for each, with what was allowed, each step and the end. They can be read again later.

Secrets are masked and texts are bounded before they are written. A damaged line hides nothing but itself.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from aish.memory.journal import new_id
from aish.storage.lines import LineFile
from aish.values.errors import NotFound
from aish.values.items import stamp
from aish.values.named_tuple import NamedTuple
from aish.values.stores import Damage, Health, Record

_ID = re.compile(r"[\w-]{1,60}")
LONGEST_ANSWER, LONGEST_OUTPUT, LONGEST_ARGUMENTS = 20_000, 4_000, 2_000  # characters


class GoalRecord(NamedTuple):
    """What is known of one goal. `begin` or `end` is empty if its line is not there or damaged."""

    id: str
    begin: Record
    steps: list[Record]
    end: Record
    damaged: int = 0

    @property
    def turns(self) -> set[int]:
        """The numbers of the turns of its conversation that belong to it."""
        return {turn for step in self.steps if isinstance(turn := step.get("turn"), int)}


class GoalLog:
    """The record of a goal that is being worked on."""

    def __init__(self, path: Path, mask: Callable[[str, int], str], now: Callable[[], datetime]) -> None:
        """`mask` masks a text, and shortens it to a number of characters."""
        self.id, self.path = path.stem, path
        self._file, self._mask, self._now = LineFile(path), mask, now

    def add(self, what: str, **fields: object) -> None:
        """Append one line. Raises `StoreTrouble`."""
        self._file.append({"what": what, "ts": stamp(self._now()), **self._kept(fields)})

    def _kept(self, value: Any) -> Any:
        match value:
            case str():
                return self._mask(value, LONGEST_ANSWER)
            case Mapping():
                return {str(name): self._kept(one) for name, one in value.items()}
            case list() | tuple():
                return [self._kept(one) for one in value]
        return value


class GoalRecords:
    """All records below one directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def new(self, now: Callable[[], datetime], mask: Callable[[str, int], str]) -> GoalLog:
        """Return a new record. Nothing is stored before its first line."""
        return GoalLog(self._directory / f"{new_id(now())}.jsonl", mask, now)

    def ids(self) -> list[str]:
        """Return the ids of all goals, newest first."""
        names = (path.stem for path in self._directory.glob("*.jsonl"))
        return sorted((name for name in names if _ID.fullmatch(name)), reverse=True)

    def find(self, wanted: str = "") -> str:
        """Return the id for the start or the end of one; by default the newest. Raises `NotFound`."""
        ids = self.ids()
        found = [id for id in ids if id.startswith(wanted) or id.endswith(wanted)]
        if not found:
            raise NotFound(f"there is no goal {wanted[:60]!r}; see :goal log" if wanted else "there is no goal yet")
        if wanted and len(found) > 1:
            raise NotFound(f"{len(found)} goals are called {wanted[:60]!r}; give more of the id")
        return found[0]

    def read(self, id: str) -> GoalRecord:
        """Return what is whole of a record. Raises `StoreTrouble`."""
        damage, begin, end = Damage(), Record(), Record()
        steps: list[Record] = []
        for record in LineFile(self._directory / f"{id}.jsonl").read(damage):
            match record.get("what"):
                case "goal":
                    begin = record
                case "step":
                    steps.append(record)
                case "end":
                    end = record
        return GoalRecord(id, begin, steps, end, damage.lines)

    def last_turns(self, conversation: str) -> set[int]:
        """Return the turns of the last goal of a conversation. Raises `StoreTrouble`."""
        for id in self.ids():
            found = self.read(id)
            if found.begin.get("conversation") == conversation:
                return found.turns
        return set()

    def checks(self) -> Iterator[Callable[[], Health]]:
        """Yield a check for each record. A check raises `StoreTrouble` if it cannot read."""
        yield from (LineFile(self._directory / f"{id}.jsonl").health for id in self.ids())
