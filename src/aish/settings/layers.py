"""Merges settings: default < this machine < user file < trusted project file < environment < command line.

A mistake never stops the program: it is reported with file, line and key, and the value it would have replaced stays.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from aish.settings.options import EMBEDDED, NAMED, Section, Settings, describe, options_of
from aish.values.named_tuple import NamedTuple

_KEY = r"""(?:"[^"]*"|'[^']*'|[A-Za-z0-9_-]|[ \t.])+"""  # bare and quoted names with dots between them
ENV_PREFIX = "AISH_SET_"
COMMAND_LINE = "command line"
FOUND_HERE = "found on this machine"
_HERE = r"http://(127(\.\d{1,3}){3}|localhost|\[::1\]):\d{1,5}(/[\w./-]*)?"
_PORT = r":(\d+)(?:/|$)"
_LARGEST_RECORD, _LONGEST_NAME = 1 << 14, 200
_WORDS = {"true": True, "false": False}
_BEGINNINGS = frozenset("\"'[{+-0123456789tfin")  # every TOML value starts with one of these
_LONG = 10  # digits: a whole number of more is left to TOML
_NEAR = 0.75  # how alike two names must be, from 0 to 1; with less, any word is near to something
_TOOL_EFFECTS = ("read", "change", "send", "destroy", "unknown")


class SettingsLayer(NamedTuple):
    """Values from one source. `text` is the content of the file, to find line numbers."""

    origin: str
    values: Mapping[str, Any]
    text: str = ""


class Problem(NamedTuple):
    """A mistake in the settings, to show to the user."""

    origin: str
    message: str
    key: str = ""
    line: int = 0

    def __str__(self) -> str:
        place = f"{self.origin}:{self.line}" if self.line else self.origin
        return f"{place}: {self.key + ': ' if self.key else ''}{self.message}"


class Loaded(NamedTuple):
    """The settings, where each value that is not a default came from, and the mistakes in them."""

    settings: Settings
    origins: Mapping[str, str]
    problems: tuple[Problem, ...]


def read_file(path: Path) -> tuple[SettingsLayer | None, list[Problem]]:
    """The values in a TOML file; a file that is not there is no problem."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        return SettingsLayer(origin=str(path), values=parse_toml(text), text=text), []
    except FileNotFoundError:
        return None, []
    except OSError as error:
        return None, [Problem(origin=str(path), message=f"cannot be read ({error.strerror or error}); ignored")]
    except UnicodeDecodeError:
        return None, [Problem(origin=str(path), message="is not UTF-8 text; ignored")]
    except RecursionError:
        return None, [Problem(origin=str(path), message="is nested too deeply; ignored")]
    except ValueError as error:
        if type(error) is ValueError:  # a number of thousands of digits
            return None, [Problem(origin=str(path), message=f"is ignored: {error}")]
        line = re.search(r"at line (\d+)", str(error))
        message = f"is not valid TOML, ignored: {error}"
        return None, [Problem(origin=str(path), message=message, line=int(line[1]) if line else 0)]


def read_record(path: Path) -> dict[str, str] | None:
    """The model server that was found on this machine: its `name`, `title`, `endpoint`, `model` and `kind`.

    None if there is no such record, or one that cannot be right. Only this machine is believed.
    """
    try:
        with open(path, "rb") as file:  # `Path.open` is slower, and this is read at each start
            text = file.read(_LARGEST_RECORD)
        import json  # here, because most starts have no record

        record = json.loads(text)
        given = {key: record[key] for key in ("name", "title", "endpoint", "model", "kind")}
    except (OSError, ValueError, RecursionError, TypeError, KeyError):
        return None
    strings = all(isinstance(value, str) and value.isprintable() and value for value in given.values())
    if not strings or any(len(value) > _LONGEST_NAME for value in given.values()):
        return None
    right = re.fullmatch(r"[a-z0-9-]+", given["name"]) and re.fullmatch(_HERE, given["endpoint"], re.ASCII)
    return given if right and given["kind"] == "openai" and given["name"] != EMBEDDED else None


def read_machine(path: Path, trusts: Callable[[int], bool] = lambda port: True) -> SettingsLayer | None:
    """The layer that lets the model server of this machine answer, and the embedded model when it is not there.

    None if `trusts` says that somebody else's program listens on its port.
    """
    record = read_record(path)
    port = re.search(_PORT, record["endpoint"]) if record else None
    if record is None or port is None or not trusts(int(port[1])):
        return None
    preset = {"endpoint": record["endpoint"], "model": record["model"]}
    values = {"model": record["name"], "fallback": [EMBEDDED], "models": {record["name"]: preset}}
    return SettingsLayer(origin=FOUND_HERE, values=values)


def below(machine: SettingsLayer, layers: Sequence[SettingsLayer]) -> SettingsLayer | None:
    """The layer of this machine; none if the user has given the name of its preset to one of his own."""
    taken = {name for layer in layers if isinstance(own := layer.values.get("models"), dict) for name in own}
    return None if taken & set(machine.values["models"]) else machine


def has_chosen(origins: Mapping[str, str]) -> bool:
    """Has the user chosen a model? A file for the embedded model counts as a choice.

    `origins` says where the value of each key comes from; what was found on this machine is no choice.
    """
    keys, own = (key for key, origin in origins.items() if origin != FOUND_HERE), f"models.{EMBEDDED}."
    return any(key in ("model", "embedded.path") or key.startswith(own) for key in keys)


def parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML. Raises `ValueError` and `RecursionError`."""
    import tomllib  # here, because it takes a tenth of a start, and without a settings file it is not needed

    return tomllib.loads(text)


def read_environment(env: Mapping[str, str]) -> SettingsLayer:
    """Values such as AISH_SET_CONTEXT__TOKEN_BUDGET=8192 (two underscores stand for the dot)."""
    values: dict[str, Any] = {}
    for name, text in sorted(env.items()):
        if name.startswith(ENV_PREFIX):
            _put(values, name.removeprefix(ENV_PREFIX).lower().split("__"), parse_value(text))
    return SettingsLayer(origin="environment", values=values)


def read_arguments(pairs: Iterable[str]) -> tuple[SettingsLayer, list[Problem]]:
    """Values given as `key=value` on the command line."""
    values: dict[str, Any] = {}
    problems = []
    for pair in pairs:
        key, sign, text = pair.partition("=")
        if sign:
            _put(values, split_key(key) or [key], parse_value(text.strip()))
        else:
            problems.append(Problem(origin=COMMAND_LINE, message=f"expected KEY=VALUE, got {pair!r}"))
    return SettingsLayer(origin=COMMAND_LINE, values=values), problems


def parse_value(text: str) -> Any:
    """A TOML value if the text is one, else the text itself. Plain values are read without `tomllib`."""
    if text in _WORDS:
        return _WORDS[text]
    if text.lstrip(" \t")[:1] not in _BEGINNINGS:
        return text
    if text.isascii() and text.isdecimal() and len(text) < _LONG and not text.startswith("0"):
        return int(text)
    if re.fullmatch(r'"[\w :./@-]*"', text):
        return text[1:-1]
    try:
        return parse_toml(f"value = {text}")["value"]
    except (ValueError, RecursionError):
        return text


def load(layers: Iterable[SettingsLayer]) -> Loaded:
    """Merge the layers over the defaults; later ones win. Every value is checked on its own."""
    good: dict[str, Any] = {}
    sources: dict[str, SettingsLayer] = {}
    problems: list[Problem] = []
    for layer in layers:
        for key, value in flatten(layer.values):
            wanted = type_of(key)
            problem = unknown_key(key) if wanted is None else mismatch(value, wanted)
            if problem:
                problems.append(_problem(layer, key, problem))
            elif value != {}:  # an empty table sets nothing
                word = isinstance(value, bool) and bool not in (wanted, *get_args(wanted))  # one of several words
                good[key] = str(value).lower() if word else value
                sources[key] = layer
    problems += _check_names(good, sources)
    origins = {key: sources[key].origin for key in good}
    return Loaded(settings=_build(good), origins=origins, problems=tuple(problems))


def _problem(layer: SettingsLayer, key: str, message: str) -> Problem:
    return Problem(origin=layer.origin, key=key, message=message, line=line_of(layer.text, key))


def _check_names(good: dict[str, Any], sources: Mapping[str, SettingsLayer]) -> list[Problem]:
    """Remove presets that do not exist and patterns that do not compile, and report them."""
    known = {EMBEDDED, *(split_key(key)[1] for key in good if key.startswith("models."))}
    problems = []

    def reject(key: str, message: str) -> None:
        problems.append(_problem(sources[key], key, message))

    if good.get("model", EMBEDDED) not in known and sources["model"].origin != COMMAND_LINE:
        reject("model", f"there is no model {good.pop('model')!r}; {EMBEDDED} answers instead")
    for name in [name for name in good.get("fallback", []) if name not in known]:
        reject("fallback", f"there is no model {name!r}; left out")
        good["fallback"] = [other for other in good["fallback"] if other != name]
    if good.get("memory.summarizer_model") and good["memory.summarizer_model"] not in known:
        name = good.pop("memory.summarizer_model")
        reject("memory.summarizer_model", f"there is no model {name!r}; the one that answers is used")
    problems += _check_servers(good, sources)
    for rule in list(good.get("rules", [])):
        wrong = _wrong_rule(rule, known)
        if wrong:
            reject("rules", f"{wrong}; the rule is left out")
            good["rules"] = [other for other in good["rules"] if other is not rule]
    return problems


def _check_servers(good: dict[str, Any], sources: Mapping[str, SettingsLayer]) -> list[Problem]:
    """Report MCP servers that cannot be used, and remove effects that do not exist."""
    problems = []
    keys: dict[str, list[str]] = {}
    for key in good:
        if _table_of(key) == "mcp.servers":
            keys.setdefault(split_key(key)[2], []).append(key)
    for name, given in keys.items():
        ways = [key for key in given if split_key(key)[3] in ("command", "url") and good[key]]
        if len(ways) != 1:
            message = f"{name} needs either a command or a url" + (", not both" if ways else "")
            problems.append(_problem(sources[given[0]], given[0], f"{message}; the server is not used"))
        for key in [key for key in given if split_key(key)[3] == "effect"]:
            wrong = [f"{tool} = {effect!r}" for tool, effect in good[key].items() if effect not in _TOOL_EFFECTS]
            if wrong:
                message = f"expected {', '.join(_TOOL_EFFECTS)}, got {_show(', '.join(wrong))}; left out"
                problems.append(_problem(sources[key], key, message))
                good[key] = {tool: effect for tool, effect in good[key].items() if effect in _TOOL_EFFECTS}
    return problems


def _wrong_rule(rule: Mapping[str, str], known: set[str]) -> str:
    if rule.get("model") not in known:
        return f"there is no model {rule.get('model')!r}"
    try:
        re.compile(rule.get("match", ""))
    except (re.error, OverflowError, RecursionError) as error:
        return f"match is not a regular expression ({error})"
    return ""


def flatten(values: Mapping[str, Any], prefix: str = "", depth: int = 3) -> Iterable[tuple[str, Any]]:
    """Tables as dotted keys of at most `depth` parts, as deep as settings go; one more below [mcp.servers].

    Names in [models] and [prices] may hold dots themselves, so they are quoted.
    """
    for name, value in values.items():
        key = f"{prefix}{_quote(name)}"
        if isinstance(value, dict) and value and depth > 1:
            yield from flatten(value, f"{key}.", depth - 1 + (key in NAMED and "." in key))
        else:
            yield key, value


def type_of(key: str) -> Any:
    """The type that a dotted key must have (a section, if it is a table), or None if there is no such key."""
    current: Any = Settings
    parts = split_key(key)
    table = ""
    while parts:
        part = parts.pop(0)
        table = f"{table}.{part}" if table else part
        if get_origin(current) is dict:  # the user's own names
            return get_args(current)[1] if not parts else None
        if not _is_section(current):
            return None
        if table in NAMED and parts:
            parts.pop(0)
            current = NAMED[table]
            continue
        hints = get_type_hints(current)
        if part not in hints:
            return None
        current = hints[part]
    return current


def _table_of(key: str) -> str:
    """The table of NAMED that a key is in, or nothing."""
    parts = split_key(key)
    return next((table for table in NAMED if parts[: table.count(".") + 1] == table.split(".")), "")


def _is_section(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Section)


def _is_union(kind: Any) -> bool:
    return get_origin(kind) in (Union, UnionType)  # `int | Literal["auto"]` makes the former


def mismatch(value: Any, wanted: Any) -> str:
    """What is wrong with a value for a key of type `wanted`; nothing if it fits."""
    choices = get_args(wanted) if _is_union(wanted) else (wanted,)
    if any(_fits(value, choice) for choice in choices):
        return ""
    return f"expected {_describe(wanted)}, got {_show(value)}"


def _fits(value: Any, wanted: Any) -> bool:
    if get_origin(wanted) is Literal:
        text = str(value).lower() if isinstance(value, bool) else value
        return text in get_args(wanted)
    if get_origin(wanted) is list:
        return isinstance(value, list) and all(_fits(item, get_args(wanted)[0]) for item in value)
    if _is_section(wanted):
        return isinstance(value, dict)
    if get_origin(wanted) is dict:
        return isinstance(value, dict) and all(isinstance(item, str) for item in value.values())
    if wanted is float:
        return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < float("inf")
    if wanted is int:
        return isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return isinstance(value, wanted)


def _describe(wanted: Any) -> str:
    if _is_union(wanted):
        return " or ".join(_describe(choice) for choice in get_args(wanted) if choice is not type(None))
    if get_origin(wanted) is Literal:
        return " or ".join(f'"{choice}"' for choice in get_args(wanted))
    if get_origin(wanted) is list:
        return f"a list of {_describe(get_args(wanted)[0])}"
    if get_origin(wanted) is dict:
        return "a table" if _is_section(get_args(wanted)[1]) else "a table of strings"
    if _is_section(wanted):
        return "a table"
    return {bool: "true or false", int: "a whole number from 0 up", float: "a number from 0 up", str: "a string"}[
        wanted
    ]


def _show(value: Any) -> str:
    try:
        text = str(value).lower() if isinstance(value, bool) else repr(value)
    except (ValueError, RecursionError):  # thousands of digits, or of tables in each other
        return "something too long to show"
    return text if len(text) <= 60 else text[:59] + "…"


def unknown_key(key: str) -> str:
    """What to say about a key that does not exist, with the key that was perhaps meant."""
    import difflib  # here, because it is needed for mistakes only

    names = [name for name, _, _ in describe(Settings)]
    near = difflib.get_close_matches(key, names, n=1, cutoff=_NEAR)
    if not near:  # perhaps only the table is missing or wrong
        last = split_key(key)[-1]
        named = [name for name, _, _ in describe(NAMED[_table_of(key)])] if _table_of(key) else names
        by_last = {name.rpartition(".")[2]: name for name in reversed(named)}
        near = [by_last[one] for one in difflib.get_close_matches(last, by_last, n=1, cutoff=_NEAR)]
    return "unknown key" + (f"; did you mean {near[0]}?" if near else "")


def _build(good: Mapping[str, Any]) -> Settings:
    tree: dict[str, Any] = {}
    for key, value in good.items():
        _put(tree, split_key(key), value)
    if EMBEDDED in tree.get("models", {}):
        tree["models"][EMBEDDED].setdefault("kind", "embedded")  # to change one thing of it is not to replace it
    for table, kind in NAMED.items():
        *outer, name = table.split(".")
        holder = tree
        for part in outer:
            holder = holder.setdefault(part, {})
        holder[name] = {entry: kind(**given) for entry, given in holder.get(name, {}).items()}
    for name, declared in options_of(Settings).items():
        if _is_section(declared.default) and name in tree:
            tree[name] = declared.default(**tree[name])
    return Settings(**tree)


def _put(tree: dict[str, Any], path: list[str], value: Any) -> None:
    for part in path[:-1]:
        tree = tree.setdefault(part, {})
        if not isinstance(tree, dict):
            return
    tree[path[-1]] = value


def _quote(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else f'"{name}"'


def split_key(key: str) -> list[str]:
    """The parts of a dotted key, some of which may be quoted."""
    found = re.findall(r""""([^"]*)"|'([^']*)'|([^."'\s]+)""", key)
    return [double or single or bare for double, single, bare in found]


def line_of(text: str, key: str) -> int:
    """The line of a file that sets `key`; 0 if it cannot be told."""
    section: list[str] = []
    wanted = split_key(key)
    for number, line in enumerate(text.split("\n"), start=1):
        header = re.match(rf"\s*\[+({_KEY})\]", line)
        if header:
            section = split_key(header[1])
            if section == wanted:
                return number
            continue
        setting = re.match(rf"\s*({_KEY})=", line)
        if setting:
            path = section + split_key(setting[1])
            if path[: len(wanted)] == wanted[: len(path)]:
                return number
    return 0
