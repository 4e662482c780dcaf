"""Masks an answer while it streams, for the live file, which gets each piece before it is shown.

Pure: takes pieces of text, and returns the changes to the file.
"""

import re
from collections.abc import Callable

from aish.memory.secret_hints import CHOOSING, may_hold_secret, next_cut

# Patterns are compiled when an answer starts, not at every start of the program.
# Ordinary words. Anything else may be the start of a token, and is held back until it is complete.
_PLAIN = r"[(\"'*]{0,2}(?!dapi|cio)(?:[A-Z]?[a-z]{0,11}|[A-Z]{2,3}|\d{1,4})(?:['’][a-z]{1,2})?[.,;:!?)\"'*…]{0,3}"
# The same near a secret: without numbers, which may be a PIN, and without quotes, which may contain several words.
_HARMLESS = r"\(?[A-Z]?[a-z]{0,11}[.,;:!?)]{0,3}"
_WORD = r"[!-~]+"  # tokens are ASCII; a line of Chinese without blanks must not be one word
_NEAR = 400  # characters; the hint of a secret is at most this far from it
_TELLS_LATER = ("echo", "printf")  # a later pipe to `sudo -S` makes their output a secret
# "use X as the password": the words after the value make it a secret, if they follow soon.
_CHOSEN = rf"(?i){CHOOSING}[^\s\"'`“”«»]{{6,80}}|(?:用|使用|以|拿|把)\s?[「『“\"'`]?[!-~]{{6,80}}|[!-~]{{6,80}}\s?を"
_SOON = 160  # characters


class StreamRedaction:
    """A text that arrives in pieces, and the masked file of it.

    1. After `end`, the file equals the masked text. Blocks, as `secret_hints` cuts them, are masked one by one.
    2. The file never contains a secret that the masked text hides, nor its first 8 characters. The last word is held
       back while it looks unusual, and a suspicious block is held back from its first unusual word on.
    3. Ordinary prose is not held back, so that a killed process loses nothing that was shown.
    4. The cost of a piece does not depend on the length of the answer: finished blocks are not scanned again.
    """

    def __init__(self, mask: Callable[[str], str]) -> None:
        self._mask = mask
        self._done = 0  # bytes of the file that will not change
        self._shown = ""  # the text in the file after them
        self._size = 0  # its size in bytes
        self._block = ""  # the text of the unfinished block

    def feed(self, piece: str) -> tuple[int, bytes]:
        """Add a piece. Return the size to truncate the file to, and the bytes to append."""
        text, start, done = self._block + piece, 0, []
        while (cut := next_cut(text, start)) >= 0:
            done.append(self._masked(text[start:cut]))
            start = cut
        self._block = text[start:]
        return self._write("".join(done), self._visible("" if done else self._shown))

    def end(self) -> tuple[int, bytes]:
        """Finish the text. Return the same as `feed`, for the text that was held back."""
        rest, self._block = self._masked(self._block), ""
        return self._write(rest, "")

    def _masked(self, block: str) -> str:
        return self._mask(block) if may_hold_secret(block) else block

    def _visible(self, shown: str) -> str:
        """Return the part of the unfinished block that may be in the file, at least the part that already is."""
        block = self._block
        word = _last_word(block)
        plain = re.compile(_PLAIN).fullmatch(block, word)
        if word <= len(shown) and not plain:  # still the same unusual word
            return shown
        tellers = [place for teller in _TELLS_LATER if (place := block.find(teller)) >= 0]
        recent = max(0, len(block) - _SOON - _NEAR)
        tellers += [
            recent + one.start()
            for one in re.finditer(_CHOSEN, block[recent:])
            if len(block) - recent - one.end() < _SOON
        ]
        if not tellers and not may_hold_secret(block):
            return block if plain else max(shown, block[:word], key=len)
        words = re.compile(_WORD).finditer(block, len(shown), word)
        unusual = (found.start() for found in words if not re.fullmatch(_HARMLESS, found[0]))
        odd = min(next(unusual, word), *tellers, word)
        if odd <= len(shown):
            return shown
        # An ordinary word can be a secret, too: `pass swordfish`. Only the text near it matters.
        near = max(0, len(shown) - _NEAR)
        same = near + _common(self._mask(block[near:odd]), block[near:odd])
        return max(shown, block[:same], key=len)

    def _write(self, done: str, visible: str) -> tuple[int, bytes]:
        """Return the change that replaces `_shown` at the end of the file by `done` and `visible`."""
        wanted = done + visible
        appends = wanted.startswith(self._shown)
        keep = self._done + (self._size if appends else 0)
        data = (wanted[len(self._shown) :] if appends else wanted).encode("utf-8", "replace")
        self._done += len(done.encode("utf-8", "replace"))
        self._size = keep + len(data) - self._done
        self._shown = visible
        return keep, data


def _last_word(text: str) -> int:
    """Return the start of the unfinished last word, or the end of the text if the last word is complete."""
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
    """Return the length of the common prefix."""
    if one.startswith(other):
        return len(other)
    pairs = zip(one, other, strict=False)
    return next((place for place, (left, right) in enumerate(pairs) if left != right), min(len(one), len(other)))
