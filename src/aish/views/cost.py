"""`aish cost`: show the cost of all conversations."""

import json
from collections.abc import Sequence

from aish.model.cost import CostBook, Sum, by_model, cost_line, total
from aish.views.arguments import VerbArguments
from aish.views.exit_codes import OK
from aish.views.screen import Screen
from aish.views.start import Start


def run(start: Start, arguments: Sequence[str]) -> int:
    """Show the cost of all conversations."""
    parser = VerbArguments("aish cost", "Show the cost of all conversations.")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    calls = list(CostBook(start.places.costs).all())
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
