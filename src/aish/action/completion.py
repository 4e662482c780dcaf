"""Completions from the machine: files, programs, and the results of bash's completion functions.

Typing the name of a program never runs it: completion functions that would call `NAME --help` are disabled.
"""

import atexit
import os
import select
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

MOST_FILES = 2000  # more than a user would look through
_PATIENCE = 2.0  # seconds after which a completion function counts as stuck

# The child reads numbered requests. Its answer is the number, a count and the words, each followed by NUL.
_SCRIPT = r"""
exec 4<&0 3>&1 </dev/null >/dev/null
ulimit -t 60
compopt() { :; }
for file in "$BASH_COMPLETION" {/usr,/usr/local,/opt/homebrew}/share/bash-completion/bash_completion \
    /etc/bash_completion; do
  if [[ -f $file ]]; then source "$file"; break; fi
done
for guess in _longopt _parse_help _parse_usage _comp_complete_longopt _comp_compgen_help _comp_compgen_usage; do
  eval "$guess() { return 1; }"
done
load() {
  if declare -F _comp_load; then _comp_load -- "$1" && return; fi
  if declare -F _completion_loader; then _completion_loader "$1"; return; fi
  local directory file
  for directory in "${XDG_DATA_HOME:-$HOME/.local/share}" /usr/local/share /usr/share; do
    for file in "$directory/bash-completion/completions/$1"{,.bash}; do
      if [[ -f $file ]]; then source "$file"; return; fi
    done
  done
}
answer() {
  local name=${COMP_WORDS[0]} current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} rule try
  for try in 1 2; do
    rule=$(complete -p -- "$name") || { load "$name"; rule=$(complete -p -- "$name") || return; }
    if [[ $rule == *" -F "* ]]; then
      rule=${rule##* -F }
      "${rule%% *}" "$name" "$current" "$previous"
      (($? == 124)) || return
    elif [[ $rule == *" -W "* && $rule != *" -C "* ]]; then
      rule=${rule#complete }
      mapfile -t COMPREPLY < <(eval "compgen ${rule% *} -- \"\$current\"")
      return
    fi
  done
}
while IFS= read -r -u 4 -d '' number && IFS= read -r -u 4 -d '' directory && IFS= read -r -u 4 -d '' COMP_LINE \
    && IFS= read -r -u 4 -d '' count; do
  COMP_WORDS=() COMPREPLY=()
  while ((${#COMP_WORDS[@]} < count)) && IFS= read -r -u 4 -d '' word; do COMP_WORDS+=("$word"); done
  COMP_CWORD=$((count - 1)) COMP_POINT=${#COMP_LINE} COMP_TYPE=9 COMP_KEY=9
  cd -- "$directory" && answer 3>&- 4<&-
  printf '%s\0' "$number" "${#COMPREPLY[@]}" "${COMPREPLY[@]}" >&3
done
"""


def files(typed: str, directory: str, *, only_directories: bool = False, expand: bool = True) -> list[tuple[str, bool]]:
    """Return the paths that start with the typed text, and whether each is a directory.

    Hidden files are included only after a typed dot.
    """
    head, slash, start = typed.rpartition("/")
    head += slash
    folder = os.path.join(directory, os.path.expanduser(head) if expand else head)  # noqa: PTH111, PTH118  # text stays text
    found = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.startswith(start) and (start or not entry.name.startswith(".")):
                    is_directory = _is_directory(entry)
                    if is_directory or not only_directories:
                        found.append((head + entry.name, is_directory))
                        if len(found) == MOST_FILES:
                            break
    except (OSError, ValueError):
        return []  # no such directory, no permission, a NUL in the name: nothing to offer
    return sorted(found)


def _is_directory(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def programs(path: str) -> list[str]:
    """Return the sorted names of all programs on a PATH. A directory is listed again when it has changed."""
    names: set[str] = set()
    for directory in path.split(os.pathsep):
        try:
            names |= _programs_in(directory, Path(directory).stat().st_mtime_ns) if directory else frozenset()
        except (OSError, ValueError):
            pass  # a PATH often names missing directories
    return sorted(names)


@lru_cache(maxsize=64)
def _programs_in(directory: str, changed: int) -> frozenset[str]:
    with os.scandir(directory) as entries:
        return frozenset(one.name for one in entries if os.access(one.path, os.X_OK) and not _is_directory(one))


class BashCompletion:
    """A long-running bash that computes completions. Thread-safe: requests are served one at a time.

    1. An answer arrives within `seconds` or is empty. A late answer is discarded, and a stuck child is killed.
    2. A word that bash would expand is never sent, because some completion functions evaluate their input.
    3. A path is never sent as a command: completion functions are registered by name.
    """

    def __init__(
        self, environment: Mapping[str, str] | None = None, *, seconds: float = 0.15, patience: float = _PATIENCE
    ) -> None:
        self._environment = dict(os.environ if environment is None else environment)
        self._seconds, self._patience = seconds, patience
        self._lock = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None
        self._number, self._waits_since = 0, 0.0
        self._unread = b""
        atexit.register(self.close)  # a hanging completion function would outlive this process

    def ask(self, words: Sequence[str], directory: str) -> list[str]:
        """Return bash's completions for the last of these words, without duplicates."""
        if len(words) < 2 or "/" in words[0] or not all(map(_harmless, (*words, directory))):
            return []
        deadline = time.monotonic() + self._seconds
        if not self._lock.acquire(timeout=self._seconds):
            return []
        try:
            return list(dict.fromkeys(self._ask(words, directory, deadline)))
        except OSError:
            self._end()  # bash has died or cannot start: the next request tries again
            return []
        finally:
            self._lock.release()

    def close(self) -> None:
        with self._lock:
            self._end()

    def _ask(self, words: Sequence[str], directory: str, deadline: float) -> list[str]:
        if self._waits_since and time.monotonic() - self._waits_since > self._patience:
            self._end()
        child = self._child = self._child or self._start()
        assert child.stdin and child.stdout  # both are pipes, see `_start`
        requests, answers = child.stdin.fileno(), child.stdout.fileno()
        self._number += 1
        fields = (str(self._number), directory, " ".join(words), str(len(words)), *words)
        if not select.select([], [requests], [], max(deadline - time.monotonic(), 0))[1]:
            return []
        os.write(requests, b"".join(os.fsencode(field) + b"\0" for field in fields))
        self._waits_since = self._waits_since or time.monotonic()
        while (left := deadline - time.monotonic()) > 0:
            if not select.select([answers], [], [], left)[0]:
                break
            piece = os.read(answers, 65536)
            if not piece:
                raise BrokenPipeError("bash has gone")
            self._unread += piece
            while (answer := self._whole_answer()) is not None:
                if answer[0] == self._number:
                    self._waits_since = 0.0
                    return answer[1]
        return []

    def _whole_answer(self) -> tuple[int, list[str]] | None:
        """Remove and return the next answer from the buffer, if it is complete."""
        number, count, *fields = [*self._unread.split(b"\0"), b"", b""]
        if not count or len(fields) - 3 < int(count):
            return None
        mine, rest = fields[: int(count)], fields[int(count) : -2]
        self._unread = b"\0".join(rest)
        return int(number), [os.fsdecode(word) for word in mine]

    def _start(self) -> subprocess.Popen[bytes]:
        bash = shutil.which("bash", path=self._environment.get("PATH"))
        if bash is None:
            raise FileNotFoundError("bash is not installed")
        return subprocess.Popen(
            [bash, "--noprofile", "--norc", "-c", _SCRIPT],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            env={name: value for name, value in self._environment.items() if name not in ("BASH_ENV", "ENV")},
            start_new_session=True,  # Ctrl-C must not reach it, and it must not read the terminal
        )

    def _end(self) -> None:
        child, self._child = self._child, None
        self._waits_since, self._unread = 0.0, b""
        if child:
            try:
                os.killpg(child.pid, signal.SIGKILL)  # including processes that a completion function started
            except ProcessLookupError:
                pass
            with child:  # waits for it, and closes the pipes
                pass


def _harmless(word: str) -> bool:
    return word.isprintable() and not any(letter in word for letter in "$`<>()")
