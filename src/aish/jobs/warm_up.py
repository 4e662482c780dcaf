"""The job that sends the system prompt to the embedded model in advance, so that the first answer starts sooner."""

from contextlib import aclosing

from aish.context.blocks import compose
from aish.conversation.prompt import system_blocks
from aish.conversation.session import Session
from aish.jobs.scheduler import Job
from aish.settings.options import EMBEDDED
from aish.values.events import ChatRequest, Notice


def is_due(session: Session) -> bool:
    settings = session.settings
    preset = settings.presets().get(session.model)
    return bool(preset and preset.kind == EMBEDDED and settings.embedded.warm and not settings.rules)


async def warm_up(session: Session) -> list[Notice]:
    """Send the system prompt and ask for one token, which fills the prompt cache."""
    opening = ({"role": "system", "content": compose(system_blocks(session))}, {"role": "user", "content": "hi"})
    request = ChatRequest(messages=opening, max_tokens=1)
    async with aclosing(session.backend.model.stream(request)) as events:
        async for _ in events:
            pass
    return []


WARM_UP = Job("warm-up", "start", is_due, warm_up)
