"""Set up a model that was found on this machine or by a key: write its preset, and remember what was offered."""

import itertools
import json
import os
from collections.abc import Container, Mapping, Sequence
from pathlib import Path

from aish.model.addresses import api_root
from aish.model.discovery import FoundModel, find_keys, find_local
from aish.settings.key_lines import set_key
from aish.settings.layers import Loaded
from aish.settings.options import Settings
from aish.settings.user_file import edit_settings_file
from aish.storage.files import replace_file
from aish.values.errors import BadUsage, NotFound, StoreTrouble

_NOTHING_FOUND = (
    "no model server answers on this machine, and no key of a provider is in the environment; start a server such as "
    "Ollama, or export a key such as OPENAI_API_KEY, and try again"
)
_NOTHING_ELSE_FOUND = (
    "nothing new was found; set up already: {}; to use another model of one of them, name both: {} MODEL"
)


class SetupRecord:
    """What the user has been shown and has declined, in a small file. A file that cannot be read is empty.

    1. It holds names and addresses, never a key.
    2. If it cannot be written, nothing fails: the user may only be told again.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def _read(self) -> dict[str, list[str]]:
        try:
            given = json.loads(self._path.read_bytes())
            return {key: [str(one) for one in given[key]] for key in ("offered", "declined") if key in given}
        except (OSError, ValueError, TypeError):
            return {}

    def is_new(self, found: FoundModel) -> bool:
        """Has this model neither been offered nor declined?"""
        record = self._read()
        return not any(_identity(found) in record.get(key, ()) for key in ("offered", "declined"))

    def welcome(self) -> None:
        """Remember that the first screen was shown."""
        if not os.path.exists(self._path):  # noqa: PTH110  # a Path raises if it may not look
            self._note("offered", [])

    def offer(self, found: list[FoundModel]) -> None:
        self._note("offered", found)

    def decline(self, found: list[FoundModel]) -> None:
        self._note("declined", found)

    def _note(self, key: str, found: list[FoundModel]) -> None:
        record = self._read()
        record[key] = list(dict.fromkeys([*record.get(key, ()), *map(_identity, found)]))
        try:
            replace_file(self._path, json.dumps(record).encode(), sync=False)
        except StoreTrouble:
            pass


def _identity(found: FoundModel) -> str:
    return f"{found.endpoint} {found.api_key_env}".strip()


def nothing_found(settings: Settings) -> str:
    """Say that there is nothing to set up, and what to do."""
    names = [name for name, one in settings.models.items() if one.address]
    return _NOTHING_ELSE_FOUND.format(", ".join(names), names[0]) if names else _NOTHING_FOUND


async def find_models(settings: Settings, env: Mapping[str, str], words: Sequence[str] = ()) -> list[FoundModel]:
    """Return the models that could be set up: servers of this machine first, then keys. Loopback only.

    What is set up already is left out, unless the user names it together with a model. None has the name of another
    preset that is there: it would be overwritten.
    """
    again = words[0] if len(words) == 2 else ""
    presets = [one for name, one in settings.models.items() if name != again]
    known = {_address(one.address) for one in presets if one.address}
    known |= {one.api_key_env for one in presets if one.api_key_env}
    found = [*await find_local(env, known), *find_keys(env, known)]
    same = _address(settings.models[again].address) if again in settings.models else ""
    return [
        one if one.name == again and _address(one.endpoint) == same else _renamed(one, settings.models) for one in found
    ]


def _address(endpoint: str) -> str:
    return api_root(endpoint).replace("//localhost:", "//127.0.0.1:")


def _renamed(one: FoundModel, taken: Container[str]) -> FoundModel:
    return one._replace(name=_free_name(one.name, taken))


def _free_name(name: str, taken: Container[str]) -> str:
    others = (f"{name}-{number}" for number in itertools.count(2))
    return next(one for one in itertools.chain([name], others) if one not in taken)


async def new_offers(loaded: Loaded, env: Mapping[str, str], record: SetupRecord) -> list[FoundModel]:
    """Return models to offer to somebody who has set up none, without those that were offered or declined before."""
    if loaded.settings.models or "model" in loaded.origins:
        return []
    return [one for one in await find_models(loaded.settings, env) if record.is_new(one)]


def offer_text(found: list[FoundModel]) -> str:
    """Return the sentence that offers what was found."""
    what = "; ".join(one.about for one in found)
    return f"found {what}. {':setup uses it' if len(found) == 1 else ':setup lets you choose one'}"


def chosen(found: list[FoundModel], words: list[str], settings: Settings) -> FoundModel:
    """Return the model that the user named by number or name, with another model of its server if that is named.

    Raises `NotFound` and `BadUsage`.
    """
    if len(words) > 2:
        raise BadUsage("expected the name of what was found, and perhaps the name of one of its models")
    named = {str(number): one for number, one in enumerate(found, start=1)} | {one.name: one for one in found}
    if words[0] not in named and words[0] in settings.models and len(words) == 1:
        raise BadUsage(f"{words[0]} is set up already; add the name of a model to use another one: {words[0]} MODEL")
    if not found:
        raise NotFound(nothing_found(settings))
    if words[0] not in named:
        raise NotFound(f"{words[0]} was not found; there are: {', '.join(one.name for one in found)}")
    one = named[words[0]]
    if len(words) == 2 and one.models and words[1] not in one.models:
        raise NotFound(f"{one.title} has no {words[1]}; it has: {', '.join(one.models[:12])}")
    return one.with_model(words[1]) if len(words) == 2 else one


def write_presets(path: Path, found: list[FoundModel], default: str) -> None:
    """Write presets to the settings file, all or none; `default` answers from then on. Raises `BadUsage`."""

    def edit(text: str) -> str:
        for one in found:
            kind = one.kind if one.kind != "openai" else ""
            values = {"kind": kind, "endpoint": one.endpoint, "model": one.model, "api_key_env": one.api_key_env}
            for key, value in values.items():
                text = set_key(text, ["models", one.name, key], value) if value else text
        return set_key(text, ["model"], default) if default else text

    edit_settings_file(path, edit)


def listing(found: list[FoundModel]) -> str:
    """Return the found models, one line each, with numbers to choose by."""
    return "\n".join(f"{number:>3}  {one.name:<12} {one.about}" for number, one in enumerate(found, start=1))
