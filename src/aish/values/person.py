"""The person whom questions are put to, wherever they sit: at a terminal, at the other end of a pipe, or nowhere.

Pure: plain values.
"""

from collections.abc import Callable, Collection
from typing import Protocol

YES = ("y", "yes")
NOBODY = "\0"  # the line of a person who is not there; no typed line is like it


class Person(Protocol):
    """Answers questions.

    Contract: nobody there is an answer too, and it is the one that changes nothing: `confirm` is false, `key` is the
    last of the keys, `line` is `NOBODY`, `word` and `edit` are empty.
    """

    async def confirm(self, question: str) -> bool:
        """Yes or no. Anything but yes means no."""

    async def key(self, question: str, keys: str) -> str:
        """One of these keys. The last of them must be the one that does nothing."""

    async def line(self, question: str) -> str:
        """A line of text."""

    async def word(self, question: str, words: Collection[str]) -> str:
        """One of these words, typed in full, so that no key can slip; anything else is no word."""

    async def edit(self, text: str) -> str:
        """The text as the person changed it; nothing if it is to stay as it is."""


class Nobody:
    """The person who is not there. `note` shows what was asked, so that a script's log says why nothing was done."""

    def __init__(self, note: Callable[[str], object] = lambda text: None) -> None:
        self._note = note

    async def confirm(self, question: str) -> bool:
        self._note(f"{question} Nobody is there to ask, so: no.")
        return False

    async def key(self, question: str, keys: str) -> str:
        return keys[-1]

    async def line(self, question: str) -> str:
        return NOBODY

    async def word(self, question: str, words: Collection[str]) -> str:
        return ""

    async def edit(self, text: str) -> str:
        return ""


def agrees(answer: str) -> bool:
    """Is this line a yes?"""
    return answer.strip().lower() in YES


def chosen_word(typed: str, words: Collection[str]) -> str:
    """The word that was typed, if it is one of these."""
    word = typed.strip().lower()
    return word if word in words else ""
