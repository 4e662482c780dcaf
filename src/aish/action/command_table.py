"""The table of known commands: the TOML files beside this module, and the user's own entries in the same format.

docs/policy.md explains the format. A built-in entry is parsed when its command is first looked up: `tomllib` would take
longer for all of them than Python takes to start. A test compares both ways.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from aish.values.errors import BadUsage
from aish.values.named_tuple import NamedTuple
from aish.values.patterns import pattern
from aish.values.verdicts import SEVERITY, Effect

_KINDS = ("none", "any", "names", "files", "text files")
_RULES = ("", "awk", "command", "env", "find", "joined", "python", "sed", "shell", "sql", "xargs")
_VALUES = ("hosts", "reads", "runs", "writes")  # keys for flags whose value is more than a word
_NONE: Mapping[str, Any] = MappingProxyType({})
_HEADER = r'^\["([^"\n]*)"\]$'
# The part of TOML that most entries need: empty lines, comments, and values without escapes.
_LINE = pattern(
    r'\s*(?:#[^\n]*|(\w+) = (?:"""\n?([^"\\]*)"""|"([^"\\\n]*)"|'
    r"'([^'\n]*)'|(true|false)|(0|[1-9][0-9]{0,8})))(?=\s*\n|\s*$)",
    re.ASCII,
)


class Flags(NamedTuple):
    """Permitted flags, with their dashes; those in `valued` take a value."""

    every: bool = False
    bare: frozenset[str] = frozenset()
    valued: frozenset[str] = frozenset()


class CommandRule(NamedTuple):
    """The table entry of one command or subcommand.

    The command runs if `effect` is "read" and all of it is permitted: `flags`, the kind of `operands`, at most `most`
    of them, each matching `shape`, and at least one flag of `needs`. Otherwise it asks, with the effect `otherwise`; a
    word in `destroy` changes that effect to "destroy". `lists`: with these flags it prints file names. `walks`: with
    these flags it reads everything below a directory. `wraps`: how many operands precede the command that it runs.
    `ordered`: no flag follows an operand. `project`: starting it loads code or settings of the current directory. What
    the values of some flags are: `hosts` machines that are contacted, `reads` files whose contents are read, `runs`
    programs or code, `writes` files that are written. Flags of `hosts` and `reads` are permitted.
    """

    words: tuple[str, ...]
    flags: Flags | None = Flags()
    operands: str = "none"
    most: int | None = None
    shape: str = ""
    needs: frozenset[str] = frozenset()
    effect: Effect = "read"
    otherwise: Effect = "unknown"
    because: str = ""
    destroy: frozenset[str] = frozenset()
    lists: frozenset[str] = frozenset()
    walks: frozenset[str] = frozenset()
    filters: bool = False
    wraps: int | None = None
    rule: str = ""
    single: bool = False
    bundled: bool = False
    keep: int = 0
    ordered: bool = False
    project: bool = False
    hosts: frozenset[str] = frozenset()
    reads: frozenset[str] = frozenset()
    runs: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        return " ".join(self.words)


class Node:
    """A command with its entry, if it has one, and its subcommands. `raw` is the entry as TOML text, or parsed."""

    __slots__ = ("_entry", "below", "raw", "words")

    def __init__(self) -> None:
        self.words: tuple[str, ...] = ()
        self.raw: Mapping[str, Any] | str | None = None
        self.below: dict[str, Node] = {}
        self._entry: CommandRule | None = None

    def add(self, words: tuple[str, ...], raw: Mapping[str, Any] | str) -> None:
        """Give this command, or the subcommand with these words, an entry."""
        node = self
        for word in words[1:]:
            node = node.below.setdefault(word, Node())
        node.words, node.raw, node._entry = words, raw, None

    @property
    def entry(self) -> CommandRule | None:
        if self._entry is None and self.raw is not None:
            raw = parse_pairs(self.raw) if isinstance(self.raw, str) else self.raw
            self._entry = make_entry(self.words, raw)
        return self._entry


class KnownCommands(Mapping[str, Node]):
    """Known commands by their first word. The nodes of a command are made when it is looked up first."""

    def __init__(self) -> None:
        self._entries: dict[str, list[tuple[str, Mapping[str, Any] | str]]] = {}
        self._nodes: dict[str, Node] = {}

    def add(self, names: str, raw: Mapping[str, Any] | str) -> None:
        """Add an entry; it takes precedence over earlier ones with the same words."""
        for name in names.split(","):
            if name := name.strip():
                self._entries.setdefault(name.split(None, 1)[0], []).append((name, raw))

    def __getitem__(self, first: str) -> Node:
        if first not in self._nodes:
            node = Node()
            for name, raw in self._entries[first]:
                node.add(tuple(name.split()), raw)
            self._nodes[first] = node  # when it is complete: another thread may look it up
        return self._nodes[first]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


class CommandTable(NamedTuple):
    """Known commands, and the variables that do not change what runs."""

    commands: Mapping[str, Node]
    variables: frozenset[str]


def load_table(extra: Mapping[str, Any] = _NONE) -> CommandTable:
    """Load the built-in table and add the user's entries, which take precedence. Raises `BadUsage`."""
    variables, entries = _built_in()
    commands = KnownCommands()
    for name, text in entries:
        commands.add(name, text)
    for name, raw in extra.items():
        if not isinstance(raw, Mapping):
            raise BadUsage(f'policy: {name!r} must be a table such as {{ flags = "-v", operands = "files" }}')
        for words in _names(name):
            make_entry(words, raw)
        commands.add(name, raw)
    return CommandTable(commands, variables)


@cache
def _built_in() -> tuple[frozenset[str], list[tuple[str, str]]]:
    """The harmless variables, and every entry with its names and its TOML text."""
    variables: set[str] = set()
    entries: list[tuple[str, str]] = []
    for path in sorted(Path(__file__).parent.glob("*.toml")):
        head, tables = split_tables(path.read_text(encoding="utf-8"))
        variables.update(parse_pairs(head).get("variables", "").split())
        entries += tables
    return frozenset(variables), entries


def split_tables(text: str) -> tuple[str, list[tuple[str, str]]]:
    """Split a TOML text at headers such as `["ls, dir"]`: the text before the first, and each name with its text."""
    head, *rest = re.split(_HEADER, text, flags=re.MULTILINE)
    return head, list(zip(rest[::2], rest[1::2], strict=True))


def parse_pairs(text: str) -> dict[str, Any]:
    """Parse the keys and values of one table."""
    values: dict[str, Any] = {}
    at = 0
    while found := _LINE.match(text, at):
        key, long, short, literal, truth, number = found.groups()
        if key in values:
            break
        if key:
            values[key] = truth == "true" if truth else int(number) if number else long or short or literal or ""
        at = found.end()
    if text[at:].strip() or not text.isascii() or not text.replace("\n", "").isprintable():
        import tomllib  # here, because few entries need all of TOML

        return tomllib.loads(text)
    return values


def _names(key: str) -> Iterable[tuple[str, ...]]:
    return (tuple(name.split()) for name in key.split(",") if name.strip())


def make_entry(words: tuple[str, ...], raw: Mapping[str, Any]) -> CommandRule:
    """Parse one entry. Raises `BadUsage`, whose message names the command and the mistake."""
    place = f"policy: {' '.join(words) or 'an entry'}"
    given: dict[str, Any] = {}
    for key, value in raw.items():
        if key not in CommandRule._fields or key == "words":
            raise BadUsage(f"{place}: unknown key {key!r}; known keys: {', '.join(CommandRule._fields[1:])}")
        wanted: type = str
        if key in ("most", "wraps", "keep"):
            wanted = int
        elif key in ("filters", "single", "bundled", "ordered", "project"):
            wanted = bool
        if type(value) is not wanted:
            raise BadUsage(f"{place}: {key} must be {_A[wanted]}, not {value!r}")
        given[key] = value
        if key in ("needs", "destroy", "lists", "walks", *_VALUES):
            given[key] = frozenset(str(value).split())
        elif key == "flags":
            given[key] = _flags(str(value), single=raw.get("single") is True)
    entry = CommandRule(words, **given)
    for key, choices in (("operands", _KINDS), ("effect", SEVERITY), ("otherwise", SEVERITY), ("rule", _RULES)):
        if getattr(entry, key) not in choices:
            raise BadUsage(f"{place}: {key} must be one of {', '.join(filter(None, choices))}")
    if not words:
        raise BadUsage(f"{place}: the command has no name")
    try:
        re.compile(entry.shape)
    except re.error as error:
        raise BadUsage(f"{place}: shape is not a valid regular expression: {error}") from None
    if entry.effect != "read" and "flags" not in raw:
        return entry._replace(flags=None)
    special = entry.hosts | entry.reads | entry.runs | entry.writes
    if special and entry.flags:
        entry = entry._replace(flags=entry.flags._replace(valued=entry.flags.valued | special))
    return entry


_A = {str: "a string", int: "a number", bool: "true or false"}


def _flags(text: str, *, single: bool) -> Flags:
    """Parse `-ab -k: --all --key=`. With `single`, a flag with one dash is a whole word."""
    bare: set[str] = set()
    valued: set[str] = set()
    for token in text.split():
        if token.startswith("--") or single:
            (valued if token[-1] in "=:" else bare).add(token.rstrip("=:"))
        elif token.endswith(":"):
            valued.update(f"-{letter}" for letter in token[1:-1])
        elif token.startswith("-"):
            bare.update(f"-{letter}" for letter in token[1:])
        else:
            bare.add(token)
    return Flags("*" in bare, frozenset(bare), frozenset(valued))
