"""The job that proposes, when the user leaves, what of the conversation is worth keeping."""

from aish.conversation.learning import propose_candidates
from aish.conversation.session import Session
from aish.jobs.scheduler import Job
from aish.values.events import Notice, notice


def is_due(session: Session) -> bool:
    return session.settings.memory.summarize_on_quit and session.remembers and bool(session.history.turns)


async def propose(session: Session) -> list[Notice]:
    """Let a model look for what is worth keeping. What it finds waits for the user's yes."""
    count, trouble = await propose_candidates(session, session.journal)
    if count:
        return [notice("memory.candidates", f"{count} candidates wait for your yes (:memory pending)", count=count)]
    return [notice("memory.no_candidates", trouble or "nothing new is worth keeping")]


LEARNING = Job(
    "learning", "quit", is_due, propose, announcement="looking for what is worth keeping; Ctrl-C leaves at once"
)
