"""What is known of tools before their server is connected: which ones the user allowed, and the last listing.

A tool is known by the checksum of everything that its server said about it, so that a changed one is noticed.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from aish.mcp.schemas import LONGEST_ABOUT, bounded_schema, clean
from aish.storage.files import replace_file
from aish.storage.lines import open_log
from aish.values.errors import StoreTrouble
from aish.values.named_tuple import NamedTuple
from aish.values.stores import RecordLog
from aish.values.tool_servers import Hint, ServerTool

_LARGEST_LISTING = 8 << 20
_HINTS: dict[object, Hint] = {"read": "read", "destroy": "destroy"}


class Standing(NamedTuple):
    """What the user decided about a tool before: `same` means its description has not changed since."""

    state: Literal["new", "same", "changed"]
    always: bool = False


class KnownTools:
    """The user's decisions about tools, one record each; the last one counts."""

    def __init__(self, where: Path | RecordLog, listings: Path) -> None:
        self._log, self._listings = open_log(where, "known tools of servers"), listings
        self._records: dict[tuple[str, str], tuple[str, bool]] | None = None

    def standing(self, server: str, tool: ServerTool) -> Standing:
        digest, always = self._read().get((server, tool.name), ("", False))
        if not digest:
            return Standing("new")
        return Standing("same" if digest == tool.digest else "changed", always)

    def note(self, server: str, tool: ServerTool, *, always: bool) -> None:
        """Record that the user saw the tool as it is now, and whether it is always allowed. Raises `StoreTrouble`."""
        if self._read().get((server, tool.name)) != (tool.digest, always):
            self._log.append({"server": server, "tool": tool.name, "sha256": tool.digest, "always": always})
            self._records = None

    def _read(self) -> dict[tuple[str, str], tuple[str, bool]]:
        """Return the records. A log that cannot be read allows nothing."""
        if self._records is None:
            found: dict[tuple[str, str], tuple[str, bool]] = {}
            try:
                for record in self._log.read():
                    names = str(record.get("server")), str(record.get("tool"))
                    found[names] = str(record.get("sha256")), record.get("always") is True
            except StoreTrouble:
                found = {}
            self._records = found
        return self._records

    # The last listing of each server

    def _file(self, server: str) -> Path:
        safe = "".join(letter if letter.isalnum() or letter in "-_" else f"%{ord(letter):x}" for letter in server)
        return self._listings / f"{safe[:100]}.json"

    def listing(self, server: str, identity: str) -> tuple[ServerTool, ...] | None:
        """Return the tools that the server had last time; None if they are unknown, or its settings changed."""
        try:
            with open(self._file(server), encoding="utf-8") as file:
                kept = json.loads(file.read(_LARGEST_LISTING))
            if kept["identity"] != identity:
                return None
            return tuple(_tool(record) for record in kept["tools"])
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None

    def keep_listing(self, server: str, identity: str, tools: Iterable[ServerTool]) -> None:
        """Keep a listing for the next start. It is a cache: a failure is no problem."""
        kept = {"identity": identity, "tools": [tool._asdict() for tool in tools]}
        try:
            replace_file(self._file(server), json.dumps(kept).encode(), sync=False)
        except StoreTrouble:
            pass


def _tool(record: dict[str, Any]) -> ServerTool:
    """Return a kept tool, cleaned again: the file may have been changed."""
    return ServerTool(
        str(record["name"]),
        clean(str(record["about"]), LONGEST_ABOUT),
        bounded_schema(record["parameters"]),
        _HINTS.get(record["hint"], ""),
        str(record["digest"]),
    )
