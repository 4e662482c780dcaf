"""`aish redact`: mask the secrets in a text."""

import json
import os
import sys
from collections.abc import Sequence

from aish.memory.salt import load_salt
from aish.memory.secret_patterns import redact
from aish.values.errors import BadUsage
from aish.views.arguments import make_parser
from aish.views.exit_codes import OK
from aish.views.start import Start


def run(start: Start, arguments: Sequence[str]) -> int:
    """Mask standard input, as one text or line by line."""
    parser = make_parser("aish redact", "Mask the secrets in a text.")
    parser.add_argument("--jsonl", action="store_true", help='lines {"text": …} in, {"text": …, "found": […]} out')
    options = parser.parse_args(arguments)
    salt = load_salt(start.places.salt) or os.urandom(32)
    if not options.jsonl:
        text, _ = redact(sys.stdin.buffer.read().decode("utf-8", "replace"), salt)
        sys.stdout.write(text)
        return OK
    for number, line in enumerate(sys.stdin.buffer, start=1):
        if line.strip():
            print(json.dumps(_answer(line, number, salt), ensure_ascii=False))
    return OK


def _answer(line: bytes, number: int, salt: bytes) -> dict[str, object]:
    try:
        text = json.loads(line)["text"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise BadUsage(f'line {number} is not {{"text": …}}') from None
    masked, found = redact(str(text), salt)
    return {"text": masked, "found": [{"kind": f.kind, "start": f.start, "end": f.end} for f in found]}
