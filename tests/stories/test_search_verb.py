"""`aish search`, `aish recent` and `aish thread` as programs use them: fields, exit codes, and any input."""

import io
import json
import subprocess
import sys
from pathlib import Path
from select import select
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from world import AISH, World, at

from aish.program import Program
from aish.values.errors import BadUsage
from aish.values.turns import Turn
from aish.views.search import run_recent, run_search, run_thread

FIELDS = ["conversation", "turn", "time", "role", "text", "name", "channel", "ref", "score", "why"]
SAID = [
    ("user", "The kiln is at nine hundred degrees."),
    ("assistant", "Then the glaze melts in an hour."),
    ("user", "Die Brennkammer ist heiß, das Thermometer auch."),
    ("assistant", "窯の温度は九百度です。"),
]
ODD = [
    "",
    " \n\t ",
    "the of and to",
    "🙂🔥",
    "-",
    "- -- ---",
    '"',
    '"" "“',
    "(?:[a-z]*+",
    "^$.|?*+(){}[]\\",
    "kiln AND NOT OR ~2 ^3 field:value {a TO b}",
    "role: in: since: until:",
    "role:nobody in:nowhere since:2026-02-31 until:25:61",
    "since:99999-99-99 until:-1d kiln",
    "Ελλάδα Россия עברית العربية हिन्दी ไทย 한국어 日本語 中文 ქართული አማርኛ",
    "\x00\x01\x1b[2J\x7f",
    "﷽" * 500,
    "a\u0301" * 500,
    "'; drop table journals; --",
    "%s %d {} {0} $HOME `id`",
]


def speak(world: World) -> str:
    """Write a conversation, and return its id."""
    session = world.program().session()
    for role, text in SAID:
        session.journal.add(Turn("user" if role == "user" else "assistant", text), at("2026-05-04T12:00:00"))
    return session.journal.id


def answers(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture(scope="module")
def spoken(tmp_path_factory: pytest.TempPathFactory) -> tuple[World, str]:
    """One world for all tests that only read."""
    world = World(tmp_path_factory.mktemp("spoken"))
    return world, speak(world)


# The real program


@pytest.mark.proves("N8")
def test_one_process_answers_many_queries_line_by_line(spoken: tuple[World, str]) -> None:
    """Documented fields, each line answered at once, and nothing else on standard output."""
    world, id = spoken
    process = subprocess.Popen(
        [*AISH, "search", "--jsonl", "--limit", "3"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={name: value for name, value in world.environment().items() if name != "PYTHONUNBUFFERED"},
        cwd=world.directory,
    )
    assert process.stdin and process.stdout
    try:
        process.stdin.write(b'{"query": "kiln degrees"}\n')
        process.stdin.flush()
        assert select([process.stdout], [], [], 30)[0], "it is answered before the second is asked"
        first = json.loads(process.stdout.readline())
        lines = [
            {"query": "glaze", "limit": 1, "role": "assistant"},
            {"query": "kiln", "since": "2026-05-05"},
            {"query": "温度", "channel": world.directory.name},
            {"query": "", "unknown": [1]},
        ]
        out, err = process.communicate("".join(json.dumps(line) + "\n\n" for line in lines).encode(), timeout=60)
    finally:
        process.kill()

    glaze, later, chinese, empty = answers(out.decode())
    assert (process.returncode, err) == (0, b"")
    assert list(first) == ["query", "ms", "hits"]
    assert first["query"] == "kiln degrees" and first["ms"] > 0
    hit = first["hits"][0]
    assert list(hit) == FIELDS
    assert (hit["conversation"], hit["turn"], hit["ref"]) == (id, 1, f"{id}/1")
    assert (hit["time"], hit["role"], hit["text"]) == ("2026-05-04T12:00:00.000Z", *SAID[0])
    assert hit["score"] > 0 and "kiln" in hit["why"]
    assert [hit["text"] for hit in glaze["hits"]] == [SAID[1][1]]
    assert later["hits"] == []
    assert chinese["hits"][0]["text"] == SAID[3][1]
    assert len(empty["hits"]) == 3, "an empty question is about the newest"


def test_exit_codes_are_those_of_every_verb(world: World) -> None:
    """0 found, 1 nothing, 2 usage; an error is one line on standard error."""
    nothing = world.aish("search", "--json", "kiln")
    assert (nothing.code, nothing.err) == (1, "")
    assert json.loads(nothing.out)["hits"] == []
    speak(world)

    found = world.aish("search", "kiln")
    usage = world.aish("search", "kiln", "--since", "2026-02-31")

    assert (found.code, found.err) == (0, "")
    assert "/1 you: The kiln is at nine hundred degrees." in found.out
    assert (usage.code, usage.out) == (2, "")
    assert usage.err == "[aish] '2026-02-31' is not a time; try 2026-11-15, yesterday, “last week” or “3 days ago”\n"


def test_piped_output_is_not_truncated(world: World) -> None:
    """`aish recent | grep WORD` finds the word anywhere in a turn; only a terminal truncates."""
    long = f"kiln {'and more ' * 200}porcelain"
    world.program().session().journal.add(Turn("user", long), at("2026-05-04T12:00:00"))

    found, newest = world.aish("search", "kiln"), world.aish("recent")

    assert f"you: {long}\n" in found.out and f"you: {long}\n" in newest.out
    later = world.aish("recent", "--since", "2026-05-05")
    assert (later.code, later.out) == (1, "nothing found\n")


@pytest.mark.proves("N6")
def test_a_hit_can_be_opened_by_its_shown_reference(spoken: tuple[World, str]) -> None:
    """Its line has the turn after a slash, because @1 means nothing to the next process."""
    world, id = spoken
    head, *lines = world.aish("search", "glaze").out.splitlines()
    place = next(line.split()[0] for line in lines if SAID[1][1] in line)

    opened = world.aish("thread", head.split()[-1] + place)

    assert (opened.code, head.split()[-1], place) == (0, id, "/2")
    assert f"▸    2 2026-05-04 {at('2026-05-04T12:00:00').astimezone():%H:%M}  aish: {SAID[1][1]}\n" in opened.out
    assert world.aish("thread", f"{id}/2", "--around", "-1").code == 2


def test_a_full_disk_for_the_output_is_an_error_and_not_a_bug(spoken: tuple[World, str]) -> None:
    """`aish recent > file` on a full disk."""
    world, _ = spoken
    with Path("/dev/full").open("wb") as full:
        ran = subprocess.run(
            [*AISH, "recent"],
            stdout=full,
            stderr=subprocess.PIPE,
            env=world.environment(),
            cwd=world.directory,
            check=False,
        )

    assert (ran.returncode, ran.stderr) == (4, b"[aish] cannot write: No space left on device\n")


def test_an_invalid_line_ends_the_run_with_its_number(spoken: tuple[World, str]) -> None:
    """A program that sends invalid lines has a bug, and should learn where."""
    world, _ = spoken

    ran = world.aish("search", "--jsonl", given=b'{"query": "kiln"}\n{"query": 7}\n{"query": "never"}\n')

    assert ran.code == 2
    assert len(answers(ran.out)) == 1
    assert ran.err == '[aish] line 2 is not {"query": …}\n'


def test_a_question_of_100_kilobytes_and_bytes_that_are_no_text_are_searched(spoken: tuple[World, str]) -> None:
    """By standard input, because an argument could not have them."""
    world, _ = spoken
    long = ("kiln " * 20_000).encode() + b"\xff\xfe\x00\xc3("

    ran = world.aish("search", "--json", given=long)

    assert (ran.code, ran.err) == (0, "")
    assert json.loads(ran.out)["hits"][0]["text"] == SAID[0][1]


def test_unusual_arguments_of_the_real_program_are_searched_or_refused(spoken: tuple[World, str]) -> None:
    """Bytes of another encoding on the command line, and a reader that closes the pipe."""
    world, _ = spoken

    odd = subprocess.run(
        [*AISH, "search", "--json", b"kiln \xff\xfe"],
        env=world.environment(),
        cwd=world.directory,
        capture_output=True,
        timeout=60,
        check=False,
    )

    assert (odd.returncode, odd.stderr) == (0, b"")
    assert json.loads(odd.stdout)["hits"][0]["turn"] == 1


# The same through the function


class Asked:
    """Runs a verb inside this process, with any standard input."""

    def __init__(self, world: World) -> None:
        self.program: Program = world.program()

    def search(self, *arguments: str, given: bytes = b"") -> tuple[int, str]:
        out, there = io.StringIO(), (sys.stdin, sys.stdout)
        sys.stdin, sys.stdout = io.TextIOWrapper(io.BytesIO(given), encoding="utf-8"), out
        try:
            return run_search(self.program, arguments), out.getvalue()
        finally:
            sys.stdin, sys.stdout = there


@pytest.fixture(scope="module")
def asked(spoken: tuple[World, str]) -> Asked:
    return Asked(spoken[0])


@pytest.mark.parametrize("query", ODD)
def test_no_query_is_an_error(asked: Asked, query: str) -> None:
    """For any query; the answer contains the query as it was asked."""
    code, out = asked.search("--jsonl", given=json.dumps({"query": query}).encode())

    (answer,) = answers(out)
    assert code == 0
    assert answer["query"] == query
    assert {hit["text"] for hit in answer["hits"]} <= {text for _, text in SAID}


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    query=st.text(max_size=200)
    | st.lists(st.sampled_from([*ODD, "kiln", "-kiln", '"kiln is"', "yesterday"])).map(" ".join)
)
def test_any_text_is_a_query(asked: Asked, query: str) -> None:
    """Also with half characters, which JSON can represent."""
    _, out = asked.search("--jsonl", given=json.dumps({"query": query}).encode())

    (answer,) = answers(out)
    assert isinstance(answer["hits"], list)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    line=st.binary(max_size=60)
    | st.fixed_dictionaries(
        {"query": st.sampled_from(["kiln", ""]) | st.integers() | st.none()},
        optional={
            name: st.sampled_from(["user", "2026-05-04", "yesterday", "", "x"]) | st.integers() | st.lists(st.none())
            for name in ("role", "since", "until", "channel", "limit")
        },
    ).map(lambda value: json.dumps(value).encode())
)
def test_a_line_is_answered_or_refused_with_its_number(asked: Asked, line: bytes) -> None:
    """Never a traceback, which another program could not use."""
    line = line.replace(b"\n", b" ")
    try:
        code, out = asked.search("--jsonl", given=line)
    except BadUsage as error:
        assert "line 1" in str(error) or "is not a time" in str(error)
    else:
        assert code == 0
        assert len(answers(out)) == bool(line.strip())


@pytest.mark.parametrize("depth", [1_000, 200_000])
def test_json_that_is_nested_too_deep_is_refused(asked: Asked, depth: int) -> None:
    """It would otherwise crash the parser."""
    with pytest.raises(BadUsage, match="line 1 is not"):
        asked.search("--jsonl", given=b'{"query": ' + b"[" * depth)


@pytest.mark.parametrize(
    "arguments",
    [("--limit", "0"), ("--limit", "1001"), ("--limit", "x"), ("--limit", "-3"), ("--role", "pilot"), ("--colour",)],
)
def test_wrong_options_are_usage_errors(
    asked: Asked, arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """The parser reports them, with the usage."""
    with pytest.raises(SystemExit) as ended:
        asked.search("kiln", *arguments)

    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith("usage: aish search")


def test_options_and_operators_mean_the_same(asked: Asked) -> None:
    """A filter as an option and as an operator finds the same."""

    def texts(*arguments: str) -> list[str]:
        return [hit["text"] for hit in json.loads(asked.search("--json", *arguments)[1])["hits"]]

    assert texts("kiln", "--role", "user") == texts("kiln role:user") == texts("--role", "user", "kiln")
    assert texts("kiln", "--since", "2026-05-05") == texts("kiln since:2026-05-05") == []
    assert texts("kiln", "--until", "2026-05-04") == texts("kiln until:2026-05-04") != []
    assert texts("kiln", "--channel", "attic") == texts("kiln in:attic") == []
    assert texts("kiln", "-hundred") == texts("kiln -hundred") != texts("kiln")
    assert texts("thermometer", "--limit", "1") == [SAID[2][1]]


def test_of_two_bounds_the_narrower_counts(asked: Asked) -> None:
    """With words and without them."""

    def turns(*arguments: str) -> list[int]:
        return sorted(hit["turn"] for hit in json.loads(asked.search("--json", *arguments)[1])["hits"])

    for words in ("", "kiln glaze Thermometer 温度 "):
        assert turns(f"{words}until:2026-05-10", "--until", "2026-05-03") == []
        assert turns(f"{words}since:2026-05-10", "--since", "2026-05-03") == []
        assert turns(f"{words}role:user", "--role", "assistant") == []
        assert turns(f"{words}role:user") == [1, 3]
        assert turns(f"{words}role:user role:assistant") == [1, 2, 3, 4]


# Recent and thread


def test_recent_and_thread_give_the_fields_of_search(
    spoken: tuple[World, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Newest first, and in order."""
    world, id = spoken
    program = world.program()

    assert run_recent(program, ["--json", "--limit", "3"]) == 0
    recent = json.loads(capsys.readouterr().out)
    assert run_thread(program, ["--json", id]) == 0
    thread = json.loads(capsys.readouterr().out)
    assert run_thread(program, ["--json", "--around", "1", f"{id}/2"]) == 0
    around = json.loads(capsys.readouterr().out)

    assert [hit["turn"] for hit in recent] == [4, 3, 2]
    assert run_recent(program, ["2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == recent[:2]
    assert [hit["text"] for hit in thread] == [text for _, text in SAID]
    assert [hit["turn"] for hit in around] == [1, 2, 3]
    assert all(list(hit) == FIELDS for hit in [*recent, *thread])


def test_without_conversations_recent_and_thread_say_so(world: World) -> None:
    """With the exit code for nothing found."""
    recent, thread, none = world.aish("recent"), world.aish("thread", "2026"), world.aish("recent", "--json")

    assert (recent.code, recent.out, recent.err) == (1, "no turns yet\n", "")
    assert (none.code, none.out) == (1, "[]\n")
    assert (thread.code, thread.out) == (1, "")
    assert thread.err == "[aish] no conversation '2026'; see :sessions\n"


def test_search_works_without_a_writable_index(world: World, tmp_path: Path) -> None:
    """The conversations are there; only the index is missing."""
    speak(world)
    world.places.cache.parent.mkdir(parents=True, exist_ok=True)
    world.places.cache.write_text("no directory", encoding="utf-8")

    ran = world.aish("search", "--json", "kiln")

    assert ran.code == 0
    assert json.loads(ran.out)["hits"][0]["turn"] == 1
