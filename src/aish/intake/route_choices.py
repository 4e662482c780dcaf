"""What the user decided about typed lines: a line run with `!`, sent with `?`, or answered with a key."""

from pathlib import Path

from aish.intake.operands import Kind
from aish.storage.lines import open_log
from aish.values.errors import StoreTrouble
from aish.values.stores import RecordLog

_LONGEST = 300  # characters of a line; nobody types a longer one twice


class RouteChoices:
    """Decisions about whole lines, one record each. The last one counts; one without a route takes it back."""

    def __init__(self, where: Path | RecordLog) -> None:
        self._log = open_log(where, "decisions about typed lines")
        self._known: dict[str, Kind] | None = None

    def of(self, line: str) -> Kind | None:
        """Return what the user decided about this line. A log that cannot be read has no decisions."""
        return self._all().get(_key(line))

    def learn(self, line: str, kind: Kind) -> None:
        """Keep a decision. Raises `StoreTrouble`."""
        key = _key(line)
        if key and len(key) <= _LONGEST and self._all().get(key) != kind:
            self._log.append({"line": key, "route": kind}, sync=False)
            self._all()[key] = kind

    def forget(self, line: str = "") -> int:
        """Take back the decision about a line, or all decisions. Return how many there were. Raises `StoreTrouble`."""
        known = self._all()
        lines = [key for key in known if not line or key == _key(line)]
        if lines:
            self._log.extend(lambda: [{"line": key} for key in lines])
        for key in lines:
            del known[key]
        return len(lines)

    def _all(self) -> dict[str, Kind]:
        """Return all decisions, read once."""
        if self._known is None:
            found = dict[str, Kind]()
            try:
                for record in self._log.read():
                    line, kind = record.get("line"), record.get("route")
                    if isinstance(line, str) and kind in ("command", "question"):
                        found[line] = kind
                    elif isinstance(line, str):
                        found.pop(line, None)
            except StoreTrouble:  # the rules decide then
                pass
            self._known = found
        return self._known


def _key(line: str) -> str:
    return " ".join(line.split())
