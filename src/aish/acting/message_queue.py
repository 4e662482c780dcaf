"""What the user types while the model works: lines for afterwards, and words that the model gets with its next request.

Pure: values in, values out.
"""

_MOST_LINES = 50
_MOST_STEERING = 4_000  # characters; it must fit into a prompt that is already full of work


class MessageQueue:
    """Lines in the order in which they were typed.

    1. A line is sent by itself once the answer is complete, unless the user pressed Ctrl-C: then lines are `held`, and
       come back into the prompt one by one.
    2. Words for the model that came too late become the first line.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.held = False
        self._steering: list[str] = []

    def add(self, line: str) -> bool:
        """Add a line; return False if there are too many."""
        if len(self.lines) >= _MOST_LINES:
            return False
        self.lines.append(line)
        return True

    def steer(self, text: str) -> bool:
        """Keep words for the next request; return False if they are too long."""
        if sum(map(len, self._steering)) + len(text) > _MOST_STEERING:
            return False
        self._steering.append(text)
        return True

    def take_steering(self) -> str:
        """Return the words for the model, once."""
        words, self._steering = self._steering, []
        return "\n".join(words)

    def keep_steering(self) -> str:
        """Make words that no request took along the first line, as a question. Return them."""
        text = self.take_steering()
        if text:
            self.lines.insert(0, f"? {text}")
        return text

    def hold(self) -> None:
        """Send nothing more by itself, because the user pressed Ctrl-C."""
        self.keep_steering()
        self.held = True

    def take(self) -> str | None:
        """Return the line to send now; None if there is none, or if the lines are held."""
        return None if self.held or not self.lines else self.lines.pop(0)

    def take_held(self) -> str:
        """Return the next held line for the prompt, or an empty string."""
        text = self.lines.pop(0) if self.held and self.lines else ""
        self.held = self.held and bool(self.lines)
        return text

    def clear(self) -> int:
        """Forget everything. Return how many lines and words there were."""
        number = len(self.lines) + len(self._steering)
        self.lines, self._steering, self.held = [], [], False
        return number
