"""Reading a line: what any editor promises, the plain one for pipes and dumb terminals, and what Tab offers."""

import asyncio
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from aish.action.completion import files
from aish.intake.completion import Scan, Suggestion, TypedWord, break_words, quoted, read_command
from aish.values.text import for_terminal
from aish.views.prompt import plain_sign

LONGEST_LINE = 16 << 20  # bytes
MOST_OFFERED = 500  # a list that is longer is not read, and slow to draw
_DIRECTORIES = (["cd"], ["pushd"], ["rmdir"])  # commands that want nothing else


class Editor(Protocol):
    """Contract: `read` returns what was typed, raises EOFError at the end and KeyboardInterrupt on Ctrl-C.

    `edit` returns a text as the user changed it, or nothing if it is to stay as it is.
    """

    def read(self, runner: asyncio.Runner, prompt: str) -> str: ...

    async def edit(self, text: str) -> str: ...

    def take_keys(self, keys: bytes) -> None:
        """Keys that were pressed before for somebody who did not read them: they belong to the next line."""

    def show_above(self, write: Callable[[], object]) -> None:
        """Let somebody write while a line is being typed."""


class PlainEditor:
    """Reads standard input line by line; shows the prompt only to a person."""

    def __init__(self) -> None:
        self._early = b""

    def take_keys(self, keys: bytes) -> None:
        self._early += keys.replace(b"\r", b"\n")

    def show_above(self, write: Callable[[], object]) -> None:
        write()

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
    """What could come next on a line that is no colon command: names of commands, files, and what bash knows.

    `names` gives all commands (programs, builtins, aliases, functions), `directory` where the shell is, and `options`
    what completion functions say about the words of a command. A word that is finished has a blank after it.
    """

    def __init__(
        self,
        names: Callable[[], Iterable[str]],
        directory: Callable[[], str],
        options: Callable[[Sequence[str], str], Iterable[str]] = lambda words, directory: (),
    ) -> None:
        self._names, self._directory, self._options = names, directory, options

    def __call__(self, text: str) -> list[Suggestion]:
        forced = text[:1] if text[:1] in ("!", "?") else ""
        scan = read_command(text[len(forced) :])
        word = scan.words[-1]
        if scan.comment or scan.unfinished in ("here-document", "backslash"):
            return []
        found: list[Suggestion] = []
        if word.first and "/" not in word.text and forced != "?":
            found = self._commands(word)
        elif scan.arguments and not word.quote:
            found = self._known_to_bash(scan, word)
        if not found and (not word.first or "/" in word.text):
            found = self._files(word, only_directories=scan.arguments[:1] in _DIRECTORIES)
        if not found and word.quote == "'":  # an apostrophe of a sentence, perhaps
            last = text.rpartition(" ")[2]
            found = self._files(TypedWord(0, len(last), last))
        return found[:MOST_OFFERED]

    def file_argument(self, typed: str) -> list[Suggestion]:
        """Files for the last word of a colon command, which are not quoted there."""
        start = typed.rpartition(" ")[2]
        found = files(start, self._directory())
        return [(path + "/" * is_directory, len(start), "") for path, is_directory in found]

    def _commands(self, word: TypedWord) -> list[Suggestion]:
        if not word.text:
            return []  # everything there is would be no help
        length = word.end - word.start
        return [(f"{name} ", length, "") for name in sorted(set(self._names())) if name.startswith(word.text)]

    def _known_to_bash(self, scan: Scan, word: TypedWord) -> list[Suggestion]:
        """What completion functions offer. They answer for the part after the last `=` or `:`, as readline wants it."""
        words = break_words(scan.arguments)
        part = "" if words[-1].strip("=:") == "" else words[-1]
        if words[-1] and not part:
            words.append("")
        if word.end - word.start != len(word.text):
            return []  # something in it is quoted, and who reads it would have to know how
        offered = [one.rstrip() for one in self._options(words, self._directory())]
        return [
            (quoted(one) + ("" if one[-1] in "=/:" else " "), len(part), "")
            for one in offered
            if one.startswith(part) and one != part
        ]

    def _files(self, word: TypedWord, *, only_directories: bool = False) -> list[Suggestion]:
        """Files for the word, or for what stands after its `=`, as in `--file=NAME`."""
        length = word.end - word.start
        simple = length == len(word.text)  # without quotes
        typed = word.text.rpartition("=")[2] if simple else word.text
        home = simple and typed.startswith("~") and "/" in typed
        found = files(typed, self._directory(), only_directories=only_directories, expand=home)
        replaced = len(typed) if simple else length
        return [(_as_typed(path, is_directory, word.quote, home), replaced, "") for path, is_directory in found]


def _as_typed(path: str, is_directory: bool, quote: str, home: bool) -> str:
    """A path as it goes on the line: a directory ends in a slash, and a quote that is open stays open behind it."""
    head, rest = path.split("/", 1) if home else ("", path)
    if home:
        head += "/"
    elif path.startswith(("-", "~")):
        head = "./"  # or it would be read as an option or a home
    text = quoted(head + rest + "/" * is_directory, quote) if quote else head + quoted(rest + "/" * is_directory)
    if not is_directory:
        return f"{text} "
    return text[:-1] if quote and text.endswith(quote) else text
