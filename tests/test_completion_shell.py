"""Completion of shell words: files, programs, and the completion functions of bash."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from aish.action.bash_completion import BashCompletion
from aish.action.completion import files, programs
from aish.views.editor import ShellSuggestions

Bash = Callable[..., BashCompletion]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for name in ("notes.txt", "my notes.txt", "-rf", "~odd", ".hidden", "now\x1b[31m"):
        (tmp_path / name).touch()
    for name in ("src", "my dir"):
        (tmp_path / name).mkdir()
    (tmp_path / "src" / "main.py").touch()
    return tmp_path


@pytest.fixture
def bash(tmp_path: Path) -> Iterator[Bash]:
    """Return a factory for a bash with the given completion function for `frob`."""
    started: list[BashCompletion] = []

    def make(function: str, seconds: float = 5, patience: float = 5, rules: str = "") -> BashCompletion:
        folder = tmp_path / "data" / "bash-completion" / "completions"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "frob").write_text(function, encoding="utf-8")
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "XDG_DATA_HOME": str(tmp_path / "data"),
            "BASH_COMPLETION": str(tmp_path / "main"),
        }
        started.append(BashCompletion(environment, seconds=seconds, patience=patience, rules=lambda: rules))
        return started[-1]

    yield make
    for one in started:
        one.close()


def offered(place: Path, text: str) -> list[str]:
    suggestions = ShellSuggestions(lambda: ["notify", "nice", "cat"], lambda: str(place))
    return [text[: len(text) - length] + word for word, length, _ in suggestions(text)]


@pytest.mark.proves("P12")
@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("n", ["nice ", "notify "]),
        ("", []),
        ("cat | n", ["cat | nice ", "cat | notify "]),
        ("!ni", ["!nice "]),
        ("? ni", []),
        ("cat not", ["cat notes.txt "]),
        ("cat my", ["cat my\\ dir/", "cat my\\ notes.txt "]),
        ("cat 'my", ["cat 'my dir/", "cat 'my notes.txt' "]),
        ('cat "my n', ['cat "my notes.txt" ']),
        ("cat my\\ n", ["cat my\\ notes.txt "]),
        ("cat .", ["cat .hidden "]),
        ("cat s", ["cat src/"]),
        ("cat src/m", ["cat src/main.py "]),
        ("cd m", ["cd my\\ dir/"]),
        ("cat -", ["cat ./-rf "]),
        ("cat \\~", ["cat ./~odd "]),
        ("cat <not", ["cat <notes.txt "]),
        ("tool --file=not", ["tool --file=notes.txt "]),
        ("src/m", ["src/main.py "]),
        ("cat now", ["cat $'now\\x1b[31m' "]),
        ("what's in not", ["what's in notes.txt "]),
        ("?explain src/m", ["?explain src/main.py "]),
        ("# not", []),
        ("cat none", []),
        ("cat nowhere/", []),
        ("cat a\0b/", []),
    ],
)
def test_commands_and_files_are_completed_as_they_have_to_be_typed(place: Path, text: str, lines: list[str]) -> None:
    """Spaces are quoted, directories can be continued, and no name can look like an option."""
    assert offered(place, text) == lines


@pytest.mark.proves("P12")
def test_colon_commands_take_files_as_they_are_called(place: Path) -> None:
    """The argument of :export is not a shell word, so nothing is quoted."""
    shell = ShellSuggestions(list, lambda: str(place))

    assert shell.file_argument("md my") == [("my dir/", 2, ""), ("my notes.txt", 2, "")]
    assert shell.file_argument("src/") == [("src/main.py", 4, "")]


def test_hidden_files_are_offered_only_when_a_dot_is_typed(place: Path) -> None:
    """This is the usual convention."""
    shown = {name for name, _ in files("", str(place))}

    assert "notes.txt" in shown
    assert ".hidden" not in shown


def test_a_home_is_written_as_it_was_typed(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """~ stays unquoted and the rest is quoted; inside quotes it is not a home directory."""
    monkeypatch.setenv("HOME", str(place))

    assert offered(place / "src", "cat ~/my") == ["cat ~/my\\ dir/", "cat ~/my\\ notes.txt "]
    assert offered(place / "src", "cat '~/my") == []


def test_programs_are_found_on_the_path_and_found_again_when_they_are_new(tmp_path: Path) -> None:
    """Newly installed programs are found; files that are not executable are not."""
    (tmp_path / "tool").touch(mode=0o755)
    (tmp_path / "text").touch(mode=0o644)
    (tmp_path / "folder").mkdir()
    path = f"{tmp_path}::{tmp_path}/missing"
    assert programs(path) == ["tool"]

    (tmp_path / "newer").touch(mode=0o755)
    os.utime(tmp_path, ns=(1, 1))
    assert programs(path) == ["newer", "tool"]


COMPLETER = """
_frob() {
  case $2 in
    --*) COMPREPLY=($(compgen -W '--fast --file= --fast' -- "$2")) ;;
    *) COMPREPLY=($(compgen -W 'start stop "two words"' -- "$2")) ;;
  esac
  [[ $3 == = ]] && COMPREPLY=(red green)
}
complete -F _frob frob
"""


@pytest.mark.proves("P12")
def test_options_that_bash_knows_are_offered(bash: Bash, tmp_path: Path) -> None:
    """They come from the same functions as in bash, from the same places, also after an equals sign."""
    child = bash(COMPLETER)
    suggestions = ShellSuggestions(list, lambda: str(tmp_path), child.ask)

    assert suggestions("frob st") == [("start ", 2, ""), ("stop ", 2, "")]
    assert suggestions("echo x; frob --f") == [("--fast ", 3, ""), ("--file=", 3, "")]
    assert suggestions("frob --color=") == [("red ", 0, ""), ("green ", 0, "")]
    assert suggestions("frob --color=g") == [("green ", 1, "")]
    assert suggestions("unknown --f") == []


def test_a_list_of_words_is_enough_for_bash(bash: Bash, tmp_path: Path) -> None:
    """`complete -W` needs no function; a completion program (`-C`) is not run."""
    assert bash("complete -W 'one other two' frob").ask(["frob", "o"], str(tmp_path)) == ["one", "other"]
    assert bash(f"complete -W one -C 'touch {tmp_path}/ran' frob").ask(["frob", "o"], str(tmp_path)) == []
    assert not (tmp_path / "ran").exists()


@pytest.mark.proves("P12")
def test_nothing_that_is_typed_is_run_to_complete_it(bash: Bash, tmp_path: Path) -> None:
    """No program runs for its --help, and no word is evaluated by a careless function."""
    program = tmp_path / "frob"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n", encoding="utf-8")
    program.chmod(0o755)
    (tmp_path / "main").write_text(f"_longopt() {{ {program} --help; }}", encoding="utf-8")
    rule = f"complete -F _frob frob {program}"
    child = bash(f'_frob() {{ _longopt "$@"; eval "COMPREPLY=(x$2)"; }}; {rule}')

    assert child.ask(["frob", "ok"], str(tmp_path)) == ["xok"]
    ways = ("$(touch {})", "`touch {}`", "<(touch {})", "$HOME{}", "a\nb{}", "a\0b{}")
    for word in ways:
        assert child.ask(["frob", word.format(tmp_path / "ran")], str(tmp_path)) == []
    assert child.ask([str(program), "--"], str(tmp_path)) == []
    assert not (tmp_path / "ran").exists()


@pytest.mark.proves("P12")
def test_a_completion_function_that_hangs_costs_a_moment_and_is_ended(bash: Bash, tmp_path: Path) -> None:
    """Typing must not wait for suggestions, and the next completion works again."""
    child = bash("_frob() { [[ $2 == h* ]] && while :; do :; done; COMPREPLY=(fine); }; complete -F _frob frob", 1, 0)
    assert child.ask(["frob", ""], str(tmp_path)) == ["fine"]

    assert child.ask(["frob", "hang"], str(tmp_path)) == []
    assert child.ask(["frob", ""], str(tmp_path)) == ["fine"]


def test_an_answer_that_comes_late_is_not_taken_for_the_next_one(bash: Bash, tmp_path: Path) -> None:
    """The line has changed in the meantime."""
    wait = f"read -t 1 <>{tmp_path}/pipe"  # nothing is ever written to it
    os.mkfifo(tmp_path / "pipe")
    child = bash(f'_frob() {{ [[ $2 == s* ]] && {wait}; COMPREPLY=("for-$2"); }}; complete -F _frob frob', 0.7)
    assert child.ask(["frob", "a"], str(tmp_path)) == ["for-a"]

    assert child.ask(["frob", "slow"], str(tmp_path)) == []
    assert child.ask(["frob", "b"], str(tmp_path)) == ["for-b"]


def test_a_bash_that_ends_or_is_not_there_is_no_trouble(bash: Bash, tmp_path: Path) -> None:
    """A completion function may even exit the shell, and some machines have no bash."""
    child = bash("_frob() { [[ $2 == q ]] && exit; COMPREPLY=(fine); }; complete -F _frob frob")
    assert child.ask(["frob", "q"], str(tmp_path)) == []
    assert child.ask(["frob", ""], str(tmp_path)) == ["fine"]
    child.close()
    child.close()

    assert BashCompletion({"PATH": str(tmp_path)}).ask(["frob", ""], str(tmp_path)) == []


def test_rules_of_the_users_own_bash_are_used(bash: Bash, tmp_path: Path) -> None:
    """Startup files often say `complete -W …`. They cannot replace what keeps programs from being run."""
    rules = tmp_path / "rules"
    rules.write_text("complete -W 'up down' own; _longopt() { COMPREPLY=(ran); }\n", encoding="utf-8")
    child = bash("_frob() { COMPREPLY=(x); _longopt; }; complete -F _frob frob", rules=str(rules))

    assert child.ask(["own", "d"], str(tmp_path)) == ["down"]
    assert child.ask(["frob", ""], str(tmp_path)) == ["x"]


@pytest.mark.parametrize("rule", ["-o filenames -F _frob", "-F _files"])
def test_a_directory_that_bash_offers_can_be_continued(bash: Bash, tmp_path: Path, rule: str) -> None:
    """Also if the function says only while it runs that it offers files. Other words are no directories."""
    (tmp_path / "src").mkdir()
    functions = "_frob() { COMPREPLY=(src other); }; _files() { local IFS=$'\\n'; compopt -o filenames; _frob; }"
    assert bash(f"{functions}; complete {rule} frob").ask(["frob", ""], str(tmp_path)) == ["src/", "other"]
    assert bash(f"{functions}; complete -F _frob frob").ask(["frob", ""], str(tmp_path)) == ["src", "other"]


def test_bash_leaves_the_files_of_an_unknown_command_to_us(tmp_path: Path) -> None:
    """bash-completion would offer hidden files too, and directories without a slash."""
    (tmp_path / ".hidden").touch()
    child = BashCompletion({"PATH": os.environ["PATH"], "HOME": str(tmp_path)}, seconds=5)
    assert child.ask(["no_such_program", ""], str(tmp_path)) == []
    child.close()
