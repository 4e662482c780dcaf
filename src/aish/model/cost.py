"""What answers cost: a price for each model, and a log of all calls."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import takewhile
from pathlib import Path

from aish.storage.lines import open_log
from aish.values.events import Usage
from aish.values.items import utc_time
from aish.values.named_tuple import NamedTuple
from aish.values.stores import Health, RecordLog
from aish.values.text import counted


class Price(NamedTuple):
    """Dollars for a million tokens."""

    input: float
    output: float
    cached: float | None = None  # None: costs as much as other input

    def of(self, usage: Usage) -> float:
        cached = min(usage.cached_tokens, usage.prompt_tokens)
        fresh = usage.prompt_tokens - cached
        cached_price = self.input if self.cached is None else self.cached
        return (fresh * self.input + cached * cached_price + usage.completion_tokens * self.output) / 1e6


class ModelCall(NamedTuple):
    """One call of a model. `dollars` is None when the price is unknown: unknown is not free."""

    time: datetime
    conversation: str
    model: str
    category: str  # what it was for: main, goal, sub-agent, summary or memory
    usage: Usage
    dollars: float | None
    parent: str = ""  # the conversation that a sub-agent worked for

    def is_of(self, conversation: str) -> bool:
        """Does this call belong to a conversation, or to one of its sub-agents?"""
        return conversation in (self.conversation, self.parent)


class Sum(NamedTuple):
    """The total of some calls."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    dollars: float = 0.0
    unpriced: int = 0

    def plus(self, call: ModelCall) -> "Sum":
        return Sum(
            calls=self.calls + 1,
            prompt_tokens=self.prompt_tokens + call.usage.prompt_tokens,
            completion_tokens=self.completion_tokens + call.usage.completion_tokens,
            dollars=self.dollars + (call.dollars or 0.0),
            unpriced=self.unpriced + (call.dollars is None),
        )

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    @property
    def money(self) -> str:
        """The sum for people. An unknown price is never shown as zero."""
        if self.unpriced == self.calls and self.calls:
            return "unknown"
        return f"${self.dollars:.4f}" + (f" + {self.unpriced} of unknown price" if self.unpriced else "")


def total(calls: Iterable[ModelCall]) -> Sum:
    result = Sum()
    for call in calls:
        result = result.plus(call)
    return result


def by_model(calls: Iterable[ModelCall]) -> dict[tuple[str, str], Sum]:
    """Sums for each model and category, in the order they were first used."""
    sums: dict[tuple[str, str], Sum] = {}
    for call in calls:
        key = call.model, call.category
        sums[key] = sums.get(key, Sum()).plus(call)
    return sums


class CostBook:
    """All calls ever made, one record each. Money spent is counted even if the record cannot be written."""

    def __init__(self, where: Path | RecordLog) -> None:
        self._log = open_log(where, "calls of models")
        self.session: list[ModelCall] = []
        self._filed: list[ModelCall] = []  # those of the session that are in the log
        self._before: dict[str, float] = {}

    def add(self, call: ModelCall) -> None:
        """Remember a call. Raises `StoreTrouble` if it could not be written; it still counts as spent."""
        self.session.append(call)
        record = {
            "ts": call.time.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "conversation": call.conversation,
            "model": call.model,
            "category": call.category,
            "prompt_tokens": call.usage.prompt_tokens,
            "completion_tokens": call.usage.completion_tokens,
            "cached_tokens": call.usage.cached_tokens,
            "dollars": call.dollars,
        }
        record |= {"parent": call.parent} if call.parent else {}
        self._log.append(record, sync=False)  # the journal, which is synced, has the same figures
        self._filed.append(call)

    def all(self) -> Iterator[ModelCall]:
        """Every call that was written, newest first."""
        for record in self._log.read_back():
            try:
                yield _call(record)
            except (KeyError, TypeError, ValueError, OverflowError):
                continue  # the first record, or one of another version

    def health(self) -> Health:
        return self._log.health()

    def of(self, conversation: str) -> list[ModelCall]:
        """Every call of one conversation and its sub-agents, oldest first, also calls that could not be written."""
        ours = {id(call) for call in self._filed}
        filed = [call for call in self.all() if call.is_of(conversation)]
        unfiled = [call for call in self.session if call.is_of(conversation) and id(call) not in ours]
        return [*reversed(filed), *unfiled]

    def spent_in(self, conversation: str) -> float:
        """Known dollars of one conversation and its sub-agents.

        The log is read once; later calls of this process are added to that.
        """
        if conversation not in self._before:
            filed = sum(call.dollars or 0.0 for call in self.all() if call.is_of(conversation))
            ours = sum(call.dollars or 0.0 for call in self._filed if call.is_of(conversation))
            self._before[conversation] = filed - ours
        new = sum(call.dollars or 0.0 for call in self.session if call.is_of(conversation))
        return self._before[conversation] + new

    def used_since(self, start: datetime, category: str) -> tuple[int, float]:
        """Tokens and known dollars of one category since `start`. Raises `StoreTrouble`."""
        filed = takewhile(lambda call: call.time >= start, self.all())
        ours = {id(call) for call in self._filed}
        unfiled = (call for call in self.session if id(call) not in ours and call.time >= start)
        sums = total(call for call in (*filed, *unfiled) if call.category == category)
        return sums.tokens, sums.dollars

    def spent_since(self, start: datetime) -> float:
        """Known dollars of all conversations since `start`. Reads back only to that time."""
        filed = takewhile(lambda call: call.time >= start, self.all())
        ours = {id(call) for call in self._filed}
        unfiled = (call for call in self.session if id(call) not in ours and call.time >= start)
        return sum(call.dollars or 0.0 for call in (*filed, *unfiled))


def _call(record: dict[str, object]) -> ModelCall:
    def number(name: str) -> int:
        return int(str(record[name]))

    dollars = record["dollars"]
    return ModelCall(
        time=utc_time(str(record["ts"])),
        conversation=str(record["conversation"]),
        model=str(record["model"]),
        category=str(record["category"]),
        usage=Usage(
            prompt_tokens=number("prompt_tokens"),
            completion_tokens=number("completion_tokens"),
            cached_tokens=number("cached_tokens"),
        ),
        dollars=None if dollars is None else float(str(dollars)),
        parent=str(record.get("parent", "")),
    )


def worst_case(price: Price, prompt_tokens: int, answer_tokens: int) -> float:
    """What a call costs if nothing is cached and the answer has `answer_tokens`."""
    return price.of(Usage(prompt_tokens=prompt_tokens, completion_tokens=answer_tokens))


def cost_line(what: str, part: Sum) -> str:
    return (
        f"{what}: {counted(part.calls, 'call')}, {part.prompt_tokens:,} tokens in, "
        f"{part.completion_tokens:,} out, {part.money}"
    )
