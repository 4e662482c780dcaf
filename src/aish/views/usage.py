"""`aish tokens` and `aish cost`: what a text would cost, and what was spent."""

import argparse
import json
import sys
from collections.abc import Sequence

from aish.commands.model import cost_line
from aish.model.cost import CostBook, Sum, by_model, total
from aish.program import Program
from aish.views.event_loop import run_loop
from aish.views.exit_codes import OK
from aish.views.screen import Screen


def run_tokens(program: Program, arguments: Sequence[str]) -> int:
    """Count the tokens of a text."""
    parser = argparse.ArgumentParser(prog="aish tokens", description="Count the tokens of a text.")
    parser.add_argument("text", nargs="*", help="the text; without one, standard input")
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


def run_cost(program: Program, arguments: Sequence[str]) -> int:
    """Show what was spent over all conversations."""
    parser = argparse.ArgumentParser(prog="aish cost", description="What all conversations have cost.")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    calls = list(CostBook(program.places.costs).all())
    parts = by_model(calls)
    if options.json:
        rows = [{"model": model, "category": category, **_record(part)} for (model, category), part in parts.items()]
        print(json.dumps({"total": _record(total(calls)), "parts": rows}))
        return OK
    print(cost_line("total", total(calls)))
    for (model, category), part in parts.items():
        Screen().say(cost_line(f"{model}, {category}", part))
    return OK


def _record(part: Sum) -> dict[str, object]:
    return {
        "calls": part.calls,
        "prompt_tokens": part.prompt_tokens,
        "completion_tokens": part.completion_tokens,
        "dollars": None if part.calls and part.unpriced == part.calls else round(part.dollars, 6),
        "unpriced_calls": part.unpriced,
    }
