"""Colon commands: their table, their options and their arguments.

The docstring of a handler is its help, its completion and its manual page.
"""

import re
from collections.abc import Callable, Collection, Coroutine, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from aish.values.errors import BadUsage, NotFound
from aish.values.named_tuple import NamedTuple
from aish.values.replies import Reply

Scope = TypeVar("Scope")
Part = TypeVar("Part")
Whole = TypeVar("Whole")
_NEAR = 0.75  # how alike a name and a mistyped one must be, from 0 to 1
_QUOTED = r'"((?:[^"\\]|\\.)*)"(?=\s|$)'


class CommandOption(NamedTuple):
    """`--name`, or `--name VALUE` if it takes a value. If it is given several times, all values are kept."""

    name: str
    takes_value: bool = False


class Arguments(NamedTuple):
    """What a command is given, parsed once.

    The words are those of the command line; a typed line is split at every blank. Either way they joined by blanks are
    the text, exactly.
    """

    words: tuple[str, ...] = ()
    options: Mapping[str, tuple[str, ...]] = MappingProxyType({})

    @property
    def text(self) -> str:
        return " ".join(self.words)

    def has(self, option: str) -> bool:
        return option in self.options

    def value(self, option: str, default: str = "") -> str:
        """The last value of an option."""
        return self.options[option][-1] if option in self.options else default

    def values(self, option: str) -> tuple[str, ...]:
        return self.options.get(option, ())

    def take_word(self, choices: Collection[str]) -> tuple[str, "Arguments"]:
        """The first word if it is one of the choices, else nothing; and the rest."""
        if self.words and self.words[0] in choices:
            return self.words[0], self._replace(words=self.words[1:])
        return "", self


Handler = Callable[[Scope, Arguments], Coroutine[Any, Any, str | Reply]]


class Command(NamedTuple, Generic[Scope]):
    """A handler, what it takes, and the text that explains it."""

    name: str
    argument: str
    run: Handler[Scope]
    summary: str
    details: str
    options: tuple[CommandOption, ...] = ()

    @property
    def usage(self) -> str:
        return f":{self.name} {self.argument}".rstrip()

    def within(self, part: Callable[[Whole], Scope]) -> "Command[Whole]":
        """The same command for a wider scope, of which its handler gets a part."""

        def run(whole: Whole, arguments: Arguments) -> Coroutine[Any, Any, str | Reply]:
            return self.run(part(whole), arguments)

        return Command(self.name, self.argument, run, self.summary, self.details, self.options)

    def parse(self, typed: str) -> Arguments:
        """The arguments in a typed line: options first, then text. Raises `BadUsage`."""
        given: dict[str, list[str]] = {}
        rest = typed.lstrip() if self.options else typed
        while self.options and rest.startswith("--"):
            name, _, rest = rest.partition(" ")
            if name == "--":  # what follows is text, even if it starts with dashes
                break
            option = self._option(name.removeprefix("--"))
            value, rest = _first_value(rest.lstrip()) if option.takes_value else ("", rest)
            given.setdefault(option.name, []).append(value)
            rest = rest.lstrip()
        return self.given(rest.split(" ") if rest else (), given)

    def given(self, words: Sequence[str], options: Mapping[str, Sequence[str]]) -> Arguments:
        """The arguments out of words and options that were parsed elsewhere. Raises `BadUsage`."""
        for name, values in options.items():
            if self._option(name).takes_value and not all(values):
                raise BadUsage(f"--{name} needs a value")
        return Arguments(tuple(words), {name: tuple(values) for name, values in options.items()})

    def _option(self, name: str) -> CommandOption:
        for option in self.options:
            if option.name == name:
                return option
        known = ", ".join(f"--{option.name}" for option in self.options)
        raise BadUsage(f"there is no option --{name}" + (f"; there are: {known}" if known else f" of :{self.name}"))


def _without_indent(text: str) -> str:
    """The rest of a docstring. `inspect` and `textwrap` do the same, and take longer to load than `:help` to show."""
    lines = text.split("\n")
    indent = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return "\n".join(line[indent:] for line in lines).strip()


def _first_value(text: str) -> tuple[str, str]:
    """The first word or quoted text, and the rest."""
    if quoted := re.match(_QUOTED, text, re.DOTALL):
        return re.sub(r"\\(.)", r"\1", quoted[1], flags=re.DOTALL), text[quoted.end() :]
    value, _, rest = text.partition(" ")
    return value, rest


class Commands(Generic[Scope]):
    """Every command the shell knows, in the order they were added. Handlers get a scope and their arguments."""

    def __init__(self) -> None:
        self._by_name: dict[str, Command[Scope]] = {}
        self._aliases: dict[str, str] = {}

    def add(
        self, name: str, *, argument: str = "", options: tuple[CommandOption, ...] = (), aliases: tuple[str, ...] = ()
    ) -> Callable[[Handler[Scope]], Handler[Scope]]:
        """Register the decorated coroutine under `:name`; it must have a docstring."""

        def register(handler: Handler[Scope]) -> Handler[Scope]:
            if not handler.__doc__:
                raise ValueError(f":{name} has no docstring, so it would have no help")
            summary, _, details = handler.__doc__.strip().partition("\n")
            self._register(Command(name, argument, handler, summary, _without_indent(details), options), aliases)
            return handler

        return register

    def _register(self, command: Command[Scope], aliases: tuple[str, ...] = ()) -> None:
        for word in (command.name, *aliases):
            if word in self._by_name or word in self._aliases:
                raise ValueError(f":{word} is registered twice")
        self._by_name[command.name] = command
        self._aliases |= dict.fromkeys(aliases, command.name)

    def include(self, commands: "Commands[Part]", part: Callable[[Scope], Part]) -> None:
        """Add all commands of another table, whose handlers get that part of the scope."""
        for command in commands:
            self._register(command.within(part))

    def __iter__(self) -> Iterator[Command[Scope]]:
        return iter(self._by_name.values())

    def find(self, name: str) -> Command[Scope]:
        """The command by its name, an alias, or a beginning that only one command has. Raises `NotFound`."""
        name = self._aliases.get(name, name)
        if name in self._by_name:
            return self._by_name[name]
        matching = [known for known in self._by_name if name and known.startswith(name) and " " not in known]
        if len(matching) == 1:
            return self._by_name[matching[0]]
        matching = matching or self._near(name)
        hint = f"did you mean {' or '.join(f':{known}' for known in matching)}?" if matching else ":help lists them"
        raise NotFound(f"there is no command :{name}; {hint}")

    def _near(self, mistyped: str) -> list[str]:
        """Return the commands that a mistyped name is near to."""
        from difflib import get_close_matches  # only after a mistake

        names = [known for known in (*self._by_name, *self._aliases) if " " not in known]
        near = get_close_matches(mistyped, names, 2, _NEAR)
        return list(dict.fromkeys(self._aliases.get(known, known) for known in near))

    def resolve(self, name: str, words: str) -> tuple[Command[Scope], str]:
        """The command of a line and the rest of it; `:memory list x` is the command `memory list`, if there is one.

        Raises `NotFound`.
        """
        command = self.find(name)
        first, _, rest = words.lstrip().partition(" ")
        below = self._by_name.get(f"{command.name} {first}") if first else None
        return (below, rest.lstrip()) if below else (command, words)

    def parse(self, name: str, words: str) -> tuple[Command[Scope], Arguments]:
        """The command of a line and its arguments. Raises `NotFound` and `BadUsage`."""
        command, rest = self.resolve(name, words)
        below = self.below(command.name)
        if below and rest.strip() and not command.argument:
            known = ", ".join(one.name.removeprefix(f"{command.name} ") for one in below)
            raise NotFound(f"there is no :{command.name} {rest.split()[0]}; there are: {known}")
        return command, command.parse(rest)

    def below(self, name: str) -> list[Command[Scope]]:
        """The commands that start with this one and have one word more."""
        return [command for command in self if command.name.startswith(f"{name} ")]

    def manual(self) -> str:
        """The text of docs/commands.md; a check keeps the file and this in step."""
        return "\n\n".join(
            f"## `{command.usage}`\n\n{command.summary}\n\n{command.details}".rstrip() for command in self
        )
