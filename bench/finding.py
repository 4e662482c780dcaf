"""Search benchmarks: time by number of turns, cost of indexing, and memory used.

python -m bench.finding HOME   runs searches in one process, and prints its times and memory as JSON
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import tantivy

from aish.memory.finding.embed import StaticEmbedder
from aish.memory.finding.finder import ConversationFinder
from aish.memory.finding.index import Indexer
from aish.memory.finding.terms import query_terms
from aish.memory.journal import Journal
from aish.memory.journal_feed import JournalFeed
from aish.model.weights import WORDLLAMA, WORDLLAMA_TOKENS, find, shared_directory
from aish.places import Places, find_places
from aish.values.turns import Turn
from aish.views.screen import Bar
from bench.crowd import crowd, questions
from bench.picture import lines
from bench.timing import Figure, whole_run

SIZES = {6_000: 15.0, 100_000: 20.0, 1_000_000: 35.0}  # number of turns, and the limit of a search in milliseconds
FEW, ASKED, STARTS, RUNS, ADDED = 6_000, 200, 5, 2, 20
OUT = Path(__file__).parent / "out"


def embedder() -> StaticEmbedder | None:
    """Return the embedder; None if its weights are missing, and then only words are measured."""
    path = find(WORDLLAMA, [shared_directory()])
    return StaticEmbedder(path, path.with_name(WORDLLAMA_TOKENS.file)) if path else None


def finder(places: Places) -> ConversationFinder:
    def now() -> datetime:
        return datetime.now(UTC)

    return ConversationFinder(
        JournalFeed(places.sessions), places.turn_index, embedder, now=now, progress=lambda: Bar("indexing")
    )


def measure(sizes: Iterable[int], aish: str, env: Mapping[str, str]) -> dict[str, float]:
    """Return all measured seconds by name, and bytes where the name says so."""
    times: dict[str, float] = {}
    for size in sizes:
        home = OUT / f"crowd-{size}"
        trouble = finder(crowd(home, size)).catch_up(wait=True)
        assert not trouble, trouble
        times |= {f"{name}, {size}": value for name, value in _searching(home, aish, env).items()}
    few = crowd(OUT / f"crowd-{FEW}", FEW)
    for name, using in {"lexical": None, "with vectors": embedder()}.items():
        times[f"aish, index a turn {name}"] = _indexing(few, using) / FEW
    return times | _adding(few)


def figures(times: dict[str, float]) -> list[Figure]:
    """Compute the figures from the times."""
    found = []
    for size in (size for size in SIZES if f"aish, search 95 %, {size}" in times):
        search, bare = times[f"aish, search 95 %, {size}"], times[f"bare query and embedding, {size}"]
        first, recent = times[f"aish, search in a new process, {size}"], times[f"aish, recent, {size}"]
        ratio = times[f"aish, search, {size}"] / bare
        found += [
            Figure(name=f"search {size:,}, 95 %", value=1000 * search, unit="ms", limit=SIZES[size]),
            Figure(name=f"search {size:,}", value=ratio, unit="× query + embedding", limit=40),
            Figure(name=f"first search {size:,}", value=1000 * first, unit="ms with start-up", limit=400),
            Figure(name=f"recent turns of {size:,}", value=1000 * recent, unit="ms", limit=5),
        ]
        if size == max(SIZES):
            memory = times[f"bytes in memory, {size}"] / 1e6
            found.append(Figure(name=f"memory at {size:,}", value=memory, unit="MB resident", limit=500))
    for name, limit in {"lexical": 2_000, "with vectors": 1_000}.items():
        speed = 1 / times[f"aish, index a turn {name}"]
        found.append(Figure(name=f"indexing {name}", value=speed, unit="turns/s", limit=limit, at_least=True))
    extra = 1000 * (times["aish, add a turn and find it"] - times["add a turn"] - times["aish, look, no new turn"])
    return [*found, Figure(name="find a new turn", value=extra, unit="ms over add and look-up", limit=2)]


def picture(times: dict[str, float], title: str) -> str:
    """Draw search times by number of turns."""
    sizes = [size for size in SIZES if f"aish, search, {size}" in times]
    names = {"aish, search 95 %": "95th percentile", "aish, search": "median"}
    names |= {"bare query and embedding": "one bare query and embedding"}
    rows = {label: [(size, 1000 * times[f"{name}, {size}"]) for size in sizes] for name, label in names.items()}
    return lines(title, "turns", "ms", rows)


def _searching(home: Path, aish: str, env: Mapping[str, str]) -> dict[str, float]:
    """Return the best of a few runs, because other processes use this machine too."""
    question = "What did Iris say about the broken boiler last week?"
    there = dict(env) | {"AISH_HOME": str(home)}
    starts = [whole_run([aish, "search", "--json", question], there) for _ in range(STARTS)]
    runs = [_json_output([sys.executable, "-m", "bench.finding", str(home)]) for _ in range(RUNS)]
    best = {name: min(run[name] for run in runs) for name in runs[0]}
    return {"aish, search in a new process": min(starts)} | best


def _json_output(command: list[str]) -> dict[str, float]:
    output: dict[str, float] = json.loads(subprocess.check_output(command))
    return output


def run_searches(home: Path) -> dict[str, float]:
    """Search many times, each time next to the bare operations."""
    places = find_places({"AISH_HOME": str(home)})
    ours, bare = finder(places), _bare(places)
    asked = questions(ASKED)
    assert ours.search(asked[1]).hits, "nothing was found"
    bare(asked[1])
    searches, bares = [], []
    for text in asked:
        searches.append(_seconds(partial(ours.search, text)))
        bares.append(_seconds(partial(bare, text)))
    return {
        "aish, search": statistics.median(searches),
        "aish, search 95 %": statistics.quantiles(searches, n=20)[-1],
        "bare query and embedding": statistics.median(bares),
        "aish, recent": statistics.median(_seconds(lambda: ours.recent(20)) for _ in range(50)),
        "bytes in memory": _resident(),
    }


def _bare(places: Places) -> Callable[[str], object]:
    """Return the minimum that a search needs: one query for the words, and one embedding."""
    index, using = tantivy.Index.open(str(places.turn_index / "words")), embedder()
    searcher, schema = index.searcher(), index.schema

    def once(text: str) -> object:
        terms = [tantivy.Query.term_query(schema, "terms", term) for term in query_terms(text)]
        any_of = tantivy.Query.boolean_query([(tantivy.Occur.Should, term) for term in terms])
        return searcher.search(any_of, 20, count=False), using.embed([text]) if using else None

    return once


def _indexing(places: Places, using: StaticEmbedder | None) -> float:
    """Return the seconds to index a crowd from scratch, the best of two runs."""

    def once() -> float:
        directory = places.turn_index.with_name("rebuilt")
        shutil.rmtree(directory, ignore_errors=True)
        seconds = _seconds(lambda: Indexer(JournalFeed(places.sessions), directory, using).catch_up())
        shutil.rmtree(directory)
        return seconds

    return min(once(), once())


def _adding(places: Places) -> dict[str, float]:
    """Return the seconds to add a turn, to add a turn and find it, and to look without a new turn.

    Adding a turn does not touch the index; the next lookup pays for it.
    """
    journal = Journal(places.sessions, "29991231-000000-bench")
    ours = finder(places)
    ours.recent(1)

    def add() -> None:
        journal.add(Turn(role="user", content="The spare key is under the third flower pot."), datetime.now(UTC))

    def look() -> None:
        assert ours.recent(1)[0].conversation == journal.id

    def add_and_look() -> None:
        add()
        look()

    try:
        rounds = [(_seconds(add), _seconds(add_and_look), _seconds(look)) for _ in range(ADDED)]
    finally:
        journal.path.unlink(missing_ok=True)
    names = ("add a turn", "aish, add a turn and find it", "aish, look, no new turn")
    return {name: statistics.median(times) for name, times in zip(names, zip(*rounds, strict=True), strict=True)}


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _resident() -> float:
    """Return the resident memory of this process in bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return float(pages * os.sysconf("SC_PAGE_SIZE"))


if __name__ == "__main__":
    print(json.dumps(run_searches(Path(sys.argv[1]))))
