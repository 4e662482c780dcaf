"""Intents: what a question wants, by its form. `phrases.py` has the phrases of each language.

Pure: text in, names of intents out. An intent says which kinds of memos answer such a question; the subject still has
to fit.
"""

import re
from collections.abc import Collection
from functools import cache

from aish.memory.recall.phrases import GENERAL, INTENTS, PERSONAL, joined
from aish.memory.recall.wording import sentences
from aish.values.named_tuple import NamedTuple

# Which kinds of memos an intent asks for, and how much that counts. A telling word that matches counts 1.
KINDS: dict[str, dict[str, float]] = {
    "state": {"state": 0.8, "goal": 0.7, "todo": 0.25, "command": 0.3, "file": 0.3, "error": 0.2},
    "open": {"todo": 0.6, "state": 0.5, "goal": 0.2, "error": 0.1},
    "trouble": {"error": 0.7, "command": 0.15},
    "why": {"decision": 0.4, "error": 0.4, "constraint": 0.2},
    "who": {"person": 0.5},
    "when": {"event": 0.3},
    "amount": {"constraint": 0.1},
    "work": {"preference": 0.5, "constraint": 0.5, "decision": 0.1},
}
# Other names of kinds, such as the headings of notes.
_KIND_NAMES = {
    name: kind
    for kind, names in {
        "preference": "pref preferences rule rules convention conventions style",
        "todo": "todos open next task tasks next-steps",
        "state": "status current progress current-state working-state",
        "error": "errors correction corrections problem problems errors-and-corrections",
        "decision": "decisions",
        "constraint": "constraints limits",
        "person": "people persons contacts contact",
        "command": "commands",
        "file": "files",
        "event": "events dates",
        "goal": "goals",
        "fact": "facts",
        "note": "notes",
    }.items()
    for name in names.split()
}
_POLITE = r"^(?:(?:please|can you|could you|would you|now|and|then|also|so|ok|okay|bitte|peux-tu|puedes|¿|¡)[,\s]*)+"
_BEFORE = r"(?i)(?<!from )(?<!happen )(?<!happened )(?<!that )(?<!this )\bbefore\b"
# What a question takes as known: "the wildcard certificate". The last telling word of such a phrase is its head.
_DEFINITE = r"\b(?:the|this|der|die|das|den|dem|le|la|les|el|los|las|l') ?((?:[^\W\d_]+ ?){1,4})"


class Wish(NamedTuple):
    """What a sentence wants, whether its form is general or personal, and its phrases that start with "the"."""

    intents: frozenset[str]
    general: bool
    personal: bool
    definite: tuple[str, ...] = ()


@cache
def _compiled() -> tuple[dict[str, re.Pattern[str]], re.Pattern[str], re.Pattern[str]]:
    return {name: joined(table) for name, table in INTENTS.items()}, joined(GENERAL), joined(PERSONAL)


def read_wish(sentence: str) -> Wish:
    """What a sentence wants."""
    text = re.sub(_POLITE, "", " ".join(sentence.replace("’", "'").split()), flags=re.IGNORECASE).strip("\"' ")
    intents, general, personal = _compiled()
    found = {name for name, pattern in intents.items() if pattern.search(text)}
    if "trouble" in found and not re.search(_BEFORE, text):
        found.discard("past")  # "what was it last time" asks about what happened, not about what was so
    own = personal.search(text) is not None
    world = not own and not found & {"state", "open"} and general.search(text) is not None
    definite = tuple(match[1] for match in re.finditer(_DEFINITE, text.casefold()))
    return Wish(frozenset(found), world, own, definite)


def plain_kind(kind: str) -> str:
    """One name for all names of a kind: "Next steps" is todo."""
    name = "-".join(kind.casefold().split())
    return _KIND_NAMES.get(name, name)


def kind_bonus(intents: Collection[str], kind: str) -> tuple[float, str]:
    """How well a kind of memo answers such a question, and the intent that says so."""
    fitting = [(KINDS[name][kind], name) for name in sorted(intents) if kind in KINDS.get(name, {})]
    return max(fitting, default=(0.0, ""))


def asks_for_state(question: str) -> bool:
    """Does the user ask where the work stands, or what is next?"""
    return any(read_wish(sentence).intents & {"state", "open"} for sentence in sentences(question))
