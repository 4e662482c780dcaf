"""Completions from the completion system of zsh, with the descriptions that it shows.

It works only inside zsh's line editor. So the child is an interactive zsh with a terminal that nobody sees: our request
arrives on a pipe that its editor watches, becomes its line, and the completion widget runs. A function in place of
`compadd` notes what is offered. Nothing is ever accepted in that line, so it never runs.
"""

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from aish.action.completion_shell import Child, CompletionShell, is_harmless
from aish.values.named_tuple import NamedTuple

_SEPARATOR = "\x1f"  # between a word and its description
_COLUMNS = "400"  # zsh cuts descriptions at the width of its terminal
_SCRIPT = r"""
unsetopt prompt_cr prompt_sp beep monitor
PS1= PS2= RPS1= COLUMNS=@COLUMNS@
unset HISTFILE
ulimit -t 60
typeset -a __aish_found
typeset __aish_seen= __aish_known=
__aish_begin() {
    if (( ! ${+_comps} )) || [[ $__aish_known != "$*" ]]; then
        __aish_known="$*"
        autoload -Uz compinit
        if [[ -r $1 ]]; then compinit -C -d "$1"; else compinit -i -D; fi
    fi
}
__aish_read() { setopt localoptions no_aliases; . "$1"; }
__aish_set() {
    _gnu_generic() { return 1; }
    compadd() { __aish_compadd "$@"; }
    zstyle ':completion:*' completer _complete _ignored
    zstyle ':completion:*' list-separator $'\x1f'
    zstyle ':completion:*' list-grouped false
    zstyle ':completion:*' verbose true
    zstyle ':completion:*' format
    zle -C __aish_complete complete-word __aish_complete
}
__aish_compadd() {
    local -a __aish_hits __aish_hints
    local -A __aish_with
    local __aish_word __aish_letter __aish_flags= __aish_open=
    local -i __aish_at=1 __aish_place
    while (( __aish_at <= $# )); do
        __aish_word=${argv[__aish_at]}
        [[ $__aish_word = -?* && $__aish_word != -- ]] || break
        for (( __aish_place = 2; __aish_place <= $#__aish_word; __aish_place++ )); do
            __aish_letter=${__aish_word[__aish_place]}
            __aish_flags+=$__aish_letter
            if [[ $__aish_letter = [PSpsiIWdJXxVrRDOAEMF] ]]; then
                if (( __aish_place < $#__aish_word )); then
                    __aish_with[$__aish_letter]=${__aish_word[__aish_place+1,-1]}
                else
                    (( __aish_at++ ))
                    __aish_with[$__aish_letter]=${argv[__aish_at]-}
                fi
                break
            fi
        done
        (( __aish_at++ ))
    done
    if (( ! ${+__aish_with[O]} && ! ${+__aish_with[A]} && ! ${+__aish_with[D]} )); then
        case ${__aish_with[d]-} in
            '') ;;
            \(*) eval "__aish_hints=${__aish_with[d]}" ;;
            *) __aish_hints=("${(@P)__aish_with[d]}") ;;
        esac
        builtin compadd -A __aish_hits -D __aish_hints "$@"
        for (( __aish_at = 1; __aish_at <= $#__aish_hits; __aish_at++ )); do
            __aish_word=$IPREFIX${__aish_with[i]-}${__aish_with[P]-}${__aish_with[p]-}${__aish_hits[__aish_at]}
            __aish_word+=${__aish_with[s]-}${__aish_with[S]-}${__aish_with[I]-}$ISUFFIX
            __aish_found+=("$__aish_flags" "$__aish_word" "${__aish_hints[__aish_at]-}")
        done
    fi
    builtin compadd "$@"
}
__aish_complete() {
    if (( ${+_comps[${words[1]-}]} )); then _main_complete; else __aish_found=(unknown); fi
    compstate[insert]= compstate[list]=
}
__aish_answer() {
    local __aish_number __aish_rules __aish_directory __aish_path __aish_line
    IFS= read -r -u @IN@ -d '' __aish_number && IFS= read -r -u @IN@ -d '' __aish_rules \
        && IFS= read -r -u @IN@ -d '' __aish_directory && IFS= read -r -u @IN@ -d '' __aish_path \
        && IFS= read -r -u @IN@ -d '' __aish_line || exit
    {
        if [[ -n $__aish_rules && $__aish_rules != $__aish_seen ]]; then
            __aish_seen=$__aish_rules
            __aish_read "$__aish_rules"
            __aish_set
        elif (( ! ${+_comps} )); then
            __aish_begin
            __aish_set
        fi
        [[ -z $__aish_path ]] || PATH=$__aish_path
        __aish_found=()
        if builtin cd -q -- "$__aish_directory"; then
            BUFFER=$__aish_line CURSOR=$#__aish_line
            zle __aish_complete
            BUFFER=
        fi
    } </dev/null >/dev/null 2>&1
    printf '%s\0' "$__aish_number" "$#__aish_found" "${__aish_found[@]}" >&@OUT@
}
zle -N __aish_answer
zle -F -w @IN@ __aish_answer
"""


class Offer(NamedTuple):
    """A word that zsh offers in place of the typed one, as it is inserted."""

    word: str
    hint: str = ""


class ZshCompletion(CompletionShell):
    """A zsh that computes completions. A path is never sent as a command, and `NAME --help` is never called."""

    def __init__(
        self,
        program: str = "zsh",
        environment: Mapping[str, str] | None = None,
        *,
        rules: Callable[[], str] = str,
        path: Callable[[], str] = str,
        seconds: float = 1.5,
        patience: float = 3.0,
    ) -> None:
        super().__init__(environment, rules=rules, seconds=seconds, patience=patience)
        self._name, self._path = program, path

    def ask(self, line: str, directory: str) -> list[Offer] | None:
        """Return what zsh offers for the last word of a simple command; None if it does not know the command."""
        first = line.split(" ", 1)[0]
        if not first or first == line or "/" in first or not all(map(is_harmless, (line, directory))):
            return None
        found = self._request([directory, self._path(), line])
        if found is None or len(found) % 3:
            return None
        offers: dict[str, Offer] = {}
        for flags, word, shown in zip(found[::3], found[1::3], found[2::3], strict=True):
            offer = Offer(_inserted(flags, word, directory), _hint(word, shown))
            if word.isprintable() and (offer.hint or offer.word not in offers):
                offers[offer.word] = offer
        return list(offers.values())

    def _start(self) -> Child:
        program, numbers = self._program(self._name), dict[str, str]()

        def command(reading: int, writing: int) -> list[str]:
            numbers.update(IN=str(reading), OUT=str(writing), COLUMNS=_COLUMNS)
            return [program, "-f", "-i"]

        env = {**self._environment, "TERM": "dumb"}
        child = Child.start(command, {name: env[name] for name in env if name != "ENV"}, on_screen=True)
        script = re.sub(r"@(IN|OUT|COLUMNS)@", lambda match: numbers[match[1]], _SCRIPT)
        os.write(child.requests, script.encode() + b"\0")
        os.write(child.screen, f" IFS= read -r -d '' -u {numbers['IN']} s && eval $s\n".encode())
        return child


def _inserted(flags: str, word: str, directory: str) -> str:
    """Return a word as it is inserted: quoted, and with a space or a slash after it if it is finished."""
    plain = re.sub(r"\\(.)", r"\1", word)
    if "f" in flags and not word.endswith("/") and Path(directory, os.path.expanduser(plain)).is_dir():  # noqa: PTH111
        return f"{word}/"
    return word if "S" in flags else f"{word} "


def _hint(word: str, shown: str) -> str:
    """Return what zsh shows for a word besides the word itself."""
    _, separator, description = shown.partition(_SEPARATOR)
    return description.strip() if separator else shown.strip() if shown.strip() != word else ""
