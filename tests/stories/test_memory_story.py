"""The life of an item from the outside: from adding it to erasing every byte of it."""

import json
import re
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fake_server import FakeServer, Say, sse
from terminal import CTRL_D, Terminal
from world import AISH, Ran, World

from aish.memory.fingerprint import fingerprint
from aish.memory.notes.files import NoteFiles
from aish.memory.notes.notebook import Notebook
from aish.memory.notes.operations import Add, Forget, Invalidate
from aish.memory.redaction import Redaction
from aish.memory.secret_patterns import redact
from aish.prompt.background import BACKGROUND_MARK
from aish.storage.lines import LineFile, decode, encode
from aish.values.stores import Note, NoteName

TANDEM = "I ride a green tandem"


def serve(world: World, server: FakeServer) -> None:
    world.configure(
        f'model = "srv"\n[tokenize]\nuse_endpoint = "false"\n[models.srv]\nendpoint = "{server.url}"\ntools = true\n'
    )


def prompts(server: FakeServer) -> list[str]:
    """Return the system prompts that the model got."""
    return [asked.json["messages"][0]["content"] for asked in server.chats()]


def aish_in(world: World, directory: Path, given: str) -> Ran:
    directory.mkdir()
    done = subprocess.run(
        [*AISH, "--lines"],
        input=given.encode(),
        capture_output=True,
        env=world.environment(),
        cwd=directory,
        timeout=30,
        check=False,
    )
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


def leftovers(world: World, *texts: str) -> list[str]:
    """Return where any of the texts is left in the home: plain, in any case, escaped, or with separated letters."""
    wanted = [_form(text) for text in texts]
    found = []
    for path in sorted(world.home.rglob("*")):
        if path.is_file() and path != world.places.config_file:
            data = path.read_bytes()
            shown = re.sub(r"\\+u([0-9a-fA-F]{4})", lambda m: chr(int(m[1], 16)), data.decode("utf-8", "replace"))
            whole = shown.encode("utf-16", "surrogatepass").decode("utf-16", "replace").lower()
            flat = " ".join(re.sub(r"\\+[nrt]|\n\+", " ", whole).replace("\\", "").split())
            bare = " ".join(whole.replace("\\", "").split())
            found += [f"{path.name}: {form}" for form in wanted if form in flat or form in bare]
            found += [f"{path.name}: {text}" for text in texts if text.encode().lower() in data.lower()]
    return found


def _form(text: str) -> str:
    return " ".join(text.lower().replace("\\", "").split())


def tool_call(arguments: str) -> Say:
    """Return an answer that calls the memory tool with exactly these arguments."""
    call = {"index": 0, "id": "call_1", "function": {"name": "memory_add", "arguments": arguments}}
    chunks: list[dict[str, Any]] = [
        {"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
    ]
    return Say(pieces=[f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks] + [b"data: [DONE]\n\n"])


@pytest.mark.proves("M23", "M32", "M40", "M60", "M61")
def test_an_item_is_added_used_forgotten_restored_and_erased(world: World) -> None:
    """The whole life, with a check of the model's prompts and of every byte left behind."""
    with FakeServer(sse("I see.")) as server:
        serve(world, server)
        first = world.aish("--lines", given=f"hello\n:remember {TANDEM}\nwhat do I ride?\n:quit\n")
        second = aish_in(world, world.directory / "elsewhere", "and now?\n:memory list\n:memory forget 1\nstill?\n")
        third = world.aish("--lines", given="gone?\n:memory undo\nback?\n:memory list\n")
        sent = prompts(server)
        lines = third.out.splitlines()
        fourth = world.aish("--lines", given="a last time\n:memory purge 3\ny\nwhat do I ride?\n")
        again = world.aish("memory", "add", "i ride a  GREEN tandem!")
        doctor = world.aish("doctor")

        assert [ran.code for ran in (first, second, third, fourth)] == [0, 0, 0, 0]
        assert "remembered (id 1): I ride a green tandem" in first.out
        block = f"{BACKGROUND_MARK}\n- (fact) {TANDEM}"
        assert [block in prompt for prompt in sent] == [False, True, True, False, False, True]
        assert [BACKGROUND_MARK in prompt for prompt in sent] == [False, True, True, False, False, True]
        assert second.out.splitlines()[2].endswith(f"fact  {TANDEM}  user")
        assert lines[1] == f"undone: forgot 1: {TANDEM}; back as id 3"
        assert lines[-1].split()[0] == "3", "a copy with a new id"
        assert [BACKGROUND_MARK in prompt for prompt in prompts(server)[6:]] == [True, False]
        assert (again.code, again.out) == (1, "")
        assert again.err.startswith("[aish] this was purged, so it is not saved again")
    assert leftovers(world, TANDEM, "green tandem") == []
    assert "damaged" not in doctor.out and re.search(r"ok +memory +", doctor.out)


HARD = [
    'the "blue" heron sleeps',
    "Grüße an Jürgen Weiß",
    "two\nlines of a poem",
    "东京都港区芝公园",
    "the hedgehog 🦔 is called Ida",
    "C:\\new\\thesis and a/b",
    "don't tell <anyone> & nobody",
]


def spread(world: World, server: FakeServer, text: str) -> None:
    """Write a text everywhere it can go: questions, answers, a tool call, an item, pending items."""
    flat = " ".join(text.split())
    upper = flat.upper() if "ß" not in flat else flat.lower()
    call = json.dumps({"kind": "fact", "content": f"they say: {text}, so they say"})
    serve(world, server)
    server.answers[:] = [sse(f"You said {text} (or {upper})."), tool_call(call), sse("Noted, it waits."), sse("Bye.")]
    lines = [f"what is {flat}?", f"tell me   more of {flat.replace(' ', '  ')}", ":remember I like rhubarb", "bye"]
    ran = world.aish("--lines", given="\n".join([*lines, f":save about {flat}"]) + "\n")
    assert ran.code == 0, ran.err


@pytest.mark.proves("M61", "M3")
@pytest.mark.parametrize("text", HARD)
def test_words_are_erased_everywhere_and_everything_else_stays(world: World, text: str) -> None:
    """In any case, with any blanks, escaped once or twice; the journals stay readable."""
    with FakeServer(sse("")) as server:
        spread(world, server, text)
        assert len(leftovers(world, text)) >= 3, "it is in the journal, in the names and waits"
        (journal,) = world.journals()
        before = [json.loads(line) for line in journal.read_bytes().splitlines()]
        ran = world.aish("memory", "purge", "--yes", "-", given=text)

    assert ran.code == 0, ran.err
    assert leftovers(world, text) == []
    after = [json.loads(line) for line in journal.read_bytes().splitlines()]
    kept = [(r["n"], r["role"], r["ts"]) for r in before if "n" in r]
    assert [(r["n"], r["role"], r["ts"]) for r in after if "n" in r] == kept
    assert after[-1] == before[-1] and after[-1]["content"] == "Bye."
    assert "[purged]" in after[1]["content"] and after[1]["content"].startswith("what is ")
    files = sorted(world.places.data.rglob("*.jsonl"))
    records = {path.name: [decode(line) for line in path.read_bytes().splitlines()] for path in files}
    assert all(None not in lines for lines in records.values()), "every checksum is right"
    items = [record and record.get("content") for record in records["memory.jsonl"] + records["memory.pending.jsonl"]]
    assert [content for content in items if content] == ["I like rhubarb"]


def journal_of(world: World, name: str, *contents: str) -> Path:
    """Write a journal with a turn for each content."""
    world.places.sessions.mkdir(parents=True, exist_ok=True)
    path = world.places.sessions / f"{name}.jsonl"
    records: list[dict[str, Any]] = [{"meta": {"format": 1, "id": name}}]
    for number, content in enumerate(contents, start=1):
        role = "user" if number % 2 else "assistant"
        records.append({"n": number, "ts": "2026-05-04T12:00:00.000Z", "role": role, "content": content})
    path.write_bytes(b"".join(map(encode, records)))
    return path


@pytest.mark.proves("M61", "M14")
def test_words_are_erased_from_damaged_and_unfinished_files(world: World) -> None:
    """A damaged line, a torn line, a truncated answer, an unfinished temporary file."""
    world.script("fine")
    path = journal_of(world, "20260504-120000-aaaaaaaa", "hello", "the magpie nest is high", "bye", "good bye")
    lines = path.read_bytes().splitlines(keepends=True)
    damaged = lines[2].replace(b"high", b"HIGH")
    path.write_bytes(b"".join([*lines[:2], damaged, *lines[3:]]) + b'{"n":5,"role":"user","content":"Magpie  Nest')
    torn = path.with_name(path.name + ".torn")
    torn.write_bytes(b'{"n":9,"role":"user","content":"a magpie\\nnest again, and mo\n')
    live = journal_of(world, "20260504-130000-bbbbbbbb", "well?").with_suffix(".live")
    live.write_bytes(b"2\nThe magpie nest, I said, is")
    unfinished = world.places.data / ".memory.jsonl.99999.tmp"
    unfinished.write_bytes(b"magpie nest")
    world.places.state.mkdir(parents=True, exist_ok=True)
    (world.places.state / "typed").write_bytes(b"\n# 2026-05-04\n+where is the MAGPIE nest?\n\n# later\n+and tea?\n")
    (world.places.state / "crash.txt").write_bytes(b"\xff\xfe of magpie\tnest")
    (world.places.indexes).mkdir(parents=True, exist_ok=True)
    (world.places.indexes / "ledger-00000000").write_bytes(b"\0\1magpie nest\xff")

    ran = world.aish("memory", "purge", "--yes", "magpie", "nest")

    assert ran.code == 0, ran.err
    assert leftovers(world, "magpie nest") == []
    assert path.read_bytes().splitlines(keepends=True)[:2] == lines[:2]
    assert path.read_bytes().splitlines(keepends=True)[3:5] == lines[3:5]
    assert b"and tea?" in (world.places.state / "typed").read_bytes()
    assert b"again, and mo" in torn.read_bytes(), "the rest of it stays"
    assert not live.exists() and not unfinished.exists()
    recovered = json.loads(live.with_suffix(".jsonl").read_bytes().splitlines()[2])
    assert recovered["content"] == "The [purged], I said, is" and recovered["state"] == "interrupted"


@pytest.mark.proves("M61")
@pytest.mark.parametrize("before", ["\n", "\t", "—"])
def test_a_short_word_is_erased_at_the_beginning_of_a_line_too(world: World, before: str) -> None:
    """In the file it follows a backslash and a letter, which is not part of the word."""
    world.script("fine")
    text = f"listen:{before}magpie{before}ends, and concatenate {json.dumps(before)}magpie"
    journal_of(world, "20260504-120000-aaaaaaaa", text, json.dumps(text))

    world.aish("memory", "purge", "--yes", "magpie")

    assert leftovers(world, "magpie") == []


@pytest.mark.proves("M61")
@pytest.mark.parametrize("text", ["we concatenate strings", "a scat singer", "cats"])
def test_a_short_word_is_not_erased_inside_another(world: World, text: str) -> None:
    """Otherwise many other words would be damaged."""
    world.script("fine")
    path = journal_of(world, "20260504-120000-aaaaaaaa", text)
    before = path.read_bytes()

    assert world.aish("memory", "purge", "--yes", "scat" if "scat" not in text else "cate").code == 0
    assert path.read_bytes() == before


@pytest.mark.proves("M61")
@pytest.mark.parametrize(
    ("said", "words"), [("我住在东京都港区里", "东京都港"), ("我用magpie编辑器", "magpie"), ("我在东京", "东京")]
)
def test_words_of_a_script_without_blanks_are_erased_too(world: World, said: str, words: str) -> None:
    """Without blanks the neighbouring characters do not mark a word, and two characters can be a whole name."""
    world.script("fine")
    journal_of(world, "20260504-120000-aaaaaaaa", said)

    assert world.aish("memory", "purge", "--yes", words).code == 0
    assert leftovers(world, words) == []


@pytest.mark.proves("M61")
@pytest.mark.parametrize("escaped", ["Gr\\u00FC\\u00DFe", "Gr\\u00fc\\u00dfe \\u0026 Co\\u002E", "a\\/b/c road"])
def test_words_are_found_with_any_escaping(world: World, escaped: str) -> None:
    """Tool arguments are stored as they came, and each language escapes other characters."""
    world.script("fine")
    path = journal_of(world, "20260504-120000-aaaaaaaa", "hello")
    call = {"id": "c", "name": "memory_add", "arguments": f'{{"content": "{escaped}"}}'}
    with path.open("ab") as file:
        file.write(encode({"n": 2, "ts": "", "role": "assistant", "content": "", "tool_calls": [call]}))

    world.aish("memory", "purge", "--yes", json.loads(f'"{escaped}"'))

    assert "[purged]" in path.read_text(encoding="utf-8")
    assert leftovers(world, json.loads(f'"{escaped}"')) == []


@pytest.mark.proves("M61")
@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("die LANGE STRASSE runter", "lange Straße"),
        ("die lange  straße runter", "LANGE straße"),
        ("an i\u0307stanbul card", "an İSTANBUL"),
        ("im cafe\u0301 am eck", "Café am Eck"),
        ("im CAFÉ AM ECK", "cafe\u0301 am eck"),
        ("στην οδος ερμου", "ΟΔΟΣ ΕΡΜΟΥ"),
    ],
)
def test_words_are_erased_in_any_case(world: World, said: str, words: str) -> None:
    """Also in languages where one letter becomes two, or changes at the end of a word."""
    world.script("fine")
    path = journal_of(world, "20260504-120000-aaaaaaaa", said, "nothing of it")

    world.aish("memory", "purge", "--yes", words)

    contents = [json.loads(line).get("content") for line in path.read_bytes().splitlines()]
    assert "[purged]" in contents[1] and contents[2] == "nothing of it"


@pytest.mark.proves("M61", "M59")
@pytest.mark.parametrize("sign", ["=", " =", "= "])
def test_a_set_value_is_erased_in_every_notation(world: World, sign: str) -> None:
    """The item has one notation; the conversation and the typed lines have another."""
    world.script("fine")
    journal_of(world, "20260504-120000-aaaaaaaa", f":memory set Locker{sign}left-17-right-4")
    world.aish("memory", "set", f"locker{sign}left-17-right-4")

    world.aish("memory", "purge", "--yes", "1")

    assert leftovers(world, "left-17-right-4") == []


@pytest.mark.proves("M61")
def test_a_number_that_is_no_item_can_be_erased(world: World) -> None:
    """It may be a phone number, which users want to erase."""
    world.script("fine")
    journal_of(world, "20260504-120000-aaaaaaaa", "call 5550123 at noon")

    assert world.aish("memory", "purge", "--yes", "5550123").code == 0
    assert leftovers(world, "5550123") == []


@pytest.mark.proves("M61")
def test_a_damaged_leftover_of_an_answer_is_erased_from_too(world: World) -> None:
    """No process is writing it, so none will ever finish it."""
    world.script("fine")
    live = journal_of(world, "20260504-130000-bbbbbbbb", "well?").with_suffix(".live")
    live.write_bytes(b"\0\0\0\nThe magpie nest, I said, is")

    ran = world.aish("memory", "purge", "--yes", "magpie nest")

    assert "another shell" not in ran.out
    assert leftovers(world, "magpie nest") == []


@pytest.mark.proves("M61", "M2")
def test_files_beside_a_moved_ledger_are_erased_too(world: World) -> None:
    """A torn line, and leftovers of a killed purge, have the words too."""
    place = world.directory / "elsewhere"
    place.mkdir()
    world.script("fine", extra=f'[memory]\npath = "{place / "mine.jsonl"}"\n')
    for name in ("mine.jsonl.torn", "mine.pending.jsonl.torn", ".mine.jsonl.99999.tmp"):
        (place / name).write_bytes(b'{"id":1,"kind":"fact","content":"the magpie nest is hi\n')
    (place / "letter.txt").write_bytes(b"about the magpie nest")
    world.aish("memory", "add", "the magpie nest is high")

    world.aish("memory", "purge", "--yes", "magpie nest")

    left = [path.name for path in place.iterdir() if b"magpie" in path.read_bytes()]
    assert left == ["letter.txt"], "what is not ours is left alone"


@pytest.mark.proves("M61")
def test_a_purge_erases_notes_and_their_earlier_texts(world: World) -> None:
    """A concurrent writer of a note cannot restore the words: the purge takes the lock of the notes."""
    world.script("fine")
    notes, name = NoteFiles(world.places.workspace), NoteName("MEMORY.md", "garden-12ab")
    first = notes.replace(name, "the magpie nest is high", "")
    assert isinstance(first, str)
    second = notes.replace(name, "look for the magpie nest", first)

    world.aish("memory", "purge", "--yes", "magpie nest")

    assert notes.read(name).text == "look for the [purged]"
    assert notes.earlier(name) == ["the [purged] is high"]
    assert isinstance(notes.replace(name, "with the magpie nest", str(second)), Note)


@pytest.mark.proves("M61")
def test_a_purge_erases_entries_history_archive_and_log_of_notes(world: World) -> None:
    """The log has texts, so that changes can be undone."""
    world.script("fine")
    folder = world.places.workspace / "channels" / "garden-12ab"
    patterns = SimpleNamespace(redact=redact, fingerprint=fingerprint)
    book = Notebook(
        NoteFiles(world.places.workspace),
        "garden-12ab",
        LineFile(folder / "log.jsonl"),
        Redaction(world.places.salt, lambda: patterns),
        lambda: datetime(2026, 1, 2, tzinfo=UTC),
    )
    results = book.apply([Add("Decisions", f"the magpie nest is {word}") for word in ("high", "low")], reason="told")
    book.apply([Invalidate(results[0].id), Forget(results[1].id)], reason="no magpie nest", by_user=True)
    book.save_session("", "- look for the magpie nest\n", reason="work")

    world.aish("memory", "purge", "--yes", "magpie nest")

    assert leftovers(world, "magpie nest") == []
    assert [change.reason for change in book.log()] == ["work", "no [purged]", "told"]
    assert book.undo() == "undid: no [purged]"


@pytest.mark.proves("M61", "M58", "M34")
def test_memory_on_a_terminal(world: World) -> None:
    """A table that fits, an edit in the line editor, and the input history without the purged text."""
    world.script("Nice.", "Fine.")
    with Terminal(world, columns=60) as terminal:
        terminal.wait_ready()
        terminal.enter(":remember I ride a green tandem along the coast every single day")
        terminal.wait_for("remembered (id 1)")
        terminal.enter(":memory list")
        terminal.wait_for("the coast every single day\naish>")
        table = terminal.lines[-4:-1]
        terminal.enter(":memory edit 1")
        terminal.wait_for("edit: I ride a green tandem")
        terminal.type("\x01\x0b")  # clear the line
        terminal.enter("my canoe is yellow")
        terminal.wait_for("remembered (id 2): my canoe is yellow")
        terminal.enter("is the Yellow  canoe fast?")
        terminal.wait_for("Nice.")
        terminal.enter(":memory purge yellow canoe")
        terminal.wait_for(" everywhere? [y/N]")
        terminal.enter("y")
        terminal.wait_for("it will not be learned again")
        terminal.enter(":memory purge 2")
        terminal.wait_for("2 (my canoe is yellow) everywhere? [y/N]")
        terminal.enter("y")
        terminal.wait_times(b"it will not be learned again", 2)
        terminal.wait("aish>")
        terminal.type(CTRL_D)
        assert terminal.code() == 0

    typed = world.places.typed_history.read_text(encoding="utf-8")
    assert [line[:8].split() for line in table] == [["id", "age"], ["1", "now"], []]
    assert all(len(line) <= 60 for line in table)
    assert "+:memory list\n" in typed and "+is the [purged] fast?\n" in typed
    assert leftovers(world, "yellow canoe", "canoe is yellow") == []


@pytest.mark.proves("M61")
def test_a_pasted_text_of_two_lines_is_erased_from_the_input_history(world: World) -> None:
    """The input history stores it as several lines."""
    world.script("Nice.")
    with Terminal(world) as terminal:
        terminal.wait_ready()
        terminal.type("\x1b[200~:remember the magpie\nnest is high\x1b[201~\r")
        terminal.wait_for("remembered (id 1): the magpie nest is high")
        terminal.enter(":memory purge 1")
        terminal.wait_for("everywhere? [y/N]")
        terminal.enter("y")
        terminal.wait_for("it will not be learned again\naish>")
        terminal.type(CTRL_D)
        assert terminal.code() == 0

    assert ":memory purge 1" in world.places.typed_history.read_text(encoding="utf-8")
    assert leftovers(world, "magpie nest") == []
