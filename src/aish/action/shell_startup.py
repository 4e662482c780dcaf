"""The startup file that aish gives to the user's shell: it loads the user's own files, then defines our functions.

The functions stay invisible. Between two lines nothing of the user's can act on them: options that trace or end the
shell, traps, prompts and prompt hooks are put away, and put back before the next line. `__aish_on` and `__aish_off` run
inside the text that is evaluated, directly before and after the user's line, because `$_`, PIPESTATUS and traps are
those of the line only there.

With `set -e`, a failure ends the line and not the shell: a trap for errors makes the shell skip the rest of the line.

Pure: text in, text out.
"""

import re

from aish.action.bash_startup import BASH
from aish.action.zsh_startup import ZSH

# Put away the traps that would run for our own commands. Not in a function, which does not see all of them.
STORE_TRAPS = {
    "bash": 'trap -p DEBUG ERR RETURN >>"$__aish_traps"; trap - DEBUG ERR RETURN',
    "zsh": 'unsetopt xtrace; trap >>|"$__aish_traps"; trap - DEBUG ZERR',  # functions cannot switch xtrace
}
# bash changes its own input when it switches the editor on or off, and crashes inside `eval`. A sourced file is safe.
EDITING = {"editing": "set +o vi; set +o emacs\n", "vi": "set -o vi\n", "emacs": "set -o emacs\n"}
_FILES = {"bash": "~/.bashrc", "zsh": ".zshenv .zshrc"}
_LOGIN_FILES = {"bash": '/etc/profile "$__aish_profile"', "zsh": ".zshenv .zprofile .zshrc .zlogin"}
_USERS_FILES = r"(?s)for __aish_file in .*?\n    done <\S+\n"


def start_file(kind: str, *, token: str, tty: str, files: str, users_files: bool = True, login: bool = False) -> str:
    """Return the startup file for `kind` of shell. `files` is the directory of our files."""
    text = ZSH if kind == "zsh" else BASH
    text = text if users_files else re.sub(_USERS_FILES, "", text)
    text = text.replace("@USERS@", (_LOGIN_FILES if login else _FILES)[kind])
    for name, value in {"TOKEN": token, "TTY": tty, "STORE": STORE_TRAPS[kind]}.items():
        text = text.replace(f"@{name}@", value)
    for name in ("line", "traps", "editing", "jobs"):
        text = text.replace(f"@{name.upper()}@", f"{files}/{name}".replace("'", r"'\''"))
    return text
