"""Search quality: `python -m bench.recall SET.json…` prints recall and rank, with and without vectors.

A recall set is {"turns": [{channel, conversation, time, role, name, text, ref}], "questions": [{channel, query, until?,
evidence: [ref], category}]}. All turns are imported into an empty home, and every question is asked in its channel, and
once more in all channels at once. With `--crowd TURNS` so many turns of a made-up crowd are in that home too.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from aish.places import find_places
from bench.crowd import crowd
from bench.finding import OUT, finder

AISH = [sys.executable, "-m", "aish"]
DEPTHS = (5, 10, 20)
Row = list[float]


def answers(home: str, questions: list[dict[str, Any]], *, meaning: bool, channel: bool) -> list[dict[str, Any]]:
    """Return the program's results for each question."""
    known = ("query", "until", "channel") if channel else ("query", "until")
    asked = [{key: question[key] for key in known if key in question} | {"limit": 20} for question in questions]
    done = subprocess.run(
        [*AISH, "--set", f"finding.meaning={str(meaning).lower()}", "search", "--jsonl"],
        input="".join(json.dumps(one) + "\n" for one in asked),
        env={**os.environ, "AISH_HOME": home},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.split("\n") if line]


def figures(question: dict[str, Any], answer: dict[str, Any]) -> Row:
    """Return the recall at each depth, and the reciprocal rank of the first right turn."""
    wanted, refs = set(question["evidence"]), [hit["ref"] for hit in answer["hits"]]
    first = next((rank for rank, ref in enumerate(refs, 1) if ref in wanted), 0)
    return [*(len(wanted & set(refs[:depth])) / len(wanted) for depth in DEPTHS), 1 / first if first else 0.0]


def report(path: Path, others: int) -> None:
    data = json.loads(path.read_text(encoding="utf-8"))
    OUT.mkdir(exist_ok=True)
    with TemporaryDirectory(dir=OUT) as home:
        if others:
            join(others, Path(home))
        feed = Path(home) / "turns.jsonl"
        feed.write_text("".join(json.dumps(turn) + "\n" for turn in data["turns"]), encoding="utf-8")
        run = [*AISH, "import", "--format", "jsonl", str(feed)]
        subprocess.run(run, env={**os.environ, "AISH_HOME": home}, stdout=subprocess.DEVNULL, check=True)
        for meaning in (True, False):
            for channel in (True, False):
                found = answers(home, data["questions"], meaning=meaning, channel=channel)
                title = f"{path.stem}, {'with vectors' if meaning else 'words only'}"
                show(f"{title}, {'in its channel' if channel else 'in all channels'}", data["questions"], found)


def join(others: int, home: Path) -> None:
    """Copy a crowd and its index into a home. Journals are hard-linked, so that the index recognizes them."""
    there, here = crowd(OUT / f"crowd-{others}", others), find_places({"AISH_HOME": str(home)})
    finder(there).catch_up(wait=True)
    shutil.copytree(there.sessions, here.sessions, copy_function=os.link)
    shutil.copytree(there.turn_index, here.turn_index)


def show(title: str, questions: list[dict[str, Any]], found: list[dict[str, Any]]) -> None:
    rows: dict[str, list[Row]] = defaultdict(list)
    for question, answer in zip(questions, found, strict=True):
        for kind in ("all", question["category"]):
            rows[kind].append(figures(question, answer))
    times = sorted(answer["ms"] for answer in found)
    print(f"{title}: {times[len(times) // 2]:.1f} ms, 95 % within {times[int(len(times) * 0.95)]:.1f} ms")
    for kind, group in rows.items():
        line = "  ".join(f"{statistics.fmean(column):.3f}" for column in zip(*group, strict=True))
        print(f"  {kind:12} {len(group):5}   recall@5 @10 @20, rank: {line}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+", type=Path)
    parser.add_argument("--crowd", type=int, default=0, help="number of generated turns to add to the memory")
    args = parser.parse_args()
    for path in args.sets:
        report(path, args.crowd)


if __name__ == "__main__":
    main()
