"""Completions from the completion functions of bash, as bash-completion and other packages install them.

Typing the name of a program never runs it: completion functions that would call `NAME --help` are disabled.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from aish.action.completion_shell import Child, CompletionShell, is_harmless

_SCRIPT = r"""
ulimit -t 60
shopt -s extglob
__aish_seen= __aish_files=
__aish_guard() {
  local guess
  compopt() {
    local IFS=' '
    case " $* " in
      *" -o filenames "*) __aish_files=1 ;;
      *" +o filenames "*) __aish_files= ;;
    esac
  }
  for guess in _longopt _parse_help _parse_usage _comp_complete_longopt _comp_compgen_help _comp_compgen_usage; do
    eval "$guess() { return 1; }"
  done
}
for file in "$BASH_COMPLETION" {/usr,/usr/local,/opt/homebrew}/share/bash-completion/bash_completion \
    /etc/bash_completion; do
  if [[ -f $file ]]; then source "$file"; break; fi
done
__aish_guard
__aish_load() {
  if declare -F _comp_load; then _comp_load -- "$1" && return; fi
  if declare -F _completion_loader; then _completion_loader "$1"; return; fi
  local directory file
  for directory in "${XDG_DATA_HOME:-$HOME/.local/share}" /usr/local/share /usr/share; do
    for file in "$directory/bash-completion/completions/$1"{,.bash}; do
      if [[ -f $file ]]; then source "$file"; return; fi
    done
  done
}
__aish_answer() {
  local name=${COMP_WORDS[0]} current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} rule try
  for try in 1 2; do
    rule=$(complete -p -- "$name") || { __aish_load "$name"; rule=$(complete -p -- "$name") || return; }
    __aish_files=
    if [[ $rule == *" -o filenames "* ]]; then __aish_files=1; fi
    if [[ $rule == *" -F "* ]]; then
      rule=${rule##* -F }
      case $rule in _minimal*|_comp_complete_minimal*) return ;; esac  # files only, which we list better
      "${rule%% *}" "$name" "$current" "$previous"
      (($? == 124)) || return
    elif [[ $rule == *" -W "* && $rule != *" -C "* ]]; then
      rule=${rule#complete }
      mapfile -t COMPREPLY < <(eval "compgen ${rule% *} -- \"\$current\"")
      return
    fi
  done
}
while IFS= read -r -u @IN@ -d '' __aish_number && IFS= read -r -u @IN@ -d '' __aish_rules \
    && IFS= read -r -u @IN@ -d '' __aish_directory && IFS= read -r -u @IN@ -d '' COMP_LINE \
    && IFS= read -r -u @IN@ -d '' __aish_count; do
  COMP_WORDS=() COMPREPLY=() __aish_files=
  while ((${#COMP_WORDS[@]} < __aish_count)) && IFS= read -r -u @IN@ -d '' __aish_word; do
    COMP_WORDS+=("$__aish_word")
  done
  if [[ -n $__aish_rules && $__aish_rules != "$__aish_seen" ]]; then
    __aish_seen=$__aish_rules
    source "$__aish_rules" @IN@<&- @OUT@>&-
    __aish_guard
  fi
  COMP_CWORD=$((__aish_count - 1)) COMP_POINT=${#COMP_LINE} COMP_TYPE=9 COMP_KEY=9
  cd -- "$__aish_directory" && __aish_answer @IN@<&- @OUT@>&-
  printf '%s\0' "$__aish_number" "$((${#COMPREPLY[@]} + 1))" "$__aish_files" "${COMPREPLY[@]}" >&@OUT@
done
"""


class BashCompletion(CompletionShell):
    """A bash that computes completions. A path is never sent as a command: functions are registered by name."""

    def __init__(
        self,
        environment: Mapping[str, str] | None = None,
        *,
        rules: Callable[[], str] = str,
        seconds: float = 0.4,
        patience: float = 2.0,
    ) -> None:
        super().__init__(environment, rules=rules, seconds=seconds, patience=patience)

    def ask(self, words: Sequence[str], directory: str) -> list[str]:
        """Return bash's completions for the last of these words, without duplicates. A directory ends with a slash."""
        if len(words) < 2 or "/" in words[0] or not all(map(is_harmless, (*words, directory))):
            return []
        are_files, *found = self._request([directory, " ".join(words), str(len(words)), *words]) or [""]
        return list(dict.fromkeys(_with_slash(one, directory) if are_files else one for one in found))

    def _start(self) -> Child:
        program = self._program("bash")
        env = {name: value for name, value in self._environment.items() if name not in ("BASH_ENV", "ENV")}

        def command(reading: int, writing: int) -> list[str]:
            script = _SCRIPT.replace("@IN@", str(reading)).replace("@OUT@", str(writing))
            return [program, "--noprofile", "--norc", "-c", script]

        return Child.start(command, env)


def _with_slash(word: str, directory: str) -> str:
    path = Path(directory, os.path.expanduser(word))  # noqa: PTH111  # keeps an unknown `~user` unchanged
    return f"{word}/" if not word.endswith("/") and path.is_dir() else word
