"""`aish memory VERB`: the commands after `:memory`, for scripts."""

import argparse
import gc
import sys
from collections.abc import Coroutine, Sequence
from typing import Any

from aish.commands.manual import COMMANDS
from aish.commands.shell import Shell
from aish.conversation.learning import propose_candidates
from aish.program import Program
from aish.values.errors import BadUsage
from aish.values.person import NOBODY, Nobody
from aish.values.replies import Reply
from aish.values.text import for_terminal, json_text
from aish.views.event_loop import run_loop
from aish.views.exit_codes import NOTHING, OK
from aish.views.screen import Screen

_VALUES = ("kind", "tag", "key", "limit")
_FLAGS = ("yes", "all", "trust")


def run(program: Program, arguments: Sequence[str]) -> int:
    """Run one command of memory."""
    gc.disable()  # one verb and the end: looking for garbage is a third of the time of a long list
    verbs = {command.name.removeprefix("memory "): command for command in COMMANDS.below("memory")}
    rows = "\n".join(f"  {name:<10} {command.summary}" for name, command in verbs.items())
    parser = argparse.ArgumentParser(
        prog="aish memory",
        description="What is remembered on purpose.",
        epilog=f"verbs:\n{rows}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("verb", nargs="?", default="list", metavar="VERB", help="what to do; list unless you say")
    parser.add_argument("words", nargs="*", help="an id, a text, a file: what the verb takes; - reads standard input")
    parser.add_argument("--json", action="store_true", help="print JSON")
    for name in _VALUES:
        parser.add_argument(f"--{name}", action="append", default=[], help=argparse.SUPPRESS)
    for name in _FLAGS:
        parser.add_argument(f"--{name}", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_intermixed_args(arguments)
    if options.verb not in verbs:
        raise BadUsage(f"there is no verb {options.verb!r}; there are: {', '.join(verbs)}")
    given = [f"--{name} {_quoted(value)}" for name in _VALUES for value in getattr(options, name)]
    given += [f"--{name}" for name in _FLAGS if getattr(options, name)]
    if (
        options.verb == "purge" and " ".join(options.words).isdecimal() and not sys.stdin.isatty()
    ):  # said exactly enough
        given.append("--yes")
    text = _text(options.verb, options.words)
    given += ["--"] if text.startswith("--") else []
    screen = Screen(program.settings.view.color)
    shell = Shell(program=program, session=program.session(), person=_Caller(screen), width=screen.width)
    handler = _propose if options.verb == "summarize" else verbs[options.verb].run
    replies: list[Reply] = []
    run_loop(_closing(program, handler(shell, " ".join([*given, text])), replies))
    reply = replies[0]
    if options.json:
        print(json_text(reply.data))
    else:
        screen.say(reply)
    return OK if reply.found else NOTHING


def _quoted(value: str) -> str:
    """The value of an option as one word; what is missing stays missing."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"' if value else ""


def _text(verb: str, words: list[str]) -> str:
    """The words; a last `-` stands for what is piped in, or for the pipe itself where a file is named."""
    if words[-1:] != ["-"]:
        return " ".join(words)
    if verb in ("import", "export"):
        return "/dev/stdin" if verb == "import" else ""
    return " ".join([*words[:-1], sys.stdin.buffer.read().decode("utf-8", "replace")])


async def _closing(program: Program, work: Coroutine[Any, Any, str | Reply], replies: list[Reply]) -> None:
    """Run a verb and close the program. The reply goes past asyncio, which would write a long one out for itself."""
    try:
        reply = await work
        replies.append(Reply(reply) if isinstance(reply, str) else reply)
    finally:
        await program.close()


async def _propose(shell: Shell, words: str) -> Reply:
    """Look for what is worth keeping of the newest conversation; with nobody to ask, it waits."""
    session = shell.session
    journal = shell.program.conversations.open(shell.program.conversations.find())
    pending, trouble = await propose_candidates(session, journal)
    lines = [trouble] if trouble else []
    lines.append(f"{pending} candidates wait for your yes (aish memory pending)")
    return Reply("\n".join(lines), data={"pending": pending}, found=pending > 0)


class _Caller(Nobody):
    """Whoever runs a verb: a person at a terminal types the answers; a script is told which option says yes."""

    def __init__(self, screen: Screen) -> None:
        super().__init__()
        self._screen, self._there = screen, sys.stdin.isatty()

    async def line(self, question: str) -> str:
        if not self._there:
            way_out = "; --yes says yes" if question.endswith("[y/N] ") else ""
            self._screen.note(f"{question}nobody is there to ask{way_out}", warning=True)
            return NOBODY
        sys.stderr.write(for_terminal(question))
        sys.stderr.flush()
        return sys.stdin.readline()

    async def edit(self, text: str) -> str:
        return await self.line(f"{text}\nnew text: ") if self._there else ""
