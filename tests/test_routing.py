"""How typed lines are routed, with a fake shell that knows a few words."""

from collections.abc import Collection

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from timing import cpu_seconds

from aish.intake.routing import Route, route
from aish.intake.vocabulary import is_slip
from aish.verbs import VERBS

PROGRAMS = """ls cat grep git find make sort kill who which time test touch cut join look last less more watch
    rm cp mv tar echo printf python3 bash vim head tail date curl ssh docker split man uptime true sudo tee file
    wc chmod nice diff""".split()
BUILTINS = (
    "cd type help let read set export history kill alias source exit echo wait return test true false exec".split()
)
KEYWORDS = "if for while until do done then else case function select in time { } ! [[".split()


class Shell:
    """A fake shell that knows only the given words and files."""

    def __init__(
        self,
        *,
        files: Collection[str] = (),
        targets: Collection[str] = (),
        aliases: Collection[str] = (),
        programs: Collection[str] = (),
        ran: Collection[str] = (),
    ):
        self.ran = ran
        self.files, self.targets, self.aliases, self.programs = files, targets, aliases, [*PROGRAMS, *programs]

    def kind(self, word: str) -> str:
        tables = (("alias", self.aliases), ("keyword", KEYWORDS), ("builtin", BUILTINS), ("program", self.programs))
        return next((kind for kind, known in tables if word in known), "")

    def exists(self, path: str) -> bool:
        return path in self.files

    def is_target(self, program: str, word: str) -> bool:
        return word in self.targets

    def has_run(self, word: str) -> bool:
        return word in self.ran

    def near(self, word: str) -> tuple[str, ...]:
        return tuple(name for name in PROGRAMS + BUILTINS if is_slip(word, name))


SHELL = Shell(files=("notes", "src", "draft.md"), targets=("coffee",), aliases=("ll", "la", "deploy"))


def kind(line: str) -> str:
    return route(line, SHELL).kind


def check(lines: str, wanted: str) -> None:
    taken = {line: route(line, SHELL) for line in lines.strip().split("\n")}
    assert {line: (found.kind, found.reason) for line, found in taken.items() if found.kind != wanted} == {}


@pytest.mark.proves("P1")
def test_a_mark_in_front_decides() -> None:
    """The user can override every guess. The mark is removed from the text."""
    assert route("!tell me a story", SHELL)[::2] == ("command", "tell me a story")
    assert route("? ls -la", SHELL)[::2] == ("question", "ls -la")
    assert route("？ls", SHELL)[::2] == ("question", "ls")
    assert route("! grep -q x draft.md", SHELL)[::2] == ("command", "! grep -q x draft.md")
    assert route("  pwd ; ls ", SHELL).text == "pwd ; ls"


@pytest.mark.proves("P1")
def test_everyday_commands_are_commands() -> None:
    check(
        """
ls
ls -lt src
cat draft.md
cd
cd ..
cd /var/tmp
git status
git commit -m "why did this ever work?"
git log --oneline | head -3
docker ps -a
htop
ll
deploy staging
grep -rn "what is it" src
python3 -m venv .venv
tar xf backup
chmod u+x run
sudo tail -f /var/log/messages
curl -s https://example.org/a?b=c
ssh box uptime
rm -r src
cp notes copy
grep -i what draft.md
git commit -m this
man ls
mkdir new folder
echo $?
ls ?.md
ls part?
echo so this is how it ends, my friend
""",
        "command",
    )


@pytest.mark.proves("P1")
def test_shell_grammar_is_a_command() -> None:
    check(
        r"""
x=5
PAGER=cat git log
names=(ann bob)
./build.sh --all
~/bin/tool now
../configure
$EDITOR draft.md
"$EDITOR" draft.md
$(which ls) -l
(cd src && ls)
{ ls; pwd; }
[ -f notes ] && echo yes
[[ -d src ]] || mkdir src
((n++))
> fresh.log
< draft.md wc -l
# only a remark
for f in *.md; do wc -l "$f"; done
for ((i=0; i<3; i++)); do echo $i; done
for d in */; do (cd "$d" && ls); done
while read -r l; do echo "$l"; done < notes
if [ -f notes ]; then cat notes; fi
if grep -q x notes; then echo found; fi
until test -f done; do sleep 1; done
case $1 in a|b) echo first;; *) echo other;; esac
greet() { echo hello; }
function greet { echo hello; }
diff <(sort notes) <(sort draft.md)
ls -la | sort | head
who | wc -l
time (sleep 1)
! true
!!
git log -3 # is this all?
""",
        "command",
    )


@pytest.mark.proves("P1")
def test_names_that_are_english_words_are_commands_with_evidence() -> None:
    """Evidence is a flag, a path, a valid number, a target or an existing file."""
    check(
        """
find . -name '*.py'
find src
find . -name this -o -name that
make
make coffee
make clean
make -j4
make CC=clang
sort -u notes
sort draft.md
kill 4711
kill -9 12
kill %1
test -f notes
test a = b
time ls
time make -j2
touch fresh.txt
touch a b c
which git
which -a ls
type cd
help cd
let x=3+4
who
who am i
last
last -n 3
watch -n1 ls
watch ls
at 17:30
at now + 1 hour
cut -d, -f2 draft.md
more draft.md
history 20
read -p "name? " name
shutdown now
set -e
open draft.md
""",
        "command",
    )


@pytest.mark.proves("P1")
def test_names_that_are_english_words_start_questions_too() -> None:
    check(
        """
find all files that are larger than a gigabyte
find the bug in draft.md
make a folder for my photos
make this run faster
make coffee taste better
sort these by size
kill the process on port 3000
kill -9 vs kill -15
test whether the server is up
time is short
touch every file in src
which python version should I take
which one is faster
who is logged in
type hints, how do they work
let me see
let y = 5;
help me with a regex
last night it crashed
at what time does cron run
more details please
less is more
yes please
yes
more
watch the log for errors
if I remove this, can I get it back
for every picture make a thumbnail
for i in range(3):
while I wait, tell me a joke
do it again
done
then what
case sensitivity in names: how does it work
select name from people where age > 3
look at this: ls -l
open the browser for me
""",
        "question",
    )


@pytest.mark.proves("P1")
def test_a_program_that_is_talked_about_is_not_run() -> None:
    check(
        """
git is confusing, how do I undo a commit
git?
git merge or rebase?
git merge conflict
git undo last commit
docker won't start
docker compose up fails with port already in use
docker vs podman
python3 or ruby?
python3 list comprehension example
ls doesn't show hidden files
ls -la shows question marks for permissions
tar -xzf gives me an error
rm -rf target takes forever
ssh connection refused
bash loop over files with spaces
curl follow redirects
cd is not remembered
sudo is not working
sudo make me a sandwich
chmod 777 is bad right
echo without newline
vim how to leave
""",
        "question",
    )


@pytest.mark.proves("P1")
def test_questions_requests_and_small_talk_are_questions() -> None:
    check(
        """
how do I list hidden files
why is my disk full?
what's in /etc/passwd?
show me the last ten commits
list files
run ls -la
delete draft.md
explain tar -xzf
summarize draft.md
I can't push
it's broken
hello
thanks!
ok
continue
1+1
/help
@ann what do you think
`ls` shows nothing, why
""",
        "question",
    )


@pytest.mark.proves("P1")
def test_other_languages_are_questions() -> None:
    check(
        """
zeige mir alle dateien
wie lösche ich einen ordner
la carpeta no existe
que hace este comando
comment supprimer un dossier
il file non esiste
nein
как удалить файл
如何删除文件
git 怎么撤销
ファイルを消す方法
파일을 어떻게 지우나요
docker startet nicht
git commit rückgängig machen
""",
        "question",
    )


@pytest.mark.proves("P1")
def test_names_in_other_languages_are_fine_in_commands() -> None:
    check("mkdir Präsentation\necho 你好\nvim 笔记.txt\ngrep -r 'für' .\ncat ~/Música/a.txt", "command")


@pytest.mark.proves("P1")
def test_messages_and_source_code_are_questions() -> None:
    """Users paste them to get an explanation. They often start with the name of a program."""
    check(
        """
ls: cannot access 'x': No such file or directory
make: *** [all] Error 2
make[1]: Entering directory '/srv'
bash: frob: command not found
curl: (6) Could not resolve host: example.org
git: 'stauts' is not a git command.
Traceback (most recent call last):
    at Object.<anonymous> (/srv/app.js:10:5)
[ERROR] connection timed out
[    1.23] usb 1-1: device not found
main.c:12:5: error: expected ';'
npm ERR! code ERESOLVE
{"error": "not found"}
<div class="x">hello</div>
#include <stdio.h>
import numpy as np
const x = 5;
type Foo struct {
function add(a, b) { return a + b; }
int main() { return 0; }
if (x == 1) { return; }
export default function f() {
10.0.0.1 - - [01/May/2024] "GET / HTTP/1.1" 200
wait()
""",
        "question",
    )


@pytest.mark.proves("P1")
def test_slips_of_the_finger_stay_commands() -> None:
    """The shell reports a mistyped command with a suggestion; a model would waste a call on it."""
    check(
        """
gti status
sl -la
sl
grpe -r x src
git stauts
dokcer ps
pyhton3 x.py
cd..
ls-la
cd/tmp
gitstatus
suod ls
sudp docker ps
exti
lss
LS -la
Git status
frob --all
""",
        "command",
    )
    check("waht is the time\nhwo do i leave vim\nhelo world\nty\nteh disk is full\nfrob the knob", "question")


@pytest.mark.proves("P1")
def test_what_may_be_either_is_asked_about() -> None:
    check(
        "make tea\nsort this\nopen house\nsort draft.md numerically\nkill time\nhelp\n$ ls",
        "ask",
    )


@pytest.mark.proves("P1")
def test_what_the_user_installed_is_run_with_any_words() -> None:
    """No table knows these programs, so only a sentence behind them is a question."""
    installed = "frobctl todo pass rake2 kv note-cli helmsman deploybot acme lamp speak".split()
    shell = Shell(programs=installed)
    commands = """
frobctl sync everything
frobctl restart all
todo add call mum about the garden
todo list due today
pass show mail work
pass edit github
kv get secret
deploybot release web
helmsman generate model Customer
acme use node
acme layout us
lamp on
lamp off kitchen
speak hello world
frobctl help
frobctl logs errors
cd old && frobctl restart all
export PATH=$PATH:/opt/tool/bin; newtool list
npm i -g newtool && newtool start now
sudo newtool enable web
sudo newtool-2 restart
DEBUG=1 newtool serve
touch hello world
cp out src
rm photos
cat pictures
cd 下载
""".strip().split("\n")
    questions = """
frobctl keeps crashing, why
frobctl vs deploybot
why does frobctl not start
frobctl restart does not work
pass me the list of users please
todo list for a small web shop
deploybot create a new release for the web team
acme change the region of my cluster
lamp is broken
speak to me
frobctl?
sudo give me a moment
""".strip().split("\n")
    assert [line for line in commands if route(line, shell).kind != "command"] == []
    assert [line for line in questions if route(line, shell).kind != "question"] == []


@pytest.mark.proves("P1")
def test_a_first_word_of_the_history_is_a_command_unless_a_sentence_follows() -> None:
    """It may be installed on another machine only; the shell then says that it is not found."""
    shell = Shell(ran=["frobctl", "make", "tell"])

    assert route("frobctl sync everything", shell).kind == "command" != kind("frobctl sync everything")
    assert route("frobctl keeps crashing, why", shell).kind == "question"
    assert route("make the tests pass", shell).kind == "question"
    assert route("tell me a story", shell).kind == "question"


@pytest.mark.proves("P1")
def test_first_words_in_quotes_and_paths_are_commands() -> None:
    check(
        r"""
\ls
\ls -l
'ls' -l
"ls"
"./my script.sh" now
'/opt/my tools/run' all
.venv/bin/pytest -q
node_modules/.bin/eslint src
packages/web-1/start.sh
""",
        "command",
    )
    check("\"hello there\" is what it printed\n'ls' is not recognised, why\nclient/server models", "question")


@pytest.mark.proves("P1")
def test_the_first_line_of_a_compound_command_is_a_command() -> None:
    """The shell then reads on."""
    check(
        """
for i in a b
for f in *.md
while read line
while true
until false
until ping -c1 box
if grep -q x notes
if [ -f notes ]
case $x in
function greet
{
(
""",
        "command",
    )
    check(
        """
until when is it valid
while you are at it
if it fails again
for all of them
function pointers in c
case in point
""",
        "question",
    )


@pytest.mark.proves("P1")
def test_words_that_are_both_run_alone_but_not_in_a_remark() -> None:
    check("true\nfalse\nwait\nkill\ntest\nsort\nwait %1\nkill -l\nexec true\nexit 3", "command")
    check("exit code 137\nexit status of a pipe\nshutdown the db server\nwait for the build", "question")
    assert kind("git install error EACCES") != "command"


@pytest.mark.proves("P1")
def test_several_lines_are_commands_only_if_all_of_them_are() -> None:
    assert kind("cd src\nls -la\nrm old.txt") == "command"
    assert kind("for f in *; do\n  echo $f\ndone") == "command"
    assert kind("docker run \\\n  -p 80:80 \\\n  nginx") == "command"
    assert kind("cat > x.py <<'END'\nprint('how are you?')\nEND\nls") == "command"
    assert kind("# set up\ngit init\n\ngit status") == "command"
    assert kind("x=1\ncase $x in\n 1) echo one;;\nesac") == "command"
    assert kind("ls -la\nwhat does this print?") == "question"
    assert kind("I ran this:\ndocker ps\nand got nothing") == "question"
    assert kind("make test\nmake: *** No rule to make target 'test'.  Stop.") == "question"
    assert kind("# Title\n\nThis is a readme about things.") == "question"
    assert kind("def f(x):\n    return x") == "question"
    assert kind("$ ls\nnotes src") == "question"
    assert kind("cat <<END\nnever closed") == "command"


@pytest.mark.proves("P1")
def test_a_missing_file_or_target_takes_the_evidence_away() -> None:
    bare = Shell()
    assert (kind("make coffee"), route("make coffee", bare).kind) == ("command", "ask")
    assert (kind("la"), route("la", bare).kind) == ("command", "question")


@pytest.mark.parametrize("verb", VERBS)
def test_our_own_verbs_are_commands_whatever_words_follow(verb: str) -> None:
    """`aish VERB` is always a command, even if the shell does not know the program yet."""
    assert route(f"aish {verb} what we said about the deploy window", SHELL).kind == "command"


def test_nothing_typed_is_nothing_to_send() -> None:
    assert route("   ", SHELL) == Route("command", "nothing was typed", "")


@pytest.mark.proves("P1")
@settings(max_examples=150, deadline=None)
@given(st.text(alphabet=st.sampled_from("ls git?!'\"`$(){}[]<>|&;#\\\n\t=-/*~é你 fortheis,.:0"), max_size=60))
def test_any_text_has_a_route(text: str) -> None:
    found = route(text, SHELL)
    assert found.kind in ("command", "question", "ask")
    assert found.reason
    assert found.text in text


@pytest.mark.parametrize(
    "piece",
    ["a", "ls; ", "$(", "((", "'", "x ", "cat <<E\n", "[[ ", "`a", "case x in ", "é", "- ", "{ ", "a=1 ", "sudo "],
)
def test_a_megabyte_takes_no_longer_than_a_page(piece: str) -> None:
    """Routing runs at every key press. A text 100 times as long may take at most 10 times as long."""
    page, megabyte = (piece * (size // len(piece)) for size in (10_000, 1_000_000))

    assert cpu_seconds(lambda: route(megabyte, SHELL)) < 10 * cpu_seconds(lambda: route(page, SHELL)) + 0.005


def test_a_long_paste_is_asked_about() -> None:
    """Only its start is read, so the rest is unknown."""
    assert kind("ls -la src\n" * 5000) == "ask"
    assert kind("ls -la src\n# " + "a" * 5000) == "ask"
    assert kind("echo '" + "a" * 5000 + "'") == "command"


def test_one_slip_is_one_slip() -> None:
    for word, other in (("gti", "git"), ("gt", "git"), ("giit", "git"), ("got", "git"), ("igt", "git")):
        assert is_slip(word, other), word
    for word, other in (("git", "git"), ("tig", "git"), ("g", "git"), ("gitgi", "git"), ("ab", "cd"), ("", "ab")):
        assert not is_slip(word, other), word
