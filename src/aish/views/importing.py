"""`aish import`: import conversations from other tools. Importing again adds nothing."""

import argparse
import os
import sys
from collections import Counter
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from zipfile import is_zipfile

from aish.conversation.library import Library
from aish.memory.command_history.command_store import CommandStore
from aish.memory.command_history.copying import copy_histories, history_kind
from aish.memory.command_history.shell_files import history_files
from aish.memory.curation import open_memory
from aish.memory.importers import FORMATS, read, read_files, sniff, sort_files
from aish.memory.importing import Imported, Importer
from aish.memory.purged_phrases import Purged
from aish.places import home_directory
from aish.values.errors import AishError, BadUsage
from aish.values.imported import ImportedRecord, Skipped
from aish.values.named_tuple import NamedTuple
from aish.values.text import counted, for_terminal, json_text, one_line
from aish.views.arguments import make_parser
from aish.views.exit_codes import NOTHING, OK
from aish.views.import_offer import ImportOffer, choose_offers, find_offers
from aish.views.screen import Screen

# Formats with prompts only, and those with the sessions; names of their files have the ids of sessions.
_SESSIONS = {"codex-history": "codex", "claude-history": "claude-code"}


_STANDARD_INPUT = "/dev/stdin"
_COMMANDS = ("shell-history", "atuin")
_SHOWN_KINDS = 3
_UNKNOWN = " with unknown "  # in the reasons for lines, blocks and messages of a kind that no reader knows


class ImportJob(NamedTuple):
    """What to import: a path as the user named it, or the files of one format in a directory."""

    path: Path
    format: str
    files: tuple[Path, ...] = ()
    sessions: str = ""  # names of files with sessions, whose prompts are not taken from a history as well

    def records(self) -> Generator[ImportedRecord]:
        for one in read_files(self.format, self.files) if self.files else read(self.format, self.path):
            if not self.sessions or isinstance(one, Skipped) or one.conversation not in self.sessions:
                yield one


def run(library: Library, arguments: Sequence[str]) -> int:
    """Import files, and index them."""
    parser = make_parser(
        "aish import",
        "Import conversations from other tools. Importing again adds nothing. Without FILE, find what is on this "
        "machine, show it and ask.",
    )
    parser.add_argument("--format", choices=list(FORMATS), help="the format of the files; detected by default")
    parser.add_argument("--dry-run", action="store_true", help="write nothing; show what would be imported")
    parser.add_argument("--yes", action="store_true", help="without FILE: import all that is found, and do not ask")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "files", nargs="*", type=Path, metavar="FILE", help="files, directories, or - for standard input"
    )
    options = parser.parse_intermixed_args(arguments)
    screen = Screen(library.settings.view.color)
    if not options.files:
        return _import_found(library, options, screen)
    paths = [library.cwd / (_STANDARD_INPUT if str(path) == "-" else path) for path in options.files]
    jobs = [job for path in paths for job in _jobs(path, options.format, screen)]  # before anything is written
    return _import(library, jobs, options, screen)


def _import_found(library: Library, options: argparse.Namespace, screen: Screen) -> int:
    """Import what is on this machine, as far as the user wants it."""
    if options.format:
        raise BadUsage(f"--format {options.format} needs a file or directory: aish import --format NAME PATH")
    offers = find_offers(os.environ, home_directory(), library.cwd, lambda message: screen.note(message, warning=True))
    if options.json and not options.yes:
        print(json_text([_offer_record(offer) for offer in offers]))
        return OK if offers else NOTHING
    wanted = offers if options.json else choose_offers(offers, screen, yes=options.yes)
    jobs = [_job(offer.path, format, offer.formats) for offer in wanted for format in offer.formats]
    return _import(library, jobs, options, screen) if jobs else NOTHING


def _offer_record(offer: ImportOffer) -> dict[str, object]:
    formats = {format: len(files) for format, files in offer.formats.items()}
    return {"program": offer.program, "path": str(offer.path), "formats": formats, "bytes": offer.size}


def _import(library: Library, jobs: Sequence[ImportJob], options: argparse.Namespace, screen: Screen) -> int:
    results: list[tuple[ImportJob, Imported]] = []
    redaction = library.redaction.reading() if options.dry_run else library.redaction
    # Opened without the lock of `memory.exclusive`, because memory is only read here.
    memory, _ = open_memory(library.places.memory_file(library.settings.memory.path), None, redaction, library.now)
    try:
        for job in jobs:
            importer = Importer(library.places.sessions, job.format, redaction, memory.purged, dry_run=options.dry_run)
            results.append((job, importer.result))
            with closing(job.records()) as heard:
                importer.take(heard, _Progress(job.path))
        commands = 0 if options.dry_run else _copy_commands(library, jobs, memory.purged())
        trouble = "" if options.dry_run else library.finder.catch_up(wait=True)
    except (AishError, KeyboardInterrupt) as stopped:
        _report(screen, [(job, result) for job, result in results if result.turns or result.known], options)
        if isinstance(stopped, KeyboardInterrupt):
            screen.note("stopped; run the same import again to continue")
        raise
    if trouble:
        screen.note(trouble, warning=True)
    _report(screen, results, options)
    if commands:
        screen.note(f"{counted(commands, 'command')} added to the history of commands")
    return OK if any(result.turns or result.known for _, result in results) else NOTHING


def _copy_commands(library: Library, jobs: Sequence[ImportJob], purged: Collection[str]) -> int:
    """Copy commands with their time, directory, status and duration, except from files that are read in place."""
    in_place = {one.path.resolve() for one in history_files(os.environ, home_directory())}
    files = [file for job in jobs if job.format in _COMMANDS for file in job.files or (job.path,)]
    others = [history_kind(file) for file in files if file.is_file() and file.resolve() not in in_place]
    if not others:
        return 0
    mask, phrases = library.redaction.text, Purged(purged, library.redaction.salt) if purged else None
    store = CommandStore(library.places.commands, mask)
    # A command with a purged phrase is left out: one with a gap must never be run.
    return copy_histories(store, mask, others, lambda text: not phrases or phrases.clean(text) == text).added


def _report(screen: Screen, results: Sequence[tuple[ImportJob, Imported]], options: argparse.Namespace) -> None:
    """Report what was imported. Also called after an error, because turns imported before it are kept."""
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")
    if options.json:
        print(json_text([{"file": str(job.path), "format": job.format, **_record(result)} for job, result in results]))
        return
    for job, result in results:
        _say(screen, f"{job.path} ({job.format})" if job.files else _shown(job.path), result, dry_run=options.dry_run)
    if any(_UNKNOWN in why for _, result in results for why in result.skipped):
        screen.note("what is unknown may be from a newer version of its program; import again after an update of aish")


def _shown(path: Path) -> str:
    return "standard input" if str(path) == _STANDARD_INPUT else str(path)


def _jobs(path: Path, format: str | None, screen: Screen) -> list[ImportJob]:
    """Find what a path holds: one format, or several in a directory. Raises `BadUsage` for nothing known."""
    if format:
        return [ImportJob(path, format)]
    if not path.is_dir():
        if found := sniff(path):
            return [ImportJob(path, found)]
        if path.is_file() and not path.stat().st_size:
            raise BadUsage(f"{_shown(path)} is empty")
        if is_zipfile(path):
            raise BadUsage(f"{_shown(path)} has no conversations.json; unpack it and import the directory")
        raise BadUsage(f"unknown format of {_shown(path)}; use --format with one of: {', '.join(FORMATS)}")
    found_files = sort_files(path)
    for file, why, _ in found_files.unreadable:
        screen.note(f"left out: {file}: {why}", warning=True)
    if others := found_files.others:
        are = "other files hold" if len(others) > 1 else "other file holds"
        screen.note(f"{path}: {len(others):,} {are} no conversations that aish knows (first: {others[0].name})")
    if not found_files.formats:
        empty = not others and not found_files.unreadable
        what = "is empty" if empty else f"has no file of a known format; use --format with one of: {', '.join(FORMATS)}"
        raise BadUsage(f"{path} {what}")
    return [_job(path, format, found_files.formats) for format in found_files.formats]


def _job(path: Path, format: str, formats: Mapping[str, Sequence[Path]]) -> ImportJob:
    sessions = formats.get(_SESSIONS.get(format, ""), ())
    return ImportJob(path, format, tuple(formats[format]), " ".join(file.name for file in sessions))


class _Progress:
    """Shows progress on a terminal, without a total, which is not known in advance."""

    def __init__(self, path: Path) -> None:
        self._name = for_terminal(one_line(path.name, 40))
        self._there = sys.stderr.isatty()

    def __call__(self, result: Imported) -> None:
        if self._there:
            sys.stderr.write(f"\rimporting {self._name}: {counted(result.turns + result.known, 'turn')}\x1b[K")
            sys.stderr.flush()


def _record(result: Imported) -> dict[str, object]:
    return {
        "turns": result.turns,
        "conversations": len(result.conversations),
        "known": result.known,
        "masked": dict(result.masked),
        "purged": result.purged,
        "skipped": [{"why": why, "count": count, "first": result.where[why]} for why, count in result.skipped.items()],
    }


def _say(screen: Screen, path: str, result: Imported, *, dry_run: bool) -> None:
    verb = "would be imported" if dry_run else "imported"
    turns, talks = counted(result.turns, "turn"), counted(len(result.conversations), "conversation")
    came = f"{turns} of {talks} {verb}" if result.turns else "nothing new" if result.known else "no turns found"
    known = f"; {counted(result.known, 'turn')} {'was' if result.known == 1 else 'were'} already imported"
    screen.say(f"{path}: {came}{known if result.known else ''}")
    if result.masked:
        kinds = ", ".join(f"{count} × {kind}" for kind, count in result.masked.items())
        screen.note(f"secrets masked: {kinds}")
    if result.purged:
        screen.note(f"purged text was removed from {counted(result.purged, 'turn')}")
    for why, count, first in _grouped(result):
        times = f", {count:,} ×" if count > 1 else ""
        screen.note(f"left out{times}: {why} (first: {first})", warning=True)


def _grouped(result: Imported) -> Iterator[tuple[str, int, str]]:
    """Yield what was left out, how often, and where first; kinds that no reader knows share a line."""
    kinds: dict[str, list[str]] = {}
    counts: Counter[str] = Counter()
    first: dict[str, str] = {}
    for why, count in result.skipped.items():
        what, unknown, kind = why.partition(_UNKNOWN)
        field, _, name = kind.partition(" ")
        reason = f"{what}{unknown}{field}"
        kinds.setdefault(reason, []).append(name if unknown else "")
        counts[reason] += count
        first.setdefault(reason, result.where[why])
    for reason, names in kinds.items():
        shown = ", ".join(names[:_SHOWN_KINDS]) + (
            f" and {len(names) - _SHOWN_KINDS} more" if len(names) > _SHOWN_KINDS else ""
        )
        yield f"{reason} {shown}".rstrip(), counts[reason], first[reason]
