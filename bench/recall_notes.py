"""Recall quality on conversations: `python -m bench.recall_notes SET.json…`

The turns of a recall set (see bench/recall.py) are entries of the history. Every question is asked in its channel, and
gets what the recall engine would bring to a turn. Printed is the share of the questions that got evidence within the
budget, and the share of all evidence, against the first hits of the plain search that fit into the same budget.
"""

import argparse
import json
import os
import statistics
import subprocess
import time
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from aish.memory.recall.engine import RecallEngine, characters_by_four
from aish.values.recall import Memo
from bench.finding import OUT, embedder
from bench.recall import AISH, answers

BUDGET = 400  # tokens
Found = list[list[str]]  # for each question the refs that it got


def recalled(data: dict[str, Any], *, meaning: bool) -> tuple[Found, list[float]]:
    """What the recall engine brings to each question, and the milliseconds it took."""
    turns: dict[str, list[Memo]] = defaultdict(list)
    for turn in data["turns"]:
        text = f"{turn['name']}: {turn['text']}"
        turns[turn["channel"]].append(Memo(turn["ref"], "history", "note", text, datetime.fromisoformat(turn["time"])))
    engines = {channel: RecallEngine(embedder() if meaning else None) for channel in turns}
    found, times = [], []
    for question in data["questions"]:
        memos, engine = turns[question["channel"]], engines[question["channel"]]
        now = datetime.fromisoformat(question["until"]) if "until" in question else memos[-1].time
        assert now
        engine.load([memo for memo in memos if memo.time and memo.time <= now])
        started = time.perf_counter()
        shown = engine.choose(question["query"], now, budget=BUDGET).shown
        times.append(1000 * (time.perf_counter() - started))
        found.append([one.memo.key for one in shown])
    return found, times


def searched(data: dict[str, Any], home: str, *, meaning: bool) -> Found:
    """The first hits of the plain search that fit into the budget."""
    found = []
    for answer in answers(home, data["questions"], meaning=meaning, channel=True):
        refs, room = [], BUDGET
        for hit in answer["hits"]:
            room -= characters_by_four(f"{hit['name']}: {hit['text']}")
            if room < 0:
                break
            refs.append(hit["ref"])
        found.append(refs)
    return found


def show(title: str, questions: Sequence[dict[str, Any]], found: Found) -> None:
    wanted = [set(question["evidence"]) for question in questions]
    got = [len(some & set(refs)) for some, refs in zip(wanted, found, strict=True)]
    some = 100 * sum(map(bool, got)) / len(got)
    share = 100 * statistics.fmean(hits / len(each) for hits, each in zip(got, wanted, strict=True))
    entries = statistics.fmean(map(len, found))
    print(
        f"  {title:28} {some:5.1f} % of the questions, {share:5.1f} % of the evidence, {entries:4.1f} entries",
        flush=True,
    )


def report(path: Path) -> None:
    data = json.loads(path.read_text(encoding="utf-8"))
    print(f"{path.stem}: {len(data['questions'])} questions, {BUDGET} tokens")
    OUT.mkdir(exist_ok=True)
    with TemporaryDirectory(dir=OUT) as home:
        feed = Path(home) / "turns.jsonl"
        feed.write_text("".join(json.dumps(turn) + "\n" for turn in data["turns"]), encoding="utf-8")
        run = [*AISH, "import", "--format", "jsonl", str(feed)]
        subprocess.run(run, env={**os.environ, "AISH_HOME": home}, stdout=subprocess.DEVNULL, check=True)
        for meaning in (True, False):
            kind = "with vectors" if meaning else "words only"
            found, times = recalled(data, meaning=meaning)
            show(f"recall, {kind}", data["questions"], found)
            print(f"    95 % within {sorted(times)[int(len(times) * 0.95)]:.1f} ms")
            show(f"plain search, {kind}", data["questions"], searched(data, home, meaning=meaning))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+", type=Path)
    for path in parser.parse_args().sets:
        report(path)


if __name__ == "__main__":
    main()
