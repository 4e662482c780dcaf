"""A call that a model wrote into its answer instead of making it: a sign that it cannot call tools.

Pure: text in, a name out. Nothing is run because of it.
"""

import json
import re
from collections.abc import Container

from aish.values.patterns import pattern

_LONGEST = 20_000  # characters of an answer that are looked at
_WRAPPED = pattern(  # how models wrap a call that nobody parses
    r"\A\s*(?:```\w*|<tool_call>|<function_call>|\[TOOL_CALLS\]|<\|tool_call\|>)?\s*(?P<call>[\[{].*[\]}])"
    r"\s*(?:```|</tool_call>|</function_call>|<\|/tool_call\|>)?\s*\Z",
    re.DOTALL,
)


def written_call(answer: str, names: Container[str]) -> str:
    """Return the name of the tool if an answer is nothing but the JSON of a call; otherwise an empty text.

    An answer with other words in it may be an explanation that somebody asked for.
    """
    wrapped = _WRAPPED.match(answer) if len(answer) <= _LONGEST else None
    if wrapped is None:
        return ""
    try:
        value = json.loads(wrapped["call"])
    except (ValueError, RecursionError):
        return ""
    if isinstance(value, list) and value:
        value = value[0]
    if not isinstance(value, dict):
        return ""
    function = value.get("function")
    call = function if isinstance(function, dict) else value
    name = call.get("name") or call.get("tool") or call.get("function")
    given = any(key in call for key in ("arguments", "parameters", "args", "input"))
    return name if given and isinstance(name, str) and name in names else ""
