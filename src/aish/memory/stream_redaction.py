"""Masks an answer while it streams, for the live file, which gets each piece before it is shown.

Pure: pieces in, what to do with the file out.
"""

import re
from collections.abc import Callable

from aish.memory.secret_hints import may_hold_secret, next_cut

# Words that prose is made of; anything else may be the beginning of a token, and is held back until its end is seen.
_PLAIN = re.compile(
    r"[(\"'*]{0,2}(?!dapi|cio)(?:[A-Z]?[a-z]{0,11}|[A-Z]{2,3}|\d{1,4})(?:['’][a-z]{1,2})?[.,;:!?)\"'*…]{0,3}"
)
# The same where a secret is near: no numbers, which may be a PIN, and no quotes, which may hold several words.
_HARMLESS = re.compile(r"\(?[A-Z]?[a-z]{0,11}[.,;:!?)]{0,3}")
_WORD = re.compile(r"[!-~]+")  # tokens are ASCII; so a line of Chinese, which has no blanks, is not one word
_NEAR = 400  # characters; no sign of a secret is farther from it in its line
_TELLS_LATER = ("echo", "printf")  # a pipe to `sudo -S` behind them makes what they print a secret


class StreamRedaction:
    """A text that comes in pieces, and the file that has it without its secrets.

    1. After `end` the file is the mask of the whole text. (Blocks, as `suspicion` cuts them, are masked one by one.)
    2. At no time is a secret in the file that the mask of the whole text would hide, nor its first 8 characters:
       the last word is held back while it looks odd, and in a suspicious block all from its first odd word.
    3. Of plain prose nothing is held back: a killed program loses nothing that was shown.
    4. A piece costs the same however long the answer is: blocks that are done are not looked at again.
    """

    def __init__(self, mask: Callable[[str], str]) -> None:
        self._mask = mask
        self._done = 0  # bytes of the file that will not change
        self._shown = ""  # what the file has beyond them
        self._size = 0  # bytes of that
        self._block = ""  # the text of the block that is not done

    def feed(self, piece: str) -> tuple[int, bytes]:
        """Take a piece in; cut the file to the first, then append the second."""
        text, start, done = self._block + piece, 0, []
        while (cut := next_cut(text, start)) >= 0:
            done.append(self._masked(text[start:cut]))
            start = cut
        self._block = text[start:]
        return self._write("".join(done), self._visible("" if done else self._shown))

    def end(self) -> tuple[int, bytes]:
        """The same for what was still held back."""
        rest, self._block = self._masked(self._block), ""
        return self._write(rest, "")

    def _masked(self, block: str) -> str:
        return self._mask(block) if may_hold_secret(block) else block

    def _visible(self, shown: str) -> str:
        """How much of the unfinished block the file may have; never less than it has of it."""
        block = self._block
        word = _last_word(block)
        plain = _PLAIN.fullmatch(block, word)
        if word <= len(shown) and not plain:  # still the same odd word
            return shown
        tellers = [place for teller in _TELLS_LATER if (place := block.find(teller)) >= 0]
        if not tellers and not may_hold_secret(block):
            return block if plain else max(shown, block[:word], key=len)
        words = _WORD.finditer(block, len(shown), word)
        odd = min(next((found.start() for found in words if not _HARMLESS.fullmatch(found[0])), word), *tellers, word)
        if odd <= len(shown):
            return shown
        # A plain word can be a secret too: `pass swordfish`. What is far in front of it does not matter.
        near = max(0, len(shown) - _NEAR)
        same = near + _common(self._mask(block[near:odd]), block[near:odd])
        return max(shown, block[:same], key=len)

    def _write(self, done: str, visible: str) -> tuple[int, bytes]:
        """What makes a file that has `_shown` at its end have `done` and `visible` there."""
        wanted = done + visible
        appends = wanted.startswith(self._shown)
        keep = self._done + (self._size if appends else 0)
        data = (wanted[len(self._shown) :] if appends else wanted).encode("utf-8", "replace")
        self._done += len(done.encode("utf-8", "replace"))
        self._size = keep + len(data) - self._done
        self._shown = visible
        return keep, data


def _last_word(text: str) -> int:
    """Where the word begins that is not finished yet; the end if the last one is."""
    if not text or text[-1].isspace():
        return len(text)
    word = text.rsplit(None, 1)[-1]
    if word.isascii():
        return len(text) - len(word)
    place = len(text)
    while place and "!" <= text[place - 1] <= "~":
        place -= 1
    return place


def _common(one: str, other: str) -> int:
    """How many characters two texts have in common at their beginning."""
    if one.startswith(other):
        return len(other)
    pairs = zip(one, other, strict=False)
    return next((place for place, (left, right) in enumerate(pairs) if left != right), min(len(one), len(other)))
