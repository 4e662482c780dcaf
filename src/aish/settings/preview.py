"""What the settings file of a project would change, for the user who is about to trust it."""

from collections.abc import Callable, Iterator

from aish.settings.layers import Problem, SettingsLayer, flatten, mismatch, type_of
from aish.settings.template import toml_value
from aish.values.text import one_line

MOST_SETTINGS = 40  # shown before the user trusts them


def preview(layer: SettingsLayer | None, problems: list[Problem], mask: Callable[[str], str]) -> Iterator[str]:
    """Yield one line for each setting with its value, with secrets masked, and for each problem."""
    values = list(flatten(layer.values)) if layer else []
    for key, value in values[:MOST_SETTINGS]:
        wanted = type_of(key)
        wrong = "unknown, ignored" if wanted is None else mismatch(value, wanted)
        yield f"  {one_line(mask(f'{key} = {wrong or toml_value(value)}'), 200)}"
    if len(values) > MOST_SETTINGS:
        yield f"  and {len(values) - MOST_SETTINGS:,} more: read the file before you trust it"
    yield from (f"  {problem}" for problem in problems)
    if not values and not problems:
        yield "  nothing"
