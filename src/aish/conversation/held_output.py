"""Output of commands, held for the next question with secrets masked."""

from aish.conversation.session import Session
from aish.intake.past_questions import shows_past
from aish.values.outcomes import Outcome


def hold_output(session: Session, command: str, outcome: Outcome) -> None:
    """Hold the output of a command. It is sent with the next question."""
    ended = f"\n[exit status {outcome.status}]" if outcome.status else ""
    output = session.services.redaction.text(f"$ {command}\n{outcome.output}{ended}")
    session.history.hold(output, recalled=shows_past(command))
