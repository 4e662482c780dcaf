"""`aish recall`: what would be brought to a turn, and why."""

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from aish.memory.recall.engine import RecallEngine
from aish.memory.recall.gather import for_question
from aish.values.errors import BadUsage
from aish.values.named_tuple import NamedTuple
from aish.values.recall import LAYERS, Judged, Memo, Recalled
from aish.values.text import for_terminal, json_text
from aish.views.arguments import make_parser
from aish.views.exit_codes import NOTHING, OK
from aish.views.query_lines import query_lines
from aish.views.screen import Screen
from aish.views.start import Start

if TYPE_CHECKING:
    from aish.memory.recall.evidence import WordVectors

_OLDEST = 300 * 365  # days; older than that is a mistake


class RecallDoors(NamedTuple):
    """Functions that read the notes and the ledger of a channel, and open the embedder."""

    start: Start
    memos: Callable[[str], list[Memo]]
    embedder: Callable[[], "WordVectors | None"]


def run(doors: RecallDoors, arguments: Sequence[str]) -> int:
    """Show what a question would get, or answer each line of standard input."""
    parser = make_parser(
        "aish recall",
        "Show what would be brought to a turn with this question, and why. Nothing is sent to a model.",
    )
    parser.add_argument(
        "--jsonl",
        action="store_true",
        help='lines {"query", "memories"?: [{"id", "layer", "kind", "text", "age_days"}]} in, {"shown", …} out',
    )
    usual = doors.start.settings.notes.recall_tokens
    parser.add_argument("--limit-tokens", type=int, default=usual, metavar="N", help=f"the token budget ({usual})")
    parser.add_argument("--channel", default="", help="the channel (default: the project of this directory)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("query", nargs="*", help="the question; without it, standard input is read")
    options = parser.parse_args(arguments)
    if options.limit_tokens < 0:
        raise BadUsage(f"expected a number of tokens, got {options.limit_tokens}")
    if not options.query and not options.jsonl and sys.stdin.isatty():
        raise BadUsage("missing question: aish recall QUESTION")
    now = datetime.now(UTC)
    engine = RecallEngine(doors.embedder() if doors.start.settings.finding.meaning else None)
    own: list[Memo] | None = None
    if options.jsonl:
        for number, asked in query_lines():
            memories = asked.get("memories")
            if memories is None and own is None:
                own = doors.memos(options.channel)
            engine.load(for_question(own or [], asked["query"]) if memories is None else _memos(number, memories, now))
            found = engine.choose(asked["query"], now, budget=options.limit_tokens)
            print(json_text(_answer(asked["query"], found)), flush=True)
        return OK
    query = " ".join(options.query) if options.query else sys.stdin.buffer.read().decode("utf-8", "replace")
    engine.load(for_question(doors.memos(options.channel), query))
    found = engine.choose(query, now, budget=options.limit_tokens)
    if options.json:
        print(json_text(_answer(query, found)))
    else:
        Screen(doors.start.settings.view.color).say(_page(found))
    return OK if found.shown else NOTHING


def _memos(number: int, memories: Any, now: datetime) -> list[Memo]:
    """The memos of one line. Raises `BadUsage`."""
    if not isinstance(memories, list):
        raise BadUsage(f"line {number}: memories must be a list")
    memos = [_memo(number, memory, now) for memory in memories]
    if len({memo.key for memo in memos}) < len(memos):
        raise BadUsage(f"line {number}: two memories have the same id")
    return memos


def _memo(number: int, memory: Any, now: datetime) -> Memo:
    texts = [memory.get(name) for name in ("id", "kind", "text")] if isinstance(memory, dict) else [None]
    if not all(isinstance(text, str) for text in texts):
        raise BadUsage(f"line {number}: a memory needs id, kind and text")
    if memory.get("layer") not in LAYERS:
        raise BadUsage(f"line {number}: layer must be one of {', '.join(LAYERS)}")
    days = memory.get("age_days")
    if days is not None and (isinstance(days, bool) or not isinstance(days, int | float) or not _is_age(days)):
        raise BadUsage(f"line {number}: age_days must be a number of days")
    time = None if days is None else now - timedelta(days=days)
    return Memo(memory["id"], memory["layer"], memory["kind"].casefold(), memory["text"], time)


def _is_age(days: float) -> bool:
    return math.isfinite(days) and -_OLDEST < days < _OLDEST


def _answer(query: str, found: Recalled) -> dict[str, Any]:
    return {
        "query": query,
        "shown": [one.memo.key for one in found.shown],
        "tokens": found.tokens,
        "intents": list(found.intents),
        "considered": found.considered,
        "reasons": {one.memo.key: list(one.reasons) for one in found.shown},
        "notes": {one.memo.key: one.note for one in found.shown if one.note},
        "left_out": [{"id": one.memo.key, "outcome": one.outcome, "score": one.score} for one in found.left_out],
    }


def _page(found: Recalled) -> str:
    """The page for people: what is shown, with its reasons, and what was left out."""
    if not found.shown:
        return f"nothing would be brought to this turn ({found.considered} considered)"
    lines = [line for one in found.shown for line in _lines(one)]
    dropped = [one.outcome for one in found.left_out if one.outcome != "weak"]
    counts = ", ".join(f"{dropped.count(outcome)} {outcome}" for outcome in sorted(set(dropped)))
    lines.append(f"{found.tokens} tokens, {found.considered} considered" + (f"; left out: {counts}" if counts else ""))
    return "\n".join(lines)


def _lines(one: Judged) -> Iterator[str]:
    yield f"{one.memo.key}  ({one.memo.kind}) {for_terminal(one.memo.text)}"
    yield f"    {one.score:.2f}: {for_terminal(', '.join(one.reasons)) or 'what it replaces was asked for'}"
    if one.note:
        yield f"    {for_terminal(one.note)}"
