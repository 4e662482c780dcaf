"""Ask the model of a conversation: the request, the fallback chain, the cost cap, and servers that refuse tools."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from aish.agent.loop import AskEvent
from aish.conversation.prompt import make_room, may_be_kept, offered_tools, prompt_messages, system_blocks
from aish.conversation.spending import confirm_cost
from aish.conversation.turn_context import TurnContext
from aish.model.backend import Answering, Backend, stream_with_fallback
from aish.model.weights import SMOLLM2
from aish.values.events import ChatRequest, Failed, Switched, TextPiece, ToolPiece, notice
from aish.values.turns import EXEC_MARK

# Small models go on after a command with output that they invent. Some servers do not accept this option.
_INVENTED = (f"\n{EXEC_MARK}",)
_TOY = f"{SMOLLM2.label} is answering, {SMOLLM2.caution}; run aish setup to choose another model"


class Asking:
    """The requests of one turn. If a backend cannot be reached, the next one in the chain takes over."""

    def __init__(self, turn: TurnContext, chain: list[str], backend: Backend) -> None:
        self.turn, self.chain, self.backend = turn, chain, backend
        self.consent: set[str] = set()  # backends that may exceed the cap

    async def ask(self, offer_tools: bool) -> AsyncGenerator[AskEvent]:
        """Ask with the whole history. If the server refuses tools or the tool role, ask again without them."""
        while True:
            silent, failure = True, None
            async with aclosing(self._stream(offer_tools)) as events:
                async for event in events:
                    silent = silent and not isinstance(event, TextPiece | ToolPiece)
                    if isinstance(event, Failed):
                        failure = event
                    else:
                        yield event
            retry = self._without_what_it_refuses(failure) if failure and silent else None
            if retry is None:
                if failure:
                    yield failure
                return
            yield retry

    def _without_what_it_refuses(self, failure: Failed) -> AskEvent | None:
        """Remember what the server refuses, and return a notice; None if a retry would not help."""
        session, backend = self.turn.session, self.backend
        name, endpoint, known = backend.name, backend.endpoint, session.endpoints
        if failure.trouble == "tools" and offered_tools(session, backend, self.turn):
            known.refused_tools(backend)
            text = f"{name} does not accept tools; continuing without them (to try again: aish models check {name})"
            return notice("model.no_tools", text, model=name)
        if failure.trouble == "roles" and endpoint not in known.refuse_tool_role:
            known.refuse_tool_role.add(endpoint)
            text = f"{name} does not accept the tool role; tool results are sent as plain text from now on"
            return notice("model.no_tool_role", text, model=name)
        return None

    async def _stream(self, offer_tools: bool) -> AsyncGenerator[AskEvent]:
        session = self.turn.session
        stream = stream_with_fallback(
            self.chain, session.services.open_backend, lambda backend: self._request(backend, offer_tools)
        )
        async with aclosing(stream) as events:
            async for event in events:
                match event:
                    case Answering(backend):
                        if backend is not self.backend:  # its token counts and window may differ
                            self.backend = backend
                            for one in await make_room(self.turn, backend, await session.endpoints.limits(backend)):
                                yield one
                        if not await self._may_cost(backend):
                            yield Failed("not sent: the call could exceed the cost cap", "declined")
                            return
                    case Switched(old, new, reason):
                        if self._is_news(old, new, reason):
                            text = f"{old}: {reason}; continuing with {new}"
                            yield notice("model.switched", text, warning=True, old=old, new=new, reason=reason)
                    case _:
                        if isinstance(event, TextPiece) and self.backend.prompt_form == "words":
                            for one in session.say_once("model.toy", _TOY):
                                yield one
                        if not isinstance(event, Failed):
                            session.endpoints.windows.refresh(self.backend)
                        yield event

    def _is_news(self, old: str, new: str, reason: str) -> bool:
        """Return whether the user should be told of a switch: of one to smaller weights only once."""
        session = self.turn.session
        if not any(new in session.services.stand_ins(name) for name in self.chain):
            return True
        return session.recorder.is_news(f"model.switched {old} {new} {reason}")

    def _request(self, backend: Backend, offer_tools: bool) -> ChatRequest:
        """Build the request for this backend."""
        session, self.turn.backend = self.turn.session, backend
        session.last_blocks = system_blocks(session, self.turn)
        messages = prompt_messages(session, session.last_blocks, backend)
        tools = offered_tools(session, backend, self.turn) if offer_tools else ()
        schemas = tuple(tool.schema for tool in tools)
        stop = _INVENTED if backend.takes_grammar else ()
        request = ChatRequest(
            messages, schemas, backend.max_tokens, stop=stop, remembers=may_be_kept(session, self.turn)
        )
        self.turn.request = request  # what the server's token count is compared with
        return request

    async def _may_cost(self, backend: Backend) -> bool:
        """Return whether the cost caps allow the call. The user's consent holds for the whole answer."""
        size = self.turn.session.last_size
        if backend.name not in self.consent and size:
            if not await confirm_cost(self.turn.session, backend, size, self.turn.person):
                return False
            self.consent.add(backend.name)
        return True
