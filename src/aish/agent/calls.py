"""The calls of one answer: put together from their fragments, bounded, and well-formed for any server.

Pure: fragments in, calls out. What the model wrote may be wrong in every way, but the conversation is sent back to a
server, and many refuse all of it because of one bad call: so each call is kept with an id of its own, a name of plain
letters, and arguments that are a JSON object.
"""

import json
import re
from collections.abc import Callable, Iterable

from aish.agent.tool import read_arguments
from aish.values.events import ToolPiece
from aish.values.named_tuple import NamedTuple
from aish.values.patterns import pattern
from aish.values.text import clip, for_keeping
from aish.values.turns import ToolCall

MOST_CALLS = 32  # of one answer that are run
MOST_KEPT = 64  # that the conversation keeps; the others are only counted
MOST_ARGUMENTS = 1_000_000  # characters; a long file that is written fits
UNREADABLE = "unreadable"  # the argument that replaces arguments which are not a JSON object
_MOST_SHOWN = 200  # characters of unreadable arguments that the model sees again
_LONGEST_ID = 256
_NAME = pattern(r"[a-zA-Z0-9_-]{1,64}")  # the names that chat APIs accept
_NEAR = 0.4


class MadeCall(NamedTuple):
    """A call as the conversation keeps it, and why it cannot be run, if so."""

    call: ToolCall
    problem: str = ""


class _Parts:
    def __init__(self) -> None:
        self.id = ""
        self.name = ""
        self.arguments: list[str] = []
        self.size = 0
        self.may_be_whole = True  # its arguments could end here; to parse them after each fragment would take for ever


class CallPieces:
    """Collects the fragments of the calls while an answer arrives."""

    def __init__(self) -> None:
        self._calls: dict[tuple[int, int], _Parts] = {}  # by their place in the stream
        self._newest: dict[int, int] = {}  # by place: some servers give every call the same one
        self._left_out = 0

    @property
    def number(self) -> int:
        return len(self._calls) + self._left_out

    def add(self, piece: ToolPiece) -> None:
        """Add a fragment to its call."""
        nth = self._newest.get(piece.place, 0)
        parts = self._calls.get((piece.place, nth))
        if parts and _starts_another(parts, piece):
            nth, parts = nth + 1, None
        if parts is None:
            if len(self._calls) >= MOST_KEPT:
                self._left_out += bool(piece.id or piece.name)
                return
            parts = self._calls[piece.place, nth] = _Parts()
            self._newest[piece.place] = nth
        parts.id = parts.id or piece.id
        if piece.name != parts.name:  # some servers repeat it in every fragment
            parts.name = (parts.name + piece.name)[:1_000]
        parts.size += len(piece.arguments)
        if said := piece.arguments.rstrip():
            parts.may_be_whole = said.endswith("}")
        if parts.size <= MOST_ARGUMENTS:
            parts.arguments.append(piece.arguments)

    def made(self, new_id: Callable[[int], str]) -> list[MadeCall]:
        """Return the calls in order. `new_id` makes an id for the call at a place, if it has none of its own."""
        made, ids = list[MadeCall](), set[str]()
        for place, (_, parts) in enumerate(sorted(self._calls.items())):
            id = parts.id if _is_usable(parts.id) and parts.id not in ids else new_id(place)
            while id in ids:
                id += "-again"
            ids.add(id)
            one = _well_formed(id, parts)
            if place >= MOST_CALLS:
                reason = f"not run: {self.number:,} calls in one answer, and at most {MOST_CALLS} of them are run"
                one = one._replace(problem=f"{reason}; call again for what is still needed")
            made.append(one)
        return made


def _starts_another(parts: _Parts, piece: ToolPiece) -> bool:
    """Does a fragment at the place of a call begin a new one?"""
    if piece.id and parts.id:
        return piece.id != parts.id
    if not (piece.name and parts.size and parts.may_be_whole):
        return False
    return read_arguments("".join(parts.arguments)) is not None


def _is_usable(id: str) -> bool:
    return 0 < len(id) <= _LONGEST_ID and id.isprintable()


def _well_formed(id: str, parts: _Parts) -> MadeCall:
    """Return the call in a form that every server accepts, and what was wrong with it."""
    problem = ""
    if not _NAME.fullmatch(parts.name):
        problem = f"there is no tool {parts.name[:60]!r}" if parts.name else "the call has no name"
    name = re.sub(r"[^a-zA-Z0-9_-]", "_", parts.name)[:64] or "unnamed"
    if parts.size > MOST_ARGUMENTS:
        long = f"the arguments have {parts.size:,} characters, more than {MOST_ARGUMENTS:,}; give less at a time"
        return MadeCall(ToolCall(id, name, "{}"), problem or long)
    text = "".join(parts.arguments)
    text = for_keeping(
        text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    )  # joins halves of a character
    if read_arguments(text) is None:
        shown = json.dumps({UNREADABLE: clip(text, _MOST_SHOWN)}, ensure_ascii=False)
        return MadeCall(ToolCall(id, name, shown), problem or "the arguments are not a JSON object")
    return MadeCall(ToolCall(id, name, text.strip() or "{}"), problem)


def near_names(name: str, names: Iterable[str]) -> list[str]:
    """Return at most three names that look like this one, the nearest first."""
    sought = _pairs(name)
    scored = []
    for one in names:
        pairs = _pairs(one)
        shared = 2 * len(sought & pairs) / max(len(sought) + len(pairs), 1)
        if shared >= _NEAR:
            scored.append((-shared, one))
    return [one for _, one in sorted(scored)[:3]]


def _pairs(name: str) -> set[str]:
    """Return the pairs of letters of a name."""
    plain = name.lower()[:200]
    return {plain[place : place + 2] for place in range(len(plain) - 1)}
