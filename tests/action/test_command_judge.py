"""The parts of a line: every way to set a variable, to name a file and to ask the person is judged as what it is."""

import pytest

from aish.action.command_table import load_table
from aish.action.policy import judge

TABLE = load_table()


@pytest.mark.proves("X5")
@pytest.mark.parametrize(
    "shape",
    [
        "for {0} in x; do ls; done", "while read -r {0}; do ls; done < f", "read a {0} < f", "mapfile -t {0} < f",
        "printf -v {0} x", "printf -v{0} x", "getopts a {0}", "declare {0}=x", "export {0}=x; ls", "{0}=x; ls",
        "{0}+=x", "env {0}=x ls", "for (({0}=1; 1; )); do ls; done", "ls {{{0}}}>/dev/null", "readonly {0}=x",
        "if true; then {0}=x; fi; ls", "({0}=x; ls)", "wait -p {0}", "unset {0}",
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["PATH", "LD_PRELOAD", "GIT_EXTERNAL_DIFF", "BASH_ENV"])
def test_every_way_to_set_a_variable_asks_for_a_dangerous_one(shape: str, name: str) -> None:
    """A loop variable reaches the environment like an assignment does, if the name is exported already."""
    assert judge(shape.format(name), TABLE).verdict == "ask"


@pytest.mark.parametrize("command", ["set -a", "set -o allexport", "set -euo allexport", "set -o $x"])
def test_exporting_everything_asks(command: str) -> None:
    """After it, a harmless assignment changes what programs do."""
    assert judge(f"{command}; x=1", TABLE).verdict == "ask"
    assert judge("set -euo pipefail; ls | head", TABLE).verdict == "run"


@pytest.mark.proves("X5")
@pytest.mark.parametrize(
    "command",
    [
        "a=([x]=1)", "a+=([$(pwd)]=1)", "LINES='x[$(pwd)]'; echo $((LINES))", "COLUMNS=x; [[ $COLUMNS -gt 1 ]]",
        "env COLUMNS='x[1]' bash -c 'echo $((COLUMNS))'", "read LINES < f; echo $((LINES))",
        "y=z; x=1; echo $((${x/1/y}))", "y=z; echo $((${UID/0/y}))",
        "a=1; x=1; a1=z; echo $((a$x))", "x=1; echo $((x[1]))", "echo ${a[b]}",
        "echo ${x:y}", "[[ x -eq 1 ]]", "test -v 'a[1]'", "[[ -v a[1] ]]", "unset 'a[1]'", "let a=1",
        "read 'a[1]' < f", "declare -i x=y", "ls {fd[1]}>/dev/null", "for RANDOM in x; do echo $((RANDOM)); done",
    ],
)  # fmt: skip
def test_text_that_is_evaluated_as_arithmetic_asks(command: str) -> None:
    """An index of an array can run commands, wherever a number is expected."""
    assert judge(command, TABLE).verdict == "ask"


@pytest.mark.parametrize(
    "command",
    ["for i in 1 2; do ls & done", "while sleep 1; do { ls & }; done", "until false; do (ls &); done",
     "echo {1..10000000}", "for i in {1..99999999}; do echo $i; done", "echo {1..9999}{1..9999}",
     "echo " + "{a,b}" * 20, "seq 999 | xargs -P0 -n1 sleep", "seq 999 | xargs --max-procs=500 -n1 sleep"],
)  # fmt: skip
def test_a_loop_that_floods_the_machine_asks(command: str) -> None:
    """Each of the started commands only reads, but there are too many."""
    assert judge(command, TABLE).verdict == "ask"
    assert judge("sleep 1 & wait; for i in {1..9}; do echo $i; done", TABLE).verdict == "run"


@pytest.mark.parametrize(
    "command", ["read -s x", "read -rsp 'password: ' x", "read -e x", "IFS= read -rp x y", "select x in a; do ls; done"]
)
def test_a_command_that_asks_the_person_to_type_asks_first(command: str) -> None:
    """What is typed could be a password, and the question could be forged."""
    verdict = judge(command, TABLE)
    assert verdict.verdict == "ask"
    assert "asks you to type something" in verdict.reason


@pytest.mark.proves("X5")
@pytest.mark.parametrize(
    "command",
    [
        "cat /tmp/../etc/shadow", "cat ~/a/../.ssh/id_rsa", "cat /proc/self/root/etc/shadow", "cat < /proc/1/cwd/.env",
        "cd ~/.config && cd gh && cat hosts.yml", "cd ~ && grep -r x .", "grep -r x ~/.", "grep -r x a/../..",
        "cat ~/.SSH/ID_RSA", "ls > /dev/./tcp/example.net/80",
    ],
)  # fmt: skip
def test_a_detour_to_a_file_is_seen_through(command: str) -> None:
    """Files are judged by where they are, not by how they are typed."""
    assert judge(command, TABLE).verdict == "ask"


@pytest.mark.parametrize(
    "command",
    ["tar tfI x ./evil", "tar tIf ./evil x", "tar tfv host:x", "tar tfC host:x dir", "tar tvf 'a'$x", "tar tfF a b"],
)
def test_the_values_of_old_letters_follow_in_their_order(command: str) -> None:
    """`tar tfv x` lists the archive x, not v."""
    assert judge(command, TABLE).verdict == "ask"
    assert judge("tar tfvC x.tar dir", TABLE).verdict == "run"


@pytest.mark.parametrize(
    "command", ["x='. -c core.pager=evil'; git -C $x log", "git $x log", "git -C a -c b=c log", "git --exec-path=. log"]
)
def test_flags_before_a_subcommand_are_judged_too(command: str) -> None:
    """A value that becomes several words brings its own flags."""
    assert judge(command, TABLE).verdict == "ask"
    assert judge("git --no-pager -C ../other log -3", TABLE).verdict == "run"


def test_a_pager_gets_no_line_breaks() -> None:
    """A line break ends the search, and the next character is a command of the pager."""
    assert judge("less -p 'main(' f.c", TABLE).verdict == "run"
    assert judge("less -Np $'a\\n!pwd' f", TABLE).verdict == "ask"
    assert judge('less -p "a$x" f', TABLE).verdict == "ask"


def test_a_database_file_is_not_created_unasked() -> None:
    """sqlite3 creates a file that does not exist, unless it may only read."""
    assert judge("sqlite3 a.db 'select 1'", TABLE)[:2] == ("ask", "change")
    assert judge("sqlite3 a.db 'select 1'", TABLE).targets == ("a.db",)
    assert judge("sqlite3 -readonly a.db 'select 1'", TABLE).verdict == "run"
    assert judge("sqlite3 :memory: 'select 1'", TABLE).verdict == "run"
    assert judge("psql 'host=example.net' -c 'select 1'", TABLE).effect == "send"


def test_modules_of_the_current_directory_are_not_loaded_unasked() -> None:
    """`python -m json.tool` runs a json.py that lies in the current directory."""
    assert judge("python3 -m json.tool x", TABLE).verdict == "ask"
    assert judge("python3 -E -m json.tool x", TABLE).verdict == "ask"
    assert judge("python3 -I -m json.tool x", TABLE).verdict == "run"


def test_the_language_of_messages_is_no_path() -> None:
    """Programs load the messages from there."""
    assert judge("LC_ALL=C sort x", TABLE).verdict == "run"
    assert judge("LANGUAGE=../x ls", TABLE).verdict == "ask"


@pytest.mark.proves("X5")
@pytest.mark.parametrize(
    "command",
    [
        "echo $GITHUB_TOKEN", 'printf %s "${DB_PASSWORD}"', "x=$API_KEY; echo $x",
        "for x in $AWS_SECRET_ACCESS_KEY; do ls; done", "cat <<< $MY_SECRET", "cat <<E\n$MY_SECRET\nE",
        "echo ${API_KEY%x}", "bash -c 'echo $API_KEY'",
    ],
)  # fmt: skip
def test_a_variable_with_a_credential_is_not_shown_unasked(command: str) -> None:
    """Programs get their credentials in the environment."""
    assert judge(command, TABLE)[:2] == ("ask", "read")


@pytest.mark.parametrize(
    "command",
    ['[ -n "$GITHUB_TOKEN" ] && echo set', "echo ${API_KEY:+set}", "echo ${#API_KEY}",
     "for token in a b; do echo $token; done", "cat <<'E'\n$MY_SECRET\nE"],
)  # fmt: skip
def test_whether_a_credential_is_set_may_be_tested(command: str) -> None:
    """Nothing of it is shown."""
    verdict = judge(command, TABLE)
    assert verdict.verdict == "run", verdict.reason


@pytest.mark.parametrize(
    "command",
    ["x=$(date +%s); echo $((x - 5))", "n=$(ls | wc -l); echo $((n + 1))", 'n="$(wc -l < f)"; [[ $n -gt 3 ]] && ls',
     "echo $(( $(nproc) / 2 ))"],
)  # fmt: skip
def test_the_output_of_a_command_that_counts_is_a_number(command: str) -> None:
    """Counting lines and computing with the result is common."""
    verdict = judge(command, TABLE)
    assert verdict.verdict == "run", verdict.reason


@pytest.mark.proves("X5")
@pytest.mark.parametrize(
    "command",
    ["x=$(echo a; date +%s); echo $((x))", "x=$(date +%s)$(cat f); echo $((x))", "x=$(wc -l f); echo $((x))",
     "x=$(wc -l < f 2>&1); echo $((x))", "x=$(date +%s; cat f); echo $((x))", "x=$(date +%s | cat f); echo $((x))",
     "echo $(( $(cat f) ))", "x=$(rm f | wc -l); echo $((x))", "echo $(( $(rm f | wc -l) ))",
     "y=z; x=$(echo y || wc -l); echo $((x))", "y=z; x=$(echo y \\| wc -l); echo $((x))",
     "y=z; x=$(echo y '|' wc -l); echo $((x))"],
)  # fmt: skip
def test_other_output_is_no_number(command: str) -> None:
    """Text in it would be evaluated."""
    assert judge(command, TABLE).verdict == "ask"


def test_a_syntax_check_of_a_script_only_reads_it() -> None:
    """`bash -n` runs nothing."""
    assert judge("bash -n run.sh", TABLE).verdict == "run"
    for command in ("bash -n", "bash -n x y", "bash -n -c ls", "bash -n $x", "bash -n .env", "bash -nc 'rm x'"):
        assert judge(command, TABLE).verdict == "ask", command
