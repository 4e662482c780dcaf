"""Eight small jobs of a developer: a project, a question, a check by exit code, and a script that solves it.

Stories play the scripts through the whole program; `tools/jobs.py` gives the same jobs to a real model.
"""

import json
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

TEST = "python3 -m unittest -q"


class DeveloperJob(NamedTuple):
    """One job. `check` runs in the project, with the path of the last answer in $ANSWER; it exits with 0 if it is done.

    `prepare` gets the project after its files are written. `script` are the answers of a model that can do it.
    """

    name: str
    question: str
    files: Mapping[str, str]
    check: str
    script: tuple[str, ...]
    prepare: Callable[[Path], None] = lambda project: None

    def make(self, project: Path) -> None:
        """Write the project."""
        for name, text in self.files.items():
            path = project / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        self.prepare(project)

    def is_done(self, project: Path, answer: str) -> bool:
        """Return whether the check succeeds."""
        said = project.parent / "answer.txt"
        said.write_text(answer, encoding="utf-8")
        found = subprocess.run(
            ["bash", "-c", self.check],
            cwd=project,
            env={"PATH": "/usr/local/bin:/usr/bin:/bin", "ANSWER": str(said), "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            timeout=60,
            check=False,
        )
        return found.returncode == 0


def call(name: str, **arguments: object) -> str:
    """Return a line with which a scripted model calls a tool."""
    return f"TOOL: {name} {json.dumps(arguments)}"


def _git(project: Path, *words: str) -> str:
    identity = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *identity, *words], cwd=project, capture_output=True, check=True, timeout=30)
    return done.stdout.decode().strip()


def _sixteen_commits(project: Path) -> None:
    """Commit a file sixteen times; the eleventh commit breaks it. The hash of that one is kept beside the project."""
    for number in range(1, 17):
        sign = "+" if number >= 11 else "*"
        (project / "area.py").write_text(f"# version {number}\ndef area(a, b):\n    return a {sign} b\n", "utf-8")
        _git(project, "add", "-A")
        _git(project, "commit", "-qm", f"Version {number}")
        if number == 11:
            (project.parent / "culprit").write_text(_git(project, "rev-parse", "HEAD"), "utf-8")


FIX_TEST = DeveloperJob(
    "fix a failing test",
    "The tests of this project fail. Find out why and fix the program, not the test.",
    {
        "shop.py": "def total(prices):\n    result = 0\n    for price in prices[1:]:\n        result += price\n    return result\n",
        "test_shop.py": "import unittest\nfrom shop import total\n\n\nclass TestTotal(unittest.TestCase):\n"
        "    def test_all_prices_count(self):\n        self.assertEqual(total([1, 2, 3]), 6)\n",
    },
    f"{TEST} && grep -q 'total(.1, 2, 3.), 6' test_shop.py",
    (
        f"I run the tests first.\n\nCMD: {TEST}",
        call("read_file", path="shop.py"),
        call("edit_file", path="shop.py", old="prices[1:]", new="prices"),
        f"The first price was left out. I run the tests again.\n\nCMD: {TEST}",
        "The tests pass now: `total` skipped the first price.",
    ),
)

RENAME = DeveloperJob(
    "rename across files",
    "Rename the function calc to total_price everywhere in this project. Nothing else may change.",
    {
        "prices.py": "def calc(prices):\n    return sum(prices)\n\n\ndef calculator():\n    return 'calculator'\n",
        "cart.py": "from prices import calc\n\n\ndef cart_total(cart):\n    return calc(cart)\n",
        "report.py": "import prices\n\n\ndef report(cart):\n    return f'total: {prices.calc(cart)}'\n",
        "test_all.py": "import unittest\nfrom cart import cart_total\nfrom prices import calculator\nfrom report import report\n"
        "\n\nclass TestAll(unittest.TestCase):\n    def test_sums(self):\n        self.assertEqual(cart_total([1, 2]), 3)\n"
        "        self.assertEqual(report([1, 2]), 'total: 3')\n        self.assertEqual(calculator(), 'calculator')\n",
    },
    f"! grep -rnw calc --include='*.py' . && grep -q 'def total_price' prices.py && {TEST}",
    (
        "I look where it is used.\n\nCMD: grep -rnw calc --include='*.py' .",
        "CMD: sed -i 's/\\bcalc\\b/total_price/g' prices.py cart.py report.py",
        f"CMD: grep -rnw calc --include='*.py' .\nCMD: {TEST}",
        "Renamed in three files; the tests pass.",
    ),
)

EXPLAIN = DeveloperJob(
    "explain an error",
    "python3 report.py ends with an error. What is the cause, exactly?",
    {
        "report.py": "import json\n\nfor fruit in json.load(open('fruits.json')):\n    print(fruit['name'], fruit['price'] * 2)\n",
        "fruits.json": '[{"name": "apple", "price": 3}, {"name": "orange"}, {"name": "plum", "price": 1}]\n',
    },
    'grep -qi orange "$ANSWER" && grep -qi price "$ANSWER"',
    (
        "CMD: cat report.py fruits.json\nCMD: python3 report.py",
        "The entry `orange` in fruits.json has no `price`, so `fruit['price']` raises a KeyError.",
    ),
)

CALLERS = DeveloperJob(
    "find who calls a function",
    "Which functions of this project call send_mail? Name all of them.",
    {
        "mail.py": "def send_mail(to, text):\n    print(to, text)\n",
        "orders.py": "from mail import send_mail\n\n\ndef confirm_order(order):\n    send_mail(order['to'], 'thanks')\n\n\n"
        "def cancel_order(order):\n    # send_mail is not needed here\n    return None\n",
        "users.py": "import mail\n\n\ndef welcome_user(user):\n    mail.send_mail(user, 'welcome')\n",
        "jobs/nightly.py": "from mail import send_mail as send\n\n\ndef nightly_report(people):\n    for person in people:\n"
        "        send(person, 'report')\n",
    },
    'for f in confirm_order welcome_user nightly_report; do grep -q $f "$ANSWER" || exit 1; done; '
    '! grep -q cancel_order "$ANSWER"',
    (
        call("search_files", pattern="send_mail"),
        call("read_file", path="orders.py") + "\n" + call("read_file", path="jobs/nightly.py"),
        "Three functions call it: `confirm_order` in orders.py, `welcome_user` in users.py, and `nightly_report` in "
        "jobs/nightly.py, where it is imported under the name `send`.",
    ),
)

ADD_OPTION = DeveloperJob(
    "add an option with its test",
    "Give greet.py an option --shout that prints the greeting in capital letters, and add a test for it.",
    {
        "greet.py": "import argparse\n\n\ndef greeting(name):\n    return f'Hello, {name}'\n\n\ndef main():\n"
        "    parser = argparse.ArgumentParser()\n    parser.add_argument('name')\n    options = parser.parse_args()\n"
        "    print(greeting(options.name))\n\n\nif __name__ == '__main__':\n    main()\n",
        "test_greet.py": "import unittest\nfrom greet import greeting\n\n\nclass TestGreeting(unittest.TestCase):\n"
        "    def test_it_has_the_name(self):\n        self.assertEqual(greeting('Ann'), 'Hello, Ann')\n",
    },
    "[ \"$(python3 greet.py --shout Ann)\" = 'HELLO, ANN' ] && [ \"$(python3 greet.py Ann)\" = 'Hello, Ann' ] && "
    f"{TEST} && grep -qi shout test_greet.py",
    (
        call("read_file", path="greet.py") + "\n" + call("read_file", path="test_greet.py"),
        call(
            "edit_file",
            path="greet.py",
            old="def greeting(name):\n    return f'Hello, {name}'\n",
            new="def greeting(name, shout=False):\n    text = f'Hello, {name}'\n    return text.upper() if shout else text\n",
        ),
        call(
            "edit_file",
            path="greet.py",
            old="    options = parser.parse_args()\n    print(greeting(options.name))\n",
            new="    parser.add_argument('--shout', action='store_true')\n    options = parser.parse_args()\n"
            "    print(greeting(options.name, options.shout))\n",
        ),
        call(
            "edit_file",
            path="test_greet.py",
            old="'Hello, Ann')\n",
            new="'Hello, Ann')\n\n    def test_it_can_shout(self):\n        self.assertEqual(greeting('Ann', shout=True), 'HELLO, ANN')\n",
        ),
        f"CMD: {TEST}",
        "greet.py has --shout now, with a test.",
    ),
)

BISECT = DeveloperJob(
    "bisect",
    "python3 check.py succeeded fifteen commits ago and fails now. Find the commit that broke it, and write its full "
    "hash into a file FOUND.",
    {"check.py": "from area import area\n\nassert area(3, 4) == 12\n", ".gitignore": "__pycache__\n"},
    '[ "$(cat FOUND)" = "$(cat ../culprit)" ]',
    (
        "CMD: git log --oneline | tail -3",
        "CMD: git bisect start HEAD HEAD~15 && git bisect run python3 -B check.py",
        "CMD: git rev-parse refs/bisect/bad > FOUND",
        "CMD: git bisect reset",
        "Found; the hash is in FOUND.",
    ),
    _sixteen_commits,
)

WRITE_SCRIPT = DeveloperJob(
    "write a script",
    "Write a bash script count.sh that prints, for each .txt file in the directory given as its argument, the number of "
    "lines and the name of the file, with the most lines first.",
    {
        "notes/one.txt": "a\n",
        "notes/three.txt": "a\nb\nc\n",
        "notes/two words.txt": "a\nb\n",
        "notes/other.md": "x\n" * 9,
    },
    "bash count.sh notes > ../counted && [ $(wc -l < ../counted) -eq 3 ] && sed -n 1p ../counted | grep -q '3.*three' && "
    "sed -n 2p ../counted | grep -q '2.*two words' && sed -n 3p ../counted | grep -q '1.*one'",
    (
        call(
            "write_file",
            path="count.sh",
            content='#!/bin/bash\nfor file in "${1:-.}"/*.txt; do\n'
            '  printf \'%d %s\\n\' "$(wc -l < "$file")" "${file##*/}"\ndone | sort -rn\n',
        ),
        "I try it.\n\nCMD: bash count.sh notes",
        "count.sh does it.",
    ),
)

CLEAN_UP = DeveloperJob(
    "clean up a directory",
    "Delete what the compiler and the editor left behind (*.o, *.tmp and backups that end in ~), and nothing else.",
    {
        "src/main.c": "int main(void) { return 0; }\n",
        "src/main.o": "object",
        "src/deep/part.o": "object",
        "notes.tmp": "temporary",
        "README~": "old",
        "README": "read me\n",
        "photo.otf": "keep",
        "template.tmpl": "keep",
    },
    "! find . -path ./.git -prune -o \\( -name '*.o' -o -name '*.tmp' -o -name '*~' \\) -print | grep -q . && "
    "cat src/main.c README photo.otf template.tmpl > /dev/null",
    (
        "CMD: find . -name '*.o' -o -name '*.tmp' -o -name '*~'",
        "CMD: rm src/main.o src/deep/part.o notes.tmp README~",
        "CMD: find . -name '*.o' -o -name '*.tmp' -o -name '*~'",
        "The four files are gone.",
    ),
)

JOBS = (FIX_TEST, RENAME, EXPLAIN, CALLERS, ADD_OPTION, BISECT, WRITE_SCRIPT, CLEAN_UP)
