"""`aish history VERB`: search, import, export, count and delete commands."""

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import chain, islice
from pathlib import Path
from typing import Any

from aish.memory.command_history.command_store import CommandStore
from aish.memory.command_history.copying import copy_histories, history_kind
from aish.memory.command_history.loading import Sources
from aish.memory.command_history.past_commands import PastCommands, Status, Wanted
from aish.memory.command_history.shell_files import HistoryFile, history_files, read_history
from aish.memory.command_history.statistics import statistics
from aish.memory.command_history.typed_lines import TypedLines
from aish.memory.finding.when import read_moment
from aish.places import home_directory
from aish.values.errors import BadUsage, NotFound, StoreTrouble
from aish.values.items import stamp
from aish.values.named_tuple import NamedTuple
from aish.values.past_command import PastCommand
from aish.values.replies import Reply, Table
from aish.values.text import counted, for_terminal, json_text, one_line
from aish.values.times import local
from aish.views.arguments import make_parser
from aish.views.exit_codes import NOTHING, OK
from aish.views.screen import Screen
from aish.views.start import Start

_KINDS = ("bash", "zsh", "fish", "atuin")
_EXPORTS = ("jsonl", "bash", "zsh", "text")


class HistoryDoors(NamedTuple):
    """The settings, and what masks secrets."""

    start: Start
    mask: Callable[[str], str]

    @property
    def store(self) -> CommandStore:
        return CommandStore(self.start.places.commands, self.mask)

    @property
    def typed(self) -> TypedLines:
        return TypedLines(self.start.places.typed_history, self.mask)


def run(doors: HistoryDoors, arguments: Sequence[str]) -> int:
    """Run one verb of the history."""
    options = _parser().parse_args(arguments)
    verbs = {"search": _search, "import": _import, "export": _export, "stats": _stats, "delete": _delete}
    return verbs[options.verb](doors, options, Screen(doors.start.settings.view.color))


def _parser() -> argparse.ArgumentParser:
    parser = make_parser("aish history", "The commands that you ran: in aish, and in bash, zsh, fish and atuin.")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")

    search = verbs.add_parser("search", help="find commands by words, or by their letters in order; newest first")
    search.add_argument("words", nargs="*", help="all of them must match; without any, the newest commands")
    search.add_argument("--limit", type=_count, default=20, metavar="N", help="the maximum number of commands (20)")
    search.add_argument("--directory", default="", metavar="DIR", help="only commands that were run there")
    status = search.add_mutually_exclusive_group()
    status.add_argument("--failed", action="store_true", help="only commands that failed")
    status.add_argument("--succeeded", action="store_true", help="only commands that succeeded")
    search.add_argument("--since", default="", metavar="T", help="a date, or words such as “last week”")
    search.add_argument("--until", default="", metavar="T", help="a date, or words such as “yesterday”")

    add = verbs.add_parser("import", help="copy a history into that of aish; importing again adds nothing")
    add.add_argument("histories", nargs="+", metavar="NAME|FILE", help=f"{', '.join(_KINDS)}, or a history file")

    out = verbs.add_parser("export", help="print the commands that ran in aish, oldest first")
    out.add_argument("--format", choices=_EXPORTS, default="jsonl", help="the format (jsonl)")
    out.add_argument("--all", action="store_true", help="also those of other shells, each command once")

    stats = verbs.add_parser("stats", help="count commands, failures, programs and directories")
    delete = verbs.add_parser("delete", help="remove commands from the files of aish")
    delete.add_argument("command", nargs="+", help="the text of a command; several words are one command")
    delete.add_argument("--containing", action="store_true", help="every command that contains the text")
    for one in (search, add, out, stats, delete):
        one.add_argument("--json", action="store_true", help="print JSON")
    return parser


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text[:9]) <= 1_000_000:
        raise argparse.ArgumentTypeError(f"expected a number from 1 to 1,000,000, got {text!r}")
    return int(text)


def _search(doors: HistoryDoors, options: argparse.Namespace, screen: Screen) -> int:
    directory = os.path.abspath(doors.start.cwd / options.directory) if options.directory else ""  # noqa: PTH100  # as shells write it, with links
    status: Status = "failed" if options.failed else "succeeded" if options.succeeded else ""
    wanted = Wanted(
        " ".join(options.words),
        directory,
        status,
        _moment(options.since),
        _moment(options.until, end=True),
        only_commands=True,
    )
    batches = _everything(doors).search(wanted)
    found = list(islice(chain.from_iterable(batches), options.limit))
    if options.json:
        print(json_text([record(one) for one in found]))
    elif found:
        rows = tuple(
            (
                _when(one),
                "" if one.status is None else str(one.status),
                one_line(one.text, 10_000),
                _short(one.directory),
            )
            for one in found
        )
        screen.say(Reply(table=Table(("when", "status", "command", "directory"), rows, [""] * len(rows), wide=2)))
    else:
        screen.say("no such command" if options.words else "no commands yet")
    return OK if found else NOTHING


def _import(doors: HistoryDoors, options: argparse.Namespace, screen: Screen) -> int:
    files = [one for name in options.histories for one in _named(doors, name)]
    seen, added = copy_histories(doors.store, doors.mask, files)
    if options.json:
        print(json_text({"read": seen, "added": added}))
    else:
        screen.say(f"{counted(added, 'command')} added, {seen - added:,} known already or repeated")
    return OK if seen else NOTHING


def _named(doors: HistoryDoors, name: str) -> list[HistoryFile]:
    """Return the files of a shell, or the one that is named. Raises `NotFound` and `StoreTrouble`."""
    if name in _KINDS:
        found = [one for one in _files() if one.kind == name]
        if not found:
            raise NotFound(f"no history of {name} found; name the file: aish history import FILE")
        return found
    path = doors.start.cwd / Path(name).expanduser()
    if not path.is_file() or not os.access(path, os.R_OK):
        raise StoreTrouble(f"cannot read {path}; name a file or one of: {', '.join(_KINDS)}")
    return [history_kind(path)]


def _export(doors: HistoryDoors, options: argparse.Namespace, screen: Screen) -> int:
    if options.all:
        runs = [one for one in _everything(doors).newest() if one.is_command]
    else:
        runs = list(doors.store.newest_first())
    runs.sort(key=lambda one: one.time)
    for one in runs:
        sys.stdout.write(_exported(one, "jsonl" if options.json else options.format))
    return OK if runs else NOTHING


def _exported(one: PastCommand, format: str) -> str:
    match format:
        case "bash":
            return f"#{int(one.time)}\n{one.text}\n"
        case "zsh":
            text = one.text.replace("\n", "\\\n")
            return f": {int(one.time)}:{int(one.seconds or 0)};{text}\n"
        case "text":
            return f"{one.text}\n"
    return f"{json_text(record(one))}\n"


def _stats(doors: HistoryDoors, options: argparse.Namespace, screen: Screen) -> int:
    """Count the runs in aish; without any, the commands of other shells."""
    runs = list(doors.store.newest_first()) or [one for one in _everything(doors).newest() if one.is_command]
    told = statistics(runs)
    told |= {name: _iso(told[name]) for name in ("first", "last")}
    if options.json:
        print(json_text(told))
    elif runs:
        for line in _told(told):
            screen.say(for_terminal(line))
    else:
        screen.say("no commands yet")
    return OK if runs else NOTHING


def _told(told: dict[str, Any]) -> Iterator[str]:
    since = f" since {told['first'][:10]}" if told["first"] else ""
    yield f"{counted(told['runs'], 'run')} of {counted(told['commands'], 'command')}{since}"
    if told["with_status"]:
        yield f"{told['failed']:,} of {told['with_status']:,} failed; {told['seconds'] / 3600:.1f} hours in commands"
    for title, name in (("programs", "top_programs"), ("commands", "top_commands"), ("directories", "top_directories")):
        if told[name]:
            yield f"{title}:"
            yield from (f"{count:>8,}  {one_line(text, 100)}" for text, count in told[name].items())


def _delete(doors: HistoryDoors, options: argparse.Namespace, screen: Screen) -> int:
    text = " ".join(options.command)
    if not text.strip():
        raise BadUsage("missing command: aish history delete COMMAND")
    forms = {text, text.strip(), doors.mask(text)}

    def wanted(command: str) -> bool:
        return any(form in command for form in forms) if options.containing else command.strip() in forms

    runs = doors.store.delete(lambda one: wanted(one.text))
    lines = doors.typed.delete(wanted)
    left = [one for one in _files() if any(wanted(placed.command.text) for placed in read_history(one, {}, _no_pause))]
    if options.json:
        print(json_text({"runs": runs, "lines": lines, "also_in": [str(one.path) for one in left]}))
    else:
        screen.say(f"deleted {counted(runs, 'run')} and {counted(lines, 'typed line')}")
        for one in left:
            screen.note(f"{one.path} of {one.kind} has it, too; remove it there", warning=True)
    return OK if runs or lines else NOTHING


def record(one: PastCommand) -> dict[str, Any]:
    """Return a command for scripts; what is unknown is null or empty."""
    return {
        "command": one.text,
        "time": _iso(one.time),
        "directory": one.directory,
        "status": one.status,
        "seconds": one.seconds,
        "host": one.host,
        "conversation": one.conversation,
        "source": one.source,
    }


def _everything(doors: HistoryDoors) -> PastCommands:
    past = PastCommands()
    Sources(doors.store, None, _files).load_all(past, _no_pause)
    return past


def _files() -> list[HistoryFile]:
    return history_files(os.environ, home_directory())


def _no_pause() -> None:
    """Nobody types meanwhile."""


def _moment(text: str, *, end: bool = False) -> float:
    if not text:
        return 0.0
    found = read_moment(text, datetime.now(), end=end)  # words mean local time
    if found is None:
        raise BadUsage(f"{one_line(text, 40)!r} is not a time; try 2026-11-15, yesterday, “last week” or “3 days ago”")
    return found.timestamp()


def _iso(time: float) -> str:
    return stamp(datetime.fromtimestamp(time, UTC)) if time > 0 else ""


def _when(one: PastCommand) -> str:
    return local(datetime.fromtimestamp(one.time, UTC)) if one.time > 0 else ""


def _short(directory: str) -> str:
    home = str(home_directory())
    return f"~{directory[len(home) :]}" if f"{directory}/".startswith(f"{home}/") else directory
