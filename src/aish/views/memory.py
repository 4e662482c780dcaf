"""`aish memory VERB`: the commands after `:memory`, for scripts."""

import gc
import sys
from collections.abc import Callable, Coroutine, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from aish.commands import memory, memory_upkeep
from aish.commands.memory_scope import MEMORY_COMMANDS, Background, MemoryScope
from aish.intake.commands import Command, CommandOption
from aish.places import Places
from aish.values.errors import BadUsage
from aish.values.named_tuple import NamedTuple
from aish.values.person import NOBODY, Nobody, Person
from aish.values.replies import Reply
from aish.values.text import for_terminal, json_text
from aish.views.arguments import HIDDEN, VerbArguments
from aish.views.exit_codes import NOTHING, OK
from aish.views.screen import Screen
from aish.views.start import Start

if TYPE_CHECKING:  # most verbs need none of these
    from aish.conversation.library import Library
    from aish.memory.conversations import Conversations
    from aish.memory.curation import Memory
    from aish.values.events import Notice
    from aish.values.hits import Finder

__all__ = ["MemoryDoors", "memory", "memory_upkeep", "run"]

_PROPOSE = "summarize"
_ABOUT_PROPOSE = "Let the model propose items to remember from the newest conversation."


class MemoryDoors(NamedTuple):
    """Functions that open memory, and the rest of the program for the few verbs that need it."""

    start: Start
    memory: Callable[[Callable[[], datetime]], "Memory"]
    library: Callable[[], "Library"]
    conversation: Callable[[Person], MemoryScope]
    propose: Callable[[], Reply]


def run(doors: MemoryDoors, arguments: Sequence[str]) -> int:
    """Run one memory command."""
    gc.disable()  # the process ends soon, and garbage collection takes a third of the time of a long list
    verbs = {command.name.removeprefix("memory "): command for command in MEMORY_COMMANDS.below("memory")}
    end = [*arguments, "--"].index("--")  # parse_intermixed_args does not support `--`
    options = _parser(verbs).parse_intermixed_args(arguments[:end])
    given_words = [*([] if options.verb is None else [options.verb]), *options.words, *arguments[end + 1 :]]
    verb, *words = given_words or ["list"]
    if verb not in verbs and verb != _PROPOSE:
        raise BadUsage(f"unknown verb {verb!r}; use one of: {', '.join([*verbs, _PROPOSE])}")
    screen = Screen(doors.start.settings.view.color)
    if verb == _PROPOSE:
        reply = doors.propose()
    else:
        given = {option.name: getattr(options, option.name) for option in _options(verbs)}
        given = {name: values for name, values in given.items() if values}
        if verb == "purge" and " ".join(words).isdecimal() and not sys.stdin.isatty():
            given["yes"] = [""]  # a script that gives an id is not asked
        scope = VerbMemory(doors, _Caller(screen))
        try:
            reply = finish(verbs[verb].run(scope, verbs[verb].given(_with_input(verb, words), given)))
        finally:
            scope.close()
    if options.json:
        print(json_text(reply.data))
    else:
        screen.say(reply)
    return OK if reply.found else NOTHING


def _parser(verbs: dict[str, Command[Any]]) -> VerbArguments:
    summaries = {name: command.summary for name, command in verbs.items()} | {_PROPOSE: _ABOUT_PROPOSE}
    rows = "\n".join(f"  {name:<10} {summary}" for name, summary in summaries.items())
    parser = VerbArguments(
        "aish memory",
        "Manage the items in memory.",
        epilog=f"verbs:\n{rows}",
        keep_lines=True,
        allow_abbrev=False,
    )
    parser.add_argument("verb", nargs="?", metavar="VERB", help="what to do (default: list)")
    parser.add_argument(
        "words", nargs="*", help="the argument of the verb: an id, text or a file; - reads standard input"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    for option in _options(verbs):
        if option.takes_value:
            parser.add_argument(f"--{option.name}", action="append", default=[], help=HIDDEN)
        else:
            parser.add_argument(f"--{option.name}", action="append_const", const="", help=HIDDEN)
    return parser


def _options(verbs: dict[str, Command[Any]]) -> list[CommandOption]:
    return list(dict.fromkeys(option for command in verbs.values() for option in command.options))


def _with_input(verb: str, words: list[str]) -> list[str]:
    """Return the words. A final `-` means the text on standard input, or standard input as the file to import."""
    if words[-1:] != ["-"]:
        return words
    if verb in ("import", "export"):
        return ["/dev/stdin"] if verb == "import" else []
    return [*words[:-1], sys.stdin.buffer.read().decode("utf-8", "replace")]


def finish(work: Coroutine[Any, Any, str | Reply]) -> Reply:
    """Run a handler that never awaits I/O. Loading an event loop takes longer than most verbs."""
    try:
        work.send(None)
    except StopIteration as done:
        reply: str | Reply = done.value
        return Reply(reply) if isinstance(reply, str) else reply
    raise RuntimeError("a memory verb awaited something, which needs an event loop")


class VerbMemory:
    """The `MemoryScope` of a verb: without a conversation, each part opened on first use."""

    def __init__(self, doors: MemoryDoors, person: Person) -> None:
        self._doors = doors
        self.person = person
        self._memory: Memory | None = None
        self._library: Library | None = None

    def close(self) -> None:
        if self._memory:
            self._memory.close()

    @property
    def memory(self) -> "Memory":
        if self._memory is None:
            self._memory = self._doors.memory(self.now)
        return self._memory

    @property
    def places(self) -> Places:
        return self._doors.start.places

    @property
    def library(self) -> "Library":
        if self._library is None:
            self._library = self._doors.library()
        return self._library

    @property
    def conversations(self) -> "Conversations":
        return self.library.conversations

    @property
    def finder(self) -> "Finder":
        return self.library.finder

    def now(self) -> datetime:
        return datetime.now(UTC)

    def said_where(self) -> dict[str, Any]:
        return {}

    def memory_changed(self) -> "Sequence[Notice]":
        return ()

    def read_background(self) -> Background:
        return self._doors.conversation(self.person).read_background()

    def erase_from_prompt(self, phrases: list[str]) -> None:
        pass  # there is no prompt


class _Caller(Nobody):
    """The user who runs a verb. Asks at a terminal; tells a script which option to use instead."""

    def __init__(self, screen: Screen) -> None:
        super().__init__()
        self._screen, self._there = screen, sys.stdin.isatty()

    async def line(self, question: str) -> str:
        if not self._there:
            advice = "; use --yes" if question.endswith("[y/N] ") else ""
            self._screen.note(f"{question}no user to ask{advice}", warning=True)
            return NOBODY
        sys.stderr.write(for_terminal(question))
        sys.stderr.flush()
        return sys.stdin.readline()

    async def edit(self, text: str) -> str:
        return await self.line(f"{text}\nnew text: ") if self._there else ""
