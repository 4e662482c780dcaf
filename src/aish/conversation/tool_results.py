"""The results of tools in a prompt: how much room they have, whatever a tool returns."""

from aish.agent.tool import as_json
from aish.conversation.session import Session
from aish.values.patterns import pattern
from aish.values.text import clip, for_keeping

_LEAST_ROOM, _MOST_ROOM = 4_000, 30_000  # characters of one result
_LEAST_SHARE = 300  # of one result beside many others
_BUDGET = 4_096  # tokens, if the window is not known
_CHARS_PER_TOKEN = 3
_ODD = pattern(r"[\x00-\x08\x0e-\x1f\x7f-\x9f\ufffd]|\\u00[01]|\\u007f|\\ufffd")
_BINARY_SHARE, _FEW_ODD = 0.1, 16


def result_room(session: Session) -> int:
    """Return how many characters a result may have: less than a third of the prompt."""
    tokens = session.endpoints.known_budget(lambda: session.backend) or 0
    return min(max(tokens * 6 // 5, _LEAST_ROOM), _MOST_ROOM)


def fitting_result(session: Session, text: str, beside: int = 1) -> str:
    """Return a result as the conversation keeps it: clean, and no longer than its share of the room.

    Tools bound their results and say how to read on; this holds for those that do not. `beside` is how many calls the
    answer made.
    """
    sample = text[:4_096]
    if len(_ODD.findall(sample)) > max(_BINARY_SHARE * len(sample), _FEW_ODD):
        return as_json(status="binary", note=f"the result is binary data ({len(text):,} characters) and not shown")
    text = for_keeping(text)
    room = result_room(session)
    room = max(min(room, 3 * room // max(beside, 1)), _LEAST_SHARE) * 3 // 2 + 300  # tools count before they write JSON
    if len(text) <= room:
        return text
    note = f"{len(text) - room:,} of {len(text):,} characters are left out; call again for less at a time"
    return as_json(cut=f"{note}, such as a narrower search or a later part", text=clip(text, room))


def exchange_room(session: Session) -> int:
    """Return how many characters the newest exchange may have before its oldest results are shortened."""
    return (session.endpoints.known_budget(lambda: session.backend) or _BUDGET) * _CHARS_PER_TOKEN
