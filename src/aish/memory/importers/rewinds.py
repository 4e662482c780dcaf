"""Find what was rewound in a session of Claude Code: questions, with all that followed, that are no longer in its tree.

Each line names the line before it. Whoever rewinds a session and asks anew starts another branch in the same file, and
the last line of the file ends the branch that counts.
"""

from pathlib import Path
from typing import Any

from aish.memory.importers.fields import Oddities, dict_of, label, list_of
from aish.memory.importers.files import open_file, records

_MOST_LINES = 100_000  # a longer session is read as one branch, so that memory is bounded
_NOT_TYPED = ("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly", "isSidechain")


class Rewinds:
    """Tells which lines are in another branch. Lines must be asked for in the order of the file.

    Only a typed question starts another branch: parallel tool calls also have several answers to one line, and lines
    whose parent is not in the file are no evidence.
    """

    def __init__(self, questions: frozenset[int] = frozenset()) -> None:
        self._questions = questions  # that were rewound, as hashes
        self._lines: set[int] = set()

    def has(self, record: dict[str, Any]) -> bool:
        if not self._questions:
            return False
        line = hash(label(record.get("uuid")))
        found = line in self._questions or hash(_parent(record)) in self._lines
        if found:
            self._lines.add(line)
        return found


def find_rewinds(path: Path) -> Rewinds:
    """Read a session once, and find the questions that were rewound."""
    if not path.is_file():
        return Rewinds()  # a pipe can be read only once
    parents: dict[int, int] = {}
    questions: list[int] = []
    last = 0
    with open_file(path) as file:
        for _, record in records(file, Oddities()):
            if not (id := label(record.get("uuid"))) or record.get("isSidechain") is True:
                continue
            line = hash(id)
            parents.setdefault(line, hash(_parent(record)))
            if len(parents) > _MOST_LINES:
                return Rewinds()
            if record.get("type") in ("user", "assistant"):
                last = line
            if _is_typed(record):
                questions.append(line)
    return Rewinds(_off_branch(parents, questions, last))


def _off_branch(parents: dict[int, int], questions: list[int], last: int) -> frozenset[int]:
    branch: set[int] = set()
    while last in parents and last not in branch:  # a broken file may have cycles
        branch.add(last)
        last = parents[last]
    off: set[int] = set()
    loose: set[int] = set()  # lines that lead to no line of the branch
    for question in questions:
        line, seen = question, set[int]()
        while line in parents and not any(line in known for known in (branch, off, loose, seen)):
            seen.add(line)
            line = parents[line]
        if line not in branch and line not in off:
            loose |= seen
        elif question not in branch:
            off.add(question)
    return frozenset(off)


def _parent(record: dict[str, Any]) -> str:
    """Return the id of the line before; that of the end of a summarised part is in a field of its own."""
    return label(record.get("parentUuid")) or label(record.get("logicalParentUuid"))


def _is_typed(record: dict[str, Any]) -> bool:
    if record.get("type") != "user" or any(record.get(mark) is True for mark in _NOT_TYPED):
        return False
    content = dict_of(record.get("message")).get("content")
    if isinstance(content, str):
        return not content.startswith("<")
    kinds = {dict_of(block).get("type") for block in list_of(content) if isinstance(block, dict)}
    return "text" in kinds and "tool_result" not in kinds
