"""`aish export`: write conversations in formats that aish and other tools read."""

import argparse
import os
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from aish.conversation.library import Library
from aish.memory.exporters import FORMATS, Format, Talk, TurnPeriod, find_talks
from aish.storage.files import make_directory, private_opener
from aish.values.errors import BadUsage, StoreTrouble
from aish.values.stores import Damage
from aish.values.text import counted
from aish.views.arguments import make_parser
from aish.views.exit_codes import NOTHING, OK
from aish.views.screen import Screen

_SHORT = {"md": "markdown", "json": "jsonl"}  # the names that `:export` takes
_ENDS = ("markdown",)  # formats that need a blank line between two conversations


def run(library: Library, arguments: Sequence[str]) -> int:
    """Export conversations to standard output, a file or a directory."""
    options = _parser().parse_intermixed_args(arguments)
    since = library.moment(options.since) if options.since else None
    until = library.moment(options.until, end=True) if options.until else None
    conversations, damage = library.conversations, Damage()
    wanted = [conversations.find(name.partition("/")[0]) for name in options.conversations]
    ids = list(dict.fromkeys(wanted)) or conversations.ids()
    talks = find_talks(conversations, ids, TurnPeriod(since, until), options.channel, damage)
    screen = Screen(library.settings.view.color)
    damage.lines = 0  # counted again while they are written
    if not talks:
        screen.note("there is no conversation to export" if not _narrowed(options) else "no turn matches")
        return NOTHING
    if options.output in ("", "-"):
        for piece in _joined(talks, options.format):
            sys.stdout.write(piece)
    else:
        screen.note(_write(library.cwd, talks, options))
    if damage.lines:
        screen.note(f"{counted(damage.lines, 'damaged line')} left out; run aish doctor", warning=True)
    return OK


def _parser() -> argparse.ArgumentParser:
    parser = make_parser(
        "aish export",
        "Export conversations, by default all of them, to standard output. The format jsonl loses nothing: aish import "
        "reads it. Secrets stay masked.",
    )
    parser.add_argument(
        "--format",
        type=lambda name: _SHORT.get(name, name),
        choices=list(FORMATS),
        default="jsonl",
        help="the format (jsonl); md and json are short for markdown and jsonl",
    )
    parser.add_argument(
        "-o",
        "--output",
        default="",
        metavar="PATH",
        help="a new file, or a directory (one that exists, or a name with / at its end) for a file per conversation",
    )
    parser.add_argument("--force", action="store_true", help="replace files that exist")
    parser.add_argument("--channel", default="", metavar="C", help="only this project or channel")
    parser.add_argument(
        "--since", default="", metavar="T", help="only turns since a date, or words such as “last week”"
    )
    parser.add_argument(
        "--until", default="", metavar="T", help="only turns until a date, or words such as “yesterday”"
    )
    parser.add_argument(
        "conversations", nargs="*", metavar="ID", help="a number from :sessions, a name, or the start of an id"
    )
    return parser


def _narrowed(options: argparse.Namespace) -> bool:
    return bool(options.conversations or options.channel or options.since or options.until)


def _joined(talks: Sequence[Talk], format: str) -> Iterator[str]:
    for place, talk in enumerate(talks):
        if place and format in _ENDS:
            yield "\n"
        yield from FORMATS[format].pieces(talk)


def _write(cwd: Path, talks: Sequence[Talk], options: argparse.Namespace) -> str:
    """Write one file, or one for each conversation into a directory. Raises `BadUsage` and `StoreTrouble`."""
    format: Format = FORMATS[options.format]
    talked = counted(len(talks), "conversation")
    try:
        path = cwd / Path(options.output).expanduser()
        if not path.is_dir() and not options.output.endswith("/"):
            _check([path], force=options.force)
            _put(path, _joined(talks, options.format), force=options.force)
            return f"{talked} written to {path}"
        make_directory(path)
        files = [path / format.file_name(talk) for talk in talks]
        _check(files, force=options.force)
        for file, talk in zip(files, talks, strict=True):
            _put(file, format.pieces(talk), force=options.force)
    except (OSError, ValueError, RuntimeError) as error:  # ValueError: NUL in the name; RuntimeError: unknown ~user
        raise StoreTrouble(f"cannot write {options.output}: {getattr(error, 'strerror', None) or error}") from error
    return f"{talked} written to {counted(len(files), 'file')} in {path}"


def _check(files: Sequence[Path], *, force: bool) -> None:
    """Make sure that nothing is overwritten, before anything is written. Raises `BadUsage`."""
    there = [file for file in files if os.path.lexists(file)]
    if any(not stat.S_ISREG(file.lstat().st_mode) for file in there):
        raise BadUsage(f"{there[0]} is not a regular file; use --output - for standard output")
    if there and not force:
        more = f", and {len(there) - 1:,} more" if len(there) > 1 else ""
        raise BadUsage(f"{there[0]} already exists{more}; choose another name, or use --force")


def _put(file: Path, pieces: Iterable[str], *, force: bool) -> None:
    """Write a file completely or not at all; an existing one is replaced at the end."""
    part = file.with_name(f".{file.name}.{os.getpid()}.part") if force else file
    with open(part, "x", encoding="utf-8", opener=private_opener) as opened:
        try:
            opened.writelines(pieces)
            opened.flush()
            if force:
                part.replace(file)
        except BaseException:  # also when it is interrupted
            part.unlink(missing_ok=True)
            raise
