"""aish as `$SHELL`: `-c`, `-s`, scripts and logins go to the user's own shell, before anything else is loaded.

chsh, ssh, sudo, tmux, git and editors start `$SHELL` in these ways and expect a shell that reads no question into them.
"""

import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from aish.places import find_places

_SHELLS = ("bash", "zsh")
_OURS = ("-p", "-V", "-h")  # they mean something else to aish
_VALUED = ("-o", "+o", "-O", "+O", "--rcfile", "--init-file")
_KNOWN = ("--login", "--norc", "--noprofile", "--posix", "--no-rcs")
_SCRIPTS = (".sh", ".bash", ".zsh")
_LOGINS = ("login", "sshd", "sshd-session", "su", "sudo")  # programs that start a login shell
_SUDO_VALUED = "ugpCrtTUDRh"  # options of sudo with a value
_LONGEST_LINE = 256  # bytes of a first line that are read


def replace_process(arguments: Sequence[str]) -> int | None:
    """Run the user's own shell in this process if these arguments are for it. Return a status if that failed."""
    parent = parent_command()
    if not is_for_shell(arguments, piped=not os.isatty(0), parent=_name(parent)):
        return None
    shell = choose_shell(wanted_shell(os.environ))
    by_name = _name(parent) in ("su", "sudo")  # the others start a command without the files of a login
    login = ["-l"] if is_login(os.environ, parent) and (by_name or not arguments) else []
    try:
        os.execvp(shell, [shell, *login, *arguments])
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        print(f"aish: cannot start {shell}: {reason}", file=sys.stderr)
        return 127


def is_for_shell(arguments: Sequence[str], *, piped: bool, parent: str) -> bool:
    """Are these arguments for a shell: `-c COMMAND`, `-s`, a script, or the input of a login without a terminal?"""
    if not arguments:
        return piped and parent in _LOGINS
    if piped and {"-l", "--login"}.intersection(arguments) and {"-l", "--login", "-i"}.issuperset(arguments):
        return True
    return _has_command(arguments) or _is_script(arguments[0], arguments[1:])


def _has_command(arguments: Sequence[str]) -> bool:
    """Is there a `-c` or `-s` among the first options, as in `-lc` or `-o pipefail -c`?"""
    words = iter(arguments)
    for word in words:
        if word in _VALUED:
            next(words, "")
        elif word in _KNOWN:
            continue
        elif word in _OURS or not re.fullmatch(r"[-+][a-zA-Z]+", word):
            return False
        elif "c" in word or "s" in word:
            return word.startswith("-")
    return False


def _is_script(name: str, others: Sequence[str]) -> bool:
    """Does this name a shell script? A name without a slash needs a suffix, and no word after it may end with `?`."""
    path = Path(name)
    if not ("/" in name or path.suffix in _SCRIPTS) or any(word.endswith("?") for word in others):
        return False
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            first = file.readline(_LONGEST_LINE)
    except (OSError, ValueError):
        return False
    return path.suffix in _SCRIPTS or re.match(rb"#!.*\b(ba|z|ai|da|k)?sh\b", first) is not None


def is_login(env: Mapping[str, str], parent: Sequence[str]) -> bool:
    """Was aish started as login shell? It cannot see the `-` before its name that tells other shells.

    `parent` is the command of the program that started it, whose options say what su and sudo were asked for.
    """
    name, words = _name(parent), list(parent[1:])
    if name == "su" and words:
        return any(word == "--login" or re.fullmatch(r"-|-[a-zA-Z]*l[a-zA-Z]*", word) for word in words)
    if name == "sudo" and words:
        return "i" in _sudo_options(words)
    return "SHLVL" not in env and name in _LOGINS


def _sudo_options(words: Sequence[str]) -> str:
    """Return the letters of the options before the command."""
    found, rest = "", iter(words)
    for word in rest:
        if not word.startswith("-") or word == "--":
            break
        if word.startswith("--"):
            found += "i" if word == "--login" else ""
            continue
        for place, letter in enumerate(word[1:], start=2):
            found += letter
            if letter in _SUDO_VALUED:
                if place == len(word):
                    next(rest, "")
                break
    return found


def parent_command() -> list[str]:
    """Return the command of the program that started us, or its name alone; empty if the system does not tell."""
    folder = Path(f"/proc/{os.getppid()}")
    try:
        name = (folder / "comm").read_text(encoding="utf-8", errors="replace").strip()
        words = (folder / "cmdline").read_text(encoding="utf-8", errors="replace").split("\0")
    except OSError:
        return []
    return [name, *words[1:-1]]


def _name(command: Sequence[str]) -> str:
    return command[0] if command else ""


def wanted_shell(env: Mapping[str, str]) -> str:
    """Return the setting `commands.shell` without loading the settings; a value that is not plain is ignored."""
    if value := env.get("AISH_SET_COMMANDS__SHELL"):
        return value
    try:
        text = find_places(env).config_file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    table = re.search(r"(?ms)^[ \t]*\[commands\][ \t]*(?:#[^\n]*)?$(.*?)(?=^[ \t]*\[|\Z)", text)
    found = re.search(r"""(?m)^[ \t]*shell[ \t]*=[ \t]*["']([^"'\\\n]*)["']""", table[1]) if table else None
    return found[1] if found else ""


def choose_shell(wanted: str) -> str:
    """Return the shell from the settings or from $SHELL if it is supported, else bash."""
    named = os.path.expanduser(wanted) if wanted else os.environ.get("SHELL", "")  # noqa: PTH111  # keeps an unknown `~user` unchanged
    return named if Path(named).name in _SHELLS else "bash"
