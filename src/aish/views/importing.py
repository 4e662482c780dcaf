"""`aish import`: import conversations from other tools. Importing again adds nothing."""

import argparse
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from aish.conversation.library import Library
from aish.memory.curation import open_memory
from aish.memory.importers import FORMATS, read, sniff
from aish.memory.importing import Imported, Importer
from aish.values.errors import AishError, BadUsage
from aish.values.text import counted, for_terminal, json_text, one_line
from aish.views.arguments import make_parser
from aish.views.exit_codes import NOTHING, OK
from aish.views.screen import Screen


def run(library: Library, arguments: Sequence[str]) -> int:
    """Import files, and index them."""
    parser = make_parser(
        "aish import",
        "Import conversations from other tools. Importing again adds nothing.",
    )
    parser.add_argument("--format", choices=list(FORMATS), help="the format of the files; detected by default")
    parser.add_argument("--dry-run", action="store_true", help="write nothing; show what would be imported")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "files", nargs="+", type=Path, metavar="FILE", help="files, directories, or - for standard input"
    )
    options = parser.parse_intermixed_args(arguments)
    screen = Screen(library.settings.view.color)
    results: list[tuple[str, Imported]] = []
    paths = [library.cwd / ("/dev/stdin" if str(path) == "-" else path) for path in options.files]
    redaction = library.redaction.reading() if options.dry_run else library.redaction
    # Opened without the lock of `memory.exclusive`, because memory is only read here.
    memory, _ = open_memory(library.places.memory_file(library.settings.memory.path), None, redaction, library.now)
    formats = [options.format or _format(path, screen) for path in paths]  # before anything is written
    try:
        for path, format in zip(paths, formats, strict=True):
            importer = Importer(library.places.sessions, format, redaction, memory.purged, dry_run=options.dry_run)
            results.append((str(path), importer.result))
            with closing(read(format, path)) as heard:
                importer.take(heard, _Progress(path))
        trouble = "" if options.dry_run else library.finder.catch_up(wait=True)
    except (AishError, KeyboardInterrupt) as stopped:
        _report(screen, [(path, result) for path, result in results if result.turns or result.known], options)
        if isinstance(stopped, KeyboardInterrupt):
            screen.note("stopped; run the same import again to continue")
        raise
    if trouble:
        screen.note(trouble, warning=True)
    _report(screen, results, options)
    return OK if any(result.turns or result.known for _, result in results) else NOTHING


def _report(screen: Screen, results: Sequence[tuple[str, Imported]], options: argparse.Namespace) -> None:
    """Report what was imported. Also called after an error, because turns imported before it are kept."""
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")
    if options.json:
        print(json_text([{"file": path, **_record(result)} for path, result in results]))
        return
    for path, result in results:
        _say(screen, path, result, dry_run=options.dry_run)


def _format(path: Path, screen: Screen) -> str:
    """Detect the format of a file, or of most files in a directory, from its content."""
    found = sniff(path)
    if found and path.is_dir():
        screen.note(f"{path}: all files are read as {found}; import files of other formats separately, or use --format")
    if not found:
        empty = not any(path.iterdir()) if path.is_dir() else path.is_file() and not path.stat().st_size
        unknown = f"unknown format of {path}; use --format with one of: {', '.join(FORMATS)}"
        raise BadUsage(f"{path} is empty" if empty else unknown)
    return found


class _Progress:
    """Shows progress on a terminal, without a total, which is not known in advance."""

    def __init__(self, path: Path) -> None:
        self._name = for_terminal(one_line(path.name, 40))
        self._there = sys.stderr.isatty()

    def __call__(self, result: Imported) -> None:
        if self._there:
            sys.stderr.write(f"\rimporting {self._name}: {result.turns + result.known:,} turns\x1b[K")
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
    for why, count in result.skipped.items():
        screen.note(
            f"left out{f', {count:,} ×' if count > 1 else ''}: {why} (first: {result.where[why]})", warning=True
        )
