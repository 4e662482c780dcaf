"""`aish trash`: delete files so that they can be restored."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from aish.action.trash import Trashed, in_trash, move_to_trash, restore
from aish.values.errors import Declined, NotFound
from aish.values.text import json_text
from aish.views.arguments import make_parser
from aish.views.exit_codes import NOTHING, OK
from aish.views.screen import Screen
from aish.views.start import Start


def run(start: Start, arguments: Sequence[str]) -> int:
    """Move files to the trash, list its contents, or restore files."""
    parser = make_parser("aish trash", "Move files to the trash, or restore them.")
    parser.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="the files to move or restore")
    parser.add_argument("-r", "--recursive", action="store_true", help="also move directories and their contents")
    parser.add_argument("-f", "--force", action="store_true", help="ignore paths that do not exist")
    other = parser.add_mutually_exclusive_group()
    other.add_argument("--list", action="store_true", help="list the contents of the trash, newest first")
    other.add_argument("--restore", action="store_true", help="restore each PATH")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    paths = [_absolute(start.cwd, path) for path in options.paths]
    if options.list:
        items = [item for item in in_trash([start.cwd]) if not paths or item.path in paths]
        _show(items, as_json=options.json)
        return OK if items else NOTHING
    if not paths:
        parser.error("missing PATH")
    if options.restore:
        found = [_newest(path) for path in paths]
        for item in found:
            restore(item)
        _show(found, as_json=options.json)
        return OK
    if options.force:
        paths = [path for path in paths if os.path.lexists(path)]
    _check_directories(paths, recursive=options.recursive)
    _show(move_to_trash(paths), as_json=options.json)
    return OK


def _absolute(directory: Path, path: Path) -> Path:
    """Return the absolute path with links in its parent resolved, as the trash records it."""
    whole = directory / path
    return Path(os.path.realpath(whole.parent)) / whole.name if whole.name != ".." else whole


def _newest(path: Path) -> Trashed:
    for item in in_trash([path.parent]):
        if item.path == path:
            return item
    raise NotFound(f"{path} is not in the trash; see: aish trash --list")


def _check_directories(paths: Sequence[Path], *, recursive: bool) -> None:
    """Refuse directories without `-r`, as rm does. A user may alias rm to this verb, so it must not delete more."""
    for path in paths:
        if path.is_dir() and not path.is_symlink() and not recursive:
            raise Declined(f"{path} is a directory; nothing was moved (use -r to move it and its contents)")


def _show(items: Sequence[Trashed], *, as_json: bool) -> None:
    if as_json:
        print(json_text([{"path": str(i.path), "trash": str(i.kept), "time": i.time.isoformat()} for i in items]))
    elif items and sys.stdout:
        Screen().say("\n".join(f"{item.time:%Y-%m-%d %H:%M}  {item.path}" for item in items))
