#!/bin/bash
# Makes a small, deterministic project directory.  usage: bash fixture.sh DIR
set -euo pipefail
umask 022
export LC_ALL=C TZ=UTC GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE 2>/dev/null || true
D=${1:?usage: fixture.sh DIR}
if [ -e "$D" ]; then echo "$D exists already" >&2; exit 1; fi
mkdir -p "$D"; cd "$D"

commit() { # name email date message
  GIT_AUTHOR_NAME=$1 GIT_AUTHOR_EMAIL=$2 GIT_AUTHOR_DATE="$3" \
  GIT_COMMITTER_NAME=$1 GIT_COMMITTER_EMAIL=$2 GIT_COMMITTER_DATE="$3" \
  git -c core.autocrlf=false -c commit.gpgsign=false -c gc.auto=0 commit -q -m "$4"
}
MARA=("Mara Lindqvist" mara@example.org)
TOBI=("Tobias Okafor" tobias@example.org)
INES=("Ines Duarte" ines@example.org)

git -c init.defaultBranch=main init -q .
git config user.name "Mara Lindqvist"
git config user.email mara@example.org

# --- 1
cat > README.md <<'E'
# weatherbox

A tiny station that reads temperatures and prints a daily report.

## Install

    python3 -m venv .venv
    pip install -r requirements.txt

## Run

    python3 src/app.py --config config.json

Questions go to mara@example.org.
E
printf 'MIT License\n\nCopyright (c) 2023 Mara Lindqvist\n' > LICENSE
printf '__pycache__/\n*.pyc\n.env\nbig.bin\n.venv/\n' > .gitignore
git add -A; commit "${MARA[@]}" "2024-01-08T09:00:00+0000" "Initial commit with readme"

# --- 2
mkdir -p src
: > src/__init__.py
cat > src/app.py <<'E'
import json
import sys

from parser import parse_line
from report import daily_report


def load_config(path):
    with open(path) as f:
        return json.load(f)


def main(argv):
    config = load_config("config.json")
    # TODO: read the path from the arguments
    rows = []
    with open("data/readings.csv") as f:
        for line in f:
            rows.append(parse_line(line))
    print(daily_report(rows, config["unit"]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
E
cat > src/parser.py <<'E'
def parse_line(line):
    # TODO: handle quoted fields
    parts = line.rstrip("\n").split(",")
    return [p.strip() for p in parts]


def is_header(parts):
    return parts[0] == "date"


def to_celsius(f):
    return (f - 32) * 5 / 9
E
cat > config.json <<'E'
{
  "name": "weatherbox",
  "version": "1.2.0",
  "host": "localhost",
  "port": 8080,
  "unit": "celsius",
  "debug": false
}
E
git add -A; commit "${MARA[@]}" "2024-01-15T10:30:00+0000" "Add parser and main program"

# --- 3
cat > src/utils.py <<'E'
import math


def mean(values):
    return sum(values) / len(values)


def clamp(x, low, high):
    return max(low, min(high, x))


def round_up(x):
    return math.ceil(x)
E
cat > src/report.py <<'E'
from utils import mean


def daily_report(rows, unit):
    temps = [float(r[1]) for r in rows[1:]]
    return "mean: %.1f %s" % (mean(temps), unit)
E
git add -A; commit "${TOBI[@]}" "2024-01-22T14:00:00+0000" "Add report and helpers"

# --- 4
mkdir -p tests
: > tests/__init__.py
cat > tests/test_parser.py <<'E'
from src.parser import parse_line, is_header


def test_parse_line():
    assert parse_line("a, b,c\n") == ["a", "b", "c"]


def test_is_header():
    assert is_header(["date", "temp"])
E
cat > tests/test_utils.py <<'E'
from src.utils import clamp, mean


def test_mean():
    assert mean([1, 2, 3]) == 2


def test_clamp():
    # FIXME: add negative numbers
    assert clamp(11, 0, 10) == 10
E
git add -A; commit "${TOBI[@]}" "2024-02-02T11:15:00+0000" "Add first tests"

# --- 5
mkdir -p data
cat > data/readings.csv <<'E'
date,temp
2024-02-01,3.5
2024-02-02,4.0
2024-02-03,2.5
2024-02-04,6.0
E
cat > data/sales.csv <<'E'
date,city,product,amount
2024-01-03,Lisbon,sensor,120
2024-01-04,Oslo,sensor,80
2024-01-09,Turin,battery,15
2024-01-11,Lisbon,case,40
2024-01-17,Oslo,battery,30
2024-01-20,Lisbon,sensor,120
2024-01-23,Turin,sensor,95
2024-01-28,Gdansk,case,35
2024-02-02,Oslo,case,40
2024-02-05,Lisbon,battery,15
2024-02-09,Gdansk,sensor,110
2024-02-14,Turin,case,37
E
cat > data/customers.csv <<'E'
id,name,city
1,Rosa Almeida,Lisbon
2,Henrik Solberg,Oslo
3,Paolo Conti,Turin
4,Ewa Nowak,Gdansk
5,Nuno Faria,Lisbon
E
cp data/customers.csv data/customers_copy.csv
git add -A; commit "${INES[@]}" "2024-02-12T08:45:00+0000" "Add sample data"

# --- 6
mkdir -p scripts
printf '#!/bin/bash\nset -e\necho "building weatherbox"\ntar -cf build.tar src\n' > scripts/build.sh
printf '#!/bin/bash\nset -e\n# TODO: ask before deploying\necho "deploying to staging"\n' > scripts/deploy.sh
chmod 755 scripts/build.sh; chmod 644 scripts/deploy.sh
printf 'requests==2.31.0\npytest==8.0.0\nrich==13.7.0\n' > requirements.txt
git add -A; commit "${TOBI[@]}" "2024-02-20T16:20:00+0000" "Add build and deploy scripts"

# --- 7
mkdir -p docs logs tmp
printf '# Guide\n\n1. Start the box.\n2. Read the report.\n3. Go outside.\n' > docs/guide.md
printf 'Meeting 4 March\n- move the release to Friday\n- Ines orders batteries\n' > "docs/meeting notes.txt"
printf 'buy new batteries\ncall Tobias about the sensor\nthe wifi name is boxnet\n' > notes.txt
printf 'oslo\nlisbon\nturin\nlisbon\ngdansk\noslo\nlisbon\n' > docs/cities.txt
cat > logs/app.log <<'E'
2024-03-01 08:00:01 INFO started
2024-03-01 08:00:02 INFO config loaded
2024-03-01 08:05:10 WARN sensor 2 slow
2024-03-01 08:07:44 ERROR sensor 2 timed out
2024-03-01 08:07:45 INFO retry
2024-03-01 08:09:12 ERROR cannot write report: disk full
2024-03-01 08:15:00 INFO cleaned up
2024-03-01 08:15:01 INFO report written
2024-03-01 09:30:00 ERROR sensor 5 timed out
2024-03-01 10:00:00 INFO stopped
E
cat > logs/server.log <<'E'
10.0.0.5 GET /report 200
10.0.0.7 GET /report 200
10.0.0.5 GET /admin 403
10.0.0.9 GET /missing 404
10.0.0.5 GET /report 200
10.0.0.5 POST /reading 201
10.0.0.7 ERROR connection reset
10.0.0.9 GET /report 200
10.0.0.5 ERROR connection reset
10.0.0.7 GET /health 200
E
: > logs/debug.log
: > tmp/placeholder.txt
ln -s logs/app.log latest.log
git add -A; commit "${INES[@]}" "2024-03-04T13:05:00+0000" "Add docs, notes and logs"

# --- 8
sed -i 's/Go outside\./Water the plants./' docs/guide.md
git add -A; commit "${INES[@]}" "2024-03-11T17:40:00+0000" "Fix the last step of the guide"
git -c gc.auto=0 tag v1.2.0

# --- not in git
printf 'PORT=8080\nMODE=dev\n' > .env                    # ignored
head -c 3145728 /dev/zero > data/big.bin                  # ignored, 3 MiB
mkdir release-1.2
printf '1.2.0\n' > release-1.2/VERSION
printf 'faster start\nnew report\n' > release-1.2/CHANGES.txt
printf 'print("weatherbox 1.2.0")\n' > release-1.2/run.py
tar --sort=name --mtime='2024-03-12 00:00:00Z' --owner=0 --group=0 --numeric-owner -cf - release-1.2 | gzip -n > release.tar.gz
rm -r release-1.2
printf 'release.tar.gz\n' >> .git/info/exclude

# --- uncommitted changes: one modified, one untracked
printf '\n\ndef spread(values):\n    return max(values) - min(values)\n' >> src/utils.py
printf '# Draft\n\nIdeas for version 2.\n' > draft.md

# --- times: everything 2024-03-12, notes.txt is the newest
git status >/dev/null
find . -exec touch -h -d '2024-03-12T12:00:00Z' {} +
touch -d '2024-05-20T12:00:00Z' notes.txt
