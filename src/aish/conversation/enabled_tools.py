"""The tools of a conversation by name, as they are now: a call may add some, which the next call can use."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from aish.agent.tool import Tool
from aish.conversation.session import Session


class EnabledTools(Mapping[str, Tool[Any]]):
    """Looks up a tool among those that are enabled at this moment."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def __getitem__(self, name: str) -> Tool[Any]:
        for tool in self._session.enabled_tools():
            if tool.name == name:
                return tool
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return (tool.name for tool in self._session.enabled_tools())

    def __len__(self) -> int:
        return len(self._session.enabled_tools())


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
