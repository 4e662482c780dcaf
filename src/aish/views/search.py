"""`aish search`, `aish recent` and `aish thread`: find turns in all conversations."""

import argparse
import re
import sys
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from aish.commands.turn_pages import found_page, recent_page, search_for_page, thread_page
from aish.conversation.library import Library
from aish.values.errors import BadUsage
from aish.values.hits import THREAD_TURNS, UNITS, Scope, SearchResult
from aish.values.text import json_text
from aish.views.arguments import make_parser
from aish.views.exit_codes import NOTHING, OK
from aish.views.query_lines import query_lines
from aish.views.screen import Screen

_MOST = 1_000  # hits of one search


def run_search(library: Library, arguments: Sequence[str]) -> int:
    """Search all conversations."""
    parser = make_parser(
        "aish search",
        "Search all conversations by words, meaning, time and speaker. Quoted phrases, -word, role:, in:, "
        "since: and until: are supported.",
    )
    parser.add_argument("--jsonl", action="store_true", help='lines {"query", …} in, {"query", "ms", "hits"} out')
    _add_scope(parser, 10)
    parser.add_argument("query", nargs="*", help="the search text; without it, standard input is read")
    end = [*arguments, "--"].index("--")
    words, rest = arguments[:end], arguments[end + 1 :]  # parse_intermixed_args does not support `--`
    left_out = [word for word in words if re.fullmatch(r"-(?!h$)[^\W\d_][\w.+#-]*", word)]  # -h is help
    options = parser.parse_intermixed_args([word for word in words if word not in left_out])
    options.query += [*left_out, *rest]
    if not options.query and not options.jsonl and sys.stdin.isatty():
        raise BadUsage("missing search text: aish search WORDS")
    screen = Screen(library.settings.view.color)
    finder = library.finder
    _catch_up(library, screen)
    scope = _scope(library, options)
    if options.jsonl:
        for number, asked in query_lines():
            here, limit = _asked_scope(library, number, asked, scope), _limit(asked.get("limit", options.limit), number)
            print(json_text(_answer(asked["query"], finder.search(asked["query"], limit, here))), flush=True)
        return OK
    query = " ".join(options.query) if options.query else sys.stdin.buffer.read().decode("utf-8", "replace")
    if options.json:
        found = finder.search(query, options.limit, scope)
        print(json_text(_answer(query, found)))
    else:
        found = search_for_page(library, query, options.limit, scope)
        for note in found.notes:
            screen.note(note, warning=True)
        screen.say(found_page(library, found, screen.room, numbered=False))
    return OK if found.hits else NOTHING


def run_recent(library: Library, arguments: Sequence[str]) -> int:
    """Show the newest turns."""
    parser = make_parser("aish recent", "Show the newest turns of all conversations.")
    parser.add_argument(
        "--by",
        default="turn",
        choices=UNITS,
        help=f"what --limit counts (turn); a thread shows its newest {THREAD_TURNS} turns",
    )
    _add_scope(parser, 20)
    parser.add_argument("count", nargs="?", type=_count, metavar="N", help="the same as --limit N")
    options = parser.parse_args(arguments)
    options.limit = options.count or options.limit
    screen = Screen(library.settings.view.color)
    _catch_up(library, screen)  # an old conversation may have the newest turns
    hits = library.finder.recent(options.limit, _scope(library, options), options.by)
    for note in library.finder.missing():
        screen.note(note, warning=True)
    if options.json:
        print(json_text([hit.record() for hit in hits]))
    else:
        narrowed = options.channel or options.role or options.since or options.until
        nothing = "nothing found" if narrowed else "no turns yet"
        screen.say(recent_page(library, hits, screen.room) if hits else nothing)
    return OK if hits else NOTHING


def run_thread(library: Library, arguments: Sequence[str]) -> int:
    """Show one conversation."""
    parser = make_parser("aish thread", "Show one conversation, or a part of it.")
    parser.add_argument("id", help="a number from :sessions, a name, the start of an id, or ID/TURN")
    parser.add_argument("--around", type=int, default=5, metavar="N", help="turns before and after TURN (5)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    if options.around < 0:
        raise BadUsage(f"expected a number of turns, got {options.around}")
    reply = thread_page(library, options.id, options.around)
    if options.json:
        print(json_text(reply.data))
    else:
        Screen(library.settings.view.color).say(reply.text)
    return OK


def _catch_up(library: Library, screen: Screen) -> None:
    trouble = library.finder.catch_up(wait=True)
    if trouble:
        screen.note(trouble, warning=True)


def _add_scope(parser: argparse.ArgumentParser, limit: int) -> None:
    parser.add_argument(
        "--limit", type=_count, default=limit, metavar="N", help=f"the maximum number of results ({limit})"
    )
    parser.add_argument("--channel", default="", metavar="C", help="only this project or channel")
    parser.add_argument("--role", default="", choices=("user", "assistant", "tool"), help="only turns of this speaker")
    parser.add_argument("--since", default="", metavar="T", help="a date, or words such as “last week”")
    parser.add_argument("--until", default="", metavar="T", help="a date, or words such as “yesterday”")
    parser.add_argument("--json", action="store_true", help="print JSON")


def _count(text: str) -> int:
    if not re.fullmatch(r"\d{1,4}", text) or not 1 <= int(text) <= _MOST:
        raise argparse.ArgumentTypeError(f"expected a number from 1 to {_MOST}, got {text!r}")
    return int(text)


def _scope(library: Library, options: argparse.Namespace) -> Scope:
    since = library.moment(options.since) if options.since else None
    until = library.moment(options.until, end=True) if options.until else None
    return Scope(options.channel, options.role, since, until)


def _asked_scope(library: Library, number: int, asked: dict[str, Any], default: Scope) -> Scope:
    """Return the scope of one line. The options are its defaults."""
    times: dict[str, datetime | None] = {}
    for name in ("since", "until"):
        text = asked.get(name)
        if text is not None and not isinstance(text, str):
            raise BadUsage(f"line {number}: {name} must be a string")
        times[name] = library.moment(text, end=name == "until") if text else getattr(default, name)
    texts = {}
    for name in ("channel", "role"):
        text = asked.get(name, getattr(default, name))
        if not isinstance(text, str):
            raise BadUsage(f"line {number}: {name} must be a string")
        texts[name] = text
    return Scope(texts["channel"], texts["role"], times["since"], times["until"])


def _limit(value: Any, number: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= _MOST:
        raise BadUsage(f"line {number}: limit must be a number from 1 to {_MOST}")
    return value


def _answer(query: str, found: SearchResult) -> dict[str, Any]:
    answer: dict[str, Any] = {"query": query, "ms": round(found.milliseconds, 2)}
    answer["hits"] = [hit.record() for hit in found.hits]
    return answer | ({"notes": list(found.notes)} if found.notes else {})
