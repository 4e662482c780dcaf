"""Thinking that a model writes into its text, for instance in <think> tags: told apart from the answer.

Pure: pieces of text in, events out. Only the beginning of an answer is taken for thinking, because an answer may be
about such tags. Some servers swallow the opening tag; the closing one then tells that what came before was thinking.
"""

import re

from aish.values.events import ReasoningPiece, TextPiece, ThoughtSoFar
from aish.values.patterns import pattern

ThoughtEvent = TextPiece | ReasoningPiece | ThoughtSoFar
_TAGS = {
    "<think>": "</think>",
    "<thinking>": "</thinking>",
    "<thought>": "</thought>",
    "<reasoning>": "</reasoning>",
    "[THINK]": "[/THINK]",
    "<seed:think>": "</seed:think>",
    "◁think▷": "◁/think▷",
    "<|begin_of_thought|>": "<|end_of_thought|>",
    "<|START_THINKING|>": "<|END_THINKING|>",
    "<|channel|>analysis<|message|>": "<|end|>",  # gpt-oss, where the server does not read its channels
    "<|channel>thought\n": "<channel|>",
}
_MARKS = (  # that stand before what is said to the user
    "<|start|>assistant",
    "<|channel|>final<|message|>",
    "<|channel|>commentary<|message|>",
    "<|START_RESPONSE|>",
    "<|begin_of_solution|>",
)
_ENDS = ("<|end|>", "<|return|>", "<|END_RESPONSE|>", "<|end_of_solution|>")  # after it
_STARTS = (*_TAGS, *_MARKS)
_UNOPENED = ("</think>", "[/THINK]")  # those that were seen without an opening tag
_UNOPENED_TAG = pattern("|".join(map(re.escape, _UNOPENED)))
_QUOTES = ("`", '"', "'", "“", "«")


class ThoughtSplitter:
    """Splits one answer as it arrives.

    1. No text is lost: what is neither a tag nor white space around one comes out, as thinking or as text.
    2. `holds`: the last answer closed its thinking without opening it, so text is held back until this one does.
    """

    def __init__(self, *, holds: bool = False) -> None:
        self._holds = holds
        self._buffer = ""
        self._closing = ""  # the tag that ends the thinking we are in
        self._at_start = True  # nothing of the answer has come yet
        self._after_thought = False
        self._answer: list[str] = []
        self._closed = False  # some thinking has ended
        self._marked = False  # the answer stands between marks
        self.unopened = False  # this answer closed its thinking without opening it

    def feed(self, text: str) -> list[ThoughtEvent]:
        """Return the events of a piece of text."""
        if not (self._at_start or self._holds or self._buffer or "<" in text or "[" in text):
            if not self._closed:
                self._answer.append(text)
            return [TextPiece(text)]
        self._buffer += text
        events: list[ThoughtEvent] = []
        while self._step(events):
            pass
        return events

    def end(self) -> list[ThoughtEvent]:
        """Return what was held back, at the end of the answer."""
        rest, self._buffer = self._buffer, ""
        if self._closing:
            return [ReasoningPiece(rest)] if rest else []
        if self._after_thought:
            rest = rest.lstrip()
        return [TextPiece(rest)] if rest else []

    def _step(self, events: list[ThoughtEvent]) -> bool:
        """Take what can be decided from the buffer, and return whether to look again."""
        if self._closing:
            return self._think(events)
        if self._at_start:
            return self._start()
        return self._say(events)

    def _start(self) -> bool:
        seen = self._buffer.lstrip()
        opened = next((tag for tag in _TAGS if seen.startswith(tag)), "")
        if opened:
            self._buffer, self._closing, self._holds = seen[len(opened) :], _TAGS[opened], False
            return True
        mark = next((mark for mark in _MARKS if seen.startswith(mark)), "")
        if mark:
            self._buffer, self._marked, self._holds = seen[len(mark) :], True, False
            return True
        if not seen or any(start.startswith(seen) for start in _STARTS):
            return False  # not decided yet
        if self._after_thought:
            self._buffer = seen
        self._at_start = self._after_thought = False
        return True

    def _think(self, events: list[ThoughtEvent]) -> bool:
        thought, found, rest = self._buffer.partition(self._closing)
        if found:
            self._close(events, thought, rest)
            return True
        ready = len(self._buffer) - _overlap(self._buffer, (self._closing,))
        if ready:
            events.append(ReasoningPiece(self._buffer[:ready]))
            self._buffer = self._buffer[ready:]
        return False

    def _close(self, events: list[ThoughtEvent], thought: str, rest: str) -> None:
        if thought:
            events.append(ReasoningPiece(thought))
        self._buffer, self._closing, self._closed = rest, "", True
        self._at_start = self._after_thought = True

    def _say(self, events: list[ThoughtEvent]) -> bool:
        text = self._buffer
        if self._marked and (ends := [(text.find(end), end) for end in _ENDS if end in text]):
            first, end = min(ends)
            if ready := text[:first]:
                self._answer.append(ready)
                events.append(TextPiece(ready))
            self._buffer, self._at_start = text[first + len(end) :], True
            return True
        if place := self._unopened_end(text):
            self.unopened = True
            if self._holds:
                self._holds = False
            elif self._answer:
                events.append(ThoughtSoFar())
            self._close(events, text[: place[0]], text[place[1] :])
            return True
        if self._holds:
            return False
        kept = _overlap(text, _ENDS if self._marked else () if self._closed else _UNOPENED)
        ready, self._buffer = text[: len(text) - kept], text[len(text) - kept :]
        if ready:
            self._answer.append(ready)
            events.append(TextPiece(ready))
        return False

    def _unopened_end(self, text: str) -> tuple[int, int] | None:
        """Return where the tag is that ends thinking which nothing has opened. In code or quotes it ends nothing."""
        if self._closed or self._marked or not any(tag in text for tag in _UNOPENED):
            return None
        whole = "".join(self._answer) + text
        before, seen, fences = len(whole) - len(text), 0, 0
        opened = min((whole.find(tag) for tag in _TAGS if tag in whole), default=len(whole))
        for tag in _UNOPENED_TAG.finditer(whole, before, opened):
            fences += whole.count("```", seen, tag.start())
            seen = tag.end()
            if not (fences % 2 or whole.endswith(_QUOTES, 0, tag.start())):
                return tag.start() - before, tag.end() - before
        return None


def _overlap(text: str, tags: tuple[str, ...]) -> int:
    """Return how many characters at the end may be the beginning of a tag."""
    longest = max(map(len, tags), default=1) - 1
    for size in range(min(longest, len(text)), 0, -1):
        if any(tag.startswith(text[-size:]) for tag in tags):
            return size
    return 0
