"""What the user allowed once and for all: beginnings of commands, for one project or everywhere."""

from collections.abc import Iterable
from pathlib import Path

from aish.storage.lines import LineFile
from aish.values.errors import StoreTrouble

Prefix = tuple[str, ...]


class Allowed:
    """An append-only file that can be read and edited; a line with `"allowed": false` takes one back."""

    def __init__(self, path: Path, always: Iterable[str] = ()) -> None:
        self._lines = LineFile(path, first=lambda: {"meta": {"format": 1, "what": "allowed commands"}})
        self._always = frozenset(tuple(words.split()) for words in always if words.split())

    def within(self, project: Path) -> frozenset[Prefix]:
        """What is allowed in a project. A file that cannot be read allows nothing."""
        found: set[Prefix] = set(self._always)
        try:
            for record in self._lines:
                words, where = record.get("prefix"), record.get("project", "")
                if not isinstance(words, list) or where not in ("", str(project)):
                    continue
                prefix = tuple(str(word) for word in words)
                (found.discard if record.get("allowed") is False else found.add)(prefix)
        except StoreTrouble:
            return self._always
        return frozenset(prefix for prefix in found if prefix)

    def add(self, prefixes: Iterable[Prefix], project: Path | None) -> None:
        """Allow these, in one project or everywhere. Raises `StoreTrouble`."""
        for prefix in prefixes:
            where = {"project": str(project)} if project else {}
            self._lines.append({"prefix": list(prefix), **where, "allowed": True})
