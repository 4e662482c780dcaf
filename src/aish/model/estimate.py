"""Estimate token counts: characters divided by a ratio that is learned from the usage that servers report.

Servers count different things. OpenAI and OpenRouter count the whole prompt. litellm, and llama.cpp with a template
that knows no tools, leave out the schemas of tools. Some releases of Ollama and some gateways to Anthropic leave out
what came from a cache, LocalAI has reported zero, and some gateways add a prompt of their own. So one count says
little, but what two counts leave out in the same way is not in their difference.
"""

import json
import logging
import math
import re
from pathlib import Path
from typing import Any

from aish.storage.files import replace_file
from aish.values.errors import StoreTrouble
from aish.values.named_tuple import NamedTuple

USUAL_RATIO = 4.0  # characters per token if nothing is known
LEAST, MOST = 0.5, 8.0  # characters per token that are believed
_NOTEWORTHY = 400  # characters; in smaller differences the chat template dominates
_LARGE = 3000  # characters that cannot be missing in a count by accident
_FEW_TOKENS = 50
_RUN = r"(?s)(.)\1{7,}"  # compiled on first use
_VERSION = 2  # the ratios of the first one were spoilt by servers that leave out tools
_NEW_WEIGHT = 0.3  # of the newest report against all earlier ones
_MOST_KEPT = 200

logger = logging.getLogger(__name__)


class PromptCount(NamedTuple):
    """One prompt: the characters of its messages and of the tool schemas, and how many tokens the server counted."""

    text: int
    tools: int
    counted: int


class CountLesson(NamedTuple):
    """What a count teaches. `missing` characters of a prompt that grew are not in the count: it may have been cut.

    `follows`: the counts of this server have grown with its prompts so far. `certain`: the ratio is from a difference.
    """

    ratio: float | None = None
    certain: bool = False
    follows: bool = False
    missing: int = 0


def compare(before: PromptCount | None, now: PromptCount, *, follows: bool, ratio: float) -> CountLesson:
    """Return what a count teaches after an earlier one of the same model; `ratio` is the one that is used so far."""
    if before is None or before.tools != now.tools or before.counted <= 0 or now.counted <= 0:
        return CountLesson(*_from_one(now, ratio), follows)
    grew, more = now.text - before.text, now.counted - before.counted
    if abs(grew) < _NOTEWORTHY:
        return CountLesson(*_from_one(now, ratio), follows)
    both = _believable(before) and _believable(now) and abs(more) >= _FEW_TOKENS and (grew > 0) == (more > 0)
    if both and LEAST <= grew / more <= MOST:
        return CountLesson(grew / more, certain=True, follows=True)
    if follows and grew >= _LARGE and grew > MOST * more and not _counts_new_part(before, now):
        return CountLesson(follows=True, missing=int(grew - MOST * max(more, 0)))
    return CountLesson(*_from_one(now, ratio), follows=follows and more > 0)


def _from_one(now: PromptCount, ratio: float) -> tuple[float | None, bool]:
    """Return the ratio that one count shows, if it shows that aish counts too few tokens; otherwise nothing.

    Whatever a server leaves out makes its count smaller, so that a small one proves nothing.
    """
    if now.counted < _FEW_TOKENS:
        return None, False
    seen = (now.text + now.tools) / now.counted
    return (seen if LEAST <= seen < ratio else None), False


def _believable(count: PromptCount) -> bool:
    """Can the server have counted the whole text, with or without the tools?"""
    return count.text <= MOST * count.counted and count.text + count.tools >= LEAST * count.counted


def _counts_new_part(before: PromptCount, now: PromptCount) -> bool:
    """Has the server counted only what was not in its cache? Then its count fell, and fits the new text."""
    if now.counted * 2 < before.counted:
        return True
    return now.counted * 10 < before.counted * 9 and now.text - before.text <= MOST * now.counted


def repeated_characters(text: str) -> int:
    """Return how many characters are in the rest of long runs of the same one; tokenizers make one token of many."""
    return sum(match.end() - match.start() - 8 for match in re.finditer(_RUN, text))


class _Seen(NamedTuple):
    """The last count of one model on one server, and whether its counts grow with the prompts."""

    last: PromptCount
    follows: bool = False


class Estimates:
    """Characters per token for each model, kept in a small cache file that may be lost."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._ratios: dict[str, float] | None = None
        self._seen: dict[str, _Seen] = {}

    def count(self, model: str, text: str) -> int:
        return math.ceil(len(text) / self._loaded().get(model, USUAL_RATIO))

    def learn(self, model: str, identity: str, now: PromptCount, *, keep: bool = True) -> CountLesson:
        """Learn from a count, and return what it taught. `identity` is the model on its server; `keep`: on disk too."""
        ratios = self._loaded()
        seen = self._seen.get(identity)
        old = ratios.get(model)
        lesson = compare(
            seen.last if seen else None, now, follows=bool(seen and seen.follows), ratio=old or USUAL_RATIO
        )
        if lesson.ratio is not None:
            plain = old is None and (lesson.certain or not now.tools)  # nothing to weigh it against
            base = old or USUAL_RATIO
            new = lesson.ratio if plain else base + _NEW_WEIGHT * (lesson.ratio - base)
            ratios[model] = round(min(max(new, LEAST), MOST), 3)
        if now.counted > 0 and not lesson.missing:  # what was cut is nothing to compare with
            self._seen.pop(identity, None)
            self._seen[identity] = _Seen(now, lesson.follows)
        if keep:
            self._save()
        return lesson

    def _save(self) -> None:
        seen = {name: [*one.last, one.follows] for name, one in list(self._seen.items())[-_MOST_KEPT:]}
        stored = {"version": _VERSION, "ratios": self._loaded(), "seen": seen}
        try:
            replace_file(self._path, json.dumps(stored, indent=1).encode(), sync=False)
        except StoreTrouble as error:
            logger.info("cannot save token ratios: %s", error)

    def _loaded(self) -> dict[str, float]:
        if self._ratios is None:
            self._ratios = {}
            try:
                stored = json.loads(self._path.read_bytes())
                if stored["version"] == _VERSION:
                    self._ratios = _ratios(stored["ratios"])
                    self._seen = _seen(stored["seen"])
            except (OSError, ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
                pass  # missing or damaged: the ratios are learned again
        return self._ratios


def _ratios(stored: dict[str, Any]) -> dict[str, float]:
    return {str(name): float(ratio) for name, ratio in stored.items() if LEAST <= float(ratio) <= MOST}


def _seen(stored: dict[str, Any]) -> dict[str, _Seen]:
    found = {}
    for name, values in stored.items():
        *numbers, follows = values
        if len(numbers) == 3 and all(isinstance(number, int) and 0 <= number < 1 << 40 for number in numbers):
            found[str(name)] = _Seen(PromptCount(*numbers), follows is True)
    return found
