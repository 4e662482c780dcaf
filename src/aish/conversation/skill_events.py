"""Events of a conversation that hooks of skills can follow. What runs them is loaded if there are skills."""

from aish.conversation.session import Session
from aish.values.events import Notice


async def after_subagent(session: Session, agent_name: str, task: str, answer: str) -> list[Notice]:
    """Run the hooks for the end of a sub-agent of this conversation. Call it once for each that has ended."""
    if not session.services.skill_folders(session.channel, session.cwd):
        return []
    skills = session.services.open_skills()
    return await skills.hold(session, "after_subagent", agent=agent_name, task=task, answer=answer)
