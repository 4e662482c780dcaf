"""The job that lets the embedded model read what is known of the next prompt, so that the answer starts sooner."""

from aish.conversation.prompt import may_be_kept, offered_tools, opening_messages
from aish.conversation.session import Session
from aish.jobs.scheduler import Job
from aish.settings.options import EMBEDDED
from aish.values.events import ChatRequest, Notice


def is_due(session: Session) -> bool:
    settings = session.settings
    preset = settings.presets().get(session.model)
    return bool(preset and preset.kind == EMBEDDED and settings.embedded.warm and not settings.rules)


def output_is_due(session: Session) -> bool:
    return bool(session.history.held) and is_due(session)


async def warm_up(session: Session) -> list[Notice]:
    """Send the prompt of the next question without the question."""
    backend = session.backend
    if backend.prepare:
        tools = tuple(tool.schema for tool in offered_tools(session, backend))
        await backend.prepare(ChatRequest(opening_messages(session, backend), tools, remembers=may_be_kept(session)))
    return []


WARM_UP = Job("warm-up", "start", is_due, warm_up)
WARM_UP_OUTPUT = Job("warm-up with output", "after command", output_is_due, warm_up)
