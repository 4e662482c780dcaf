"""Work that can wait until the user has the answer: a summary of what left the prompt."""

from contextlib import aclosing

from aish.context.blocks import compose
from aish.conversation.bill import affordable, enter
from aish.conversation.session import Session
from aish.values.events import ChatRequest, Finished, TextPiece, Usage
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
    if not await affordable(session, backend, request):
        return
    text, usage, whole = "", None, False
    async with aclosing(backend.model.stream(request)) as events:
        async for event in events:
            match event:
                case TextPiece(piece):
                    text += piece
                case Usage():
                    usage = event
                case Finished():
                    whole = True
    if not usage and text:  # not every server counts
        counted = await backend.tokenizer.count(str(request.messages[0]["content"]))
        usage = Usage(prompt_tokens=counted, completion_tokens=await backend.tokenizer.count(text))
    if usage:
        enter(session, backend, usage, backend.price.of(usage) if backend.price else None, "summary")
    if not whole or not text.strip() or session.evicted[: len(turns)] != turns:  # the last: begun anew meanwhile
        return
    session.summary = clip(text.strip(), SUMMARY_CHARS)
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
