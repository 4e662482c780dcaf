"""Completion by zsh's own completion system, in a zsh that nobody sees."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from aish.action.shell import UserShell
from aish.action.zsh_completion import Offer, ZshCompletion
from aish.views.editor import ShellSuggestions

pytestmark = pytest.mark.skipif(not shutil.which("zsh"), reason="zsh is not installed")

Zsh = Callable[..., ZshCompletion]
RULES = r"""
__aish_begin ''
_frob() {
    case $words[CURRENT] in
        --*=*) compset -P '*='; compadd red green ;;
        --*) _values -w option '--fast[do it now]' '--slow[do it later]' ;;
        h*) while :; do :; done ;;
        z*) compadd -- "zoo:$(cat)" ;;
        *) _files ;;
    esac
}
compdef _frob frob
compdef _gnu_generic generic
alias f=frob
"""


@pytest.fixture(scope="module")
def zsh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Zsh]:
    """Return a factory for a zsh with the rules above. The first one is used again: it takes half a second to start."""
    place, started = tmp_path_factory.mktemp("zsh"), dict[float, ZshCompletion]()
    (place / "rules").write_text(RULES, encoding="utf-8")
    environment = {"PATH": os.environ["PATH"], "HOME": str(place)}

    def make(seconds: float = 30, patience: float = 30) -> ZshCompletion:
        if patience not in started:
            started[patience] = ZshCompletion(
                "zsh", environment, rules=lambda: str(place / "rules"), seconds=seconds, patience=patience
            )
        return started[patience]

    yield make
    for one in started.values():
        one.close()


@pytest.mark.proves("P12")
def test_what_zsh_knows_is_offered_with_its_descriptions(zsh: Zsh, tmp_path: Path) -> None:
    """Options, values after `=`, aliases and files come from zsh's functions, quoted as zsh does it."""
    (tmp_path / "my notes").touch()
    (tmp_path / "my dir").mkdir()
    ask = zsh().ask

    assert ask("frob --fa", str(tmp_path)) == [Offer("--fast ", "do it now")]
    assert ask("f --s", str(tmp_path)) == [Offer("--slow ", "do it later")]
    assert ask("frob --color=g", str(tmp_path)) == [Offer("--color=green ")]
    assert ask("frob my", str(tmp_path)) == [Offer("my\\ dir/"), Offer("my\\ notes ")]
    assert ask("frob nothing", str(tmp_path)) == []


def test_other_completions_are_used_where_zsh_has_none(zsh: Zsh, tmp_path: Path) -> None:
    """None means that somebody else should be asked: bash, which may know it, or the file system."""
    (tmp_path / "notes").touch()
    child, asked = zsh(), list[str]()

    def bash(words: object, directory: str) -> list[str]:
        asked.append(directory)
        return []

    suggestions = ShellSuggestions(list, lambda: str(tmp_path), bash, zsh=child.ask)
    assert suggestions("unheard_of n") == [("notes ", 1, "")] and asked
    assert suggestions("echo x; frob --fa") == [("--fast ", 4, "do it now")] and len(asked) == 1


@pytest.mark.proves("P12")
def test_nothing_that_is_typed_runs_in_zsh(zsh: Zsh, tmp_path: Path) -> None:
    """No line is accepted, no word is expanded, no path is a command, and `--help` is not called."""
    program = tmp_path / "generic"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n", encoding="utf-8")
    program.chmod(0o755)
    child = zsh()
    child._path = lambda: f"{tmp_path}:{os.environ['PATH']}"

    assert child.ask("generic --", str(tmp_path)) in ([], None)
    for words in (f"$(touch {tmp_path}/ran)", f"`touch {tmp_path}/ran`", f"a\ntouch {tmp_path}/ran\n", "*(e:'x':)"):
        assert child.ask(f"frob {words}", str(tmp_path)) is None
    assert child.ask(f"{program} --", str(tmp_path)) is None
    assert child.ask("frob z", str(tmp_path)) == [Offer("zoo: ")]  # no program can read from the terminal
    assert not (tmp_path / "ran").exists()


def test_a_function_that_hangs_is_ended(zsh: Zsh, tmp_path: Path) -> None:
    """Typing goes on meanwhile, and the next completion works again."""
    child = zsh(patience=0)
    assert child.ask("frob --fa", str(tmp_path)) == [Offer("--fast ", "do it now")]
    child._seconds = 0.2
    assert child.ask("frob hang", str(tmp_path)) is None
    child._seconds = 30
    assert child.ask("frob --fa", str(tmp_path)) == [Offer("--fast ", "do it now")]


def test_a_machine_without_zsh_has_no_trouble(tmp_path: Path) -> None:
    assert ZshCompletion("zsh", {"PATH": str(tmp_path)}).ask("git ch", str(tmp_path)) is None


@pytest.mark.parametrize(("shell", "define"), [("zsh", "compdef _own own"), ("bash", "complete -F _own own")])
def test_the_users_shell_tells_its_rules(tmp_path: Path, shell: str, define: str) -> None:
    """They are told when they are wanted, and again only after a line that may have changed them."""
    startup = "autoload -Uz compinit; compinit -u -D\n" if shell == "zsh" else ""
    (tmp_path / f".{shell}rc").write_text(f"{startup}_own() {{ true; }}\n{define}\nexport API_TOKEN=hush", "utf-8")
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TERM": "dumb"}
    user = UserShell(shell, env=env, directory=tmp_path)
    try:
        assert user.rules() == ""
        user.start()
        first = Path(user.rules())
        text = first.read_text(encoding="utf-8")
        assert "_own ()" in text and ("'own' '_own'" in text or "complete -F _own own" in text)
        assert "hush" not in text
        user.run("cd /", lambda data: None)
        assert user.rules() == str(first)
        user.run("_more() { echo more; }", lambda data: None)
        assert "_more ()" in Path(user.rules()).read_text(encoding="utf-8") and not first.exists()
        assert user.run("echo $?", lambda data: None).output.strip() == "0"
    finally:
        user.close()
