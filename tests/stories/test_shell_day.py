"""A day of work in bash and in zsh with heavy startup files: all lines run, and nothing of aish is seen in them."""

import re
import shutil

import pytest
from terminal import Terminal
from world import World

BASHRC = r"""
set -o vi
HISTCONTROL=ignoreboth
shopt -s histappend checkwinsize globstar
for i in $(seq 300); do eval "fn_$i() { echo $i; }"; alias al_$i="echo $i"; done
[ ! -r /usr/share/bash-completion/bash_completion ] || . /usr/share/bash-completion/bash_completion
command_not_found_handle() { echo "none: $1"; return 127; }
armed=
on_command() { [[ -n $armed ]] || return 0; armed=; STARTED=$SECONDS; }
after_line() { LAST=$?; armed=1; PS1="[$LAST] \w \$ "; }
trap 'on_command "$_"' DEBUG
load_environment() { local last=$?; [ ! -f .envrc ] || . ./.envrc; return $last; }
PROMPT_COMMAND="load_environment;after_line"
versions() { export NODE=$2; PATH="/opt/node$2:$PATH"; }
trap 'echo the day ends' EXIT
"""
ZSHRC = r"""
bindkey -v
setopt prompt_subst auto_cd hist_ignore_all_dups share_history extended_glob
autoload -Uz compinit add-zsh-hook colors; compinit -u; colors
for i in {1..300}; do eval "fn_$i() { echo $i }"; alias al_$i="echo $i"; done
command_not_found_handler() { echo "none: $1"; return 127 }
before_line() { STARTED=$SECONDS }; after_line() { LAST=$? }
add-zsh-hook preexec before_line; add-zsh-hook precmd after_line
load_environment() { [ ! -f .envrc ] || . ./.envrc }; add-zsh-hook precmd load_environment
PROMPT='%F{green}%1~%f $(echo x) %# '
versions() { export NODE=$2; PATH="/opt/node$2:$PATH" }
trap 'echo the day ends' EXIT
"""
# Lines, and what is then on the screen, if it is worth checking.
LINES = (
    ("mkdir -p project/src && cd project", ""),
    ("echo 'export FROM_ENVRC=yes' >.envrc", ""),
    ("printf 'one\\ntwo\\nthree\\n' >src/a.txt", ""),
    ("cat src/a.txt | sort -r | head -2", "two"),
    ("cat src/none.txt 2>/dev/null | sort", ""),
    ('echo "status $?"', "status 0"),
    ("for i in 1 2 3; do echo n$i; done", "n3"),
    ("if [ -f src/a.txt ]; then echo there; fi", "there"),
    ('while read -r l; do echo "<$l>"; done <src/a.txt', "<three>"),
    ('f() { echo "f:$1"; return 3; }; f x', "f:x"),
    ("echo $?", "3"),
    ("al_7; fn_9", "9"),
    ("versions use 20 && echo node $NODE", "node 20"),
    ("no_such_command_x --flag", "none: no_such_command_x"),
    ("export A=1 B=2; env | grep -E '^(A|B)=' | sort", "B=2"),
    ("cd src; pwd; cd - >/dev/null", ""),
    ("ls -la | wc -l", ""),
    ("set -x", ""),
    ("echo traced", "traced"),
    ("set +x", ""),
    ("set -v", ""),
    ("echo verbose", "verbose"),
    ("set +v", ""),
    ("set -e", ""),
    ("false; echo not $((40 + 2)) reached", ""),
    ("set +e", ""),
    ("set -u", ""),
    ("echo $undefined_thing", ""),
    ("set +u", ""),
    ("set -o emacs", ""),
    ("sleep 0.1 &", ""),
    ("wait; echo waited", "waited"),
    ("grep -c o src/a.txt", "2"),
    ("sed -n 2p src/a.txt", "two"),
    ("awk '{print NR\": \"$0}' src/a.txt", "3: three"),
    ("find . -name '*.txt' | xargs wc -l", "3 ./src/a.txt"),
    ("(cd /; pwd); basename $PWD", "project"),
    ("x=5; ((x++)); echo x$x", "x6"),
    ("arr=(a b c); echo ${#arr[@]} items", "3 items"),
    ("echo {1..5}", "1 2 3 4 5"),
    ("echo \"quoted 'single' inside\"", "quoted 'single' inside"),
    ("kill -0 $$ && echo alive", "alive"),
    ("true | (exit 2) | true", ""),
    ('echo "parts ${PIPESTATUS[@]}${pipestatus[@]}"', "parts 0 2 0"),
    ("cmd='echo evaluated'; eval \"$cmd\"", "evaluated"),
    ('unset A; echo "[$A]"', "[]"),
    ("printf '%s\\n' a b | tac", "a"),
    ("alias lst='ls src'", ""),
    ("lst", "a.txt"),
    ("mkdir -p deep/er", ""),
    ("cd $_", ""),
    ("basename $PWD", "er"),
    ("cd ../..; echo envrc $FROM_ENVRC", "envrc yes"),
    ("stat -c %s src/a.txt", "14"),
    ("echo last $LAST", "last 0"),
)


@pytest.mark.proves("P1", "P2")
@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_a_day_of_work_shows_nothing_of_aish(world: World, shell: str) -> None:
    """No line goes to the model, none is asked about, and what lines print is what the shell prints."""
    program = shutil.which(shell)
    if not program:
        pytest.skip(f"{shell} is not installed")
    world.script("A question was asked.")
    (world.directory / f".{shell}rc").write_text(BASHRC if shell == "bash" else ZSHRC, encoding="utf-8")
    with Terminal(world, columns=160, SHELL=program) as terminal:
        terminal.wait_ready()
        for number, (line, printed) in enumerate(LINES, start=2):
            terminal.enter(line)
            terminal.wait_times(b"\x1b[?2004h", number)
            assert not printed or printed in terminal.lines, (line, terminal.lines)
        terminal.enter("exit 3")
        assert terminal.code() == 3
        text = re.sub(rb"\x1b\[[0-?]*[ -/]*[@-~]", b"", terminal.raw).decode("utf-8", "replace")

    assert "__aish" not in text and "A question was asked." not in text and "not 42 reached" not in text
    assert "the day ends" in text
    assert not world.journals()
