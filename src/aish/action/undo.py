"""Take back what the model changed in files, without losing what the user changed later."""

import os
import stat
from collections.abc import Collection, Sequence
from pathlib import Path

from aish.action.file_diff import file_diff
from aish.action.trash import move_to_trash
from aish.action.undo_store import MOST_OF_FILE, NOT_KEPT, FileChange, UndoStore
from aish.action.workspace import inside, read_inside, remove_directories, remove_inside, write_inside
from aish.values.errors import AishError, Declined, NotFound, StoreTrouble
from aish.values.named_tuple import NamedTuple

_MOST_BESIDE = 1_000


class Current(NamedTuple):
    """A file as it is now. Without a content there is none."""

    content: bytes | None = None
    status: os.stat_result | None = None
    trouble: str = ""


class Restoration(NamedTuple):
    """What taking back would do to one file: write `content`, or delete it if that is None.

    `changes` are those that it takes back. `problem` says why an earlier or all of them cannot be taken back. If
    `uses_trash`, the file goes to the trash first: it may be the last copy of something that was not kept.
    """

    root: str
    path: str
    now: Current
    content: bytes | None
    mode: int | None
    changes: tuple[FileChange, ...]
    problem: str = ""
    old: bytes | None = None  # with a problem: the older content, if it was kept
    old_mode: int = 0  # likewise

    @property
    def uses_trash(self) -> bool:
        return self.now.content is not None and any(change.partial for change in self.changes)

    @property
    def diff(self) -> str:
        return file_diff(self.path, self.now.content, self.content)

    @property
    def does_something(self) -> bool:
        mode = stat.S_IMODE(self.now.status.st_mode) if self.now.status else None
        return self.content != self.now.content or (self.content is not None and self.mode not in (None, mode))


class FileHistory:
    """The changes that the model made to files, and ways back. All methods raise `StoreTrouble`."""

    def __init__(self, store: UndoStore) -> None:
        self._store = store

    def changes(self, conversation: str) -> list[FileChange]:
        """Return all changes of a conversation that were not taken back, oldest first."""
        return self._store.changes(conversation)

    def last_steps(self, conversation: str, count: int) -> list[FileChange]:
        """Return the changes of the last steps, oldest first."""
        changes = self.changes(conversation)
        wanted = list(dict.fromkeys(change.step for change in reversed(changes)))[:count]
        return [change for change in changes if change.step in wanted]

    def last_turn(self, conversation: str) -> list[FileChange]:
        """Return the changes since the last question that led to some."""
        changes = self.changes(conversation)
        return [change for change in changes if change.turn == changes[-1].turn]

    def of_turns(self, conversation: str, turns: Collection[int]) -> list[FileChange]:
        """Return the changes that belong to some turns, oldest first."""
        return [change for change in self.changes(conversation) if change.turn in turns]

    def restorations(self, changes: Sequence[FileChange]) -> list[Restoration]:
        """Return, for each file, what taking back these changes would do.

        The changes of a file are taken back one by one, the newest first. Each must start from what the next one left:
        otherwise somebody else changed the file in between, and the rest is not taken back.
        """
        by_file: dict[tuple[str, str], list[FileChange]] = {}
        for change in changes:
            by_file.setdefault((change.root, change.path), []).append(change)
        return [_restoration(self._store, root, path, found[::-1]) for (root, path), found in by_file.items()]

    def difference(self, changes: Sequence[FileChange]) -> list[str]:
        """Return how the files differ from what they were before these changes, one text for each file."""
        first: dict[tuple[str, str], FileChange] = {}
        for change in changes:
            first.setdefault((change.root, change.path), change)
        return [text for change in first.values() if (text := self._difference(change))]

    def _difference(self, change: FileChange) -> str:
        now, old = current(Path(change.root), change.path), self._store.content(change.before.hash)
        if now.trouble or (change.before.hash and old is None):
            return f"{change.path}: {now.trouble or 'its earlier content is not kept'}"
        return "" if now.content == old else file_diff(change.path, old, now.content)

    def restore(self, conversation: str, plans: Sequence[Restoration]) -> list[str]:
        """Take back the changes of files. Return a problem or an empty text for each."""
        problems = [_restore(plan) if plan.does_something else "" for plan in plans]
        done = [change for plan, problem in zip(plans, problems, strict=True) if not problem for change in plan.changes]
        if done:
            self._store.take_back(conversation, done)
        return problems

    def write_beside(self, plan: Restoration) -> str:
        """Write the older content of a file that cannot be restored beside it, and return the name."""
        assert plan.old is not None
        for number in range(1, _MOST_BESIDE):
            name = f"{plan.path}.before-{number}"
            try:
                write_inside(Path(plan.root), name, plan.old, mode=plan.old_mode & 0o777 or None)
            except Declined:
                continue  # the name is taken
            except OSError as error:
                raise StoreTrouble(f"cannot write {name}: {error.strerror or error}") from error
            return name
        raise StoreTrouble(f"there are too many files {plan.path}.before-…")


def _restoration(store: UndoStore, root: str, path: str, newest_first: list[FileChange]) -> Restoration:
    now = current(Path(root), path)
    content, problem, old, old_mode = now.content, now.trouble, None, 0
    taken: list[FileChange] = []
    name = "" if content is None else store.hash(content)
    if problem and _is_direct(root, path):  # such as a link in its place
        old, old_mode = store.content(newest_first[0].before.hash), newest_first[0].before.mode
    for change in () if problem else newest_first:
        if name == change.before.hash and name != change.after.hash:
            taken.append(change)  # it never happened, or somebody has taken it back
            continue
        kept = store.content(change.before.hash)
        if name != change.after.hash:
            too_much = change.after.hash == NOT_KEPT
            problem = "it was too large to keep" if too_much else "it was changed since, by you or another program"
            old, old_mode = kept, change.before.mode
        elif change.before.hash == NOT_KEPT:
            problem = "it was too large to keep"
        elif change.before.hash and kept is None:
            problem = "its earlier content is no longer kept"
        if problem:
            break
        name, content = change.before.hash, kept
        taken.append(change)
    return Restoration(root, path, now, content, _mode(now, taken), tuple(taken), problem, old, old_mode)


def _is_direct(root: str, path: str) -> bool:
    """Is the directory of a path where its name says, and not behind a link?"""
    above = (Path(os.path.realpath(root)) / path).parent
    return above.is_dir() and str(above) == os.path.realpath(above)


def _mode(now: Current, taken: Sequence[FileChange]) -> int | None:
    """Return the mode of a restored file: as it was before, or None (as it is) if the user has changed it since."""
    if not taken or (now.status and stat.S_IMODE(now.status.st_mode) != taken[0].after.mode):
        return None
    return taken[-1].before.mode


def current(root: Path, path: str) -> Current:
    """Return a file as it is now."""
    try:
        real = inside(root, path)
        if real != Path(os.path.realpath(root)) / path:
            return Current(trouble="a part of its path is now a link")
        return Current(*read_inside(root, path, MOST_OF_FILE))
    except NotFound:
        return Current()
    except (AishError, OSError) as error:
        return Current(trouble=f"it cannot be read: {error}")


def _restore(plan: Restoration) -> str:
    root, now = Path(plan.root), current(Path(plan.root), plan.path)
    if now.trouble or now.content != plan.now.content:
        return "it changed while you were asked"
    trashed = ""
    try:
        if plan.uses_trash and plan.content != now.content:
            move_to_trash([root / plan.path])
            trashed = "; the file is in the trash now (aish trash --restore)"
        if plan.content is not None:
            write_inside(root, plan.path, plan.content, now.status, plan.mode)
        elif plan.uses_trash:
            remove_directories(root, [name for change in plan.changes for name in change.directories])
        else:
            remove_inside(root, plan.path, [name for change in plan.changes for name in change.directories])
    except AishError as error:
        return f"{error}{trashed}"
    except OSError as error:
        return f"{error.strerror or error}{trashed}"
    return ""
