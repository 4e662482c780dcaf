"""`aish memory summarize`: a model looks for facts worth keeping in the newest conversation."""

from aish.conversation.learning import propose_candidates
from aish.program import Program
from aish.values.replies import Reply
from aish.views.event_loop import run_loop


def propose(program: Program) -> Reply:
    """Add the model's candidates as pending, because a script cannot be asked about them."""
    return run_loop(_propose(program))


async def _propose(program: Program) -> Reply:
    try:
        journal = program.conversations.open(program.conversations.find())
        pending, trouble = await propose_candidates(program.session(), journal)
    finally:
        await program.close()
    lines = [trouble] if trouble else []
    lines.append(f"{pending} candidates are pending (aish memory pending)")
    return Reply("\n".join(lines), data={"pending": pending}, found=pending > 0)
