"""bash and zsh as they always were: options, traps, hooks and variables, and nothing of ours to be seen."""

import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from shell_person import Person, with_rc

pytestmark = [pytest.mark.proves("P2"), pytest.mark.usefixtures("in_time")]

# Hooks of the shape that well-known tools install.
COUNTED = r"""
before_each() { echo "before[$1]"; }
armed=
on_command() {
    local last=$?
    [[ -n $armed ]] || return 0
    armed=
    before_each "$BASH_COMMAND"
    return 0
}
after_each() { local last=$? parts=("${PIPESTATUS[@]}"); echo "after[$last|${parts[*]}]"; PS1="[$last]> "; armed=1; }
trap 'on_command "$_"' DEBUG
PROMPT_COMMAND=after_each
"""
LATE = r"""
armed=
before() { [ -t 1 ] && [ -n "$armed" ] || return 0; armed=; echo "before[$BASH_COMMAND]"; }
after() { local last=$?; (( ${#FUNCNAME[*]} == 1 )) || return 0; echo "after[$last]"; }
arm() { (( ${#FUNCNAME[*]} == 1 )) || return 0; armed=1; }
PROMPT_COMMAND='trap "before" DEBUG; PROMPT_COMMAND=(after arm); after; arm'
"""
ENVIRONMENTS = r"""
environment_hook() { local last=$?; trap -- '' INT; eval "$(echo 'export HERE=$PWD')"; trap - INT; return $last; }
PROMPT_COMMAND="environment_hook${PROMPT_COMMAND:+;$PROMPT_COMMAND}"
PS1='mine> '
versions() { export VERSION=$1; PATH=/versions/$1:$PATH; hash -r; }
activate() { PS1="($1) $PS1"; }
"""


@pytest.fixture
def bash(tmp_path: Path) -> Iterator[Person]:
    person = Person(tmp_path / "home")
    yield person
    person.leave()


@pytest.fixture
def zsh(tmp_path: Path) -> Iterator[Person]:
    program = shutil.which("zsh")
    if not program:
        pytest.skip("zsh is not installed")
    person = Person(tmp_path / "home", program)
    yield person
    person.leave()


@pytest.fixture(params=["bash", "zsh"])
def person(request: pytest.FixtureRequest) -> Person:
    found: Person = request.getfixturevalue(request.param)
    return found


# From line to line


def test_the_last_argument_and_the_status_of_each_part_go_to_the_next_line(person: Person) -> None:
    """`cd $_` after `mkdir` is a habit of many."""
    person.run("echo a b c")
    assert person.says("echo $_") == "c"
    person.run("mkdir -p one/two")
    assert person.run("cd $_").directory == str(person.home / "one/two")
    person.run("true | (exit 3) | true")
    assert person.says('echo "${PIPESTATUS[@]}${pipestatus[@]}" $?') == "0 3 0 0"
    person.run("(exit 5)")
    assert person.says('echo $? "${PIPESTATUS[@]}${pipestatus[@]}"') == "5 5"


def test_a_command_is_found_by_its_number_in_the_shells_history(person: Person) -> None:
    """The number that `history` shows."""
    person.run("echo one", remembered="echo one")
    person.run("for i in 1 2\ndo true; done", remembered="for i in 1 2\ndo true; done")
    listed = person.run("fc -l 1", remembered="fc -l 1").output.splitlines()
    number = int(next(line for line in listed if "echo one" in line).split()[0])
    assert person.shell.numbered(number) == "echo one"
    assert person.shell.numbered(number + 1).replace("\n", "; ").startswith("for i in 1 2; do true; done")
    assert person.shell.numbered(99999) == "" and person.shell.numbered(0) == ""


def test_a_here_document_keeps_its_text(person: Person) -> None:
    """Nothing of ours becomes part of it, and the status is the line's."""
    assert person.says("cat <<END\nhello\nEND") == "hello"
    assert person.run("cat <<END >/dev/null; (exit 4)\nhello\nEND").status == 4
    assert person.says("echo $?") == "4"


# Options


@pytest.mark.parametrize("mode", ["vi", "emacs"])
def test_the_editing_mode_can_be_chosen(person: Person, mode: str) -> None:
    """In startup files and by hand. Our requests to the shell are not shown."""
    with_rc(person, f"set -o {mode}\n")
    assert person.says("echo one", seconds=3) == "one"
    assert person.shell.greeting == ""
    for line in ("set -o vi", "set -o emacs", "true && set -o vi; true", "set +o vi"):
        assert person.run(line, seconds=3).output == ""
        assert person.says("echo two", seconds=3) == "two"


@pytest.mark.parametrize("at_start", [True, False])
def test_a_trace_shows_the_users_commands_and_nothing_else(person: Person, at_start: bool) -> None:
    """Also that of a failing command, whose status the next line sees."""
    with_rc(person, "set -x\n" if at_start else "")
    if not at_start:
        assert person.says("set -x") == ""
    traced = person.says("echo one").splitlines()
    assert traced[0].startswith("+") and traced[0].endswith(" echo one") and traced[1:] == ["one"]
    person.run("(exit 3)")
    assert person.says("echo $?").splitlines()[1:] == ["3"]
    assert "aish" not in person.says("true | false")
    person.run("set +x")
    assert person.says("echo two") == "two"


@pytest.mark.parametrize("at_start", [True, False])
def test_lines_are_repeated_when_the_user_wants_it(person: Person, at_start: bool) -> None:
    """`set -v` repeats the user's lines, not ours, even after Ctrl-C."""
    with_rc(person, "set -v\n" if at_start else "")
    if not at_start:
        assert person.says("set -v") == ""
    assert person.says("echo one; false") == "echo one; false\none"
    assert "aish" not in person.says("sh -c 'echo ready; exec sleep 60'", (b"ready\r", b"\x03"))
    assert "aish" not in person.says("echo two")
    person.run("set +v")
    assert person.says("echo three") == "three"


@pytest.mark.parametrize("at_start", [True, False])
def test_a_failure_ends_the_line_and_not_the_shell(person: Person, at_start: bool) -> None:
    """With `set -e`, other shells end. Here the rest of the line does not run, and all variables are kept."""
    with_rc(person, "set -e\nfalse\nkept=1\n" if at_start else "kept=1\n")
    if not at_start:
        person.run("set -e")
    outcome = person.run("false; echo not reached")
    assert (outcome.status, outcome.output, outcome.died) == (1, "", False)
    outcome = person.run("f() { (exit 3); echo not reached; }; f; echo nor this")
    assert (outcome.status, outcome.output, outcome.died) == (3, "", False)
    assert person.says("(false; echo not reached) || echo $kept") in ("1", "not reached")  # as bash does it
    person.run("set +e")
    assert person.says("false; echo $kept") == "1"


def test_a_failure_after_set_e_on_the_same_line_ends_the_line(person: Person) -> None:
    """Pasted from a script, or in a file that is sourced."""
    person.run("kept=1")
    assert person.run("set -e; false; echo not reached").died is False
    assert person.says("set +e; echo $kept") == "1"
    (person.home / "strict").write_text("set -e\nmore=1\nfalse\necho not reached\n", encoding="utf-8")
    outcome = person.run(". ./strict")
    assert (outcome.died, outcome.output) == (False, "")
    assert person.says("set +e; echo $kept$more") == "11"


@pytest.mark.parametrize("at_start", [True, False])
def test_an_unset_variable_is_an_error_of_the_line(person: Person, at_start: bool) -> None:
    """The line fails, and the shell goes on."""
    with_rc(person, "set -u\n" if at_start else "")
    person.run("set -u")
    outcome = person.run("echo $none_such; echo not reached")
    assert outcome.status == 1 and "none_such" in outcome.output and "not reached" not in outcome.output
    assert person.says("echo on") == "on"
    assert person.shell.greeting == ""


# Traps


@pytest.mark.parametrize("more", ["", "set -T; ", "shopt -s extdebug; "])
def test_a_debug_trap_sees_the_users_commands_and_nothing_else(bash: Person, more: str) -> None:
    """From a startup file, with the options that make functions visible to it."""
    with_rc(bash, f'{more}trap \'echo "[$BASH_COMMAND]"; echo "$BASH_COMMAND" >>~/seen\' DEBUG\n')
    bash.run("true")
    (bash.home / "seen").unlink()
    assert bash.says("cd /; pwd") == "[cd /]\n[pwd]\n/"
    assert bash.shell.greeting == ""
    bash.run("cd; (exit 3) | true")
    assert bash.says("trap - DEBUG") == "[trap - DEBUG]"
    assert bash.says("echo on") == "on"
    assert "aish" not in (bash.home / "seen").read_text(encoding="utf-8")


def test_a_debug_trap_and_repeated_lines_go_together(bash: Person) -> None:
    """`set -v` also repeats the text of a trap, which must be the user's own."""
    with_rc(bash, "trap ': mine' DEBUG\n")
    bash.run("set -v")
    assert bash.says("echo one").splitlines()[0] == "echo one"
    assert "aish" not in bash.says("echo one; echo two")
    bash.run("set +v; trap ': other' DEBUG")
    assert bash.says("echo on") == "on"


def test_a_debug_trap_can_be_set_by_hand(bash: Person) -> None:
    bash.run("trap 'echo \"[$BASH_COMMAND]\"' DEBUG")
    assert bash.says("(exit 3)") == "[( exit 3 )]\n[exit 3]" or bash.says("false") == "[false]"
    assert bash.says("echo $?").splitlines()[-1] in ("1", "3")


def test_a_debug_trap_of_zsh_sees_the_users_commands(zsh: Person) -> None:
    with_rc(zsh, "trap 'echo \"[$ZSH_DEBUG_CMD]\"' DEBUG\n")
    assert zsh.says("cd /; pwd") == "[cd /]\n[pwd]\n/"
    zsh.run("trap - DEBUG")
    assert zsh.says("echo on") == "on"


def test_an_error_trap_runs_once_for_each_failure(person: Person) -> None:
    name = "ZERR" if person.program.endswith("zsh") else "ERR"
    assert person.says(f"trap 'echo trapped:$?' {name}") == ""
    assert person.says("false") == "trapped:1"
    assert person.says("echo $?") == "1"
    assert person.says("ls /none/such 2>/dev/null; true") == "trapped:2"
    person.run(f"trap - {name}")
    assert person.says("false") == ""


def test_the_exit_trap_runs_at_the_exit(person: Person) -> None:
    with_rc(person, "trap 'echo bye' EXIT\n")
    assert person.says("echo on") == "on"
    outcome = person.run("exit 3")
    assert (outcome.status, outcome.died, outcome.output.splitlines()[-1]) == (3, True, "bye")


# Hooks


def test_hooks_before_and_after_each_line_see_what_they_would_see(bash: Person) -> None:
    """In the manner of bash-preexec and starship: a trap that fires once for each line, and a prompt with a status."""
    with_rc(bash, COUNTED)
    assert bash.says("true") == "before[true]\nafter[0|0]"
    assert bash.shell.greeting == "after[0|0]"
    assert bash.says("false | true") == "before[false]\nafter[0|1 0]"
    assert bash.says("(exit 4)").splitlines()[-1] == "after[4|4]"
    assert bash.says('echo "$PS1"').splitlines()[1] == "[4]> "


def test_hooks_of_bash_run_outside_of_functions(bash: Person) -> None:
    """bash-preexec installs its trap with the first prompt, and later does nothing if a function calls it."""
    with_rc(bash, LATE)
    assert bash.says("echo one") == "before[echo one]\none\nafter[0]"
    assert bash.shell.greeting == "after[0]"
    assert bash.says("(exit 3)").splitlines()[-1] == "after[3]"
    assert bash.says("echo a b; echo c") == "before[echo a b]\na b\nc\nafter[0]"


def test_ctrl_c_in_a_slow_hook_leaves_nothing_behind(bash: Person) -> None:
    """The prompt of the shell is put away again, and the hook is kept."""
    hook = "[ -z \"$slow\" ] || { slow=; sh -c 'echo ready; exec sleep 60'; }"
    with_rc(bash, f"PS1='mine> '; hook() {{ {hook}; }}; PROMPT_COMMAND=hook\n")
    bash.run("slow=1", (b"ready\r", b"\x03"))
    assert bash.says("echo two") == "two"
    assert bash.says("echo $PROMPT_COMMAND") == "hook"


def test_a_text_for_the_start_of_each_line_is_shown_once(bash: Person) -> None:
    """PS0, with which starship measures the time of a line: it sets a variable in the shell."""
    with_rc(bash, "count=0 PS0='<${count:$((count=count+1,0)):0}begin>\\n'\n")
    assert bash.says("echo $count") == "<begin>\n1"
    assert bash.says('echo $count; echo "$PS0" | wc -l') == "<begin>\n2\n1"
    bash.run("PS0=")
    assert bash.says("echo on") == "on"


def test_a_hook_of_zsh_may_remove_itself(zsh: Person) -> None:
    """As those of oh-my-zsh that run once."""
    with_rc(
        zsh,
        "autoload -Uz add-zsh-hook\n"
        "once() { echo once; add-zsh-hook -d precmd once; unfunction once }; add-zsh-hook precmd once\n"
        "first() { echo first; add-zsh-hook -d preexec first; unfunction first }; add-zsh-hook preexec first\n",
    )
    assert zsh.says("echo one") == "first\none"
    assert zsh.shell.greeting == "once"
    assert zsh.says("echo two") == "two"


def test_tools_that_change_variables_and_prompt_find_them(bash: Person) -> None:
    """In the manner of direnv, nvm and conda."""
    with_rc(bash, ENVIRONMENTS)
    bash.run("cd /; false")
    assert bash.says("echo $? $HERE") == "1 /"
    bash.run("versions 20; false")
    assert bash.says("echo $VERSION ${PATH%%:*} $PROMPT_COMMAND") == "20 /versions/20 environment_hook"
    bash.run("activate base")
    assert bash.says('echo "$PS1"') == "(base) mine> "
    bash.run("unset PROMPT_COMMAND; cd /tmp")
    assert bash.says("echo $HERE") == "/"


@pytest.mark.parametrize("hook", ["return 3", "exit_code=1; false", "if", "echo ${none:?}", "set -e; false"])
def test_a_hook_that_fails_does_not_stop_the_shell(bash: Person, hook: str) -> None:
    bash.run(f"PROMPT_COMMAND='{hook}'", seconds=3)
    assert bash.run("(exit 4)", seconds=3).status == 4
    assert bash.says("echo on", seconds=3).splitlines()[0] == "on"


def test_a_command_that_is_not_found_goes_to_the_users_handler(person: Person) -> None:
    handler = "command_not_found_handler" if person.program.endswith("zsh") else "command_not_found_handle"
    with_rc(person, f'{handler}() {{ echo "no $1 here"; return 127; }}\n')
    assert person.run("none_such a").output == "no none_such here"
    assert person.says("echo $?") == "127"


def test_zsh_with_hooks_options_and_a_prompt_of_a_framework(zsh: Person) -> None:
    """In the manner of oh-my-zsh."""
    with_rc(
        zsh,
        "setopt prompt_subst auto_cd multios; autoload -U colors && colors\n"
        "autoload -Uz add-zsh-hook compinit && compinit -u\n"
        "title() { print -n '\\e]2;title\\a' }; add-zsh-hook precmd title\n"
        'told() { echo "before[$1]" }; add-zsh-hook preexec told\n'
        "moved() { echo moved:$PWD }; add-zsh-hook chpwd moved\n"
        "PROMPT='%n %1~ $(echo x)%# '; RPROMPT='%?'\n",
    )
    assert zsh.says("/") == "before[/]\nmoved:/"
    assert zsh.says("add-zsh-hook -d preexec told").startswith("before[")
    assert zsh.says("pwd") == "/"
    assert zsh.says("echo $PROMPT") == "%n %1~ $(echo x)%# "


def test_functions_named_like_builtins_do_no_harm(bash: Person) -> None:
    with_rc(bash, "read() { echo R; }; eval() { echo E; }; set() { echo S; }; printf() { echo P; }; alias trap=false\n")
    assert bash.says("echo one", seconds=3) == "one"
    assert bash.says("echo two", seconds=3) == "two"


def test_variables_and_jobs_are_known_for_completion(person: Person) -> None:
    """Those of startup files, and those that a line sets."""
    with_rc(person, "FROM_RC=1\n")
    person.run("LATER=2; sleep 100 & sleep 200 &")
    assert {"FROM_RC", "LATER", "HOME"} <= person.shell.variables
    person.run("echo on")
    deadline = time.monotonic() + 10  # the list is written after the end of the line
    while len(listed := person.shell.jobs()) < 2 and time.monotonic() < deadline:
        person.run("echo on")
    assert [(name[0], hint.split()[0].lower()) for name, hint in listed] == [("%", "running")] * 2
    assert not any(name.startswith("__aish") for name in person.shell.variables)
    person.run("kill %% %-; wait 2>/dev/null")
