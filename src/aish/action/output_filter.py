"""Filter what a command of the model prints: text, colours and cursor movements stay, the rest goes.

Removed are sequences that make the terminal answer, because its answers look like typed keys (status, attributes,
colours, ENQ), and those that reach beyond the screen: clipboard, title, notifications, pictures, printer, mouse,
keyboard modes. Programs that use the full screen keep working. The signs at the start of our own lines are replaced, so
that no output can look like a line of aish.

Pure: bytes in, bytes out, in whatever pieces they come. The time is linear in their number.
"""

import re

from aish.values.patterns import pattern
from aish.values.text import OWN_SIGNS

_LONGEST = 256  # bytes of a control sequence; no program needs more
# Text with colours, in most scripts: what most output is made of. Others are looked at one by one.
_TEXT = (
    rb"(?>(?:[\x07-\x0f\x20-\x7e]++|\x1b\[[\d;]*+m|[\xc3-\xdf][\x80-\xbf]|\xe2[\x94\x95][\x80-\xbf]"
    rb"|[\xe1\xe3-\xec\xee\xef][\x80-\xbf]{2})+)"
)
_PLAIN = pattern(_TEXT)
_HIGH = (
    rb"[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|\xed[\x80-\x9f][\x80-\xbf]|[\xe1-\xec\xee\xef][\x80-\xbf]{2}"
    rb"|\xf0[\x90-\xbf][\x80-\xbf]{2}|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2}"
)
_TOKEN = pattern(
    rb"(?s)(?P<plain>" + _TEXT + rb")"
    rb"|(?P<character>" + _HIGH + rb")"
    rb"|\x1b\[(?P<marks>[<-?]*)(?P<numbers>[0-;]*)(?P<between>[ -/]*)(?P<final>[@-~])"
    rb"|\x1b(?P<string>[\]PX^_k])"
    rb"|\x1b(?P<escape>[ -/]*[0-~])"
    rb"|(?P<other>[^\x1b])|\x1b"
)
# The start of a sequence or character whose rest may come in the next piece.
_BEGUN = pattern(
    rb"(?:\x1b(?:\[[0-?]*+[ -/]*+|[ -/]*+)|[\xc2-\xdf]|[\xe0-\xef][\x80-\xbf]?|[\xf0-\xf4][\x80-\xbf]{0,2})\Z"
)
_END_OF_STRING = pattern(rb"[\x07\x18\x1a\x1b]")
_MOVES = frozenset(b"@ABCDEFGHIJKLMPSXZ`abdefgmrsu")
_SWITCHES = frozenset((b"1", b"6", b"7", b"12", b"25", b"47", b"1047", b"1048", b"1049"))
_ESCAPES = frozenset(
    (b"7", b"8", b"=", b">", b"D", b"E", b"H", b"M", *(b"%c%c" % (a, b) for a in b"()" for b in b"0AB"))
)
_REPLACED = {sign.encode(): plain.encode() for sign, plain in OWN_SIGNS.items()}
_UNKNOWN = "\N{REPLACEMENT CHARACTER}".encode()


class OutputFilter:
    """Takes output piece by piece, and returns what may be shown. An unfinished sequence at the end is never shown."""

    def __init__(self) -> None:
        self._rest = b""  # the start of a sequence or character at the end of the last piece
        self._in_string = False  # inside a title, a picture or another string for the terminal

    def feed(self, data: bytes) -> bytes:
        if not self._rest and not self._in_string and _PLAIN.fullmatch(data):
            return data
        data, self._rest = self._rest + data, b""
        out: list[bytes] = []
        place = 0
        while place < len(data):
            if self._in_string:
                place = self._skip_string(data, place)
                continue
            if data[place] >= 0x80 or data[place] == 0x1B:
                begun = _BEGUN.match(data, place)
                if begun and len(begun[0]) < _LONGEST:
                    self._rest = begun[0]
                    break
            token = _TOKEN.match(data, place)
            assert token
            out.append(self._kept(token))
            place = token.end()
        return b"".join(out)

    def _skip_string(self, data: bytes, place: int) -> int:
        """Return the place after the end of a string, or the end of the data."""
        end = _END_OF_STRING.search(data, place)
        if not end:
            return len(data)
        if data[end.start()] != 0x1B:
            self._in_string = False
            return end.end()
        if end.end() == len(data):  # the next byte decides
            self._rest = b"\x1b"
            return len(data)
        self._in_string = False
        return end.end() + 1 if data[end.end()] == 0x5C else end.start()

    def _kept(self, token: re.Match[bytes]) -> bytes:
        """Return what is shown of a run of text, a character or a sequence."""
        if token["plain"]:
            return token["plain"]
        if character := token["character"]:
            return _UNKNOWN if b"\xc2\x80" <= character < b"\xc2\xa0" else _REPLACED.get(character, character)
        if token["final"]:
            return _sequence(token)
        if token["string"]:
            self._in_string = True
            return b""
        if token["escape"]:
            return token[0] if token["escape"] in _ESCAPES else b""
        return _UNKNOWN if token["other"] and token["other"] >= b"\x80" else b""


def _sequence(token: re.Match[bytes]) -> bytes:
    """Return a control sequence if it only changes the screen, reduced to the modes that do."""
    marks, numbers, between, final = token.group("marks", "numbers", "between", "final")
    if marks == b"?" and not between and final in (b"h", b"l"):
        modes = b";".join(mode for mode in numbers.split(b";") if mode in _SWITCHES)
        return b"\x1b[?%s%s" % (modes, final) if modes else b""
    known = {
        (b"", b""): final[0] in _MOVES or final + numbers in (b"h4", b"l4"),  # these two: insert mode
        (b"?", b""): final in (b"J", b"K"),
        (b"", b" "): final == b"q",  # the shape of the cursor
        (b"", b"!"): final == b"p",  # a soft reset
    }
    return token[0] if known.get((marks, between)) else b""
