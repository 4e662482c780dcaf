"""No secret reaches the disk in any way, and the user is told."""

import json
import os
import signal
import threading
from pathlib import Path

import pytest
from fake_server import FakeServer, Say, sse
from terminal import Terminal
from world import World

from aish.memory.redaction import Redaction
from aish.values.events import Notice

pytestmark = pytest.mark.anyio

TOKEN = "gh" + "p_" + "F4k3q9ZkP2mX7vLr8TnWa1B2c3D4e5F6g7H8"  # split for secret scanners
WORD = "Xk9" + "!vq2Lw"


def on_disk(world: World, secret: str) -> list[str]:
    """Return the files below the home that contain the secret; the settings belong to the user."""
    files = [path for path in world.home.rglob("*") if path.is_file() and path != world.places.config_file]
    assert files
    return [str(path.relative_to(world.home)) for path in files if secret.encode() in path.read_bytes()]


def serve(world: World, server: FakeServer) -> None:
    world.configure(
        f'model = "srv"\n[tokenize]\nuse_endpoint = "false"\n[models.srv]\nendpoint = "{server.url}"\nmodel = "m"\n'
    )


@pytest.mark.proves("M62")
@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (f"why does it refuse {TOKEN} ?", "GitHub token"),
        (f"mysqldump -u root -p{WORD} app   is this safe?", "password"),
        (f"my password is {WORD}, is that strong?", "password"),
    ],
)
def test_a_secret_in_a_question_is_masked_in_the_journal_and_reported(world: World, line: str, kind: str) -> None:
    """The model gets the typed text; searches, exports and backups do not."""
    with FakeServer(sse("Let me see.")) as server:
        serve(world, server)
        ran = world.aish(line)
        sent = server.chats()[0].json["messages"][-1]["content"]

    secret = TOKEN if TOKEN in line else WORD
    assert secret in sent
    assert on_disk(world, secret) == []
    assert f"[aish] masked before saving: 1 × {kind}\n" in ran.err
    assert f"[masked {kind}" in world.journals()[0].read_text(encoding="utf-8")


@pytest.mark.proves("M62")
async def test_a_secret_in_an_answer_a_tool_call_and_an_error_is_masked_too(world: World) -> None:
    """Models repeat what they read, and servers quote keys in errors."""
    call = json.dumps({"kind": "fact", "content": f"the token is {TOKEN}"})
    settings = {"memory": {"propose": True}}
    session = world.session([f"TOOL: memory_add {call}", f"Your password is {WORD}."], settings)
    said = await world.ask(session, "what did I tell you?")
    failing = world.session([f"!the server refused api_key={TOKEN}"], settings)
    await world.ask(failing, "hello?")

    assert said.text == f"Your password is {WORD}."
    assert on_disk(world, TOKEN) == on_disk(world, WORD) == []
    assert "[masked" in world.places.memory.with_suffix(".pending.jsonl").read_text(encoding="utf-8")
    assert sum(notice.startswith("masked before saving: ") for notice in said.notices) >= 2


@pytest.mark.proves("M62")
@pytest.mark.parametrize("pieces", [list(f"Use {TOKEN} for it.\nThen"), [f"Use {TOKEN}", " for it.", "\nThen"]])
async def test_a_streamed_answer_never_has_a_secret_on_the_disk(world: World, pieces: list[str]) -> None:
    """The live file is written before each piece is shown, and a token arrives in many pieces."""
    session = world.session()
    live = world.places.sessions / f"{session.journal.id}.live"
    for piece in pieces:
        session.recorder.keep_shown(session.journal, piece)
        assert TOKEN[:12].encode() not in live.read_bytes()

    shown = live.read_text(encoding="utf-8")
    assert shown.startswith("1\nUse [masked GitHub token …g7H8 #") and shown.endswith("] for it.\nThen")


@pytest.mark.proves("M62")
def test_the_input_history_is_masked_and_a_killed_answer_has_no_secret(world: World) -> None:
    """The input history is useful, but must not have a password."""
    start = json.dumps({"choices": [{"delta": {"content": f"The key {TOKEN} is"}}]})
    answer = Say(pieces=[f"data: {start}\n\n".encode(), b": never sent\n\n"], hold=threading.Event())
    with FakeServer(answer) as server:
        serve(world, server)
        with Terminal(world) as terminal:
            terminal.wait_ready()
            terminal.enter(f"log in with password={WORD} please")
            terminal.wait_for("The key")
            os.kill(terminal.pid, signal.SIGKILL)

    assert on_disk(world, WORD) == on_disk(world, TOKEN) == []
    typed = world.places.typed_history.read_text(encoding="utf-8")
    assert "log in with password=[masked password" in typed


@pytest.mark.proves("M62")
@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        ("", None),
        ("n", None),
        ("mask", "[masked"),
        ("y", WORD),
    ],
)
async def test_remembering_a_secret_asks_first(world: World, answer: str, kept: str | None) -> None:
    """Some users want to keep it as it is, but never by accident."""
    program = world.program()
    shell = world.shell(program)
    world.answers = [answer]

    reply = await world.type(shell, f":remember the door password is {WORD}")

    assert world.asked == ["this contains a secret (1 × password)\nsave it unmasked? [y/N/mask] "]
    contents = [item.content for item in program.memory.items()]
    assert reply.found == bool(kept)
    assert len(contents) == (1 if kept else 0) and all(str(kept) in content for content in contents)
    if answer != "y" and kept:
        assert on_disk(world, WORD) == []


@pytest.mark.proves("M62")
def test_a_script_that_adds_a_secret_gets_it_masked(world: World) -> None:
    """A script cannot be asked, and the rest of the sentence may be useful."""
    ran = world.aish("memory", "add", f"the staging password is {WORD} until May")
    world.aish("memory", "add", "--tag", TOKEN, "--key", f"token={TOKEN}", "a plain sentence")
    world.aish("--lines", given=f":save {TOKEN}\n")

    assert ran.code == 0 and "masked before saving: 1 × password" in ran.out
    assert on_disk(world, WORD) == on_disk(world, TOKEN) == []


@pytest.mark.proves("M62")
def test_the_same_secret_keeps_its_mask_and_gets_another_with_another_salt(tmp_path: Path) -> None:
    """One can tell two secrets apart without knowing them."""
    one, other = World(tmp_path / "one"), World(tmp_path / "other")

    first = one.program().redaction.text(f"password={WORD}")
    again = one.program().redaction.text(f"password={WORD}")
    elsewhere = other.program().redaction.text(f"password={WORD}")

    assert first == again != elsewhere
    assert WORD not in first


def test_ordinary_text_loads_no_patterns(tmp_path: Path) -> None:
    """The check before every write must be cheap for text without secrets."""

    def load() -> object:
        raise AssertionError("the patterns were loaded")

    redaction = Redaction(tmp_path / "salt", load)  # type: ignore[arg-type]  # must never be called

    for text in ("What is the capital of France?", "The answer is 42, as always.\nAnd one more line."):
        assert redaction.mask(text) == (text, (), ())
    assert not (tmp_path / "salt").exists()


async def test_a_notice_names_each_kind_once(world: World) -> None:
    """Three tokens give one line, not three."""
    session = world.session(["Fine."])
    notices = (await world.ask(session, f"{TOKEN} and {TOKEN[:-1]}9 and password={WORD}")).notices

    assert notices == [Notice("masked before saving: 2 × GitHub token, 1 × password").text]


def scripted(answers: list[str]) -> dict[str, object]:
    return {"model": "script", "models": {"script": {"kind": "scripted", "answers": answers}}}


@pytest.mark.proves("M62")
async def test_a_mask_that_was_a_mistake_is_taken_back_after_a_yes(world: World) -> None:
    """What was masked is in no file, but the process still has it; all other turns and masks stay as they are."""
    program = world.program(scripted([f"Use password={WORD} now.", f"Again password={WORD}, and {TOKEN}."]))
    shell = world.shell(program)
    await world.ask(shell.session, "a first question")
    await world.ask(shell.session, f"is {TOKEN} a word?")
    before = [entry.turn.content for entry in shell.session.journal.entries()]

    listed = await world.type(shell, ":unmask")
    refused = await world.type(shell, ":unmask 3")
    assert (refused.text, on_disk(world, WORD)) == ("it stays masked", [])
    world.consent = True
    done = await world.type(shell, ":unmask 3")
    after = [entry.turn.content for entry in shell.session.journal.entries()]

    assert [line.split(":")[0] for line in listed.text.splitlines()] == [
        *("1  password in turn 2", "2  GitHub token in turn 3", "3  password in turn 4", "4  GitHub token in turn 4")
    ]
    assert world.confirms[0] == f"3  password in turn 4: {WORD}\nsave it unmasked?"
    assert done.found and after[:3] == before[:3] and WORD not in "".join(after[:3])
    assert (
        after[3] == before[3].replace(before[3].split("password=")[1].partition(",")[0], WORD) and TOKEN not in after[3]
    )


async def test_a_mask_cannot_be_taken_back_twice_nor_after_a_restart(world: World) -> None:
    """The original is in the memory of one process only, and the message says that it is gone."""
    shell = world.shell(world.program(scripted(["Fine."])))
    await world.ask(shell.session, f"keep password={WORD} please")
    world.consent = True
    assert (await world.type(shell, ":unmask 1")).found
    again = await world.type(shell, ":unmask 1")
    later = await world.type(world.shell(world.program()), ":unmask")

    assert not again.found and "there is no mask with number 1" in again.text and "say it again" in again.text
    assert not later.found and "nothing was masked in this conversation since aish was started" in later.text


async def test_a_mask_that_is_not_in_the_journal_any_more_changes_nothing(world: World) -> None:
    """A purge may have been faster, and what it erased must not come back."""
    shell = world.shell(world.program(scripted(["Fine."])))
    await world.ask(shell.session, f"keep password={WORD} please")
    journal = world.journals()[0]
    journal.write_text(
        journal.read_text(encoding="utf-8").replace("password=[masked", "password=[erased"), encoding="utf-8"
    )
    world.consent = True
    gone = await world.type(shell, ":unmask 1")

    assert not gone.found and "nothing was changed" in gone.text and on_disk(world, WORD) == []


@pytest.mark.proves("M62")
def test_the_notice_in_the_shell_says_how_to_take_a_mask_back(world: World) -> None:
    """Only there, as a script can type no command afterwards."""
    with FakeServer(sse("Let me see."), sse("Fine.")) as server:
        serve(world, server)
        ran = world.aish("--lines", given=f"is password={WORD} and {TOKEN} ok?\n:unmask 7\n:unmask\n")

    assert "masked before saving: 1 × password, 1 × GitHub token; a mistake? :unmask 1 to 2\n" in ran.err
    assert "there is no mask with number 7" in ran.out
