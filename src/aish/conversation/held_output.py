"""Output of commands, kept for the next question without its secrets."""

from aish.conversation.session import Session
from aish.intake.past_questions import shows_past
from aish.values.outcomes import Outcome


def hold_output(session: Session, command: str, outcome: Outcome) -> None:
    """Keep what a command printed; the next question takes it along."""
    ended = f"\n[exit status {outcome.status}]" if outcome.status else ""
    output = session.services.redaction.text(f"$ {command}\n{outcome.output}{ended}")
    session.history.hold(output, recalled=shows_past(command))
