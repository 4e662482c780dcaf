"""The tools of a conversation by name, as they are now: a call may add some, which the next call can use."""

from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from typing import Any

from aish.agent.tool import ParsedCall, Tool, ToolEvent, refused
from aish.conversation.session import Session


class EnabledTools(Mapping[str, Tool[Any]]):
    """Looks up a tool among those that are enabled at this moment.

    `refusal` says why one may not be used in this turn. Such a tool stays in the list that the model gets, because
    another list would make its server read the whole prompt again; a call of it is refused without a question.
    """

    def __init__(self, session: Session, refusal: Callable[[str], str] = lambda name: "") -> None:
        self._session, self._refusal = session, refusal

    def __getitem__(self, name: str) -> Tool[Any]:
        for tool in self._session.enabled_tools():
            if tool.name == name:
                reason = self._refusal(name)
                return _refusing(tool, reason) if reason else tool
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return (tool.name for tool in self._session.enabled_tools())

    def __len__(self) -> int:
        return len(self._session.enabled_tools())


def _refusing(tool: Tool[Any], reason: str) -> Tool[Any]:
    """Return a tool that does nothing but refuse."""

    async def refuse(call: ParsedCall, context: Any) -> AsyncGenerator[ToolEvent]:
        yield refused(reason)

    return Tool(tool.schema, refuse, effect="read", trust="own")


class GrowingTools(Sequence[Tool[Any]]):
    """Tools that stay, followed by those that there are at the moment."""

    def __init__(self, fixed: Sequence[Tool[Any]], more: Callable[[], Sequence[Tool[Any]]]) -> None:
        self._fixed, self._more = fixed, more

    def _all(self) -> list[Tool[Any]]:
        return [*self._fixed, *self._more()]

    def __getitem__(self, place: Any) -> Any:
        return self._all()[place]

    def __iter__(self) -> Iterator[Tool[Any]]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())
