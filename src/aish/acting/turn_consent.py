"""What the user allowed with one key until the question is answered."""

from aish.acting.command_fences import CHANGING, Permit
from aish.acting.standing_consent import StandingConsent
from aish.conversation.foreign_text import reads_foreign_text
from aish.conversation.session import Session
from aish.values.text import exactly
from aish.values.verdicts import Verdict


class TurnConsent(StandingConsent):
    """Commands with the same first words as one that the user saw and allowed.

    1. It covers changes in the changing fence only: nothing that destroys, sends or cannot be understood.
    2. Once the model has read text that is not the user's, it covers only the very same command: the others could be
       that text's wish.
    3. It ends with the question, and when the user stops something with Ctrl-C.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._commands: set[str] = set()
        self._prefixes: set[tuple[str, ...]] = set()

    def allow(self, command: str, verdict: Verdict) -> str:
        """Allow this command and others with its prefixes. Return in words what is allowed now."""
        self._commands.add(command)
        self._prefixes.update(prefix for prefix in verdict.prefixes if prefix)
        if reads_foreign_text(self._session):
            return "this very command"
        return ", ".join(f"“{exactly(' '.join(prefix))} …”" for prefix in verdict.prefixes)

    def end(self) -> None:
        self._commands.clear()
        self._prefixes.clear()

    def permit(self, command: str, verdict: Verdict) -> Permit | None:
        if verdict.effect != "change":
            return None
        return CHANGING if command in self._commands or self._covers(verdict.prefixes) else None

    def _covers(self, prefixes: tuple[tuple[str, ...], ...]) -> bool:
        """Return whether each part of a line that asks begins with allowed words."""
        known = all(any(prefix[: len(one)] == one for one in self._prefixes) for prefix in prefixes)
        return bool(prefixes) and known and not reads_foreign_text(self._session)
