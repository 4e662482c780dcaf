"""The model port. Adapters are in this folder, one file each."""

from collections.abc import AsyncGenerator
from typing import Protocol

from aish.values.events import ChatRequest, ModelEvent


class Model(Protocol):
    """Answers a request with a stream of events.

    Contract: exactly one `Finished` or `Failed` comes last. A network error is a `Failed` event, not an exception,
    so that a partial answer can still be shown and journaled. Closing the stream stops the work.
    """

    def stream(self, request: ChatRequest) -> AsyncGenerator[ModelEvent]: ...

    async def close(self) -> None: ...
