"""What could come next on the line being typed.

Pure: the text before the cursor and the known names in, suggestions out.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from aish.intake.commands import Commands


def suggest(text: str, commands: Commands[Any], words: Mapping[str, Iterable[str]]) -> list[tuple[str, int, str]]:
    """Suggestions as (word, how many typed characters it replaces, hint).

    `words` gives, for the name of a command, what its first argument may be.
    """
    if not text.startswith(":"):
        return []
    name, space, typed = text[1:].partition(" ")
    if not space:
        found = [(c.name, c.summary) for c in commands if c.name.startswith(name) and " " not in c.name]
        return [(known, len(name), summary) for known, summary in found]
    below = [(c.name.removeprefix(f"{name} "), len(typed), c.summary) for c in commands.below(name)]
    if below:
        return [one for one in below if one[0].startswith(typed)]
    return [(word, len(typed), "") for word in words.get(name, ()) if word.startswith(typed)]
