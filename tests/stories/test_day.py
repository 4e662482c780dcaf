"""A day of work in bash and one in zsh, with long start-up files: every line is run by the shell, and none is asked.

Keys go into a pseudo-terminal that pyte reads. 162 lines: plain commands, pipes, redirections, loops, jobs, functions,
aliases, git, history expansion, here-documents, and installed programs followed by plain words. Programs, nvm and conda
are stand-ins that log their calls; docs/shell.md says which real tools were tried. `make day` types the same keys into
a real tmux.
"""

import shutil
from pathlib import Path

import pytest
from terminal import Terminal
from world import World

# Programs that nobody has by accident. Each writes its name and arguments into a log.
INSTALLED = """
    pm2 kubectl docker npm cargo terraform ansible-playbook hugo pass task vault rails helm gcloud aws yarn poetry uv gh
    supervisorctl systemctl mytool notes brew flutter composer mix bundle pnpm deno sv nomad restic rclone tldr jira say
""".split()
RUNS = """
pm2 restart all
pm2 logs api
kubectl get pods
kubectl rollout restart deployment web
kubectl logs web
kubectl config use-context staging
docker compose up
docker image ls
docker build .
docker stop web
npm install react react-dom
npm run build
npm test
npm run lint fix
cargo build
cargo test parser
cargo install ripgrep fd-find
terraform plan
terraform apply
ansible-playbook site
hugo new site blog
hugo server
pass show github
pass edit work mail
task add buy milk
task add call mum about the garden
task list
vault kv get secret
rails generate model User
rails db migrate
helm upgrade web chart
gcloud compute instances list
aws s3 ls
aws ec2 describe-instances
yarn add react redux
poetry add requests
uv sync
uv run tests
gh pr list
gh repo clone example
supervisorctl restart worker
systemctl restart nginx postgres
mytool sync all
mytool status
mytool help
notes new meeting
brew install wget jq
brew services restart postgresql
flutter run
composer require foo
mix test
bundle install
pnpm install
deno task start
sv restart web
nomad job run api
restic backup home
rclone copy photos backup
tldr tar
jira issue list
say hello world
sudo_like mytool deploy web
cd . && mytool sync all
MODE=fast mytool build
export EXTRA=1; mytool list
mytool build && mytool test
mytool list | cat
mytool list > out.txt
(mytool inside)
{ mytool inside; }
if true; then mytool inside; fi
for name in web api; do mytool restart $name; done
\\mytool escaped
'mytool' quoted
./tools/run.sh now
"./tools/my script.sh" now
tools/run.sh again
!mytool forced
""".strip().split("\n")
PLAIN = """
ls
ls -la
pwd
mkdir -p src/lib docs
cd src
touch main.c util.c
touch hello world
ls | wc -l
cd ..
cd -
cd ..
echo hello > docs/notes.txt
cat docs/notes.txt
cat docs/notes.txt | tr a-z A-Z
echo more >> docs/notes.txt
wc -l docs/notes.txt
grep -rn hello docs
grep hello docs/notes.txt
head -1 docs/notes.txt
tail -1 docs/notes.txt
sort docs/notes.txt
sort -r docs/notes.txt | uniq -c
cp docs/notes.txt docs/copy.txt
mv docs/copy.txt docs/old.txt
diff docs/notes.txt docs/old.txt
rm docs/old.txt
find . -name '*.c'
find src
which ls
type cd
true
false
wait
test -f docs/notes.txt && echo yes
[ -d src ] && echo yes
[[ -d src ]] && echo yes
x=5
echo $x
y=$((x + 1)); echo $y
echo "$x and $y"
echo 'what time is it?'
alias hi='echo hi from'
hi me
greet() { echo "hello $1"; }
greet you
for i in 1 2 3; do echo $i; done
while read line; do echo "<$line>"; done < docs/notes.txt
case $x in 5) echo five;; esac
if [ $x -gt 3 ]; then echo big; fi
(cd src && ls)
sleep 0.01 &
jobs
wait
date +%Y
env | grep -c PATH
printf '%s\\n' a b c
seq 3 | paste -sd+
export COLOUR=green
echo $COLOUR
unset COLOUR
history > /dev/null
git init -q .
git status --short
git add src
git config user.email a@example.org
git config user.name A
git commit -qm 'first: does it work?'
git log --oneline
git branch
git checkout -qb feature
git stash list
echo change >> src/main.c
git diff --stat
git commit -qam 'second'
git log --oneline | head -1
echo one two
echo !$
!-2
^two^three
""".strip().split("\n")
COMPOUND = ["for i in a b\rdo\recho part $i\rdone", "cat <<END\rwhy is this no question?\rEND"]  # Enter goes on

BASHRC = r"""
set -o vi
shopt -s histappend checkwinsize
HISTCONTROL=ignoreboth
PROMPT_COMMAND='__remember_status=$?; history -a'
PS1='\[\e[32m\]\u@\h \w $(git branch --show-current 2>/dev/null)\[\e[0m\]\$ '
alias ll='ls -l' la='ls -A' gs='git status'
__before_command() { [ -n "$COMP_LINE" ] && return; __last_command=$BASH_COMMAND; }
trap '__before_command' DEBUG
trap 'true' ERR
nvm() { echo "nvm $*" >> "$CALLS"; }
conda() { echo "conda $*" >> "$CALLS"; }
_direnv_hook() { local previous=$?; export DIRENV_SEEN=$PWD; return $previous; }
PROMPT_COMMAND="_direnv_hook;$PROMPT_COMMAND"
command_not_found_handle() { echo "no $1 here" >&2; return 127; }
sudo_like() { "$@"; }
bind '"\e[A": history-search-backward' 2>/dev/null
complete -W 'one two' mytool
"""
ZSHRC = r"""
setopt auto_cd hist_ignore_space extended_glob no_beep prompt_subst
autoload -Uz compinit add-zsh-hook vcs_info 2>/dev/null; compinit -u 2>/dev/null
bindkey -v
__count() { (( __commands++ )); }
add-zsh-hook preexec __count
__branch() { vcs_info 2>/dev/null; export LAST_SEEN=$PWD; }
add-zsh-hook precmd __branch
precmd() { __status=$?; }
PROMPT='%F{green}%n %~%f %# '
RPROMPT='%T'
zle -N accept-and-run 2>/dev/null
alias ll='ls -l' gs='git status'
nvm() { echo "nvm $*" >> "$CALLS" }
conda() { echo "conda $*" >> "$CALLS" }
sudo_like() { "$@" }
command_not_found_handler() { echo "no $1 here" >&2; return 127 }
TRAPZERR() { true }
"""


def furnish(world: World) -> Path:
    """Install the programs and scripts of the day; return the log of their calls."""
    calls, programs, tools = world.directory / "calls", world.directory / "programs", world.directory / "tools"
    for folder, names in ((programs, INSTALLED), (tools, ["run.sh", "my script.sh"])):
        folder.mkdir()
        for name in names:
            program = folder / name
            program.write_text(f'#!/bin/sh\necho "{name} $*" >> "{calls}"\n', encoding="utf-8")
            program.chmod(0o755)
    return calls


@pytest.mark.proves("P1", "P2")
@pytest.mark.parametrize(("shell", "file", "text"), [("bash", ".bashrc", BASHRC), ("zsh", ".zshrc", ZSHRC)])
def test_no_command_of_a_day_goes_to_the_model(world: World, shell: str, file: str, text: str) -> None:
    """More than 150 lines of real work; nothing of ours is seen, and the state goes from line to line."""
    if not (program := shutil.which(shell)):
        pytest.skip(f"{shell} is not installed")
    world.script("This should never be said.")
    calls = furnish(world)
    (world.directory / file).write_text(text, encoding="utf-8")
    path = f"{world.directory / 'programs'}:/usr/local/bin:/usr/bin:/bin"
    lines = [*PLAIN, *RUNS, "nvm use node", "conda create env", *COMPOUND, "echo $x $__remember_status$__status end"]

    with Terminal(world, columns=120, SHELL=program, PATH=path, CALLS=str(calls)) as terminal:
        terminal.wait_ready()
        for number, line in enumerate(lines, start=2):
            terminal.enter(line)
            terminal.wait_times(b"\x1b[?2004h", number)
        terminal.wait_for("end")
        terminal.enter("exit 3")
        code = terminal.code()
        seen = terminal.raw.decode("utf-8", "replace")

    ran = calls.read_text(encoding="utf-8").splitlines()
    expected = [line for line in RUNS if line.split()[0] in INSTALLED]
    assert [
        line for line in expected if line.partition(" > ")[0].partition(" |")[0].partition(" &&")[0] not in ran
    ] == []
    assert len(ran) >= len(RUNS) and {"nvm use node", "conda create env", "mytool forced", "my script.sh now"} <= {*ran}
    assert code == 3 and world.journals() == []
    assert "never be said" not in seen and "__aish" not in seen and "6973" not in seen
    assert "part a" in seen and "one three" in seen and "[a]sk the model" not in seen
