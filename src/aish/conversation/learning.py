"""Learning from a conversation: a model reads its journal and proposes what is worth keeping."""

from collections.abc import Iterator

from aish.context.crisis import shows_crisis
from aish.conversation.session import Session
from aish.conversation.side_question import ask_side_question
from aish.memory.candidates import GRAMMAR, INSTRUCTION, MOST_BYTES, Candidate, Lesson, lesson, read_candidates
from aish.memory.journal import TurnLog
from aish.values.errors import BadUsage, Declined
from aish.values.events import ChatRequest
from aish.values.text import one_line
from aish.values.turns import SUMMARIZER_META, JournalEntry, Turn

_ANSWER_TOKENS = 400


async def find_candidates(session: Session, journal: TurnLog) -> tuple[list[Candidate], Lesson, str]:
    """Ask a model for candidates. Return them, what it read, and a message if there are none."""
    backend = session.services.open_backend(session.settings.memory.summarizer_model or session.model)
    limits = await session.endpoints.limits(backend)
    room = min(MOST_BYTES, 3 * limits.token_budget)  # bytes; most texts have at least three per token
    read = lesson(_unless_in_crisis(journal.entries_back()), room, imported=bool(journal.meta().get("source")))
    if not read.turns:
        return [], read, "this conversation has no turns yet"
    request = ChatRequest(
        messages=({"role": "user", "content": read.text},),
        max_tokens=min(backend.max_tokens or _ANSWER_TOKENS, _ANSWER_TOKENS),
        grammar=GRAMMAR if backend.takes_grammar else "",
    )
    side_answer = await ask_side_question(session, backend, request, "memory")
    if side_answer is None:
        return [], read, "not sent: the call could exceed the cost cap"
    text, trouble = side_answer.text, side_answer.trouble
    _record(session, journal, read, text, trouble)
    found = read_candidates(text)
    if found:
        return found, read, ""
    return [], read, trouble or ("the model found nothing worth keeping" if not text.strip() else _nothing(text))


def _unless_in_crisis(newest_first: Iterator[JournalEntry]) -> Iterator[JournalEntry]:
    """Yield the entries without turns that show a crisis and without the answers to them."""
    answers: list[JournalEntry] = []
    for entry in newest_first:
        answers.append(entry)
        if entry.turn.role == "user":
            if not shows_crisis(entry.turn.content):
                yield from answers
            answers = []
    yield from answers


async def propose_candidates(session: Session, journal: TurnLog) -> tuple[int, str]:
    """Find candidates and add them as pending. Return how many are new, and a message about trouble."""
    found, read, trouble = await find_candidates(session, journal)
    new = 0
    for candidate in found:
        try:
            kept = session.memory.propose(candidate.content, candidate.kind, source=journal.id, origin=read.origin)
            new += kept.new and kept.pending
        except (BadUsage, Declined) as error:
            trouble = str(error)
    return new, trouble


def _nothing(text: str) -> str:
    return f"the model's answer has no usable line ({one_line(text, 60)})"


def _record(session: Session, journal: TurnLog, read: Lesson, text: str, trouble: str) -> None:
    """Record the call in the journal, marked so that later runs do not read it as part of the conversation."""
    if journal is session.journal:
        asked = f"{INSTRUCTION}\n\n[{read.turns} turns of this conversation]"
        session.recorder.keep(journal, Turn(role="user", content=asked), {"meta": SUMMARIZER_META})
        session.recorder.keep(
            journal, Turn("assistant", text, state="failed" if trouble else "complete"), {"meta": SUMMARIZER_META}
        )
