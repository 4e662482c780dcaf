"""Colon commands. The docstring of a handler is its help, its completion and its manual page."""

import inspect
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from aish.values.errors import NotFound
from aish.values.replies import Reply

Scope = TypeVar("Scope")
Handler = Callable[[Scope, str], Coroutine[Any, Any, str | Reply]]


@dataclass(frozen=True, slots=True)
class Command(Generic[Scope]):
    """A handler with the words that explain it."""

    name: str
    argument: str
    run: Handler[Scope]
    summary: str
    details: str

    @property
    def usage(self) -> str:
        return f":{self.name} {self.argument}".rstrip()


class Commands(Generic[Scope]):
    """Every command the shell knows, in the order they were added. Handlers get a scope and the words typed."""

    def __init__(self) -> None:
        self._by_name: dict[str, Command[Scope]] = {}
        self._aliases: dict[str, str] = {}

    def add(
        self, name: str, *, argument: str = "", aliases: tuple[str, ...] = ()
    ) -> Callable[[Handler[Scope]], Handler[Scope]]:
        """Register the decorated coroutine under `:name`; it must have a docstring."""

        def register(handler: Handler[Scope]) -> Handler[Scope]:
            text = inspect.getdoc(handler)
            if not text:
                raise ValueError(f":{name} has no docstring, so it would have no help")
            for word in (name, *aliases):
                if word in self._by_name or word in self._aliases:
                    raise ValueError(f":{word} is registered twice")
            summary, _, details = text.partition("\n")
            self._by_name[name] = Command(name, argument, handler, summary, details.strip())
            self._aliases |= dict.fromkeys(aliases, name)
            return handler

        return register

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
        hint = f"did you mean {' or '.join(f':{known}' for known in matching)}?" if matching else ":help lists them"
        raise NotFound(f"there is no command :{name}; {hint}")

    def resolve(self, name: str, words: str) -> tuple[Command[Scope], str]:
        """The command that a line means, and its words; `:memory list x` is the command `memory list`, if there is one.

        Raises `NotFound`.
        """
        command = self.find(name)
        first, _, rest = words.lstrip().partition(" ")
        below = self._by_name.get(f"{command.name} {first}") if first else None
        return (below, rest.lstrip()) if below else (command, words)

    def below(self, name: str) -> list[Command[Scope]]:
        """The commands that start with this one and have one word more."""
        return [command for command in self if command.name.startswith(f"{name} ")]

    def help(self) -> str:
        width = max((len(command.usage) for command in self), default=0)
        return "\n".join(f"{command.usage:<{width}}  {command.summary}" for command in self)

    def manual(self) -> str:
        """The text of docs/commands.md; a check keeps the file and this in step."""
        return "\n\n".join(
            f"## `{command.usage}`\n\n{command.summary}\n\n{command.details}".rstrip() for command in self
        )
