"""Whether the model goes on after its commands have run: it reads what they printed, and answers or proposes more.

Pure: values in, an answer out.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from aish.values.outcomes import Outcome

if TYPE_CHECKING:  # it takes long to load
    from aish.acting.gate import Decided

# What the model gets after the output of its commands, in place of a question.
GO_ON = "[aish] the commands have run; go on, or answer if you are done"


class Rounds:
    """The rounds of one question, at most `most`.

    1. The model goes on only if a command ran: after a no it waits for the user.
    2. A model is stopped that repeats exactly the commands of its last answer, if they print the same or for the second
       time. A test that is run again after a change prints something else.
    """

    def __init__(self, most: int) -> None:
        self._most, self._gone = most, 0
        self._last: list[tuple[str, Outcome]] = []
        self._repeated = 0  # how many times in a row
        self.reason = ""  # why it was stopped; empty if it is done, or if the user knows why

    def go_on(self, decided: "Sequence[Decided]") -> bool:
        """Decide after the commands of an answer."""
        ran = [(one.command, one.outcome) for one in decided if one.outcome]
        if not ran or not self._most:
            return False
        again = [command for command, _ in ran] == [command for command, _ in self._last]
        self._repeated = self._repeated + 1 if again else 0
        if ran == self._last or self._repeated > 1:
            self.reason = "stopped: the model repeats its commands"
            return False
        self._last = ran
        self._gone += 1
        if self._gone > self._most:
            self.reason = f"stopped after {self._most} rounds; ask on if it should continue"
        return not self.reason
