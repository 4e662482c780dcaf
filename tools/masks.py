"""Run the masker over a directory of texts and print each mask, so that a person can judge it.

    masks.py DIRECTORY [--sample N] [--seed N] [--counts]

Each file is one text. For each mask: the file and line, the rule, and the text before, in and after it. At the end, one
line for each kind of material (the name of the folder with the file): lines, masks, masks in 5,000 lines. What is
printed contains secrets; keep it out of the repository.
"""

import argparse
import random
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

from aish.memory.secret_patterns import find

_AROUND, _SHOWN = 60, 80
_PER = 5_000


class Found(NamedTuple):
    """A mask, with the text around it."""

    path: Path
    line: int
    rule: str
    before: str
    value: str
    after: str


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--sample", type=int, metavar="N", help="print only so many masks, chosen at random")
    parser.add_argument("--seed", type=int, default=17, metavar="N", help="another choice for another number")
    parser.add_argument("--counts", action="store_true", help="print no masks, only the counts")
    options = parser.parse_args()
    paths = sorted(path for path in options.directory.rglob("*") if path.is_file())
    if not paths:
        print(f"no files in {options.directory}", file=sys.stderr)
        return 1
    lines, masks, everything = Counter[str](), Counter[str](), list[Found]()
    with ProcessPoolExecutor() as pool:
        for path, (count, found) in zip(paths, pool.map(_masks, paths, chunksize=8), strict=True):
            lines[path.parent.name] += count
            masks[path.parent.name] += len(found)
            everything += found
    chosen = everything
    if options.sample is not None and options.sample < len(everything):
        chosen = random.Random(options.seed).sample(everything, options.sample)
    for one in () if options.counts else chosen:
        print(f"{one.path.relative_to(options.directory)}:{one.line}  {one.rule}")
        print(f"    {one.before!r} [[ {one.value!r} ]] {one.after!r}")
    print(f"{'material':28}{'lines':>9}{'masks':>8}{'per 5,000':>11}")
    for kind in sorted(lines):
        print(f"{kind:28}{lines[kind]:9}{masks[kind]:8}{masks[kind] * _PER / max(1, lines[kind]):11.2f}")
    return 0


def _masks(path: Path) -> tuple[int, list[Found]]:
    """Return the number of lines of a file, and its masks."""
    text = path.read_text(encoding="utf-8", errors="replace")
    found = [
        Found(
            path,
            text.count("\n", 0, one.start) + 1,
            one.rule,
            text[max(0, one.start - _AROUND) : one.start],
            text[one.start : one.end][:_SHOWN],
            text[one.end : one.end + _AROUND // 2],
        )
        for one in find(text)
    ]
    return text.count("\n") + 1, found


if __name__ == "__main__":
    sys.exit(main())
