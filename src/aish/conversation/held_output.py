"""Output of commands, held for the next question with secrets masked."""

from aish.conversation.session import Session
from aish.conversation.surroundings import surroundings_keeper
from aish.intake.past_questions import shows_past
from aish.values.outcomes import Outcome
from aish.values.turns import PROPOSED_MARK


def hold_output(session: Session, command: str, outcome: Outcome, *, proposed: bool = False) -> None:
    """Hold the output of a command. It is sent with the next question. `proposed`: a model wrote the command.

    A command of the user that printed nothing (`cd`, `clear`) is not worth attaching, unless it failed.
    """
    ended = f"\n[exit status {outcome.status}]" if outcome.status else ""
    mark = f"{PROPOSED_MARK}\n" if proposed else ""
    output = session.services.redaction.text(f"{mark}$ {command}\n{outcome.output}{ended}")
    if outcome.output.strip() or outcome.status or proposed:
        session.history.hold(output, recalled=shows_past(command))
    keeper = None if proposed else surroundings_keeper(session)
    if keeper:
        keeper.ran(session.services.redaction.text(command), outcome.status)
