"""`aish tokens`: count the tokens of a text."""

import json
import sys
from collections.abc import Sequence

from aish.program import Program
from aish.views.arguments import VerbArguments
from aish.views.event_loop import run_loop
from aish.views.exit_codes import OK


def run(program: Program, arguments: Sequence[str]) -> int:
    """Count the tokens of a text."""
    parser = VerbArguments("aish tokens", "Count the tokens of a text.")
    parser.add_argument("text", nargs="*", help="the text (default: standard input)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    text = " ".join(options.text) if options.text else sys.stdin.buffer.read().decode("utf-8", "replace")
    tokenizer = program.backend(program.settings.model).tokenizer

    async def count() -> int:
        try:
            return await tokenizer.count(text)
        finally:
            await program.close()

    tokens = run_loop(count())
    exact = tokenizer.ability == "yes"
    if options.json:
        print(json.dumps({"tokens": tokens, "characters": len(text), "model": tokenizer.model, "exact": exact}))
    else:
        print(tokens)
    return OK
