"""Work that can wait until the user has the answer: a summary of what left the prompt."""

from contextlib import aclosing

from aish.context.blocks import compose
from aish.conversation.session import Session
from aish.conversation.side_question import ask_side_question
from aish.values.events import ChatRequest
from aish.values.text import clip
from aish.values.turns import Turn

SUMMARY_TOKENS = 200
SUMMARY_CHARS = 1200
_INPUT_CHARS = 12_000
_ORDER = (
    "Summarise this earlier part of a conversation in at most eight short sentences for the assistant who goes on with "
    "it: what the user wants, what was decided, names, numbers and open points. Only what is in the text."
)


async def summarize_evicted(session: Session) -> None:
    """Fold the turns that left the prompt into the summary. One call; if it fails or is cancelled, nothing changes."""
    turns = list(session.evicted)
    if not turns or not session.settings.context.summarize_evicted:
        return
    backend = session.backend
    request = ChatRequest(
        messages=({"role": "user", "content": f"{_ORDER}\n\n{_transcript(session.summary, turns)}"},),
        max_tokens=SUMMARY_TOKENS,
    )
    side_answer = await ask_side_question(session, backend, request, "summary")
    begun_anew = session.evicted[: len(turns)] != turns
    if side_answer is None or not side_answer.whole or not side_answer.text.strip() or begun_anew:
        return
    session.summary = clip(side_answer.text.strip(), SUMMARY_CHARS)
    del session.evicted[: len(turns)]


async def warm_up(session: Session) -> None:
    """Let the server read the system prompt ahead, so that the first answer starts sooner."""
    opening = ({"role": "system", "content": compose(session.blocks())}, {"role": "user", "content": "hi"})
    request = ChatRequest(messages=opening, max_tokens=1)
    async with aclosing(session.backend.model.stream(request)) as events:
        async for _ in events:
            pass


def _transcript(summary: str, turns: list[Turn]) -> str:
    parts = [f"Summary so far: {summary}"] if summary else []
    parts += [f"{turn.role}: {turn.content}" for turn in turns if turn.content]
    return clip("\n".join(parts), _INPUT_CHARS)
