"""History expansion, compared with the rules of bash, and with bash itself where it is installed."""

import shutil
import subprocess
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aish.intake.history_expansion import expand, is_expansion, names_earlier

RAN = [
    "git add src/main.c lib/util.c",
    "ls -l /var/log",
    "make -j4 test",
    "cp 'my file.txt' /tmp/copy.txt",
]  # oldest first


def expanded(line: str) -> str:
    return expand(line, lambda: reversed(RAN), lambda number: RAN[number - 1] if number <= len(RAN) else None)


@pytest.mark.proves("P1")
@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("!!", "cp 'my file.txt' /tmp/copy.txt"),
        ("sudo !!", "sudo cp 'my file.txt' /tmp/copy.txt"),
        ("!-2", "make -j4 test"),
        ("!ls", "ls -l /var/log"),
        ("!2", "ls -l /var/log"),
        ("cd !2:$", "cd /var/log"),
        ("echo !99", "echo !99"),
        ("echo it works!2day", "echo it works!2day"),
        ("!?util?", "git add src/main.c lib/util.c"),
        ("cat !$", "cat /tmp/copy.txt"),
        ("cat !^", "cat 'my file.txt'"),
        ("echo !*", "echo 'my file.txt' /tmp/copy.txt"),
        ("echo !!:0", "echo cp"),
        ("echo !git:2", "echo src/main.c"),
        ("echo !git:2-3", "echo src/main.c lib/util.c"),
        ("echo !git:1*", "echo add src/main.c lib/util.c"),
        ("cd !$:h", "cd /tmp"),
        ("echo !$:t:r", "echo copy"),
        ("echo !$:e", "echo .txt"),
        ("!!:s/copy/other/", "cp 'my file.txt' /tmp/other.txt"),
        ("!git:gs/c/h/", "git add srh/main.h lib/util.h"),
        ("^copy^other", "cp 'my file.txt' /tmp/other.txt"),
        ("^copy^other^ -v", "cp 'my file.txt' /tmp/other.txt -v"),
        ('echo "!!"', "echo \"cp 'my file.txt' /tmp/copy.txt\""),
    ],
)
def test_an_earlier_command_is_filled_in(line: str, wanted: str) -> None:
    assert expanded(line) == wanted


@pytest.mark.parametrize(
    "line",
    [
        "echo '!!'",
        "for i in ${!cp[@]}; do echo $i; done",
        "!: > file",
        "cat >run.sh <<'EOF'\n#!git/bin\necho !! !ls\nEOF",
        r"echo \!!",
        "echo wow!",
        'git commit -m "done!"',
        "[ ! -f x ]",
        "if ! true",
        "test a != b",
        "echo !nothing",
        "!-9",
        "!!:7",
        "^absent^x",
        "ls [!a]*",
        "kill $!",
    ],
)
def test_what_names_no_earlier_command_stays_as_it_is(line: str) -> None:
    assert expanded(line) == line


def test_a_name_with_further_words_forces_a_command() -> None:
    """`!make coffee` runs make, whatever was run before; `!make` alone repeats."""
    assert names_earlier("!make", reversed(RAN)) and not names_earlier("!make coffee", reversed(RAN))
    assert not names_earlier("!who", reversed(RAN)) and not names_earlier("make", reversed(RAN))
    assert is_expansion("!-2") and is_expansion("^a^b") and not is_expansion("!make")


def test_without_history_nothing_is_filled_in() -> None:
    assert expand("sudo !!", lambda: ()) == "sudo !!"


@pytest.mark.skipif(not shutil.which("bash"), reason="bash is not installed")
def test_bash_agrees() -> None:
    lines = [
        "sudo !!",
        "!-3",
        "!ma",
        "cat !$",
        "echo !*",
        "!!:1",
        "!git:2-3",
        "!$:h",
        "!$:t",
        "!?util?:0",
        "!!:s/my/our/",
    ]
    script = "set -o history -H\n" + "".join(f"history -s -- {_quoted(one)}\n" for one in RAN)
    script += "".join(f"history -p -- {_quoted(line)}\n" for line in lines)
    done = subprocess.run(["bash", "--norc", "-c", script], capture_output=True, text=True, timeout=20, check=True)

    assert done.stdout.splitlines() == [expanded(line) for line in lines]


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="!$^*:-?123 abgit/s'\"\\.", max_size=30), st.lists(st.text(max_size=20), max_size=4))
def test_any_line_can_be_expanded(line: str, ran: list[str]) -> None:
    text = expand(line, lambda: ran)
    assert "!" in line or "^" in line or text == line


def test_the_line_before_a_document_is_filled_in_and_the_document_is_not() -> None:
    assert expanded("sudo tee !$ <<EOF\n!!\nEOF") == "sudo tee /tmp/copy.txt <<EOF\n!!\nEOF"


def test_earlier_commands_are_read_once_for_all_names() -> None:
    read = []

    def earlier() -> Iterator[str]:
        for one in reversed(RAN):
            read.append(one)
            yield one

    assert expand("echo !no !such !name !git:0", earlier) == "echo !no !such !name git"
    assert len(read) == len(RAN)


def test_a_name_with_a_space_after_it_is_a_command_that_is_forced() -> None:
    assert names_earlier("!ls", RAN)
    assert not names_earlier("!ls ", RAN)
