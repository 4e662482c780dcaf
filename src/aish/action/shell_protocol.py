"""The protocol between aish and the user's shell: how it gets a line, and marks in its output.

The shell reads our requests from a pipe, so that keys typed for a program are never read as a command. Every command
gets the terminal as its input. The user's line itself is in a file: on Ctrl-C a shell discards the part of a line that
it has read and runs the rest, and the rest of our fixed requests is harmless. Marks in the output report when a command
begins, and when it ended, with its status and directory. Pure: text in, text and bytes out.
"""

import re

from aish.action.shell_startup import STORE_TRAPS
from aish.values.named_tuple import NamedTuple

TELL_HISTORY = "builtin printf '%s\\0' " + " ".join(
    f'"${{{{{name}-}}}}"' for name in ("HISTCONTROL", "HISTIGNORE", "HISTORY_IGNORE", "HISTFILE")
)
TELL_HISTORY += " >|{}"  # the file for the answer
_PIPE = {"bash": "PIPESTATUS", "zsh": "pipestatus"}
_STORE = 'builtin eval "$__aish_store"'  # short, because shells read a pipe byte by byte
_ECHO = b"{ __aish_"  # how all our requests begin, after a space
_STARTS_FILES = r"\bsource\b|(^|[;&|(\s])\.\s"
_DEFINES = rf"alias|function|\(\s*\)|{_STARTS_FILES}|\beval\b|\bunset\b|\bautoload\b|\bcomplete\b|\bPATH\b"
_RULES = rf"{_DEFINES}|compdef|zstyle|fpath|\bexport\b"
_PROMPTS = rf"PS[01]|PROMPT|precmd|preexec|add-zsh-hook|\beval\b|{_STARTS_FILES}"
_ENDS_ON_ERRORS = rf"(?i)err_?exit|\bset\s+-\w*e|{_STARTS_FILES}"


class Begin(NamedTuple):
    """The mark printed before a command runs."""

    number: int


class End(NamedTuple):
    """The mark printed after a command, with its status and directory."""

    number: int
    status: int
    directory: str
    pipe: tuple[int, ...] = (0,)  # the status of each part of the last pipeline
    flags: str = ""  # options: x, v, u, e; t: traps are set; i, m: vi or emacs keys were chosen


class Before(NamedTuple):
    """What the line before has left to the next one."""

    status: int = 0
    pipe: tuple[int, ...] = (0,)
    flags: str = ""


NOTHING_BEFORE = Before()
Mark = Begin | End


def line_file(
    line: str,
    remembered: str,
    before: Before = NOTHING_BEFORE,
    functions: frozenset[str] = frozenset(),
    *,
    kind: str = "bash",
) -> bytes:
    """Return the file with the text for the shell history, what runs before the line, the line, and what runs after it.

    An empty text for the history adds nothing to it.
    """
    fields = (remembered, _first(line, before, functions, kind), line, _after(line, before, kind))
    return b"".join(b"%s\0" % _bytes(field) for field in fields)


def _first(line: str, before: Before, functions: frozenset[str], kind: str) -> str:
    """Return the text that restores options, traps, `$_`, `$?` and PIPESTATUS before the line.

    The prompt and its hooks are restored only for a line that may use them: after Ctrl-C the shell would show them.
    """
    stops = "e" in before.flags
    shown = re.search(_PROMPTS, line[:100_000]) or not functions.isdisjoint(line.split())
    flags = "-p" if shown else "-"
    replayed = ""
    if stops:  # a failing command would end the shell here
        replayed = "; ! :" if before.status else ""
    elif len(before.pipe) > 1 and (not before.status or "t" not in before.flags):  # a trap for errors would run
        replayed = "; " + " | ".join(f"__aish_status {status}" for status in before.pipe)
    status = 0 if stops else before.status
    traced = "setopt xtrace; " if kind == "zsh" and "x" in before.flags else ""
    return f'{{ {traced}__aish_on {flags} {status} "$__aish_last"{replayed}; }} >/dev/null 2>&1\n'


def _after(line: str, before: Before, kind: str) -> str:
    """Return the text that stores `$_`, `$?`, PIPESTATUS and traps; empty if it would become part of the line."""
    if line.endswith("\\") or line.count("${") > line.count("}") or re.search(r"(?<!<)<<(?!<)", line):
        return ""
    off, store = f'__aish_off "$_" "${{{_PIPE[kind]}[@]}}"', STORE_TRAPS[kind]
    if kind == "zsh" and "x" not in before.flags and not re.search(r"xtrace|set\s+-\w*x", line):
        return f"\n {off} >/dev/null 2>&1; {{ {store}; }} >/dev/null 2>&1"  # zsh has no `$_` in braces
    return f"\n {{ {off}; {store}; }} >/dev/null 2>&1"


def edited_in_files(line: str, files: str) -> str:
    """Replace `set -o vi` and the like by files that do it, because bash crashes when `eval` does it."""

    def replaced(match: re.Match[str]) -> str:
        return f"{match[1]}. {quoted(files)}/{match[3] if match[2] == '-' else 'editing'}"

    return re.sub(r"""\A([^'"`\\<#]*?(?<![^\s;&|(]))set[ \t]+([-+])o[ \t]+(vi|emacs)(?![^\s;&|)])""", replaced, line)


def leaving(line: str) -> str:
    """Replace `logout`: a bash that is started with a file of ours is no login shell to itself."""
    return re.sub(r"\A(\s*)logout(?=\s*[\d$]|\s*\Z)", r"\1exit", line)


def may_stop(line: str, before: Before) -> bool:
    """Could this line run with `set -e`? Then a failure ends the line, and must not end the shell."""
    return "e" in before.flags or re.search(_ENDS_ON_ERRORS, line[:100_000]) is not None


def names_exit(line: str) -> bool:
    """Does this line contain a command that ends the shell?"""
    return re.search(r"\b(exit|logout|exec|bye)\b", line[:100_000]) is not None


def run_line(number: int, *, tty: str, stops: bool = False) -> str:
    """Return the request to run the line in the file as if it had been typed.

    The end mark is on a separate line, because Ctrl-C discards the rest of the first line, and there twice, because a
    second Ctrl-C may discard one. bash misreads the line after an unclosed quote, so an empty line follows the first.
    Leading spaces keep our requests out of the zsh history.
    """
    get = f" {_ECHO.decode()}get {number} {'-e' if stops else '-'}; }} 2>/dev/null"
    tidy = f"{{ __aish_tidy || {_STORE}; }} >/dev/null 2>&1"
    return f'{get}; builtin eval "$__aish_text" <{tty}; {tidy}\n\n{say_end(number)}{say_end(number)}'


def say_end(number: int) -> str:
    """Return the request to end a line: run the hooks of the prompt once, and print the end mark.

    bash runs them outside of all functions, because bash-preexec does nothing inside one.
    """
    return f' {_ECHO.decode()}end {number}; builtin eval "$__aish_then"; }} 2>/dev/null\n'


def answer(number: int, command: str) -> str:
    """Return the request to run a command of ours and print the end mark."""
    return f" {_ECHO.decode()}status 0; {command}; __aish_mark {number}; }} 2>/dev/null\n"


def tell_rules(file: str) -> str:
    """Return the request to write the rules and functions for completion into a file. There is no end mark."""
    return f" {_ECHO.decode()}rules {quoted(file)}; }} 2>/dev/null\n"


def quoted(text: str) -> str:
    """Quote a text as one shell word of printable ASCII."""
    escaped = re.sub(rb"[^ !-&(-\[\]-~]", lambda match: b"\\x%02x" % match[0][0], _bytes(text))
    return f"$'{escaped.decode('ascii')}'"


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape").replace(b"\0", b"")


def may_define(line: str) -> bool:
    """Could this line define aliases, functions or a new PATH?"""
    return re.search(_DEFINES, line[:100_000]) is not None


def may_change_rules(line: str) -> bool:
    """Could this line change how words complete?"""
    return re.search(_RULES, line[:100_000]) is not None


class Marks:
    """Finds our marks in the output of the shell, also when they are split between reads."""

    def __init__(self, token: str) -> None:
        self._start = f"\x1b]6973;{token};".encode()
        self._rest = b""

    def read(self, data: bytes) -> list[bytes | Mark]:
        """Return the output and the marks, in order. Requests that the shell repeats (`set -v`) are left out."""
        data, self._rest = self._rest + data, b""
        found: list[bytes | Mark] = []
        while True:
            place = min((at for at in (data.find(self._start), data.find(_ECHO)) if at >= 0), default=-1)
            if place < 0:
                place = len(data) - max(_held_back(data, self._start, b"\x1b"), _held_back(data, _ECHO, b"{"))
                data, self._rest = data[:place], data[place:]
                return [*found, data] if data else found
            echo = data.startswith(_ECHO, place)
            before = data[:place].removesuffix(b" ") if echo else data[:place]
            found += [before] if before else []
            data = data[place:]
            if echo:
                mark, size = None, data.find(b"\n") + 1
            else:
                mark, size = _read_mark(data[len(self._start) :])
                size += len(self._start) if size else 0
            if not size:  # incomplete
                self._rest = data
                return found
            found += [mark] if mark else []
            data = data[size:]


def _held_back(data: bytes, mark: bytes, first: bytes) -> int:
    """Return how many bytes at the end could be the start of a mark, which has its first byte only there."""
    place = data.rfind(first, max(0, len(data) - len(mark)))
    while place >= 0 and not mark.startswith(data[place:]):
        place = data.find(first, place + 1)
    return len(data) - place if place >= 0 else 0


def _read_mark(data: bytes) -> tuple[Mark | None, int]:
    """Parse a mark after its start sequence; return it and its length."""
    if begin := re.match(rb"C;(\d+)\x07", data):
        return Begin(int(begin[1])), begin.end()
    match = re.match(rb"D;(\d+);(\d+);([\d|]+);(\w*);(\d+);", data)
    if match is None:
        return None, 0
    start, size = match.end(), int(match[5])
    end = start
    for _ in range(size):
        end += 2 if data[end : end + 2] == b"\r\n" else 1  # the terminal turns a newline into two bytes
    if end >= len(data):
        return None, 0
    name = data[start:end].replace(b"\r\n", b"\n").decode("utf-8", "surrogateescape")
    pipe = tuple(int(part) for part in match[3].split(b"|") if part)
    return End(int(match[1]), int(match[2]), name, pipe, match[4].decode("ascii")), end + 1
