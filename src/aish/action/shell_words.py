"""Look up words as the shell would: builtins, keywords, aliases, functions, programs, files and make targets."""

import json
import os
import re
import threading
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from aish.values.named_tuple import NamedTuple

BUILTINS = frozenset(
    """. : [ alias bg bind break builtin caller cd command compgen complete compopt continue declare dirs disown echo
    enable eval exec exit export false fc fg getopts hash help history jobs kill let local logout mapfile popd printf
    pushd pwd read readarray readonly return set shift shopt source suspend test times trap true type typeset ulimit
    umask unalias unset wait""".split()
)
KEYWORDS = frozenset(
    "! [[ ]] { } case coproc do done elif else esac fi for function if in select then time until while".split()
)
# Aliases that distributions put into bashrc; used until the user's shell has reported its own.
WIDESPREAD_ALIASES = frozenset("ll la l lt lla egrep fgrep vdir ..".split())
_PATIENCE = 0.2  # seconds to wait for directories that have not been listed before
_THREADS = 4
FRESH = 1.0  # seconds for which a directory listing is reused
LONG = 255  # bytes of the longest file name
BIG = 1_000_000  # bytes read of a makefile
MAKEFILES = {
    "make": ("GNUmakefile", "makefile", "Makefile"),
    "gmake": ("GNUmakefile", "makefile", "Makefile"),
    "just": ("justfile", "Justfile", ".justfile"),
    **dict.fromkeys(("npm", "yarn", "pnpm", "bun"), ("package.json",)),
}


_Folder = tuple[int, frozenset[str]]  # when it was modified, and the programs in it


class _Listed(NamedTuple):
    """The programs on a PATH at one time: by folder with its modification time, and all together."""

    path: str
    when: float
    folders: dict[str, _Folder]
    programs: frozenset[str]


class ShellWords:
    """The words that a shell with this PATH, directory, aliases and functions knows. Lookups run no program.

    1. A directory of PATH is listed once, and again after a change.
    2. Changes are checked at most once a second.
    3. A directory that does not answer delays a lookup once, by at most a fifth of a second.

    With `few`, a program is looked for by its name, until a list is needed: for a line or two that is faster.
    """

    def __init__(
        self,
        path: str,
        directory: str,
        *,
        aliases: Collection[str] = (),
        functions: Collection[str] = (),
        few: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.path = path
        self.directory = directory
        self.aliases = aliases
        self.functions = functions
        self._few = few
        self.has_run: Callable[[str], bool] = lambda word: False
        self._clock = clock
        self._listed = _Listed("", float("-inf"), {}, frozenset())
        self._busy: set[str] = set()  # directories that a thread lists now
        self._slow: set[str] = set()  # directories that did not answer in time
        self._late: dict[str, _Folder] = {}  # what threads have found
        self._targets: dict[str, tuple[int, frozenset[str]]] = {}

    def kind(self, word: str) -> str:
        """Return what this word is at the start of a command, in the shell's lookup order; empty if unknown."""
        if word in self.aliases:
            return "alias"
        if word in KEYWORDS:
            return "keyword"
        if word in self.functions:
            return "function"
        if word in BUILTINS:
            return "builtin"
        if "/" in word:
            return "path" if self.exists(word) else ""
        known = self._is_on_path(word) if self._few else word in self.programs()
        return "program" if known else ""

    def exists(self, path: str) -> bool:
        """Is there a file or directory with this path, relative to the shell's directory?"""
        if not path or "\0" in path or len(path) > 16 * LONG:
            return False
        try:
            return os.path.lexists(os.path.join(self.directory, os.path.expanduser(path)))  # noqa: PTH118, PTH111  # at every key: a Path costs ten times as much
        except (OSError, ValueError):
            return False

    def is_target(self, program: str, word: str) -> bool:
        """Is this a makefile target, a justfile recipe or a package script in the current directory?"""
        for name in MAKEFILES.get(program, ()):
            path = Path(self.directory, name)
            try:
                changed = path.stat().st_mtime_ns
                known = self._targets.get(str(path))
                if not known or known[0] != changed:
                    with path.open("rb") as file:
                        text = file.read(BIG).decode("utf-8", "replace")
                    known = self._targets[str(path)] = (changed, frozenset(_targets(name, text)))
            except OSError:
                continue
            return word in known[1]
        return False

    def near(self, word: str) -> tuple[str, ...]:
        """Return the known commands that differ from the word by one typing mistake, sorted."""
        if not 2 <= len(word) <= 16 or not word.isascii():
            return ()
        known = (self.programs(), BUILTINS, self.aliases, self.functions)
        slips = (slip for slip in _slips(word.lower()) if len(slip) > 1)
        return tuple(sorted(slip for slip in slips if any(slip in names for names in known)))

    def programs(self) -> frozenset[str]:
        """Return the names of all programs on the PATH, as far as its directories have answered."""
        now, wanted, known = self._clock(), self.path, self._listed  # read once: another thread may change them
        if known.path == wanted and now - known.when < FRESH:
            return known.programs
        names = [folder for folder in wanted.split(os.pathsep) if folder]
        folders = self._look(names, known.folders)
        programs = known.programs
        if known.path != wanted or any(found is not known.folders.get(folder) for folder, found in folders.items()):
            programs = frozenset().union(*(found for _, found in folders.values()))
        self._listed = _Listed(wanted, now, folders, programs)
        return programs

    def _is_on_path(self, word: str) -> bool:
        """Look for one program. If that takes long, list the directories: one that hangs does not hide the others."""
        found: list[bool] = []
        thread = threading.Thread(target=lambda: found.append(self._find(word)), daemon=True)
        thread.start()
        thread.join(_PATIENCE)
        self._few = bool(found)
        return found[0] if found else word in self.programs()

    def _find(self, word: str) -> bool:
        for folder in filter(None, self.path.split(os.pathsep)):
            try:
                path = os.path.join(self.directory, folder, word)  # noqa: PTH118  # as in `exists`
                if os.access(path, os.X_OK) and os.path.isfile(path):  # noqa: PTH113
                    return True
            except (OSError, ValueError):
                continue
        return False

    def _look(self, names: list[str], known: dict[str, _Folder]) -> dict[str, _Folder]:
        """List the directories. New and slow ones are listed in threads; those that are late are taken next time."""
        unsure = [name for name in names if name not in known or name in self._slow]
        found = {name: self._list(name, known.get(name)) for name in names if name not in unsure}
        started = [name for name in unsure if name not in self._busy]
        self._busy.update(started)
        todo = started[::-1]
        threads = [threading.Thread(target=self._work, args=(todo, known), daemon=True) for _ in started[:_THREADS]]
        for thread in threads:
            thread.start()
        deadline = time.monotonic() + _PATIENCE
        for thread in threads if not self._slow.issuperset(started) else ():
            thread.join(max(deadline - time.monotonic(), 0))
        self._slow.update(name for name in started if name in self._busy)
        return found | {name: self._late.get(name) or known.get(name) or (0, frozenset()) for name in unsure}

    def _work(self, todo: list[str], known: dict[str, _Folder]) -> None:
        """List directories until none is left. A directory that hangs stops one thread only."""
        try:
            while True:
                name = todo.pop()
                self._late[name] = self._list(name, self._late.get(name) or known.get(name))
                self._busy.discard(name)
        except IndexError:
            return

    def _list(self, folder: str, before: tuple[int, frozenset[str]] | None) -> tuple[int, frozenset[str]]:
        place = Path(self.directory, folder)
        try:
            changed = place.stat().st_mtime_ns
            if before and before[0] == changed:
                return before
            with os.scandir(place) as entries:
                return changed, frozenset(entry.name for entry in entries if _is_program(entry))
        except OSError:  # missing or not readable
            return before if before and before[0] == 0 else (0, frozenset())


def _is_program(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file() and os.access(entry.path, os.X_OK)
    except OSError:
        return False


def _targets(name: str, text: str) -> Iterator[str]:
    if name == "package.json":
        try:
            yield from json.loads(text).get("scripts") or ()
        except (ValueError, AttributeError, TypeError, RecursionError):
            return
    else:
        rule = r"^([^\s:=#][^:=#\n]*):(?!=)" if "make" in name.lower() else r"^@?([A-Za-z_][\w-]*)\b[^:\n]*:(?!=)"
        for names in re.findall(rule, text, re.MULTILINE):
            yield from names.split()


def _slips(word: str) -> set[str]:
    """Return all words that differ from this one by one typing mistake."""
    letters = "abcdefghijklmnopqrstuvwxyz0123456789-_"
    cuts = [(word[:i], word[i:]) for i in range(len(word) + 1)]
    exchanged = {a + b[1] + b[0] + b[2:] for a, b in cuts if len(b) > 1}
    deleted = {a + b[1:] for a, b in cuts if b}
    others = {a + letter + b[1:] for a, b in cuts if b for letter in letters}
    added = {a + letter + b for a, b in cuts for letter in letters}
    return (exchanged | deleted | others | added) - {word}
