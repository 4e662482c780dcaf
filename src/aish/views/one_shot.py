"""One question from the command line: only the answer goes to standard output, and the exit code tells the result."""

import os
import select
import stat
import sys
from contextlib import aclosing

from aish.conversation.session import Session
from aish.conversation.turn import take_turn
from aish.jobs.skills import AFTER_RESPONSE
from aish.program import Program
from aish.values.errors import BadUsage
from aish.values.events import Failed, Notice, TextPiece, ToolUsed, TurnDone
from aish.values.person import Nobody
from aish.values.text import json_text
from aish.views.answers import AnswerScreen
from aish.views.event_loop import run_loop
from aish.views.exit_codes import INTERRUPTED, answer_code
from aish.views.held_signals import ENDING, Ended, handlers_kept, interruptible
from aish.views.piped import PipedQuestion, ask_about
from aish.views.screen import Screen

MOST_INPUT = 16 << 20
_FIRST_BYTE_SECONDS = 60.0
_HINT_SECONDS = 2.0


def run(
    program: Program, session: Session, screen: AnswerScreen, question: str, *, as_json: bool, explains: bool = False
) -> int:
    """Ask the question, show the answer, and return the exit code. `explains`: piped text is no question by itself."""
    if not as_json:
        return answer_code(_ask(program, session, screen, question, explains=explains, heard=None))
    heard = list[str]()  # of the answer that is being given
    with handlers_kept():
        try:
            with interruptible():
                done = _ask(program, session, screen, question, explains=explains, heard=heard)
            code = answer_code(done)
        except (KeyboardInterrupt, Ended, BrokenPipeError) as error:  # a script still gets what was answered so far
            done = TurnDone("".join(heard), "interrupted", session.model, trouble=Failed("interrupted before the end"))
            code = error.exit_code if isinstance(error, Ended) else INTERRUPTED
        if done:
            _print_whole(json_text(_record(session, done)) + "\n")
    return code


def _ask(
    program: Program, session: Session, screen: AnswerScreen, question: str, *, explains: bool, heard: list[str] | None
) -> TurnDone | None:
    """Ask, and show the answer, or collect it in `heard`."""
    data = read_input(screen, wait=bool(question))
    if not (question or data).strip():
        raise BadUsage('no question; use aish "QUESTION", or pipe one in')
    piped = ask_about(data) if explains and not question else PipedQuestion(question or data, data if question else "")
    typed = bool(question) or piped.typed  # piped text may be a file, so it does not count as the user's own words
    program.is_script = True
    person = Nobody(lambda text: screen.note(text, warning=True))

    async def show_answer() -> TurnDone | None:
        events = take_turn(session, piped.words, person, piped.attached, typed_by_user=typed)
        if heard is None:
            return await screen.show(events)
        done = None
        async with aclosing(events):
            async for event in events:
                match event:
                    case Notice():
                        screen.note(event.text, warning=event.warning)
                    case TextPiece(text):
                        heard.append(text)
                    case ToolUsed():
                        heard.clear()
                    case TurnDone():
                        done = event
        return done

    async def ask() -> TurnDone | None:
        try:
            done = await show_answer()
            if AFTER_RESPONSE.due(session):  # nobody types meanwhile, so it need not be in the background
                for one in await AFTER_RESPONSE.run(session):
                    screen.note(one.text, warning=one.warning)
            return done
        finally:
            await program.close()

    return run_loop(ask(), ending=() if heard is None else ENDING)


def _print_whole(text: str) -> None:
    """Print the text. An unbuffered stream writes only a part if a signal comes meanwhile, and says so to nobody."""
    sys.stdout.flush()
    rest = memoryview(text.encode(sys.stdout.encoding, "replace"))
    while rest:
        rest = rest[sys.stdout.buffer.write(rest) or 0 :]
    sys.stdout.buffer.flush()


def _record(session: Session, done: TurnDone) -> dict[str, object]:
    usage, timing = done.usage, done.timing
    return {
        "answer": done.text,
        "thinking": done.thinking or None,
        "state": done.state,
        "model": done.model,
        "conversation": session.journal.id if session.remembers else None,
        "usage": {
            "prompt_tokens": usage.prompt_tokens,
            "read_tokens": max(usage.prompt_tokens - usage.cached_tokens, 0),
            "cached_tokens": usage.cached_tokens,
            "completion_tokens": usage.completion_tokens,
        }
        if usage
        else None,
        "timing": timing._asdict() if timing else None,
        "dollars": done.dollars,
        "error": done.trouble.reason if done.trouble else None,
    }


def read_input(screen: Screen, *, wait: bool) -> str:
    """Return the text on standard input. The wait is limited, so that an unused pipe does not block a script."""
    try:
        kind = os.fstat(0).st_mode
    except OSError:
        return ""
    if stat.S_ISCHR(kind):
        return ""  # a terminal, or /dev/null
    if wait and not stat.S_ISREG(kind) and not _arrives(_HINT_SECONDS):
        screen.note("waiting for standard input; to ask without it add: </dev/null")
        if not _arrives(_FIRST_BYTE_SECONDS):
            screen.note("no data on standard input; continuing without it", warning=True)
            return ""
    data = sys.stdin.buffer.read(MOST_INPUT + 1)
    if len(data) > MOST_INPUT:
        screen.note(f"standard input is longer than {MOST_INPUT >> 20} MB; the rest is left out", warning=True)
    return data[:MOST_INPUT].decode("utf-8", "replace").rstrip("\n")


def _arrives(seconds: float) -> bool:
    return bool(select.select([0], [], [], seconds)[0])
