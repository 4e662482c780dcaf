"""The live turns of a conversation, and the rules for a valid turn.

Pure: takes turns, returns turns.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from aish.context.blocks import compose_message
from aish.values.errors import BadTurn
from aish.values.named_tuple import NamedTuple
from aish.values.text import clip
from aish.values.turns import EXEC_MARK, Turn

MOST_HELD = 32_000  # characters of held output
LEFT_OUT = '{"status": "left out", "note": "an older result, left out to make room; call again if you need it"}'
_NO_MARK = EXEC_MARK.replace("[", "(").replace("]", ")")  # in output, which could forge another command


class Held(NamedTuple):
    """Command output held for the next question. `recalled` output is already in another journal."""

    text: str
    recalled: bool = False

    def with_text(self, text: str) -> "Held":
        return self._replace(text=text)


class History:
    """The turns of this conversation that the model still gets.

    1. Every turn has a role; user turns and assistant turns without tool calls have content.
    2. A tool turn answers a call of the nearest assistant turn before it, across tool turns only.
    3. Output of the user's own commands is never a turn: it is held and sent with the next question.
    4. Only whole exchanges are evicted: a question, everything that answers it, and what the user said meanwhile.
    """

    def __init__(self, turns: Sequence[Turn] = ()) -> None:
        self._turns: list[Turn] = []
        self._held: list[Held] = []
        self._carried: list[Held] = []  # output sent with the newest question
        self._steering: list[Turn] = []  # what the user said while the model worked: part of an exchange
        self.foreign_gone = False  # turns with text that the user did not write have left
        for turn in turns:
            self.add(turn)

    @property
    def turns(self) -> tuple[Turn, ...]:
        return tuple(self._turns)

    @property
    def held(self) -> str:
        """The held output as it will be sent with the next question."""
        return "\n".join(f"{EXEC_MARK}\n{output.text}" for output in self._held)

    @property
    def recalled(self) -> list[list[int]]:
        """The line ranges of `held` that contain only recalled text."""
        places, line = [], 0
        for output in self._held:
            begin, line = line, line + output.text.count("\n") + 2
            places += [[begin, line]] if output.recalled else []
        return places

    def add(self, turn: Turn) -> Turn:
        """Append `turn`. Raises `BadTurn`, which names the broken rule."""
        check(turn, self._turns)
        self._turns.append(turn)
        return turn

    def hold(self, output: str, *, recalled: bool = False) -> None:
        """Hold the output of a command for the next question."""
        if output.strip():
            self._held.append(Held(output.replace(EXEC_MARK, _NO_MARK), recalled))
            self.shorten_held(MOST_HELD)

    def shorten_held(self, limit: int) -> None:
        """Drop the oldest held output until about `limit` characters are left. The newest output is only clipped."""
        while len(self._held) > 1 and sum(len(output.text) for output in self._held) > limit:
            self._held.pop(0)
        self._held = [output.with_text(clip(output.text, limit)) for output in self._held]

    @contextmanager
    def held_within(self, limit: int) -> Iterator[None]:
        """Shorten the held output for a moment."""
        held, self._held = self._held, list(self._held)
        self.shorten_held(limit)
        try:
            yield
        finally:
            self._held = held

    def ask(self, text: str, front: Sequence[str] | None = None) -> Turn:
        """Add the user's question with `front` before it; by default `front` is the held output."""
        content = compose_message([self.held] if front is None else front, text)
        turn = self.add(Turn(role="user", content=content))
        self._carried, self._held = self._held, []
        return turn

    def steer(self, text: str) -> Turn:
        """Add what the user said while the model worked on the newest question."""
        turn = self.add(Turn(role="user", content=text))
        self._steering.append(turn)
        return turn

    def _steers(self, turn: Turn) -> bool:
        return any(turn is one for one in self._steering)

    def take_back(self, asked: Turn) -> None:
        """Undo the newest `ask` and what steered it; its output is held again."""
        last = len(self._turns)
        while last and self._steers(self._turns[last - 1]):
            last -= 1
        if last and self._turns[last - 1] is asked:
            del self._turns[last - 1 :]
            self._held = self._carried + self._held

    def exchanges(self) -> list[tuple[Turn, ...]]:
        """Return the turns grouped into exchanges."""
        groups: list[list[Turn]] = []
        for turn in self._turns:
            if (turn.role == "user" and not self._steers(turn)) or not groups:
                groups.append([])
            groups[-1].append(turn)
        return [tuple(group) for group in groups]

    def drop_oldest(self, exchanges: int) -> tuple[Turn, ...]:
        """Remove the oldest exchanges, and return their turns."""
        gone = sum(len(group) for group in self.exchanges()[:exchanges])
        dropped = tuple(self._turns[:gone])
        del self._turns[:gone]
        return dropped

    def shorten_results(self, limit: int) -> int:
        """Replace the oldest results of the newest exchange by a short text until about `limit` characters are left.

        The results of the newest answer stay. Returns how many were replaced.
        """
        begin = len(self._turns) - len((self.exchanges() or [()])[-1])
        end = next((place for place in reversed(range(len(self._turns))) if self._turns[place].tool_calls), 0)
        size = sum(len(turn.content) + sum(len(c.arguments) for c in turn.tool_calls) for turn in self._turns[begin:])
        shortened = 0
        for place in range(begin, end):
            turn = self._turns[place]
            if size <= limit:
                break
            if turn.role == "tool" and len(turn.content) > 2 * len(LEFT_OUT):
                size -= len(turn.content) - len(LEFT_OUT)
                self._turns[place] = turn.with_content(LEFT_OUT)
                shortened += 1
        return shortened

    def rewrite(self, change: Callable[[str], str]) -> None:
        """Replace every text with `change(text)`, for a purge."""
        for place, turn in enumerate(self._turns):
            calls = tuple(call._replace(arguments=change(call.arguments)) for call in turn.tool_calls)
            changed = turn._replace(content=change(turn.content), tool_calls=calls)
            self._steering = [changed if one is turn else one for one in self._steering]
            self._turns[place] = changed
        self._held = [output.with_text(change(output.text)) for output in self._held]

    def clear(self) -> None:
        """Forget the turns and the held output."""
        self._turns.clear()
        self._held.clear()
        self._steering.clear()
        self.foreign_gone = False


def check(turn: Turn, before: Sequence[Turn]) -> None:
    """Raise `BadTurn` if `turn` may not follow the turns `before` it."""
    if turn.tool_calls and turn.role != "assistant":
        raise BadTurn(f"a {turn.role} turn cannot call tools")
    match turn.role:
        case "user":
            if not turn.content:
                raise BadTurn("a user turn needs content")
        case "assistant":
            if not turn.content and not turn.tool_calls:
                raise BadTurn("an assistant turn needs content or tool calls")
        case "tool":
            if turn.call_id not in open_calls(before):
                raise BadTurn(f"a tool turn answers {turn.call_id!r}, a call that the assistant turn did not make")
        case _:
            raise BadTurn(f"unknown role {turn.role!r}; use user, assistant or tool")


def open_calls(before: Sequence[Turn]) -> set[str]:
    """Return the call ids that the next tool turn may answer."""
    for turn in reversed(before):
        if turn.role == "assistant":
            return {call.id for call in turn.tool_calls}
        if turn.role != "tool":
            break
    return set()
