"""Tell the keys of the user from what the terminal sends: its answers, mouse and focus events, function keys, pastes.

Only a plain character counts as a key. Everything in an escape sequence belongs to the terminal, in its 7-bit and its
8-bit form, in whatever pieces it comes.

Pure: bytes in, values out.
"""

from typing import Literal

from aish.values.named_tuple import NamedTuple

_STRINGS = b"P]X^_"  # DCS, OSC, SOS, PM and APC
_CANCEL = (0x18, 0x1A)
_BEGIN_PASTE, _END_PASTE = "[200~", "[201~"
_LONGEST = 4096  # bytes of a sequence


class TerminalInput(NamedTuple):
    """A character that was typed or pasted, or a whole sequence of the terminal without its first byte."""

    kind: Literal["key", "paste", "sequence"]
    text: str


class KeyParser:
    """Takes bytes one by one. A lone Escape is a key only after a pause, because it may begin a sequence."""

    def __init__(self) -> None:
        self._state = ""  # what is open: ESC, CSI, SS3, string or mouse; "" between keys
        self._text = ""  # of the open sequence
        self._letter = b""  # the first bytes of a character
        self._missing = 0  # bytes or characters until the end of a character or of a mouse event
        self._pasting = False

    @property
    def is_open(self) -> bool:
        """Whether more bytes must follow at once."""
        return bool(self._state or self._letter)

    def feed(self, byte: int) -> TerminalInput | None:
        """Take a byte. Return what is complete with it."""
        if self._letter:
            if 0x80 <= byte < 0xC0:
                return self._continue_character(byte)
            self._letter = b""  # it was broken off
        if byte in _CANCEL and self._state:
            self._state = self._text = ""
            return None
        if byte == 0x1B:
            return self._escape()
        if 0xC2 <= byte < 0xF5:
            self._letter, self._missing = bytes([byte]), 1 + (byte >= 0xE0) + (byte >= 0xF0)
            return None
        return self._character(chr(byte) if byte < 0xA0 else "\ufffd")

    def pause(self) -> TerminalInput | None:
        """Take the fact that no byte came for a while: an open sequence has ended, and a lone Escape is a key."""
        lone = self._state == "ESC" and not self._text and not self._pasting
        self._state = self._text = ""
        self._letter = b""
        return TerminalInput("key", "\x1b") if lone else None

    def _escape(self) -> TerminalInput | None:
        """Begin a sequence, also after another one that has no end; in a string, it may be the end."""
        ends = self._state == "string"
        done = self._end() if ends else None
        self._state, self._text = "ESC", ("string" if ends else "")
        return done

    def _continue_character(self, byte: int) -> TerminalInput | None:
        self._letter += bytes([byte])
        self._missing -= 1
        if self._missing:
            return None
        letter, self._letter = self._letter.decode("utf-8", "replace"), b""
        return self._character(letter)

    def _character(self, letter: str) -> TerminalInput | None:
        """Take a whole character, which may be a control character of 8 bits."""
        if "\x80" <= letter < "\xa0" and self._state not in ("string", "mouse"):
            return self._after_escape(chr(ord(letter) - 0x40))
        match self._state:
            case "":
                return TerminalInput("paste" if self._pasting else "key", letter)
            case "ESC":
                return self._after_escape(letter)
            case "CSI":
                self._text += letter
                if self._text == "[M":
                    self._state, self._missing = "mouse", 3
                elif "@" <= letter <= "~" and self._text != "[[":  # [[A is F1 of the Linux console
                    return self._end()
                elif letter < " " or letter > "~" or len(self._text) > _LONGEST:
                    self._state = self._text = ""
            case "mouse":
                self._text += letter
                if len(self._text) == 5:
                    return self._end()
            case "string":
                if letter in ("\x07", "\x9c"):
                    return self._end()
                self._text = (self._text + letter)[:_LONGEST]
            case _:  # SS3
                self._text += letter
                if not letter.isdigit() and letter != ";":  # with a modifier: ESC O 2 P
                    return self._end()
        return None

    def _after_escape(self, letter: str) -> TerminalInput | None:
        after_string, self._text = self._text, letter
        if letter == "[":
            self._state = "CSI"
        elif letter == "O":
            self._state = "SS3"
        elif letter.isascii() and ord(letter) in _STRINGS:
            self._state = "string"
        elif letter < " ":  # Alt and a control key
            self._state = self._text = ""
            return TerminalInput("paste" if self._pasting else "key", letter)
        elif after_string and letter == "\\":
            self._state = self._text = ""
        else:
            return self._end()  # Alt and a letter
        return None

    def _end(self) -> TerminalInput:
        text, self._state, self._text = self._text, "", ""
        if text == _BEGIN_PASTE:
            self._pasting = True
        elif text == _END_PASTE:
            self._pasting = False
        return TerminalInput("sequence", text)
