"""A side question to a model: one request, one answer. It is added to the costs, but is not a turn."""

from contextlib import aclosing

from aish.conversation.session import Session
from aish.conversation.spending import affordable, enter
from aish.model.backend import Backend
from aish.values.events import ChatRequest, Failed, Finished, TextPiece, ThoughtSoFar, Usage
from aish.values.named_tuple import NamedTuple


class SideAnswer(NamedTuple):
    """The answer; `trouble` says why it is incomplete."""

    text: str
    whole: bool
    trouble: str = ""
    away: bool = False  # nobody answered: the server is unreachable, or the model is not installed
    cut: bool = False  # its last line may be incomplete


async def ask_side_question(
    session: Session, backend: Backend, request: ChatRequest, category: str
) -> SideAnswer | None:
    """Send a request of one message and return the answer, or None if the call could exceed the cost cap."""
    if not await affordable(session, backend, request):
        return None
    text, usage, whole, cut, trouble, away = "", None, False, False, "", False
    async with aclosing(backend.model.stream(request)) as events:
        async for event in events:
            match event:
                case TextPiece(piece):
                    text += piece
                case ThoughtSoFar():
                    text = ""
                case Usage():
                    usage = event
                case Finished(reason):
                    whole, cut = True, reason == "length"
                case Failed(reason, kind):
                    trouble, away = reason, kind in ("unreachable", "missing")
    if not usage and text:  # some servers do not report usage
        counted = await backend.tokenizer.count(str(request.messages[0]["content"]))
        usage = Usage(prompt_tokens=counted, completion_tokens=await backend.tokenizer.count(text))
    if usage:
        enter(session, backend, usage, backend.price.of(usage) if backend.price else None, category)
    return SideAnswer(text, whole, trouble, away and not text, cut or not whole)
