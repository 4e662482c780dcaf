"""Find files of a project by name, and lines in them. Ignored, secret and binary files are left out; links too."""

import asyncio
import os
import shutil
import sys
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from pathlib import Path
from re import compile as compile_pattern
from re import error as PatternError

from aish.action import line_search
from aish.action.file_rules import is_secret_in
from aish.action.gitignore import IgnoreRule, as_regex, is_ignored, read_rules
from aish.storage.git_files import read_bounded
from aish.values.errors import BadUsage, Declined
from aish.values.named_tuple import NamedTuple

_MOST_VISITED = 50_000  # entries
_WALK_SECONDS = 3.0
_SEARCH_SECONDS = 20.0
_MOST_OF_IGNORES = 1 << 16  # bytes of one .gitignore
_LONGEST_LINE = 300  # characters that are shown of a line
_LONGEST_PATTERN = 1_000


class Found(NamedTuple):
    """A file or directory, with its depth below the start."""

    path: Path
    directory: bool
    depth: int


class Line(NamedTuple):
    """A matching line."""

    path: Path
    number: int
    text: str


class Walk:
    """Goes through a directory of a project. `complete` is false if it stopped at a limit."""

    def __init__(self, root: Path, start: Path, own: Callable[[Path], bool], *, depth: int = 64) -> None:
        self._root, self._start, self._own, self._depth = Path(os.path.realpath(root)), start, own, depth
        self.complete = True

    def __iter__(self) -> Iterator[Found]:
        until, left = time.monotonic() + _WALK_SECONDS, _MOST_VISITED
        rules: list[IgnoreRule] = []
        for parent in (*reversed(self._start.relative_to(self._root).parents), self._start.relative_to(self._root)):
            rules += _rules_in(self._root / parent, self._root)
        to_visit = [(self._start, 1, rules)]
        while to_visit:
            directory, depth, rules = to_visit.pop()
            try:
                with os.scandir(directory) as scanned:
                    entries = sorted(scanned, key=lambda entry: entry.name)
            except OSError:
                continue  # it may not be read, or has been deleted
            below = []
            for entry in entries:
                left -= 1
                if left < 0 or time.monotonic() > until:
                    self.complete = False
                    return
                path, is_directory = Path(entry.path), entry.is_dir(follow_symlinks=False)
                relative = str(path.relative_to(self._root))
                if is_ignored(rules, relative, directory=is_directory) or self._own(path):
                    continue
                yield Found(path, is_directory, depth)
                if is_directory and depth < self._depth:
                    below.append((path, depth + 1, [*rules, *_rules_in(path, self._root)]))
            to_visit += reversed(below)


def _rules_in(directory: Path, root: Path) -> list[IgnoreRule]:
    data = read_bounded(directory / ".gitignore", _MOST_OF_IGNORES)
    base = "" if directory == root else f"{directory.relative_to(root)}/"
    return read_rules(base, data.decode("utf-8", "replace")) if data else []


def name_matches(pattern: str) -> Callable[[str], bool]:
    """Return a test for paths: a glob with a slash must match the whole path, others the name. Raises `BadUsage`."""
    if len(pattern) > _LONGEST_PATTERN:
        raise BadUsage("the pattern is too long")
    try:
        compiled = compile_pattern(("" if "/" in pattern else "(?:.*/)?") + as_regex(pattern.removeprefix("./")))
    except PatternError as error:
        raise BadUsage(f"the pattern is not a glob such as *.py or src/**/*.py: {error}") from None
    return lambda path: compiled.fullmatch(path) is not None


async def search(
    root: Path, start: Path, pattern: str, glob: str, own: Callable[[Path], bool], *, program: str | None = None
) -> AsyncGenerator[Line]:
    """Yield the lines that match a regular expression. Closing it stops the search.

    Uses ripgrep (`program`) if it is installed.

    Raises:
        BadUsage: the pattern or the glob is invalid.
        Declined: it cannot start, because the directory may not be entered.
        TimeoutError: the search took too long.
    """
    if not pattern or len(pattern) > _LONGEST_PATTERN or "\0" in pattern + glob or "\n" in pattern:
        raise BadUsage("pattern must be a regular expression for one line, of at most 1,000 characters")
    program = ripgrep(root) if program is None else program
    if program:
        words, given = _ripgrep_words(program, start, pattern, glob), b""
    else:
        fits = name_matches(glob) if glob else lambda path: True
        files = await asyncio.to_thread(_searchable, root, start, own, fits)
        words = [sys.executable, "-I", line_search.__file__, pattern]
        given = b"\0".join(map(os.fsencode, files))
    directory = await asyncio.to_thread(lambda: start if start.is_dir() else start.parent)
    async with aclosing(_run(words, given, directory)) as lines:
        async for line in lines:
            if not line.path.is_relative_to(start):
                continue  # a part of a path: names can have newlines
            if ".git" not in line.path.parts and not own(line.path) and not is_secret_in(root, line.path):
                yield line


def ripgrep(root: Path) -> str:
    """Return the path of ripgrep, or an empty text. A program inside the project is not used."""
    found = Path(shutil.which("rg") or "rg")
    is_safe = found.is_absolute() and not Path(os.path.realpath(found)).is_relative_to(os.path.realpath(root))
    return str(found) if is_safe else ""


def _ripgrep_words(program: str, start: Path, pattern: str, glob: str) -> list[str]:
    words = [program, "--no-config", "--color=never", "--no-heading", "--with-filename", "--line-number", "--null"]
    words += [f"--max-columns={_LONGEST_LINE}", "--max-columns-preview", "--max-filesize=32M", "--no-messages"]
    words += ["--hidden", "--no-require-git", "--no-ignore-global", "--crlf", f"--regexp={pattern}"]
    return [*words, *([f"--glob={glob}"] if glob else []), "--glob=!.git", "--", str(start)]


def _searchable(root: Path, start: Path, own: Callable[[Path], bool], fits: Callable[[str], bool]) -> list[Path]:
    if start.is_file():
        return [start]
    walk = Walk(root, start, own)
    return [one.path for one in walk if not one.directory and fits(str(one.path.relative_to(start)))]


async def _run(words: list[str], given: bytes, directory: Path) -> AsyncGenerator[Line]:
    """Run a program that prints `path NUL number : line`, and yield what it prints."""
    pipe, env = asyncio.subprocess.PIPE, {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C.UTF-8"}
    try:
        process = await asyncio.create_subprocess_exec(
            *words, stdin=pipe, stdout=pipe, stderr=pipe, env=env, cwd=directory
        )
    except OSError as error:  # such as a directory that may not be entered
        raise Declined(f"the search cannot start: {error.strerror or error}") from None
    assert process.stdin and process.stdout and process.stderr
    try:
        async with asyncio.timeout(_SEARCH_SECONDS):
            process.stdin.write(given)
            process.stdin.close()
            async for line in process.stdout:
                if found := _parsed(line):
                    yield found
            said = (await process.stderr.read(2_000)).decode("utf-8", "replace")
            if await process.wait() > 1 and said.strip():
                raise BadUsage(f"the search failed: {said.strip()}")
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()  # also reads the rest: asyncio waits until the pipe is empty


def _parsed(line: bytes) -> Line | None:
    path, _, rest = line.partition(b"\0")
    number, _, text = rest.partition(b":")
    if not number.isdigit():
        return None
    return Line(Path(os.fsdecode(path)), int(number), text.decode("utf-8", "replace").rstrip("\r\n"))
