"""What typed lines are, by the rules and by what the user decided: with `!`, with `?`, or with a key."""

import re
from collections.abc import Mapping
from pathlib import Path

from aish.intake.operands import Kind, KnownWords
from aish.intake.routing import Route, route
from aish.storage.lines import open_log
from aish.values.errors import StoreTrouble
from aish.values.stores import RecordLog

_LONGEST = 300  # characters of a line; nobody types a longer one twice
_MOST_READ = 4 * _LONGEST  # with its spaces; at every key, a pasted text costs nothing


class RouteChoices:
    """Decisions about whole lines, one record each. The last one counts; one without a route takes it back."""

    def __init__(self, where: Path | RecordLog) -> None:
        self._log = open_log(where, "decisions about typed lines")
        self._known: dict[str, Kind] | None = None

    def of(self, line: str) -> Kind | None:
        """Return what the user decided about this line. A log that cannot be read has no decisions."""
        return self.all().get(_key(line)) if len(line) <= _MOST_READ else None

    def learn(self, line: str, kind: Kind) -> None:
        """Keep a decision. Raises `StoreTrouble`."""
        key = _key(line)
        if key and len(key) <= _LONGEST and self.all().get(key) != kind:
            self._log.append({"line": key, "route": kind}, sync=False)
            self.all()[key] = kind

    def forget(self, line: str = "") -> int:
        """Take back the decision about a line, or all decisions. Return how many there were. Raises `StoreTrouble`."""
        known = self.all()
        lines = [key for key in known if not line or key == _key(line)]
        if lines:
            self._log.extend(lambda: [{"line": key} for key in lines])
        for key in lines:
            del known[key]
        return len(lines)

    def all(self) -> dict[str, Kind]:
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


class LineRouter:
    """Says what a line is, and learns from the user. Without `choices` nothing is kept."""

    def __init__(self, words: KnownWords, choices: RouteChoices | None = None) -> None:
        self._words = words
        self._choices = choices

    def route(self, line: str) -> Route:
        """Return what a line is, without running anything."""
        text = line.strip()
        if self._choices and text[:1] not in ("!", "?", "？") and (decided := self._choices.of(text)):
            return Route(decided, "you decided so before; :route forget takes it back", text)
        return route(line, self._words)

    def learn(self, text: str, kind: Kind) -> None:
        """The user says that a line without its mark is of this kind. Kept only if the rules say otherwise.

        `?ls -l` asks about a command and does not make it a question; `!frob` of an unknown name may be a slip.
        """
        words = text.split()
        plain = len(words) > 1 and not re.search(r"(?<!\S)-|[|&;<>$`/]", text)
        fits = plain if kind == "question" else bool(words and self._words.kind(words[0]))
        if self._choices and fits and self.route(text).kind != kind:
            self._choices.learn(text, kind)

    def decided(self) -> Mapping[str, Kind]:
        """Return what the user decided, by line."""
        return self._choices.all() if self._choices else {}

    def forget(self, line: str = "") -> int:
        """Take back what was decided about a line, or about all lines. Return how many there were."""
        return self._choices.forget(line) if self._choices else 0
