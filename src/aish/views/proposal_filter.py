"""Leave proposed commands out of an answer on the screen, because the gate shows each of them as a proposal.

Pure: pieces of an answer in, text to show out.
"""

from collections.abc import Collection

from aish.values.answer_lines import MARK, AnswerLines


class ProposalFilter:
    """Passes an answer on without its proposals. What the gate does not offer in the end is shown after all.

    `values/answer_lines.py` decides what is a proposal, as it does for the gate: nothing is hidden that is not offered.
    """

    def __init__(self) -> None:
        self._hidden: list[str] = []
        self._begin()

    def _begin(self) -> None:
        self._lines = AnswerLines()
        self._pending = ""  # the line that is not complete
        self._passed = 0  # how much of it was passed on
        self._command: list[str] = []  # the lines of a command that is not complete

    def feed(self, text: str) -> str:
        """Take the next piece, and return what to show of the answer now."""
        *whole, self._pending = (self._pending + text).split("\n")
        shown = "".join(self._line(line, "\n") for line in whole)
        if not self._may_propose(self._pending):
            shown += self._pending[self._passed :]
            self._passed = len(self._pending)
        return shown

    def _may_propose(self, start: str) -> bool:
        """Can a line that starts this way still become a proposal, or belong to one?"""
        if self._lines.command:
            return True
        begun = MARK.startswith(start) or (start.startswith(MARK) and not start[len(MARK) :].strip())
        return not self._passed and (self._lines.proposes(start) or (begun and self._lines.is_top_level))

    def _line(self, line: str, end: str) -> str:
        """Take a whole line, and return what is still to be shown of it."""
        clean, passed, self._passed = line.removesuffix("\r"), self._passed, 0
        if not passed and (self._lines.command or self._lines.proposes(clean)):
            self._command.append(clean if self._command else clean[len(MARK) :])
            self._lines.read(clean)
            if not self._lines.command:
                self._hide_command()
            return ""
        self._lines.read(clean)
        return line[passed:] + end

    def _hide_command(self) -> None:
        if self._command:
            self._hidden.append("\n".join(self._command))
        self._command = []

    def end_part(self) -> str:
        """Return the rest of this part of the answer; the next one begins with a new line, such as after a tool."""
        rest = self._line(self._pending, "") if self._pending else ""
        self._hide_command()
        self._begin()
        return rest

    def end(self, offered: Collection[str]) -> str:
        """Return the rest of the answer, with the commands that are not offered."""
        rest = self.end_part()
        left = [f"{MARK}{command}" for command in self._hidden if command not in offered]
        self._hidden = []
        return rest + "".join(f"\n{command}" for command in left)
