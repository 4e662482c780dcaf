"""Set up a model that was found on this machine or by a key: write its preset, and remember what was offered.

The best server of this machine is used by itself as long as nobody has chosen a model. `MachineRecord` remembers it for
the next start; its preset is in no file of the user.
"""

import asyncio
import itertools
import json
import os
from collections.abc import Container, Mapping, Sequence
from pathlib import Path

from aish.model.addresses import api_root
from aish.model.discovery import FoundModel, find_files, find_keys, find_local, find_weights
from aish.model.machine import look
from aish.model.served_models import UNTOLD
from aish.model.weights import CATALOGUE
from aish.places import Places, home_directory, model_directories
from aish.settings.key_lines import set_key, unset_key
from aish.settings.layers import FOUND_HERE, Loaded, has_chosen, read_record, split_key
from aish.settings.options import EMBEDDED, Preset, Settings
from aish.settings.user_file import edit_settings_file
from aish.storage.files import replace_file
from aish.values.errors import BadUsage, NotFound, StoreTrouble

_WEIGHTS = "weights"  # in the record, in place of the address of a server
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

    def decline_weights(self) -> None:
        """Remember that the user wants no weights to be fetched unasked."""
        self._add("declined", [_WEIGHTS])

    @property
    def declined_weights(self) -> bool:
        return _WEIGHTS in self._read().get("declined", ())

    def _note(self, key: str, found: list[FoundModel]) -> None:
        self._add(key, [_identity(one) for one in found])

    def _add(self, key: str, identities: list[str]) -> None:
        record = self._read()
        record[key] = list(dict.fromkeys([*record.get(key, ()), *identities]))
        try:
            replace_file(self._path, json.dumps(record).encode(), sync=False)
        except StoreTrouble:
            pass


class MachineRecord:
    """The server of this machine that answers unasked, in a small file that settings are read from.

    1. It is a cache: a file that cannot be read is empty, and one that cannot be written is no trouble.
    2. Only a server on loopback is believed, whatever the file says.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> FoundModel | None:
        record = read_record(self._path)
        if record is None:
            return None
        return FoundModel(record["name"], record["title"], record["endpoint"], record["model"], kind=record["kind"])

    def write(self, found: FoundModel | None) -> None:
        """Remember a server; None forgets it. An unchanged file is not written again."""
        try:
            if found is None:
                self._path.unlink(missing_ok=True)
                return
            fields = ("name", "title", "endpoint", "model", "kind")
            values = {field: getattr(found, field) for field in fields}
            if read_record(self._path) != values:
                replace_file(self._path, json.dumps(values).encode(), sync=False)
        except (OSError, StoreTrouble):
            pass


async def find_server(settings: Settings, origins: Mapping[str, str], env: Mapping[str, str]) -> FoundModel | None:
    """Return the server of this machine that answers unasked: the one with the largest model. None if there is none.

    None, too, if the user has chosen a model. A server that does not show that it runs models itself may be a proxy
    to a service that costs money, so it is not used unasked.
    """
    if has_chosen(origins):
        return None
    usable = [one for one in await find_local(env) if not one.caution]
    best = max(usable, key=lambda one: one.size, default=None)
    if best is None:
        return None
    same = [name for name, preset in settings.models.items() if _address(preset.address) == _address(best.endpoint)]
    return best if best.name in same else _renamed(best, settings.models)


def _own_presets(loaded: Loaded) -> dict[str, Preset]:
    """Return the presets that the user has set up."""
    found = {key for key, origin in loaded.origins.items() if origin == FOUND_HERE}
    not_own = {split_key(key)[1] for key in found if key.startswith("models.")}
    return {name: preset for name, preset in loaded.settings.models.items() if name not in not_own}


def _identity(found: FoundModel) -> str:
    return found.path or f"{found.endpoint} {found.api_key_env}".strip()


def nothing_found(loaded: Loaded) -> str:
    """Say that there is nothing to set up, and what to do."""
    names = [name for name, one in _own_presets(loaded).items() if one.address]
    return _NOTHING_ELSE_FOUND.format(", ".join(names), names[0]) if names else _NOTHING_FOUND


async def find_models(loaded: Loaded, env: Mapping[str, str], words: Sequence[str] = ()) -> list[FoundModel]:
    """Return what could be set up: servers of this machine first, then keys, then files. Loopback only.

    What is set up already is left out, unless the user names it together with a model. None has the name of another
    preset that is there, which it would overwrite, nor that of another one in the list.
    """
    own = _own_presets(loaded)
    again = words[0] if len(words) == 2 else ""
    presets = [one for name, one in own.items() if name != again]
    known = {_address(one.address) for one in presets if one.address}
    known |= {one.api_key_env for one in presets if one.api_key_env}
    files = asyncio.create_task(asyncio.to_thread(_find_files, env, presets))
    found = [*await find_local(env, known), *find_keys(env, known), *await files]
    same = _address(own[again].address) if again in own else ""
    taken, named = {EMBEDDED, *own, *CATALOGUE}, list[FoundModel]()
    for one in found:
        is_again = one.name == again and _address(one.endpoint) == same
        named.append(one if is_again else _renamed(one, taken))
        taken.add(named[-1].name)
    return named


def _find_files(env: Mapping[str, str], presets: Sequence[Preset]) -> list[FoundModel]:
    return find_files(env, home_directory(), {os.path.expanduser(one.path) for one in presets})  # noqa: PTH111


def _address(endpoint: str) -> str:
    return api_root(endpoint).replace("//localhost:", "//127.0.0.1:")


def _renamed(one: FoundModel, taken: Container[str]) -> FoundModel:
    return one._replace(name=_free_name(one.name, taken))


def _free_name(name: str, taken: Container[str]) -> str:
    others = (f"{name}-{number}" for number in itertools.count(2))
    return next(one for one in itertools.chain([name], others) if one not in taken)


def weights_here(places: Places, env: Mapping[str, str]) -> list[FoundModel]:
    """Return the weights that are installed, and those that can be fetched."""
    return find_weights(look(places.models, env), model_directories(places, env))


async def new_offers(loaded: Loaded, env: Mapping[str, str], record: SetupRecord) -> list[FoundModel]:
    """Return models to offer to somebody who has chosen none, without those that were offered or declined before.

    A server that is used by itself is no offer, and where there is one, neither are files.
    """
    if _own_presets(loaded) or has_chosen(loaded.origins):
        return []
    found = await find_models(loaded, env)
    is_served = any(one.is_server and not one.caution for one in found)
    return [one for one in found if _is_offered(one, is_served=is_served) and record.is_new(one)]


def _is_offered(one: FoundModel, *, is_served: bool) -> bool:
    if one.path:
        return not one.caution and not is_served
    return bool(one.api_key_env) or one.caution == UNTOLD


def offer_text(found: list[FoundModel]) -> str:
    """Return the sentence that offers what was found."""
    what = "; ".join(one.about for one in found)
    return f"found {what}. {':setup uses it' if len(found) == 1 else ':setup lets you choose one'}"


def chosen(found: list[FoundModel], words: list[str], loaded: Loaded) -> FoundModel:
    """Return the model that the user named by number or name, with another model of its server if that is named.

    Raises `NotFound` and `BadUsage`.
    """
    if len(words) > 2:
        raise BadUsage("expected the name of what was found, and perhaps the name of one of its models")
    named = {str(number): one for number, one in enumerate(found, start=1)} | {one.name: one for one in found}
    if words[0] not in named and words[0] in _own_presets(loaded) and len(words) == 1:
        raise BadUsage(f"{words[0]} is set up already; add the name of a model to use another one: {words[0]} MODEL")
    if not found:
        raise NotFound(nothing_found(loaded))
    if words[0] not in named:
        raise NotFound(f"{words[0]} was not found; there are: {', '.join(one.name for one in found)}")
    one = named[words[0]]
    if len(words) == 2 and one.kind == EMBEDDED:
        raise BadUsage(f"{one.name} is one model; give its name alone")
    if len(words) == 2 and one.models and words[1] not in one.models:
        raise NotFound(f"{one.title} has no {words[1]}; it has: {', '.join(one.models[:12])}")
    return one.with_model(words[1]) if len(words) == 2 else one


def write_presets(path: Path, found: list[FoundModel], default: str) -> None:
    """Write presets to the settings file, all or none; `default` answers from then on. Raises `BadUsage`."""

    def edit(text: str) -> str:
        for one in found:
            for key, value in _preset_values(one).items():
                text = set_key(text, ["models", one.preset, key], value) if value else text
            if one.is_weights:
                text = unset_key(text, ["models", one.preset, "path"])
        return set_key(text, ["model"], default) if default else text

    edit_settings_file(path, edit)


def _preset_values(one: FoundModel) -> dict[str, str]:
    if one.is_weights:
        return {"model": one.model}
    if one.path:
        return {"kind": one.kind, "path": one.path}
    kind = one.kind if one.kind != "openai" else ""
    return {"kind": kind, "endpoint": one.endpoint, "model": one.model, "api_key_env": one.api_key_env}


def listing(found: list[FoundModel]) -> str:
    """Return the found models, one line each, with numbers to choose by."""
    width = max((len(one.name) for one in found), default=0)
    return "\n".join(f"{number:>3}  {one.name:<{width}}  {one.about}" for number, one in enumerate(found, start=1))
