"""The user who answers questions: at a terminal, at the other end of a pipe, or absent.

Pure: plain values.
"""

from collections.abc import Callable, Collection
from typing import Protocol

YES = ("y", "yes")
NOBODY = "\0"  # the line of an absent user; it cannot be typed


class Person(Protocol):
    """Answers questions.

    Contract: without a user the answer is the one that changes nothing: `confirm` is false, `key` is the last of the
    keys, `line` is `NOBODY`, `word` and `edit` are empty.
    """

    async def confirm(self, question: str) -> bool:
        """Ask yes or no. Anything but yes means no."""

    async def key(self, question: str, keys: str) -> str:
        """Ask for one of these keys. The last key must do nothing."""

    async def line(self, question: str) -> str:
        """Ask for a line of text."""

    async def word(self, question: str, words: Collection[str]) -> str:
        """Ask for one of these words, typed in full to prevent accidents. Empty for anything else."""

    async def edit(self, text: str) -> str:
        """Let the user edit a text, and return it; empty if unchanged."""

    async def show(self, difference: str) -> None:
        """Show a difference between two texts that the next question is about."""


class Nobody:
    """An absent user. `note` shows each question, so that the log of a script says why nothing was done."""

    def __init__(self, note: Callable[[str], object] = lambda text: None) -> None:
        self._note = note

    async def confirm(self, question: str) -> bool:
        self._note(f"{question} No user to ask, assuming no.")
        return False

    async def key(self, question: str, keys: str) -> str:
        return keys[-1]

    async def line(self, question: str) -> str:
        return NOBODY

    async def word(self, question: str, words: Collection[str]) -> str:
        return ""

    async def edit(self, text: str) -> str:
        return ""

    async def show(self, difference: str) -> None:
        pass


def agrees(answer: str) -> bool:
    """Is this line a yes?"""
    return answer.strip().lower() in YES


def chosen_word(typed: str, words: Collection[str]) -> str:
    """Return the typed word if it is one of these, else an empty string."""
    word = typed.strip().lower()
    return word if word in words else ""
