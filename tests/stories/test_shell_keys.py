"""`set -o vi` in the shell chooses the keys of the line editor."""

import shutil

import pytest
from terminal import Terminal
from world import World

pytestmark = pytest.mark.proves("P12")
ESCAPE = "\x1b"


@pytest.mark.parametrize(
    ("shell", "text"), [("bash", "set -o vi\n"), ("zsh", "bindkey -v\n"), ("zsh", "set -o vi\n"), ("bash", "")]
)
def test_the_keys_are_those_of_the_shell(world: World, shell: str, text: str) -> None:
    """From a startup file, or typed; `set -o emacs` goes back."""
    program = shutil.which(shell)
    if not program:
        pytest.skip(f"{shell} is not installed")
    world.script()
    (world.directory / f".{shell}rc").write_text(text, encoding="utf-8")
    with Terminal(world, SHELL=program) as terminal:
        terminal.wait_ready()
        terminal.enter("echo on" if text else "set -o vi; echo on")
        terminal.wait("on", "aish>")
        terminal.type(f"xcho vi{ESCAPE}0")
        terminal.wait("aish> xcho vi")
        terminal.enter("re")
        terminal.wait("vi", "aish>")
        terminal.enter("set -o emacs")
        terminal.type("cho emacs\x01e")
        terminal.wait("aish> echo emacs")
