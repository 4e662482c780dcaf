"""Regular expressions that are compiled when they are first used.

Compiling took a tenth of the time to the first question, and most expressions are not used before its answer.
"""

import re
from functools import cache
from typing import Any, AnyStr, cast


def pattern(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return what `re.compile` returns, but compile it on first use."""
    return cast("re.Pattern[AnyStr]", _Pattern(text, flags))


@cache
def compiled(text: str) -> re.Pattern[str]:
    """Return the compiled expression: for texts that are made while the program runs, or are parts of rules."""
    return re.compile(text)


class _Pattern:
    def __init__(self, text: Any, flags: int) -> None:
        self._given = text, flags

    def __getattr__(self, name: str) -> Any:
        """Find a method of the compiled expression, and keep it: the next use finds it without this call."""
        found = getattr(re.compile(*self._given), name)
        setattr(self, name, found)
        return found
