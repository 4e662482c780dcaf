"""The protocol between aish and the user's shell: its startup file, how it gets a line, and marks in its output.

The shell reads our requests from a pipe, so that keys typed for a program are never read as a command. Every command
gets the terminal as its input. The user's line itself is in a file: on Ctrl-C a shell discards the part of a line that
it has read and runs the rest, and the rest of our fixed requests is harmless. Marks in the output report when a command
begins, and when it ended, with its status and directory. Pure: text in, text and bytes out.
"""

import re
from typing import NamedTuple

_BASH = r"""
__aish_status() { return "$1"; }
__aish_get() {
    local __aish_text=
    { IFS= read -r -d '' __aish_text; IFS= read -r -d '' __aish_line; } <'@LINE@'
    [ -z "$__aish_text" ] || __aish_keep "$__aish_text"
    builtin printf '\e]6973;@TOKEN@;C;%s\a' "$1" >'@TTY@'
    [ -z "$__aish_traced" ] || set -x
    return "$2"
}
__aish_keep() {
    case ${HISTCONTROL-} in *ignorespace*|*ignoreboth*) [ "${1# }" = "$1" ] || return 0 ;; esac
    builtin history -s -- "$1"
    [ -z "${HISTFILE-}" ] || builtin history -a
}
__aish_plain() {
    if [ -n "${PROMPT_COMMAND+set}" ]; then __aish_hooks=("${PROMPT_COMMAND[@]}"); unset PROMPT_COMMAND; fi
    declare -g PS1= PS2=
}
__aish_tidy() {
    local __aish_was=$?
    __aish_plain
    __aish_line=
    case $- in *x*) __aish_traced=1; set +x ;; *) __aish_traced= ;; esac
    return "$__aish_was"
}
__aish_end() {
    local __aish_was=$? __aish_one
    __aish_plain
    if [ "$__aish_said" != "$1" ]; then
        __aish_said=$1
        for __aish_one in "${__aish_hooks[@]}"; do
            __aish_status "$__aish_was"
            eval "$__aish_one"
        done </dev/null >'@TTY@' 2>&1
        __aish_plain
    fi
    local LC_ALL=C
    builtin printf '\e]6973;@TOKEN@;D;%s;%s;%s;%s\a' "$1" "$__aish_was" "${#PWD}" "$PWD" >'@TTY@'
    return "$__aish_was"
}
__aish_words() { { builtin printf '%s\n' "$PATH"; alias -p; echo; echo --; compgen -A function; } >|"$1"; }
readonly -f __aish_status __aish_get __aish_keep __aish_plain __aish_tidy __aish_end __aish_words
__aish_hooks=() __aish_said= __aish_line=
bind() { :; }
for __aish_file in ~/.bashrc; do
    [ ! -r "$__aish_file" ] || . "$__aish_file"
done <'@TTY@'
{
    unset -f bind; unset __aish_file
    set +o history
    shopt -s expand_aliases
    [ ! -r "${HISTFILE-}" ] || builtin history -r
    __aish_tidy
} 2>/dev/null
"""
_ZSH = r"""
if [ -n "${__aish_home-}" ]; then ZDOTDIR=$__aish_home; else unset ZDOTDIR; fi
unset __aish_home
__aish_status() { return "$1"; }
__aish_get() {
    local __aish_text=
    { IFS= read -r -d '' __aish_text; IFS= read -r -d '' __aish_line; } <'@LINE@'
    [ -z "$__aish_text" ] || __aish_keep "$__aish_text"
    builtin printf '\e]6973;@TOKEN@;C;%s\a' "$1" >'@TTY@'
    [ -z "$__aish_traced" ] || set -x
    return "$2"
}
__aish_keep() {
    if [[ -n $__aish_spaces && $1 = ' '* ]]; then return; fi
    builtin print -rs -- "$1"
    [ -z "${HISTFILE-}" ] || builtin fc -AI
}
__aish_plain() {
    emulate -L zsh
    if (( ${+functions[precmd]} )); then
        functions -c precmd __aish_precmd; unfunction precmd
        __aish_hooks=(__aish_precmd ${__aish_hooks:#__aish_precmd})
    fi
    if (( ${#precmd_functions} )); then __aish_hooks+=($precmd_functions); precmd_functions=(); fi
    preexec_functions=(); (( ! ${+functions[preexec]} )) || unfunction preexec
    PS1= PS2= RPS1=
}
__aish_tidy() {
    local __aish_was=$?
    __aish_plain
    __aish_line=
    if [[ -o xtrace ]]; then __aish_traced=1; unsetopt xtrace; else __aish_traced=; fi
    return "$__aish_was"
}
__aish_end() {
    local __aish_was=$? __aish_one
    __aish_plain
    if [ "$__aish_said" != "$1" ]; then
        __aish_said=$1
        for __aish_one in "${__aish_hooks[@]}"; do
            __aish_status "$__aish_was"
            "$__aish_one"
        done </dev/null >'@TTY@' 2>&1
        __aish_plain
    fi
    local LC_ALL=C
    builtin printf '\e]6973;@TOKEN@;D;%s;%s;%s;%s\a' "$1" "$__aish_was" "${#PWD}" "$PWD" >'@TTY@'
    return "$__aish_was"
}
__aish_words() { { builtin printf '%s\n' "$PATH"; alias; echo; echo --
    print -l -- ${(k)functions} ${(k)builtins}; } >|"$1"; }
typeset -aU __aish_hooks
__aish_said= __aish_line=
for __aish_file in .zshenv .zshrc; do
    [ ! -r "${ZDOTDIR:-$HOME}/$__aish_file" ] || . "${ZDOTDIR:-$HOME}/$__aish_file"
done <'@TTY@'
{
    unset __aish_file
    unsetopt zle prompt_cr prompt_sp
    if [[ -o hist_ignore_space ]]; then __aish_spaces=1; else __aish_spaces=; fi
    setopt aliases monitor interactive_comments hist_ignore_space
    __aish_tidy
} 2>/dev/null
"""
TELL_HISTORY = "builtin printf '%s\\0' " + " ".join(
    f'"${{{{{name}-}}}}"' for name in ("HISTCONTROL", "HISTIGNORE", "HISTORY_IGNORE", "HISTFILE")
)
TELL_HISTORY += " >|{}"  # the file for the answer
_USERS_FILES = r"(?s)for __aish_file in .*?\ndone <\S+\n"
_DEFINES = r"alias|function|\(\s*\)|\bsource\b|(^|[;&|(\s])\.\s|\beval\b|\bunset\b|\bautoload\b|\bcomplete\b|\bPATH\b"


class Begin(NamedTuple):
    """The mark printed before a command runs."""

    number: int


class End(NamedTuple):
    """The mark printed after a command, with its status and directory."""

    number: int
    status: int
    directory: str


Mark = Begin | End


def start_file(kind: str, *, token: str, tty: str, line: str, users_files: bool = True) -> str:
    """Return the startup file: it loads the user's own files, then our hooks."""
    text = _ZSH if kind == "zsh" else _BASH
    text = text if users_files else re.sub(_USERS_FILES, "", text)
    return text.replace("@TOKEN@", token).replace("@TTY@", tty).replace("@LINE@", line.replace("'", r"'\''"))


def line_file(line: str, remembered: str) -> bytes:
    """Return the file with the line to run and the text for the shell history; an empty text adds nothing to it."""
    return b"%s\0%s\0" % (_bytes(remembered), _bytes(line))


def run_line(number: int, *, tty: str, status: int) -> str:
    """Return the request to run the line in the file as if it had been typed, with `$?` unchanged.

    The end mark is on a separate line, because Ctrl-C discards the rest of the first line, and there twice, because a
    second Ctrl-C may discard one. bash misreads the line after an unclosed quote, so an empty line follows the first.
    Leading spaces keep our requests out of the zsh history.
    """
    get, tidy = f" {{ __aish_get {number} {status}; }} 2>/dev/null", "{ __aish_tidy; } 2>/dev/null"
    return f'{get}; eval -- "$__aish_line" <{tty}; {tidy}\n\n{say_end(number)}{say_end(number)}'


def say_end(number: int, before: str = "") -> str:
    """Return the request to run `before`, which is ours, and print the end mark."""
    return f" {{ {before}{'; ' if before else ''}__aish_end {number}; }} 2>/dev/null\n"


def quoted(text: str) -> str:
    """Quote a text as one shell word of printable ASCII."""
    escaped = re.sub(rb"[^ !-&(-\[\]-~]", lambda match: b"\\x%02x" % match[0][0], _bytes(text))
    return f"$'{escaped.decode('ascii')}'"


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape").replace(b"\0", b"")


def may_define(line: str) -> bool:
    """Could this line define aliases, functions or a new PATH?"""
    return re.search(_DEFINES, line[:100_000]) is not None


class Marks:
    """Finds our marks in the output of the shell, also when they are split between reads."""

    def __init__(self, token: str) -> None:
        self._start = f"\x1b]6973;{token};".encode()
        self._rest = b""

    def read(self, data: bytes) -> list[bytes | Mark]:
        """Return the output and the marks, in order."""
        data, self._rest = self._rest + data, b""
        found: list[bytes | Mark] = []
        while True:
            before, start, after = data.partition(self._start)
            if not start:
                place = len(data) - _held_back(data, self._start)
                data, self._rest = data[:place], data[place:]
                return [*found, data] if data else found
            found += [before] if before else []
            mark, size = _read_mark(after)
            if mark is None:  # incomplete
                self._rest = start + after
                return found
            found.append(mark)
            data = after[size:]


def _held_back(data: bytes, mark: bytes) -> int:
    """Return how many bytes at the end could be the start of a mark."""
    place = data.rfind(b"\x1b", max(0, len(data) - len(mark)))
    return len(data) - place if place >= 0 and mark.startswith(data[place:]) else 0


def _read_mark(data: bytes) -> tuple[Mark | None, int]:
    """Parse a mark after its start sequence; return it and its length."""
    if begin := re.match(rb"C;(\d+)\x07", data):
        return Begin(int(begin[1])), begin.end()
    match = re.match(rb"D;(\d+);(\d+);(\d+);", data)
    if match is None:
        return None, 0
    start, size = match.end(), int(match[3])
    end = start
    for _ in range(size):
        end += 2 if data[end : end + 2] == b"\r\n" else 1  # the terminal turns a newline into two bytes
    if end >= len(data):
        return None, 0
    name = data[start:end].replace(b"\r\n", b"\n").decode("utf-8", "surrogateescape")
    return End(int(match[1]), int(match[2]), name), end + 1
