"""What the user allowed permanently: prefixes of commands, for one project or everywhere, and commands of a project."""

from collections.abc import Iterable
from pathlib import Path

from aish.storage.lines import open_log
from aish.values.errors import StoreTrouble
from aish.values.stores import RecordLog

Prefix = tuple[str, ...]


class Allowed:
    """Allowed prefixes and commands, one record each; a record with `"allowed": false` revokes one."""

    def __init__(self, where: Path | RecordLog, always: Iterable[str] = ()) -> None:
        self._log = open_log(where, "allowed commands")
        self._always = frozenset(tuple(words.split()) for words in always if words.split())

    def within(self, project: Path) -> frozenset[Prefix]:
        """What is allowed in a project. A log that cannot be read allows only what the settings allow."""
        found: set[Prefix] = set(self._always)
        try:
            for record in self._log.read():
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
        where = {"project": str(project)} if project else {}
        self._log.extend(lambda: [{"prefix": list(prefix), **where, "allowed": True} for prefix in prefixes])

    def is_command(self, command: str, project: Path) -> bool:
        """Whether exactly this command is allowed in a project. A log that cannot be read allows none."""
        found = False
        try:
            for record in self._log.read():
                if record.get("command") == command and record.get("project") == str(project):
                    found = record.get("allowed") is True
        except StoreTrouble:
            return False
        return found

    def add_command(self, command: str, project: Path) -> None:
        """Allow exactly this command in one project. Raises `StoreTrouble`."""
        self._log.extend(lambda: [{"command": command, "project": str(project), "allowed": True}])
