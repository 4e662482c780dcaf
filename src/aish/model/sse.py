"""Parse server-sent events from a byte stream.

Pure: takes bytes, returns the data of each event.
"""


class SseReader:
    """Splits a byte stream into the data of its events; lines may end in LF, CRLF or CR.

    Some servers answer with one JSON object and call it a stream; it is returned at the end.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []
        self._is_json: bool | None = None  # one JSON object that is only called a stream; None: nothing came yet

    @property
    def buffered(self) -> int:
        """The number of bytes of the unfinished event."""
        return len(self._rest) + sum(len(line) + 1 for line in self._data)

    def feed(self, piece: bytes) -> list[bytes]:
        """Return the data of every event that `piece` completes."""
        text = self._rest + piece
        if self._is_json is None and (start := text.lstrip(b"\xef\xbb\xbf \t\r\n")):
            self._is_json = start.startswith(b"{")
        if self._is_json:
            self._rest = text
            return []
        held = b""
        if b"\r" in text:
            if text.endswith(b"\r"):  # its LF may be the first byte of the next piece
                text, held = text[:-1], b"\r"
            text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *lines, self._rest = text.split(b"\n")
        self._rest += held
        events: list[bytes] = []
        data = self._data
        for line in lines:
            if not line:
                if data:
                    events.append(b"\n".join(data))
                    data.clear()
            elif line.startswith(b"data:"):
                data.append(line[6:] if line[5:6] == b" " else line[5:])
        return events

    def end(self) -> list[bytes]:
        """Return the last event if the stream ends without a final blank line, or the object that was no stream."""
        if self._is_json:
            return [self._rest.lstrip(b"\xef\xbb\xbf")]
        return self.feed(b"\n\n")
