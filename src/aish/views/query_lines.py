"""Lines of JSON with a query, from standard input, for verbs that answer many queries in one process."""

import json
import sys
from collections.abc import Iterator
from typing import Any

from aish.values.errors import BadUsage


def query_lines() -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield each line with its number. Raises `BadUsage` for a line without a query."""
    for number, line in enumerate(sys.stdin.buffer, start=1):
        if line.strip():
            try:
                asked = json.loads(line)
            except (ValueError, RecursionError):
                asked = None
            if not isinstance(asked, dict) or not isinstance(asked.get("query"), str):
                raise BadUsage(f'line {number} is not {{"query": …}}')
            yield number, asked
