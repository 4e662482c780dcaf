"""`prompt = "shell"`: the prompt is the one of the user's own shell."""

import os
import re
import shutil

import pytest
from hypothesis import given
from hypothesis import strategies as st
from terminal import Terminal
from world import World

from aish.views.prompt import OWN_SIGN, from_shell, plain_sign

pytestmark = pytest.mark.proves("P12")


def test_the_prompt_of_bash_is_expanded_by_bash(world: World) -> None:
    """With its directory, its status and what a hook puts into it. Its sign stays for commands."""
    world.script("An answer.")
    (world.directory / ".bashrc").write_text(
        "mark() { STATUS=$?; PS1='\\[\\e]0;title\\a\\]\\[\\e[32m\\]mine \\W $STATUS\\[\\e[0m\\] \\$ '; }\n"
        "PROMPT_COMMAND=mark\n",
        encoding="utf-8",
    )
    sign = "#" if os.getuid() == 0 else "$"
    with Terminal(world, AISH_SET_VIEW__PROMPT="shell") as terminal:
        terminal.wait_ready()
        terminal.wait(f"mine ~ 0 {sign}")
        terminal.enter("mkdir -p below; cd below; (exit 3)")
        terminal.wait(f"mine below 3 {sign}")
        assert b"\x1b]0;title\x07" in terminal.raw
        terminal.type("how are you")
        terminal.wait("mine below 3 ? how are you")
        terminal.type("\x15ls -l")
        terminal.wait(f"mine below 3 {sign} ls -l")


def test_the_prompt_of_zsh_is_expanded_by_zsh(world: World) -> None:
    zsh = shutil.which("zsh")
    if not zsh:
        pytest.skip("zsh is not installed")
    world.script()
    (world.directory / ".zshrc").write_text(
        "setopt prompt_subst; PROMPT='%F{green}%1~%f $(echo sub) %? %% '\n", encoding="utf-8"
    )
    with Terminal(world, AISH_SET_VIEW__PROMPT="shell", SHELL=zsh) as terminal:
        terminal.wait_ready()
        terminal.wait("~ sub 0 %")
        terminal.enter("cd /; (exit 4)")
        terminal.wait("/ sub 4 %")


@pytest.mark.parametrize(
    ("prompt", "text", "others"),
    [
        ("\x01\x1b[1m\x02a\x01\x1b[m\x02$ ", f"\x1b[1ma\x1b[m{OWN_SIGN}$ ", ""),
        ("\x1b]2;t\x1b\\❯ ", f"{OWN_SIGN}❯ ", "\x1b]2;t\x1b\\"),
        ("a\x1b[2K\x07b", "ab", ""),
        ("", "", ""),
    ],
)
def test_only_colours_stay_in_the_text(prompt: str, text: str, others: str) -> None:
    assert from_shell(prompt) == (text, others)
    assert OWN_SIGN not in plain_sign(text)


@given(st.text(alphabet="a$ \n\t\r\x01\x02\x07\x1b[]m0;\\%", max_size=40))
def test_no_prompt_can_steer_the_terminal(prompt: str) -> None:
    text, _ = from_shell(prompt)
    assert not re.search(r"[\0-\x09\x0b-\x1f]", re.sub(r"\x1b\[[0-?]*m", "", text))
