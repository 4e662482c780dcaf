"""Cards: what is known about each model, from a check or from what it did. Kept in a small cache file.

The file may be lost or damaged: what is missing is found out again.
"""

import json
import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from aish.storage.files import replace_file
from aish.values.errors import StoreTrouble
from aish.values.named_tuple import NamedTuple

_VERSION = 1
_MOST_CARDS = 200
_MOST_TEXT = 300
_SEEN_SECONDS = 7 * 24 * 3600  # a server may be started again with other options
logger = logging.getLogger(__name__)


class Finding(NamedTuple):
    """Whether a model can do something, with the reason. None: not known.

    `time` is in seconds since 1970. A finding that was not `tried` was seen while the model answered a question.
    """

    able: bool | None = None
    text: str = ""
    time: int = 0
    tried: bool = False


class ModelCard(NamedTuple):
    """What is known about one model. Zero means that a number is not known."""

    tools: Finding = Finding()
    json: Finding = Finding()
    commands: Finding = Finding()
    window: Finding = Finding()
    window_tokens: int = 0
    window_time: int = 0  # when the server told it
    window_said: bool = False  # the user was told that it is not known
    tokens_per_second: float = 0.0
    first_token_seconds: float = 0.0
    languages: Finding = Finding()

    def over(self, earlier: "ModelCard") -> "ModelCard":
        """Return this card, with findings of an earlier one for what could not be tried now."""
        return self._replace(
            tools=earlier.tools if self.tools.able is None else self.tools,
            json=earlier.json if self.json.able is None else self.json,
            commands=earlier.commands if self.commands.able is None else self.commands,
            window=earlier.window if self.window.able is None else self.window,
            languages=earlier.languages if self.languages.able is None else self.languages,
            window_time=self.window_time or earlier.window_time,
            window_said=earlier.window_said,
        )


class ModelCards:
    """The cards of all models, by `model_identity`."""

    def __init__(self, path: Path, now: Callable[[], float] = time.time) -> None:
        self._path, self._now = path, now
        self._cards: dict[str, ModelCard] | None = None

    def of(self, identity: str) -> ModelCard:
        """Return the card of a model; an empty one if nothing is known."""
        if self._cards is None:
            self._cards = _read(self._path)
        return self._cards.get(identity, ModelCard())

    def takes_tools(self, identity: str) -> bool | None:
        """Return whether the model can call tools; None if that is not known, or was seen too long ago."""
        found = self.of(identity).tools
        return found.able if found.tried or self._now() - found.time < _SEEN_SECONDS else None

    def fresh_window(self, identity: str) -> int | None:
        """Return the window that the server told not long ago, 0 if it told none, and None if it was not asked."""
        card = self.of(identity)
        return card.window_tokens if self._now() - card.window_time < _SEEN_SECONDS else None

    def saw_window(self, identity: str, tokens: int) -> None:
        """Remember the window that a server told; 0: it told none, which does not replace a known one."""
        card = self.of(identity)
        if (tokens and card.window_tokens != tokens) or self.fresh_window(identity) is None:
            tokens = tokens or card.window_tokens
            self._keep_quietly(identity, card._replace(window_tokens=tokens, window_time=int(self._now())))

    def says_unknown_window(self, identity: str) -> bool:
        """Return whether to say that the window is unknown: once for each model. Remembers that it is said."""
        card = self.of(identity)
        if not card.window_said:
            self._keep_quietly(identity, card._replace(window_said=True))
        return not card.window_said

    def keep(self, identity: str, card: ModelCard) -> None:
        """Replace the card of a model. Raises `StoreTrouble`; this process knows the card anyway."""
        cards = _read(self._path)  # another process may have added some
        cards.pop(identity, None)
        cards = dict([*cards.items(), (identity, card)][-_MOST_CARDS:])
        self._cards = cards
        models = {name: _record(one) for name, one in cards.items()}
        text = json.dumps({"version": _VERSION, "models": models}, ensure_ascii=False, indent=1)
        replace_file(self._path, text.encode("utf-8", "replace"), sync=False)

    def saw_tools(self, identity: str, text: str, *, able: bool, certain: bool = True) -> bool:
        """Remember what a model did while it answered, and return whether that is news.

        If it is not `certain`, it does not replace the result of a check.
        """
        found = self.of(identity).tools
        if self.takes_tools(identity) is able or (found.tried and not certain):
            return False
        seen = Finding(able, text[:_MOST_TEXT], int(self._now()))
        self._keep_quietly(identity, self.of(identity)._replace(tools=seen))
        return True

    def _keep_quietly(self, identity: str, card: ModelCard) -> None:
        try:
            self.keep(identity, card)
        except StoreTrouble as error:
            logger.info("cannot save what is known about models: %s", error)


def tools_word(setting: bool | str | None, found: bool | None, *, run_form: bool = False) -> str:
    """Return one word for a list of models: the setting, otherwise what is known. `run_form`: only commands."""
    able = found if setting is None else setting
    if run_form and able is not False:
        return "commands"
    return "unknown" if able is None else "yes" if able else "no"


def _record(card: ModelCard) -> dict[str, Any]:
    return {name: value._asdict() if isinstance(value, Finding) else value for name, value in card._asdict().items()}


def _read(path: Path) -> dict[str, ModelCard]:
    """Return the cards of a file; none if it is missing, damaged or of another version."""
    try:
        stored = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(stored, dict) or stored.get("version") != _VERSION or not isinstance(stored.get("models"), dict):
        return {}
    return {str(name): _card(record) for name, record in stored["models"].items() if isinstance(record, dict)}


def _card(record: dict[str, Any]) -> ModelCard:
    """Return a card. A field of the wrong kind counts as not known."""
    return ModelCard(
        tools=_finding(record.get("tools")),
        json=_finding(record.get("json")),
        commands=_finding(record.get("commands")),
        window=_finding(record.get("window")),
        window_tokens=_whole(record.get("window_tokens")),
        window_time=_whole(record.get("window_time")),
        window_said=record.get("window_said") is True,
        tokens_per_second=_positive(record.get("tokens_per_second")),
        first_token_seconds=_positive(record.get("first_token_seconds")),
        languages=_finding(record.get("languages")),
    )


def _finding(value: object) -> Finding:
    if not isinstance(value, dict):
        return Finding()
    able, text, when, tried = (value.get(name) for name in Finding._fields)
    if not (able is None or isinstance(able, bool)) or not isinstance(text, str) or not isinstance(when, int):
        return Finding()
    return Finding(able, text[:_MOST_TEXT], when, tried is True)


def _whole(value: object) -> int:
    return value if isinstance(value, int) and 0 < value < 1 << 40 else 0


def _positive(value: object) -> float:
    return float(value) if isinstance(value, int | float) and 0 < value < 1e6 else 0.0
