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
        assert redaction.mask(text) == (text, ())
    assert not (tmp_path / "salt").exists()


async def test_a_notice_names_each_kind_once(world: World) -> None:
    """Three tokens give one line, not three."""
    session = world.session(["Fine."])
    notices = (await world.ask(session, f"{TOKEN} and {TOKEN[:-1]}9 and password={WORD}")).notices

    assert notices == [Notice("masked before saving: 2 × GitHub token, 1 × password").text]
