"""Search: how long it takes against the size of the memory, what indexing costs, and how much room it needs.

python -m bench.finding HOME   is a program that searches: it says its times and the memory that it takes as JSON
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

SIZES = {6_000: 15.0, 100_000: 20.0, 1_000_000: 35.0}  # turns, and the milliseconds that a search may take
FEW, ASKED, STARTS, RUNS, ADDED = 6_000, 200, 5, 2, 20
OUT = Path(__file__).parent / "out"


def embedder() -> StaticEmbedder | None:
    """What compares meanings; without its weights only words are measured."""
    path = find(WORDLLAMA, [shared_directory()])
    return StaticEmbedder(path, path.with_name(WORDLLAMA_TOKENS.file)) if path else None


def finder(places: Places) -> ConversationFinder:
    def now() -> datetime:
        return datetime.now(UTC)

    return ConversationFinder(
        JournalFeed(places.sessions), places.turn_index, embedder, now=now, progress=lambda: Bar("indexing")
    )


def measure(sizes: Iterable[int], aish: str, env: Mapping[str, str]) -> dict[str, float]:
    """The seconds of everything, by name, and bytes where the name says so."""
    times: dict[str, float] = {}
    for size in sizes:
        home = OUT / f"crowd-{size}"
        trouble = finder(crowd(home, size)).catch_up(wait=True)
        assert not trouble, trouble
        times |= {f"{name}, {size}": value for name, value in _searching(home, aish, env).items()}
    few = crowd(OUT / f"crowd-{FEW}", FEW)
    for name, using in {"lexical": None, "with vectors": embedder()}.items():
        times[f"aish, a turn indexed {name}"] = _indexing(few, using) / FEW
    return times | _adding(few)


def figures(times: dict[str, float]) -> list[Figure]:
    """What the times come to."""
    found = []
    for size in (size for size in SIZES if f"aish, search 95 %, {size}" in times):
        search, bare = times[f"aish, search 95 %, {size}"], times[f"bare query and embedding, {size}"]
        first, recent = times[f"aish, search by a new process, {size}"], times[f"aish, recent, {size}"]
        ratio = times[f"aish, search, {size}"] / bare
        found += [
            Figure(name=f"search of {size:,}, 95 %", value=1000 * search, unit="ms", limit=SIZES[size]),
            Figure(name=f"search of {size:,}", value=ratio, unit="× query + embedding", limit=40),
            Figure(name=f"first search of {size:,}", value=1000 * first, unit="ms with the start", limit=400),
            Figure(name=f"recent of {size:,}", value=1000 * recent, unit="ms", limit=5),
        ]
        if size == max(SIZES):
            memory = times[f"bytes in memory, {size}"] / 1e6
            found.append(Figure(name=f"memory at {size:,}", value=memory, unit="MB resident", limit=500))
    for name, limit in {"lexical": 2_000, "with vectors": 1_000}.items():
        speed = 1 / times[f"aish, a turn indexed {name}"]
        found.append(Figure(name=f"indexing {name}", value=speed, unit="turns/s", limit=limit, at_least=True))
    extra = 1000 * (times["aish, a turn added and seen"] - times["a turn added"] - times["aish, a look at nothing new"])
    return [*found, Figure(name="a new turn seen", value=extra, unit="ms over journal and look", limit=2)]


def picture(times: dict[str, float], title: str) -> str:
    """Times of searches against the size of the memory."""
    sizes = [size for size in SIZES if f"aish, search, {size}" in times]
    names = {"aish, search 95 %": "95 % of searches", "aish, search": "half of them"}
    names |= {"bare query and embedding": "one bare query and embedding"}
    rows = {label: [(size, 1000 * times[f"{name}, {size}"]) for size in sizes] for name, label in names.items()}
    return lines(title, "turns", "ms", rows)


def _searching(home: Path, aish: str, env: Mapping[str, str]) -> dict[str, float]:
    """The best of a few runs, because others use this machine too."""
    question = "What did Iris say about the broken boiler last week?"
    there = dict(env) | {"AISH_HOME": str(home)}
    starts = [whole_run([aish, "search", "--json", question], there) for _ in range(STARTS)]
    runs = [_told([sys.executable, "-m", "bench.finding", str(home)]) for _ in range(RUNS)]
    best = {name: min(run[name] for run in runs) for name in runs[0]}
    return {"aish, search by a new process": min(starts)} | best


def _told(command: list[str]) -> dict[str, float]:
    told: dict[str, float] = json.loads(subprocess.check_output(command))
    return told


def be_a_program(home: Path) -> dict[str, float]:
    """Search many times, each beside the bare operations."""
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
    """The least that such a search needs: one query for the words, and one embedding."""
    index, using = tantivy.Index.open(str(places.turn_index / "words")), embedder()
    searcher, schema = index.searcher(), index.schema

    def once(text: str) -> object:
        terms = [tantivy.Query.term_query(schema, "terms", term) for term in query_terms(text)]
        any_of = tantivy.Query.boolean_query([(tantivy.Occur.Should, term) for term in terms])
        return searcher.search(any_of, 20, count=False), using.embed([text]) if using else None

    return once


def _indexing(places: Places, using: StaticEmbedder | None) -> float:
    """Seconds to put a crowd into an index that was not there, the best of two."""

    def once() -> float:
        directory = places.turn_index.with_name("anew")
        shutil.rmtree(directory, ignore_errors=True)
        seconds = _seconds(lambda: Indexer(JournalFeed(places.sessions), directory, using).catch_up())
        shutil.rmtree(directory)
        return seconds

    return min(once(), once())


def _adding(places: Places) -> dict[str, float]:
    """Seconds of a turn in the journal, alone and with a look at it by the finder, and of such a look without one.

    Writing a turn does nothing for the index at all: what it costs later, the next who looks has to pay.
    """
    journal = Journal(places.sessions, "29991231-000000-bench")
    ours = finder(places)
    ours.recent(1)

    def add() -> None:
        journal.add(Turn(role="user", content="The spare key is under the third flower pot."), datetime.now(UTC))

    def look() -> None:
        assert ours.recent(1)[0].conversation == journal.id

    def add_and_see() -> None:
        add()
        look()

    try:
        rounds = [(_seconds(add), _seconds(add_and_see), _seconds(look)) for _ in range(ADDED)]
    finally:
        journal.path.unlink(missing_ok=True)
    names = ("a turn added", "aish, a turn added and seen", "aish, a look at nothing new")
    return {name: statistics.median(times) for name, times in zip(names, zip(*rounds, strict=True), strict=True)}


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _resident() -> float:
    """Bytes of memory that this process has, as far as they are in it."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return float(pages * os.sysconf("SC_PAGE_SIZE"))


if __name__ == "__main__":
    print(json.dumps(be_a_program(Path(sys.argv[1]))))
