"""The job that runs the hooks of skills after an answer, while the user can already type."""

from aish.conversation.session import Session
from aish.jobs.scheduler import Job
from aish.prompt.skills import SkillTextsLayer, session_skills
from aish.values.events import Notice


def is_due(session: Session) -> bool:
    """Is there an answer that the hooks have not seen?"""
    layer = _layer(session)
    if (
        layer is None
        or not layer.asked
        or not any(skill.hooks_of("after_response") for skill in session_skills(session))
    ):
        return False
    return bool(session.history.turns) and session.history.turns[-1].role == "assistant"


async def run_after_response(session: Session) -> list[Notice]:
    """Run the hooks once for the last answer, also if they are stopped."""
    layer = _layer(session)
    if layer is None or not layer.asked:
        return []
    question, layer.asked = layer.asked, ""
    answer, skills = session.history.turns[-1].content, session_skills(session)
    opened = session.services.open_skills()
    outputs, notices = await opened.run_hooks(session, "after_response", skills, question=question, answer=answer)
    return [*notices, *(one.notice for one in outputs)]


def _layer(session: Session) -> SkillTextsLayer | None:
    return next((layer for layer in session.layers if isinstance(layer, SkillTextsLayer)), None)


AFTER_RESPONSE = Job("hooks of skills", "after answer", is_due, run_after_response)
