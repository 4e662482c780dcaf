"""The entries of the table: what each program may do unasked, by the kinds of mistakes that such tables have."""

import re
import time
from collections.abc import Iterator

import pytest

from aish.action.command_table import CommandRule, Node, load_table
from aish.action.policy import judge

TABLE = load_table()

# One flag list for programs that differ, and flags or operands that write.
WRITES = """
lz4 -l notes
lz4 notes notes.lz4
bunzip2 -t -d data.bz2
xz -ld data.xz
zstd -t -d data.zst
zstdcat -o out data.zst
ar tM lib.a
uudecode mail.uu
pdftotext paper.pdf
pdftotext paper.pdf paper.txt
tree -o out
scc --output report .
cloc --out=report .
misspell -error -w docs
codespell -w docs
typos --write-changes
jsonlint -i data.json
yapf -i app.py
pyupgrade app.py
ruff check --fix .
ruff check --config 'fix = true' .
ss -D dump
sar -o out 1
stty size raw
ncdu
git fsck --lost-found
git hash-object -w notes
""".strip().split("\n")
# Files of options, programs, plugins and other programs' configuration.
RUNS = """
objdump @more a.o
strings @more
gcc -v hello.c
clang -v @more
javac -version Hello.java
java -version @more
ld -v a.o
jar tf @more
nm --plugin ./x.so a.o
7z l @more
ldd /usr/lib/../../tmp/a.out
nginx -t -c ./nginx.conf
apachectl -t -f ./httpd.conf
php-fpm -t -y ./fpm.conf
sshd -t -f ./sshd_config
kubectl --kubeconfig=k.yaml get nodes
kubectl get nodes --kubeconfig k.yaml
pygmentize -x -l ./lexer.py app.py
cowsay -f ./x.cow hi
brew info ./x.rb
rg --pre ./x foo
ack --pager=./x foo
ugrep --filter='*:./x' foo
actionlint -shellcheck=./x ci.yml
cppcheck --addon=./x.py a.c
pidstat -e ./x
rpm -q --pipe ./x bash
tput -T x init
git -p log
git diff --ext-diff
less -k keys README.md
""".strip().split("\n")
# Code, plugins and settings of the current directory, also with --help and --version.
PROJECT = """
pytest --version
nox --help
pylint --version
flake8 --help
jest --version
karma --help
yarn --version
pnpm -v
nx --help
rustc --version
rustfmt --check a.rs
cargo metadata --no-deps
rustup show
rake --help
bundle list
rspec --version
composer --version
mvn -v
gradle --version
sbt --version
bazel --version
dotnet --info
mix --version
scons --help
latexmk --version
ansible-doc -l
vagrant status
serverless --version
hg status
jj log
flask --help
jupyter --version
uv pip list
poetry show
terraform graph
terraform state list
""".strip().split("\n")
# Credentials: files that flags read, environments, variables, stores.
SHOWS = """
wc --files0-from=.netrc
wc --files0 .netrc
du -X .netrc .
file -bf .netrc
file --magic-file .netrc x
hd -f .netrc x
diff -X .netrc a b
fd --ignore-file .netrc
rg -f .netrc src
findmnt -F .netrc
xmllint --schema .netrc a.xml
docker compose --env-file .env ps
helm lint -f secrets.yaml ./chart
ps axe
ps -auxe
ps -o pid,environ
docker top web axe
docker inspect web
docker inspect --format '{{json .Config}}' web
docker history --no-trunc img
docker compose config
kubectl get SECRET
kubectl get secrets.v1. -o yaml
kubectl get pods,secret/db
kubectl get pods -o go-template-file=.env
oc whoami -t
printenv NPM_TOKEN
printenv HOME DB_PASSWORD
declare -p
export -p
set
getent shadow
who .netrc
pip config list
npm config get //registry.example/:_authToken
git config --get http.extraheader
gh auth token
terraform output
zcat -rf ~
grep -d recurse x ~
grep --recurs x ~
rg x ~/.local/share
git diff --no-index ~/.config /tmp
objdump -S a.o
shellcheck -x a.sh
""".strip().split("\n")
# Hosts as values, servers as operands, names in which data can leave.
SENDS = """
psql --host db.example.net -c 'select 1'
mysql -h db.example.net -e 'select 1'
mysqladmin ping -h db.example.net
pg_isready --host=db.example.net
pg_isready -d 'host=db.example.net'
nslookup payload.example.net
nslookup example.net ns.example.org
host example.net ns.example.org
dig payload.example.net
dig @ns.example.net example.org
drill -t payload.example.net
ping -q payload.example.net
mtr -w payload.example.net
getent hosts payload.example.net
npm view payload
npm search payload
npm whoami
gem search payload
pip list -f example.net/x
gh pr list -R host.example/a/b
gh pr view -w 3
gh search code payload
glow gitlab.com/a/b
svn log
lspci -q
helm template repo/chart
""".strip().split("\n")
HARMLESS = """
wc -l *.py
file *
du -sh * | sort -h
find . -name '*.go' | xargs wc -l
xz -l data.xz
bzip2 -dc data.bz2 | head
zstd -t data.zst
lz4 -dc data.lz4 | head
objdump -d a.out | head
readelf -h a.out
nm -gD lib.so
javac -version
gcc -v
nginx -t
ps aux --sort=-%mem | head
ps -eo pid,ppid,args,%cpu
ps axo pid,comm
ps -u www-data
docker inspect -f '{{.State.Status}}' web
docker top web
kubectl get pods -o wide
kubectl logs -f deploy/web --tail=50
helm template ./chart -f values.yaml
printenv HOME
declare -F
set -euo pipefail
psql -h localhost -c 'select 1'
pg_isready -h /run/postgresql
dig +short www.example.com
dig @1.1.1.1 example.com MX
host -t MX example.com
ping -c 3 example.com
npm ls --depth=0
npm config get prefix
pip show flask
git config user.email
git log --oneline --graph --all -20
git diff --stat main...HEAD
gh pr view 12 --json title,body
gh run list -w ci.yml
ruff check --select E .
black --check src
cloc --json .
shellcheck -s bash a.sh
go list -m all
brew info python@3.12
service nginx status
curl -s 'http://localhost:9200/_cat/indices?v'
rg -n --type py 'def main' src
jq -r '.scripts | keys[]' package.json
nmcli connection show --active
openssl rand -hex 16
tput cols
""".strip().split("\n")


@pytest.mark.parametrize("command", WRITES)
def test_a_flag_or_operand_that_writes_asks(command: str) -> None:
    """Programs with the same letters do different things with them."""
    assert judge(command, TABLE).verdict == "ask"


@pytest.mark.parametrize("command", RUNS)
def test_a_file_of_options_or_a_program_as_a_value_asks(command: str) -> None:
    """Another file decides what such a command does."""
    assert judge(command, TABLE).verdict == "ask"


@pytest.mark.parametrize("command", PROJECT)
def test_a_program_that_loads_code_of_the_project_asks_whatever_its_arguments_are(command: str) -> None:
    """Its version is printed by code that came with the project, or after such code ran."""
    assert judge(command, TABLE).verdict == "ask"


@pytest.mark.parametrize("command", SHOWS)
def test_what_shows_a_credential_asks(command: str) -> None:
    """Also in an error message, in the environment of a process, or in a store that a program keeps."""
    assert judge(command, TABLE).verdict == "ask"


@pytest.mark.parametrize("command", SENDS)
def test_a_host_or_a_name_that_could_carry_data_asks(command: str) -> None:
    """The name that is looked up is the message."""
    assert judge(command, TABLE).verdict == "ask"


@pytest.mark.parametrize("command", HARMLESS)
def test_an_everyday_command_beside_these_runs(command: str) -> None:
    """The line between both is drawn by what the program does, so the usual forms must not ask."""
    assert judge(command, TABLE).verdict == "run"


def entries() -> Iterator[CommandRule]:
    waiting: list[Node] = list(TABLE.commands.values())
    while waiting:
        node = waiting.pop()
        waiting += node.below.values()
        if node.entry:
            yield node.entry


@pytest.mark.parametrize("shape", sorted({entry.shape for entry in entries()} - {""}))
def test_the_time_to_match_a_shape_is_linear(shape: str) -> None:
    """A long operand must not stop the program that judges it."""
    pieces = ("a", "a.", "a,", "a=", "A_", "-", "/", "1.", "x y", "_URL", "MONGO", "eval ", "github", "secret", "\0")
    start = time.process_time()
    for piece in pieces:
        re.fullmatch(shape, (piece * 20_000)[:20_000] + "\n!")
    assert time.process_time() - start < 0.5


def test_a_flag_is_not_both_judged_and_permitted_unseen() -> None:
    """What reads a file or contacts a host must be listed under that key only, so that nobody overlooks it."""
    for entry in entries():
        special = entry.reads | entry.hosts | entry.runs | entry.writes
        assert not (entry.flags and special & entry.flags.bare), entry.name
