"""Where zsh ends a block and bash does not: `f() { ls }` needs no semicolon, `for i (a b) …` no `done`."""

import re
import subprocess

_SECONDS = 0.5
_LONGEST = 100_000


def is_closed(text: str, program: str = "zsh") -> bool:
    """Does zsh take this text as a whole, although bash would read on? zsh only parses it, and runs nothing."""
    if len(text) > _LONGEST or "\0" in text or not re.search(r"\}\s*\Z|\A\s*for\s+\w+\s*\(", text):
        return False
    try:
        done = subprocess.run(
            [program, "-f", "-n", "-c", text],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
