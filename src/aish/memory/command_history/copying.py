"""Copy the history of another shell into our own record of commands. Copying again adds nothing."""

from collections.abc import Callable, Iterable
from pathlib import Path

from aish.memory.command_history.command_store import CommandStore
from aish.memory.command_history.shell_files import HistoryFile, read_history
from aish.values.named_tuple import NamedTuple


class Copied(NamedTuple):
    """How many commands were read, and how many of them were new."""

    read: int
    added: int


def copy_histories(
    store: CommandStore,
    mask: Callable[[str], str],
    files: Iterable[HistoryFile],
    wanted: Callable[[str], bool] = lambda text: True,
) -> Copied:
    """Add the commands of histories that the record does not have and that are wanted. Raises `StoreTrouble`."""
    added = seen = 0
    known = {(one.text, int(one.time)) for one in store.newest_first()}
    known |= {(text, 0) for text, _ in known}  # a line without a time may be the same run, written by the shell too
    for file in files:
        newest = [placed.command for placed in read_history(file, {}, _no_pause, most=1 << 40)]
        masked = [one._replace(text=mask(one.text)) for one in newest[::-1]]
        new = list({(one.text, int(one.time)): one for one in masked}.items())
        fresh = [one for key, one in new if key not in known and wanted(one.text)]
        known |= {key for key, _ in new} | {(text, 0) for (text, _), _ in new}
        store.add(*fresh)
        seen, added = seen + len(newest), added + len(fresh)
    return Copied(seen, added)


def history_kind(path: Path) -> HistoryFile:
    """Return a history file with the shell that its content or its name tells. Raises `OSError`."""
    with path.open("rb") as file:
        is_database = file.read(15) == b"SQLite format 3"
    kind = "atuin" if is_database else next((kind for kind in ("zsh", "fish") if kind in path.name), "bash")
    return HistoryFile(kind, path)


def _no_pause() -> None:
    """Nobody types meanwhile."""
