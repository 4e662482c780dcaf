"""`aish redact`: mask the secrets in a text, and say why."""

import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import IO

from aish.memory.salt import load_salt
from aish.memory.secret_explanations import MaskExplanation, explain
from aish.memory.secret_patterns import redact
from aish.values.errors import BadUsage, StoreTrouble
from aish.views.arguments import VerbArguments
from aish.views.exit_codes import OK
from aish.views.start import Start


def run(start: Start, arguments: Sequence[str]) -> int:
    """Mask a file or standard input, as one text or line by line."""
    parser = VerbArguments("aish redact", "Mask the secrets in a text, and print it. The file stays as it is.")
    parser.add_argument("file", nargs="?", default="-", metavar="FILE", help="the text; standard input by default")
    parser.add_argument("--jsonl", action="store_true", help='lines {"text": …} in, {"text": …, "found": […]} out')
    parser.add_argument("--explain", action="store_true", help="say for each mask why, and where nothing was found")
    parser.add_argument("--json", action="store_true", help="the masked text and the reasons as one JSON object")
    options = parser.parse_args(arguments)
    if options.jsonl and (options.explain or options.json):
        raise BadUsage("--jsonl goes with neither --explain nor --json; its answer has what was found")
    salt = load_salt(start.places.salt) or os.urandom(32)
    with nullcontext(sys.stdin.buffer) if options.file == "-" else _open(start.cwd / options.file) as given:
        if options.jsonl:
            return _print_lines(given, salt)
        text = given.read().decode("utf-8", "replace")
    masked, found = redact(text, salt)
    reasons = list(explain(text, found, salt)) if options.explain or options.json else []
    if options.json:
        print(json.dumps({"text": masked, "found": [one._asdict() for one in reasons]}, ensure_ascii=False))
    elif options.explain:
        for said in _explained(text, reasons):
            print(said)
    else:
        sys.stdout.write(masked)
    return OK


def _open(path: Path) -> IO[bytes]:
    try:
        return path.open("rb")
    except (OSError, ValueError) as error:  # ValueError: NUL in the name
        raise StoreTrouble(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from error


def _print_lines(given: Iterable[bytes], salt: bytes) -> int:
    for number, line in enumerate(given, start=1):
        if line.strip():
            print(json.dumps(_answer(line, number, salt), ensure_ascii=False))
    return OK


def _explained(text: str, reasons: Sequence[MaskExplanation]) -> Iterator[str]:
    """Yield a paragraph for each mask, and a line for each run of lines without one."""
    clear = 1  # the first line that nothing was said about
    for one in reasons:
        yield from _nothing(clear, one.line - 1)
        yield f"line {one.line}: {one.mask}"
        yield f"  rule:    {one.rule}"
        yield f"  context: {one.context}" if one.context else "  context: none is needed"
        yield f"  value:   {one.value}"
        clear = max(clear, one.line + 1 + text.count("\n", one.start, one.end))
    yield from _nothing(clear, text.count("\n") + (not text.endswith("\n")))


def _nothing(first: int, last: int) -> Iterator[str]:
    if first <= last:
        lines = f"line {first}" if first == last else f"lines {first} to {last}"
        yield f"{lines}: nothing found"


def _answer(line: bytes, number: int, salt: bytes) -> dict[str, object]:
    try:
        text = json.loads(line)["text"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise BadUsage(f'line {number} is not {{"text": …}}') from None
    masked, found = redact(str(text), salt)
    return {"text": masked, "found": [{"kind": f.kind, "start": f.start, "end": f.end} for f in found]}
