"""The job that proposes facts from the conversation for memory when the user quits."""

from aish.conversation.learning import propose_candidates
from aish.conversation.session import Session
from aish.jobs.scheduler import Job
from aish.values.events import Notice, notice


def is_due(session: Session) -> bool:
    return session.settings.memory.summarize_on_quit and session.remembers and bool(session.history.turns)


async def propose(session: Session) -> list[Notice]:
    """Let a model look for facts worth keeping, and add them to memory as pending."""
    count, trouble = await propose_candidates(session, session.journal)
    if count:
        return [notice("memory.candidates", f"{count} candidates are pending (:memory pending)", count=count)]
    return [notice("memory.no_candidates", trouble or "found nothing new worth keeping")]


LEARNING = Job(
    "learning", "quit", is_due, propose, announcement="looking for facts worth keeping; Ctrl-C quits at once"
)
