"""Estimate token counts: characters divided by a ratio that is learned from the usage that servers report."""

import json
import logging
import math
from pathlib import Path

from aish.storage.files import replace_file
from aish.values.errors import StoreTrouble

CHARS_PER_TOKEN = 4.0
_LEAST, _MOST = 0.5, 12.0
_NEW_WEIGHT = 0.3  # of the newest report against all earlier ones
_TOO_SMALL = 50  # in shorter prompts the chat template dominates

logger = logging.getLogger(__name__)


class Estimates:
    """Characters per token for each model, kept in a small cache file that may be lost."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._ratios: dict[str, float] | None = None

    def count(self, model: str, text: str) -> int:
        return math.ceil(len(text) / self._loaded().get(model, CHARS_PER_TOKEN))

    def refine(self, model: str, characters: int, tokens: int) -> None:
        """Learn from a prompt of `characters` that the server counted as `tokens`."""
        if tokens < _TOO_SMALL or characters < _TOO_SMALL:
            return
        ratios = self._loaded()
        seen = min(max(characters / tokens, _LEAST), _MOST)
        old = ratios.get(model)
        new = seen if old is None else old + _NEW_WEIGHT * (seen - old)
        if old is not None and abs(new - old) < 0.01 * old:
            return
        ratios[model] = round(new, 3)
        try:
            replace_file(self._path, json.dumps(ratios, indent=1).encode(), sync=False)
        except StoreTrouble as error:
            logger.info("cannot save token ratios: %s", error)

    def _loaded(self) -> dict[str, float]:
        if self._ratios is None:
            self._ratios = {}
            try:
                stored = json.loads(self._path.read_bytes())
                self._ratios = {
                    str(name): float(ratio) for name, ratio in stored.items() if _LEAST <= float(ratio) <= _MOST
                }
            except (OSError, ValueError, TypeError, AttributeError, OverflowError, RecursionError):
                pass  # missing or damaged: the ratios are learned again
        return self._ratios
