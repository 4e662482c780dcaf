"""What the user allowed in advance, as the gate asks for it. The defaults allow nothing and change nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aish.acting.command_fences import Permit
from aish.values.verdicts import Verdict

if TYPE_CHECKING:  # the gate has consents
    from aish.acting.gate import Decided


class StandingConsent:
    """What the user allowed in advance, for a turn or for a goal.

    Contract: commands that destroy something or cannot be understood get no permit.
    """

    is_goal = False  # whether the user can widen it for the rest of a goal

    def permit(self, command: str, verdict: Verdict) -> Permit | None:
        """Return what a command may do without another question; None: ask."""
        return None

    async def ask(self, command: str, verdict: Verdict) -> Permit | str | None:
        """Ask the user in words of its own: return the permit, or why it does not run; None: the gate asks."""
        return None

    def narrowed(self, permit: Permit) -> Permit:
        """Return the permit of a command with the bounds of this consent. Doing so again changes nothing."""
        return permit

    def widen(self, before: Permit, now: Permit) -> None:
        """Allow the network or directories that a permit has more than before, from now on: the user wants that."""

    def objection(self, verdict: Verdict) -> str:
        """Return why a command that the user always allows must be asked about now; empty if it need not."""
        return ""

    def used_up(self) -> str:
        """Name what is used up, so that nobody may go on with tools; empty if nothing is."""
        return ""

    def beside(self) -> StandingConsent | None:
        """Return what holds of this consent for a sub-agent, to which nothing is allowed in advance."""
        return None

    def decided(self, decided: Decided, verdict: Verdict) -> None:
        """Take note of what became of a command."""
