"""Commands that run other commands: the inner command is judged as the outer one would really run it."""

import shlex

import pytest

from aish.action.command_table import load_table
from aish.action.policy import judge

TABLE = load_table()


@pytest.mark.proves("X5")
@pytest.mark.parametrize(
    "command",
    [
        "cat list | xargs -rI pwd sh -c pwd",
        "cat list | xargs -0I pwd bash -c pwd",
        "cat list | xargs -txI whoami whoami",
        "cat list | xargs -I a -I b echo a",
        "cat list | xargs -I '' ls",
        "cat list | xargs -i sh -c {}",
        "echo -C | xargs file",
        "find . -exec env -u + rm {} \\;",
        "find . -exec ls {}",
        "find . -exec + ls \\;",
        "find . -name -exec ls \\; -delete",
        "find . -exec {} \\;",
        "env -u X -S 'rm x'",
        "watch -x rm x",
        "timeout 5 env nice rm x",
    ],
)
def test_the_command_that_really_runs_is_judged(command: str) -> None:
    """Bundles of letters, values that look like commands, and ends that are none."""
    assert judge(command, TABLE).verdict == "ask"


@pytest.mark.parametrize(
    "command",
    [
        "git ls-files | xargs -rI{} basename {}",
        "ls *.txt | xargs -n1 -I% echo % %",
        "find . -name '*.c' -exec grep -l main {} + -exec wc -l {} \\;",
        "find . -exec echo + {} \\;",
        "watch -x ls -l",
        "watch -n 2 'df -h | head -3'",
        "timeout 5 env LC_ALL=C nice ls",
    ],
)
def test_a_harmless_inner_command_runs(command: str) -> None:
    """Wrappers are common, and what they add is known."""
    verdict = judge(command, TABLE)
    assert verdict.verdict == "run", verdict.reason


BASH_ONLY = [
    "[[ a > b ]]", "((a|b))", "a=(1 2)", "a+=1", "cat <<< x", "echo $'a'", "echo {a,b}", "echo {1..3}", "ls &> x",
    "ls &>> x", "cat <(ls)", "function f { ls; }", "select x in a; do ls; done", "ls |& cat", "echo ${x//a/b}",
    "echo ${x:1:2}", "echo ${x^}", "echo ${a[0]}", "echo $[1+1]", "for ((;;)); do ls; done", "case a in a) ls;& esac",
]  # fmt: skip


@pytest.mark.proves("X5")
@pytest.mark.parametrize("line", BASH_ONLY)
@pytest.mark.parametrize("shell", ["sh -c {}", "dash -c {}", "watch {}", "sh -c 'eval '{}", "zsh -c {}"])
def test_the_syntax_of_bash_asks_in_another_shell(line: str, shell: str) -> None:
    """`[[ a > b ]]` compares in bash and writes a file in dash."""
    assert judge(shell.format(shlex.quote(line)), TABLE).verdict == "ask"


@pytest.mark.parametrize(
    "line",
    ["ls | head -3", "for f in *.c; do wc -l \"$f\"; done", "if [ -f x ]; then cat x; fi", "echo \"$HOME\" '{a,b}'",
     "x=$(ls); echo $((1 + 2)) ${x:-none}", "test -d src && ls src 2>/dev/null"],
)  # fmt: skip
def test_what_means_the_same_in_every_bourne_shell_runs(line: str) -> None:
    """Most lines for sh are plain."""
    for shell in ("bash", "sh", "dash"):
        verdict = judge(f"{shell} -c {shlex.quote(line)}", TABLE)
        assert verdict.verdict == "run", verdict.reason


@pytest.mark.parametrize("shell", ["fish", "csh", "tcsh", "zsh", "ksh"])
def test_another_shell_runs_plain_words_only(shell: str) -> None:
    """Their quotes, variables and brackets have other rules."""
    assert judge(f"{shell} -c 'ls -l src | head -3; pwd'", TABLE).verdict == "run"
    for line in (
        "echo 'a'",
        "echo $x",
        "ls (pwd)",
        "ls *",
        "x=1 ls",
        "echo a\\ b",
        "ls &",
        "ls > x",
        "[ 1 -eq x ]",
        "test A -eq 1",
        "ls; exit A",
    ):
        assert judge(f"{shell} -c {shlex.quote(line)}", TABLE).verdict == "ask", line
