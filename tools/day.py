"""Type the day of work of tests/stories/test_day.py into a real tmux, in bash and in zsh, and report what was seen.

The test types the same keys into a pseudo-terminal that pyte reads; this adds a terminal that people use. It takes half
a minute and is not part of `make test`.
"""

import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from stories.test_day import BASHRC, COMPOUND, INSTALLED, PLAIN, RUNS, ZSHRC, furnish
from tmux import Tmux
from world import World

PROMPT = "day>"
SECONDS = 30.0
SHELLS = (("bash", ".bashrc", BASHRC), ("zsh", ".zshrc", ZSHRC))


def main() -> int:
    missing = [name for name in ("tmux", "bash", "zsh") if not shutil.which(name)]
    if missing:
        print(f"not installed: {', '.join(missing)}")
        return 2
    return max([spend(*shell) for shell in SHELLS])


def spend(shell: str, file: str, text: str) -> int:
    """Type all lines in one shell; return 1 if something is wrong."""
    lines = [*PLAIN, *RUNS, "nvm use node", "conda create env", *COMPOUND, "echo the $x end"]
    with tempfile.TemporaryDirectory(prefix="aish-day-") as place:
        world = World(Path(place))
        world.script("This should never be said.")
        calls = furnish(world)
        (world.directory / file).write_text(text, encoding="utf-8")
        begun = time.monotonic()
        tmux = Tmux(
            world,
            columns=120,
            SHELL=shutil.which(shell) or shell,
            PATH=f"{world.directory / 'programs'}:/usr/local/bin:/usr/bin:/bin",
            CALLS=str(calls),
            AISH_SET_VIEW__PROMPT=f"{PROMPT} ",
        )
        try:
            typed = type_all(tmux, lines)
            wait_until(lambda: "the 5 end" in tmux.scrollback())
            seen = "\n".join(tmux.scrollback())
            tmux.enter("exit 3")
        finally:
            tmux.__exit__(None, None, None)
        ran = calls.read_text(encoding="utf-8").splitlines()
        journals = world.journals()
    wrong = [word for word in ("never be said", "__aish", "6973", "[a]sk the model") if word in seen]
    wrong += [f"not typed to the end: {typed} of {len(lines)} lines"] if typed < len(lines) else []
    wrong += [f"not on the screen: {text}" for text in ("part a", "one three", "the 5 end") if text not in seen]
    wrong += ["a conversation was begun"] if journals else []
    wrong += [f"did not run: {line}" for line in RUNS if line.split()[0] in INSTALLED and not was_run(line, ran)]
    ours = sorted({line.strip() for line in seen.splitlines() if "[aish]" in line})
    print(
        f"{shell}: {typed} lines in {time.monotonic() - begun:.0f} s, {len(ran)} calls of programs, {len(wrong)} faults"
    )
    for line in (*wrong, *(f"seen: {line}" for line in ours)):
        print(f"  {line}")
    return 1 if wrong else 0


def type_all(tmux: Tmux, lines: list[str]) -> int:
    """Type each line when the prompt before it is there; return how many were answered by a new prompt."""
    if not wait_prompts(tmux, 1):
        return 0
    for number, line in enumerate(lines, start=1):
        for part in line.split("\r"):
            tmux.enter(part)
        if not wait_prompts(tmux, number + 1):
            return number - 1
    return len(lines)


def wait_prompts(tmux: Tmux, times: int) -> bool:
    """Wait for an empty prompt, after so many others. A finished job may have left one more."""

    def there() -> bool:
        screen = tmux.scrollback()
        last = next((line for line in reversed(screen) if line), "")
        return last == PROMPT and sum(line.startswith(PROMPT) for line in screen) >= times

    return wait_until(there)


def wait_until(there: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + SECONDS
    while not (found := there()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


def was_run(line: str, ran: list[str]) -> bool:
    return line.partition(" > ")[0].partition(" |")[0].partition(" &&")[0] in ran


if __name__ == "__main__":
    sys.exit(main())
