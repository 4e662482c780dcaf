"""What the shell asks of any model. Adapters live beside this file, one file each."""

from collections.abc import AsyncGenerator
from typing import Protocol

from aish.values.events import ChatRequest, ModelEvent


class Model(Protocol):
    """Answers a request with a stream of events.

    Contract: exactly one `Finished` or `Failed` comes last. Trouble on the wire is a `Failed` event, not an
    exception, so that half an answer can still be shown and journaled. Closing the stream stops the work.
    """

    def stream(self, request: ChatRequest) -> AsyncGenerator[ModelEvent]: ...

    async def close(self) -> None: ...
