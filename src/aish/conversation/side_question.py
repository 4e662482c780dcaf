"""Asking a model beside the conversation: one question, one answer, entered into the books, never shown as a turn."""

from contextlib import aclosing
from typing import NamedTuple

from aish.conversation.session import Session
from aish.conversation.spending import affordable, enter
from aish.model.backend import Backend
from aish.values.events import ChatRequest, Failed, Finished, TextPiece, Usage


class SideAnswer(NamedTuple):
    """What came back; `trouble` says why it is not whole."""

    text: str
    whole: bool
    trouble: str = ""


async def ask_side_question(
    session: Session, backend: Backend, request: ChatRequest, category: str
) -> SideAnswer | None:
    """The answer to a request of one message; None if it was not asked, because it could cost more than the cap."""
    if not await affordable(session, backend, request):
        return None
    text, usage, whole, trouble = "", None, False, ""
    async with aclosing(backend.model.stream(request)) as events:
        async for event in events:
            match event:
                case TextPiece(piece):
                    text += piece
                case Usage():
                    usage = event
                case Finished():
                    whole = True
                case Failed(reason):
                    trouble = reason
    if not usage and text:  # not every server counts
        counted = await backend.tokenizer.count(str(request.messages[0]["content"]))
        usage = Usage(prompt_tokens=counted, completion_tokens=await backend.tokenizer.count(text))
    if usage:
        enter(session, backend, usage, backend.price.of(usage) if backend.price else None, category)
    return SideAnswer(text, whole, trouble)
