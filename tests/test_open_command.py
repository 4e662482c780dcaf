"""Where a command of several lines ends: the reader agrees with bash, or holds the command back."""

import re
import shutil
import subprocess
import time
from functools import cache

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from aish.values.open_command import MOST_CHARACTERS, MOST_LINES, OpenCommand

pytestmark = pytest.mark.proves("P4")
BASH = shutil.which("bash") or ""
OPEN = re.compile(r"unexpected end of file|unexpected EOF|token `EOF' in conditional|delimited by end-of-file")

# Each text is one command; the shell needs all of its lines.
HERE_DOCUMENTS = [
    "cat > hello.py <<'EOF'\nprint(\"hi\")\nEOF",
    "cat <<EOF\n$HOME and $(date)\nEOF",
    "cat <<-EOF\n\tindented\n\tEOF",
    "cat <<-'EOF'\n\t\tdeep\nEOF",
    'cat <<"END OF IT"\nEND\nEND OF IT',
    "cat <<\\EOF\n$x\nEOF",
    "cat <<E'O'F\nx\nEOF",
    "cat <<A; cat <<B\n1\nA\n2\nB",
    "cat <<A <<'B' >x\n1\nA\n2\nB",
    "cat <<EOF | wc -l\na\nEOF",
    "cat <<EOF |\na\nEOF\nwc -l",
    "cat <<EOF && echo done\na\nEOF",
    'cat <<EOF > "a\nb"\ntext\nEOF',
    'cat <<EOF\nit\'s "open" (here\nEOF',
    "cat <<EOF\na\\\nEOF\nEOF",
    "cat <<'EOF'\na\\\nEOF",
    "cat <<EOF\n EOF\nEOF \nEOF",
    "cat <<EOF\nCMD: rm -r x\n```\nEOF",
    "cat <<EOF\n\n\nEOF",
    "( cat <<EOF\nx\nEOF\n)",
    "(cat <<EOF)\nx\nEOF",
    "x=$(cat <<EOF\n)\nEOF\n)",
    "if true; then cat <<EOF\nfi\nEOF\nfi",
    "while read -r x; do echo $x; done <<EOF\na\nEOF",
    "python3 - <<'PY'\nfor x in 'ab':\n    print(x)\nPY",
    "{ cat <<EOF\n}\nEOF\n}",
    "cat 3<<EOF <&3\nx\nEOF",
    "f() { cat <<EOF\nx\nEOF\n}",
    "cat <<EOF # it's a comment\nx\nEOF",
]
QUOTES = [
    "echo 'a\nb'",
    'echo "a\nb"',
    "echo $'it\\'s\nb'",
    'echo "a $(date\n) b"',
    'echo "it\'s\n"',
    "echo 'a\n'\"b\n\"c",
    "echo `date\n`",
    'echo "${x:-a\nb}"',
    'echo ${x:-"a}\n"}',
    "git commit -m 'One\n\nTwo #3'",
    "awk '\n{ print $1 }\n' file",
    'echo "\\"\n"',
    'echo $"a\nb"',
    'echo "$(echo "in\n")"',
    "sed -e '\ns/a/b/' x",
]
CONTINUED = [
    "ls \\\n-l",
    "docker run \\\n  --rm \\\n  -v a:b \\\n  image",
    "echo a |\nwc",
    "echo a &&\necho b ||\necho c",
    "echo a |&\nwc",
    "echo a | # why\n\n# this\nwc",
    "i\\\nf true; then\necho; fi",
    "true &&\n\\\nfalse",
    "echo a|\\\nwc",
    'echo "a\\\nb"',
]
COMPOUNDS = [
    'for f in *.txt; do\n  wc -l "$f"\ndone',
    "for f in a b\ndo\n  echo $f\ndone",
    "for f\nin a b\ndo echo $f\ndone",
    "for f\ndo echo $f\ndone",
    "for f; do\necho; done",
    "for ((i = 0; i < 3; i++)); do\necho $((i << 2))\ndone",
    "for ((i=0;\ni<3;\ni++))\ndo echo; done",
    "select x in a b; do\nbreak\ndone",
    "if true\nthen\necho\nelif false; then\necho\nelse\necho\nfi",
    "if [[ $x == a &&\n$y =~ ^(a|b)$ ]]; then\necho\nfi",
    "[[ a == b ||\nc == d ]]",
    "while true; do\nbreak\ndone",
    "until false\ndo\necho if\ndone | sort",
    "case $x in\na) echo ;;\n(b|c) echo x ;;\nesac",
    "case x\nin\n*) if true; then echo; fi;;\nesac",
    "case $x in a) echo 1;& b)\n;; esac",
    "case esac in\n(esac) echo;; x)\nesac",
    "{ echo a\necho b; }",
    "(cd a\nls)",
    "f() {\necho\n}",
    "f ()\n{\necho; }",
    "function f\n{\necho; }",
    "function f() (\nls\n)",
    "f() for x in a; do\necho\ndone",
    "a=(1\n2 # it's\n3)",
    "declare -A a=([x]=1\n['y z']=2)",
    "echo $(case x in\nx) echo;; esac)",
    "diff <(ls a\n) <(ls b)",
    "echo $((1 +\n2))",
    "((x = 1 +\n2))",
    "! {\nfalse; }",
    "time {\nls; }",
    "time -p if true; then\nls; fi",
    "if true; then for x in 1; do case $x in 1) while false; do (\nls); done;; esac; done; fi",
    "{ { ls\n} }",
    "a[1]=x b=(\n)",
]
CORPUS = [*HERE_DOCUMENTS, *QUOTES, *CONTINUED, *COMPOUNDS]


def complete_at(text: str) -> int:
    """Return after how many lines the reader takes the text for complete; 0 for never."""
    reader = OpenCommand()
    for number, line in enumerate(text.split("\n"), start=1):
        reader.read(line)
        if not reader.needs_more:
            return number
    return 0


def why(text: str) -> str:
    reader = OpenCommand()
    for line in text.split("\n"):
        reader.read(line)
    return reader.missing


@cache
def complaint(text: str) -> str:
    """Return what bash says about a text that it only reads."""
    checked = subprocess.run(
        [BASH, "--norc", "-n", "-c", text], capture_output=True, timeout=20, check=False, env={"LC_ALL": "C"}
    )
    return checked.stderr.decode("utf-8", "replace")


@pytest.mark.parametrize("text", CORPUS)
def test_a_command_ends_where_bash_ends_it(text: str) -> None:
    """Not a line earlier: until then bash misses something, too."""
    lines = text.split("\n")
    assert complete_at(text) == len(lines)
    assert complaint(text) == ""
    for many in range(1, len(lines)):
        start = "\n".join(lines[:many])
        assert start.endswith("\\") or OPEN.search(complaint(start))


@pytest.mark.parametrize(
    "line",
    [
        *["ls", "ls -la | wc -l", "a && b; c &", "echo 'it' \"is\" $'fine'", "echo a # it's", "echo $# ${#x} ${x#a}"],
        *["echo if then do", "echo a=(b)", "a=1 if", "ls a)", "fi", "}", "echo {", "echo \\'", "[ a = b ]", "x='#'"],
        *["echo $((1 << 2))", "cat <<< EOF", "echo `date`", "find . -exec ls {} \\;", "if a; then b; fi", "!", "time"],
        *[
            "echo a[1] [x] x]",
            "ls *.{a,b}",
            "case a in a) b;; esac",
            "f() { ls; }",
            "ls !(a|b)",
            "2>&1 ls >&2",
            "# it's",
        ],
    ],
)
def test_a_line_that_is_complete_needs_no_other(line: str) -> None:
    """Reserved words, brackets and quotes count only where the shell sees them."""
    assert complete_at(line) == 1
    assert not OPEN.search(complaint(line))


TOKENS = [
    *"if then fi else elif for i in do done while until case esac select function time -p ! coproc echo f() f".split(),
    *["{", "}", "(", ")", "((", "))", "[[", "]]", "[", "]", "$(", "${x", "$((", "$[", "<(", "a=(", "@(", "a)", "*)"],
    *[
        "`",
        "'",
        '"',
        "$'",
        "\\",
        "#",
        "$#",
        "$x",
        "\n",
        "\n",
        "\n",
        ";",
        ";;",
        ";&",
        "&",
        "&&",
        "||",
        "|",
        "|&",
        "\\\n",
    ],
    *["<<EOF", "<<-'E'", "<<\\E", '<<"E F"', "EOF", "E", "\tE", "E F", "<<<", ">", "2>", "&>", "=~", "b=", "x", "1"],
]
SOUP = st.lists(st.tuples(st.sampled_from(TOKENS), st.sampled_from(["", " "])).map("".join), min_size=1, max_size=14)


@given(SOUP.map("".join))
@settings(max_examples=300, deadline=None)
def test_what_is_taken_for_complete_is_complete_for_bash(text: str) -> None:
    """In any order of everything that means something: bash may find it wrong, but not too short."""
    many = complete_at(text)
    assume(many)
    assert not OPEN.search(complaint("\n".join(text.split("\n")[:many])))


def wrapped(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Return commands around commands."""
    shapes = [
        "if {}\nthen {}\nfi",
        "while {}; do\n{}\ndone",
        "for x in a b; do {}\n{}; done",
        "case x in\na|b) {} ;;\n*)\n{}\nesac",
        "{{ {}\n{}; }}",
        "( {}\n{} )",
        "{} &&\n{}",
        "{} |\n\n{}",
        "f() {{\n{}\n}}; {}",
        "echo \"$( {}\n)\" '\n' $( {})",
        "{} || \\\n{}",
    ]
    return st.tuples(st.sampled_from(shapes), inner, inner).map(lambda parts: parts[0].format(*parts[1:]))


SIMPLE = st.sampled_from(["ls", "echo 'a b' \"c\"", "[[ a =~ (b) ]]", "((1 + 2))", "x=(1 2)", "a=1 b >c 2>&1"])


@given(st.recursive(SIMPLE, wrapped, max_leaves=6))
@settings(max_examples=150, deadline=None)
def test_commands_inside_commands_end_with_the_outer_one(text: str) -> None:
    assert complaint(text) == ""
    assert complete_at(text) == text.count("\n") + 1


@given(st.lists(st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=20), max_size=6))
@settings(max_examples=100, deadline=None)
def test_the_text_of_a_here_document_is_only_data(lines: list[str]) -> None:
    """It ends at its own line alone."""
    assume("end" not in lines)
    assert complete_at("\n".join(["cat <<'end'", *lines, "end", "more"])) == len(lines) + 2
    assert complete_at("\n".join(["cat <<'end'", *lines])) == 0


@pytest.mark.parametrize(
    "text",
    [
        *["((a); b)\nls", "echo $((a); b)\nls", "echo ${ ls; }\nls", "coproc a\nls", "x=$(cat <<EOF)\na\nEOF"],
        *["cat <<$x\na\n$x", "ls &\\\n& b", "for i in a; { ls; }\nb", "f() ls\nb", "ls >\nb", "[[ a << b ]]\nc"],
        *["cat <<A $(ls\n)\nx\nA\nb", "case a b\nc", "cat <<''\nx\n", "cat <<`a`\n`a`", "echo ${x:-<( }\nb"],
    ],
)
def test_a_text_that_can_be_read_in_two_ways_stays_open(text: str) -> None:
    """It is not offered, which is better than a part of it."""
    assert complete_at(text) == 0
    assert why(text).startswith("it is unclear where it ends: ")


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("cat <<EOF\nx", "the line “EOF” that ends a here-document is missing"),
        ("echo 'a", "a closing ' is missing"),
        ('echo "$(ls', "a closing ) is missing"),
        ("if a; then", "fi is missing"),
        ("ls \\", "the line after a backslash is missing"),
        ("ls |", "the command after an operator is missing"),
        ("f()", "the body of a function is missing"),
        ("ls", ""),
    ],
)
def test_it_says_what_is_missing(text: str, missing: str) -> None:
    assert why(text) == missing


def test_a_command_has_a_limit_of_lines_and_of_characters() -> None:
    """Nobody reviews more, and nothing after it is a command: it may be a part of it."""
    most = "\n".join(["cat <<EOF", *["x"] * (MOST_LINES - 2), "EOF"])
    assert complete_at(most) == MOST_LINES
    longer = "\n".join(["cat <<EOF", *["x"] * (MOST_LINES - 1), "EOF", "ls"])
    wider = f"cat <<EOF\n{'x' * MOST_CHARACTERS}\nEOF\nls"
    assert (complete_at(longer), complete_at(wider)) == (0, 0)
    assert why(longer) == why(wider) == "it has more than 400 lines or 20,000 characters"
    assert complete_at("x" * 2 * MOST_CHARACTERS) == 1


@pytest.mark.parametrize(
    "piece",
    [
        *[
            "a\\ ",
            "$(",
            "if ",
            "'a'",
            "a[",
            "x=(",
            "((",
            "<<a ",
            "a&&",
            '"$(',
            "{ ",
            "[[ ",
            "${",
            "1>",
            "`",
            " ",
            "f()",
            "#",
        ]
    ],
)
def test_no_command_takes_long_to_read(piece: str) -> None:
    """The time is linear in its length, in one line and in several."""
    began = time.process_time()
    OpenCommand().read(piece * 100_000)
    reader = OpenCommand()
    for _ in range(MOST_LINES):
        reader.read(piece * 20 + "\\")
    assert time.process_time() - began < 2
