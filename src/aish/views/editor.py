"""Read a line: the contract of all editors, the plain editor for pipes and dumb terminals, and Tab completion."""

import asyncio
import re
import stat
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Protocol

from aish.action.completion import files
from aish.action.shell_names import HOST_COMMANDS, hosts, users
from aish.intake.completion import Scan, Suggestion, TypedWord, break_words, quoted, read_command
from aish.places import home_directory
from aish.values.text import for_terminal
from aish.views.prompt import plain_sign
from aish.views.themes import Theme

LONGEST_LINE = 16 << 20  # bytes
MOST_OFFERED = 500  # nobody reads a longer list, and it is slow to draw
_DIRECTORIES = (["cd"], ["pushd"], ["rmdir"])  # commands that take only directories


class Editor(Protocol):
    """Contract: `read` returns what was typed, raises EOFError at the end and KeyboardInterrupt on Ctrl-C.

    `edit` returns the text as the user changed it, or "" to keep it unchanged.
    """

    def read(self, runner: asyncio.Runner, prompt: str) -> str: ...

    @property
    def is_reading(self) -> bool:
        """Is a prompt shown, above which can be written?"""

    async def edit(self, text: str) -> str: ...

    def take_keys(self, keys: bytes) -> None:
        """Add keys that a program did not read; they belong to the next line."""

    def put(self, text: str) -> None:
        """Start the next line with this text, for editing."""

    def remember(self, line: str) -> None:
        """Add a line to the history that was typed elsewhere."""

    def restyle(self, styles: Theme, *, vi: bool) -> None:
        """Use other colours and keys from the next line on."""

    def show_above(self, write: Callable[[], object]) -> None:
        """Write above the line that is being typed."""

    def show_below(self, text: str) -> None:
        """Show a line below the one that is being typed, until it is replaced; empty: none."""

    def on_key(self, key: str, act: Callable[[], object]) -> None:
        """Call a function when this key is pressed at the prompt."""

    @property
    def left_empty(self) -> bool:
        """Was the line empty when it was left with Ctrl-C?"""


class PlainEditor:
    """Reads standard input line by line; shows the prompt only on a terminal."""

    def __init__(self) -> None:
        self._early = b""

    def take_keys(self, keys: bytes) -> None:
        self._early += keys.replace(b"\r", b"\n")

    def put(self, text: str) -> None:
        self._early += text.encode("utf-8", "replace")

    def remember(self, line: str) -> None:
        """Do nothing: there is no history."""

    def restyle(self, styles: Theme, *, vi: bool) -> None:
        """Do nothing: there are no colours and no keys."""

    def show_above(self, write: Callable[[], object]) -> None:
        write()

    def show_below(self, text: str) -> None:
        """Do nothing: there is one line."""

    def on_key(self, key: str, act: Callable[[], object]) -> None:
        """Do nothing: there are only lines."""

    @property
    def left_empty(self) -> bool:
        return False  # only the terminal knows

    @property
    def is_reading(self) -> bool:
        return False  # it waits for a line without the event loop

    def read(self, runner: asyncio.Runner, prompt: str) -> str:
        if sys.stdin.isatty():
            sys.stdout.write(plain_sign(prompt))
            sys.stdout.flush()
        early, end, self._early = self._early.partition(b"\n")
        line = early + (end or sys.stdin.buffer.readline(LONGEST_LINE))
        if not line:
            raise EOFError
        return line.decode("utf-8", "replace").rstrip("\r\n")

    async def edit(self, text: str) -> str:
        if sys.stdin.isatty():
            sys.stderr.write(f"{for_terminal(text)}\nnew text: ")
            sys.stderr.flush()
        return sys.stdin.buffer.readline(LONGEST_LINE).decode("utf-8", "replace").strip()


class ShellSuggestions:
    """Completions for a shell line: command names, files, and what the completion functions of bash or zsh offer.

    `names` returns all commands (programs, builtins, aliases, functions), `directory` the directory of the shell,
    `options` the results of bash's completion functions for a command, and `zsh` those of zsh with hints, or None if it
    does not know the command. A finished word ends with a space.
    """

    def __init__(
        self,
        names: Callable[[], Iterable[str]],
        directory: Callable[[], str],
        options: Callable[[Sequence[str], str], Iterable[str]] = lambda words, directory: (),
        *,
        zsh: Callable[[str, str], Iterable[tuple[str, str]] | None] = lambda line, directory: None,
        variables: Callable[[], Iterable[str]] = tuple,
        jobs: Callable[[], Iterable[tuple[str, str]]] = tuple,
    ) -> None:
        self._names, self._directory, self._options, self._zsh = names, directory, options, zsh
        self._variables, self._jobs = variables, jobs

    def __call__(self, text: str) -> list[Suggestion]:
        forced = text[:1] if text[:1] in ("!", "?") else ""
        scan = read_command(text[len(forced) :])
        word = scan.words[-1]
        if scan.comment or scan.unfinished in ("here-document", "backslash"):
            return []
        found: list[Suggestion] = self._words_of_the_shell(text, scan, word) if forced != "?" else []
        if found:
            return found[:MOST_OFFERED]
        if word.first and "/" not in word.text and forced != "?":
            found = self._commands(word)
        elif scan.arguments and not word.quote:
            offered = self._known_to_zsh(text[len(forced) :], scan, word)
            found = self._known_to_bash(scan, word) if offered is None else offered
        if not found and scan.arguments[:1] and scan.arguments[0] in HOST_COMMANDS and not word.quote:
            found = self._hosts(word)
        if not found and (not word.first or "/" in word.text):
            found = self._files(word, only_directories=scan.arguments[:1] in _DIRECTORIES)
        if not found and word.quote == "'":  # it may be an apostrophe in a sentence
            last = text.rpartition(" ")[2]
            found = self._files(TypedWord(0, len(last), last))
        return found[:MOST_OFFERED]

    def _words_of_the_shell(self, text: str, scan: Scan, word: TypedWord) -> list[Suggestion]:
        """Complete a variable after `$`, a user after `~`, or a job after `%`."""
        variable = re.search(r"(?<!\\)\$(\{?)([A-Za-z_]\w*|)\Z", text) if word.quote != "'" else None
        if variable:
            end, typed = "}" if variable[1] else "", variable[2]
            return [(name + end, len(typed), "") for name in sorted(set(self._variables())) if name.startswith(typed)]
        if word.quote or word.end - word.start != len(word.text):
            return []
        if word.text.startswith("~") and "/" not in word.text:
            return [(f"~{name}/", len(word.text), "") for name in users() if name.startswith(word.text[1:])]
        if word.text.startswith("%"):
            return [(f"{name} ", len(word.text), hint) for name, hint in self._jobs() if name.startswith(word.text)]
        return []

    def _hosts(self, word: TypedWord) -> list[Suggestion]:
        """Complete a host, also after `user@`."""
        typed = word.text.rpartition("@")[2]
        if word.text.startswith("-") or "/" in typed or ":" in typed:
            return []
        return [(f"{host} ", len(typed), "") for host in hosts(home_directory()) if host.startswith(typed)]

    def file_argument(self, typed: str) -> list[Suggestion]:
        """Complete the last word of a colon command with files, which need no quotes there."""
        start = typed.rpartition(" ")[2]
        found = files(start, self._directory())
        return [(path + "/" * is_directory, len(start), "") for path, is_directory in found]

    def attached(self, text: str) -> list[Suggestion]:
        """Complete a file after `@` in a question, with its size."""
        typed = re.search(r"(?:^|[\s(])@((?:\\.|[^\s\\\"'])*)$", text)
        if not typed:
            return []
        start, directory = re.sub(r"\\(.)", r"\1", typed[1]), self._directory()
        found = files(start, directory)[:MOST_OFFERED]
        return [
            (re.sub(r"(\s)", r"\\\1", path) + ("/" if is_directory else " "), len(typed[1]), _size(directory, path))
            for path, is_directory in found
        ]

    def _commands(self, word: TypedWord) -> list[Suggestion]:
        if not word.text:
            return []  # a list of all commands would not help
        length = word.end - word.start
        return [(f"{name} ", length, "") for name in sorted(set(self._names())) if name.startswith(word.text)]

    def _known_to_zsh(self, text: str, scan: Scan, word: TypedWord) -> list[Suggestion] | None:
        """Return what zsh offers in place of the whole word; None if bash should be asked."""
        if word.end - word.start != len(word.text) or not scan.names:
            return None
        offered = self._zsh(text[scan.names[-1].start :], self._directory())
        if offered is None:
            return None
        return [(one, len(word.text), hint) for one, hint in offered if one.rstrip() != word.text]

    def _known_to_bash(self, scan: Scan, word: TypedWord) -> list[Suggestion]:
        """Return what completion functions offer. As in readline, they complete the part after the last `=` or `:`."""
        words = break_words(scan.arguments)
        part = "" if words[-1].strip("=:") == "" else words[-1]
        if words[-1] and not part:
            words.append("")
        if word.end - word.start != len(word.text):
            return []  # part of the word is quoted, which completion functions do not handle
        offered = [one.rstrip() for one in self._options(words, self._directory())]
        return [
            (quoted(one) + ("" if one[-1] in "=/:" else " "), len(part), "")
            for one in offered
            if one.startswith(part) and one != part
        ]

    def _files(self, word: TypedWord, *, only_directories: bool = False) -> list[Suggestion]:
        """Complete the word, or the part after its `=` as in `--file=NAME`, with files."""
        length = word.end - word.start
        simple = length == len(word.text)  # without quotes
        typed = word.text.rpartition("=")[2] if simple else word.text
        home = simple and typed.startswith("~") and "/" in typed
        found = files(typed, self._directory(), only_directories=only_directories, expand=home)
        replaced = len(typed) if simple else length
        return [(_as_typed(path, is_directory, word.quote, home), replaced, "") for path, is_directory in found]


def _size(directory: str, path: str) -> str:
    """Return the size of a file as a hint; empty for a directory."""
    try:
        found = Path(directory, path).stat()
    except (OSError, ValueError):
        return ""
    return f"{found.st_size:,} bytes" if stat.S_ISREG(found.st_mode) else ""


def _as_typed(path: str, is_directory: bool, quote: str, home: bool) -> str:
    """Return a path as it is inserted: a directory ends with a slash, and its open quote stays open."""
    head, rest = path.split("/", 1) if home else ("", path)
    if home:
        head += "/"
    elif path.startswith(("-", "~")):
        head = "./"  # otherwise it would be an option or a home directory
    text = quoted(head + rest + "/" * is_directory, quote) if quote else head + quoted(rest + "/" * is_directory)
    if not is_directory:
        return f"{text} "
    return text[:-1] if quote and text.endswith(quote) else text
