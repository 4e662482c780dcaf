"""The job that summarises turns that were dropped from the prompt."""

from aish.conversation.lineage import last_turn_before, record_compaction
from aish.conversation.session import Session
from aish.conversation.side_question import ask_side_question
from aish.jobs.scheduler import Job
from aish.prompt.summary import SUMMARY_CHARS, SummaryLayer
from aish.values.events import ChatRequest, Notice
from aish.values.text import clip
from aish.values.turns import Turn

SUMMARY_TOKENS = 200
_INPUT_CHARS = 12_000
_ORDER = (
    "Summarise this earlier part of a conversation in at most eight short sentences for the assistant who goes on with "
    "it: what the user wants, what was decided, names, numbers and open points. Only what is in the text."
)


def is_due(session: Session) -> bool:
    """Are there turns to summarise, and a model with time for it? With a small one, the working state stands in."""
    wanted = bool(session.evicted) and session.settings.context.summarize_evicted
    return wanted and not session.is_small()


async def summarize_evicted(session: Session) -> list[Notice]:
    """Add the dropped turns to the summary with one model call. If it fails or is cancelled, nothing changes."""
    if not is_due(session):
        return []
    turns, layer = list(session.evicted), session.layer(SummaryLayer)
    before = layer.summary
    request = ChatRequest(
        messages=({"role": "user", "content": f"{_ORDER}\n\n{_transcript(before, turns)}"},),
        max_tokens=SUMMARY_TOKENS,
    )
    answer = await ask_side_question(session, session.backend, request, "summary")
    changed = session.evicted[: len(turns)] != turns or layer.summary != before  # by :new, :reset or a purge
    if answer is None or not answer.whole or not answer.text.strip() or changed:
        return []
    layer.summary = clip(answer.text.strip(), SUMMARY_CHARS)
    del session.evicted[: len(turns)]
    if not session.evicted:  # otherwise it is unknown which turns the summary stands for
        record_compaction(
            session, "summary", last_turn_before(session, len(session.history.exchanges())), layer.summary
        )
    return []


SUMMARY = Job("summary", "after answer", is_due, summarize_evicted)


def _transcript(summary: str, turns: list[Turn]) -> str:
    parts = [f"Summary so far: {summary}"] if summary else []
    parts += [f"{turn.role}: {turn.content}" for turn in turns if turn.content]
    return clip("\n".join(parts), _INPUT_CHARS)
