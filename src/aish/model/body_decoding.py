"""Decode what a server sends: compressed bodies, and pages for people where an API was expected."""

import html
import re
import zlib
from collections.abc import Iterator

from aish.model.http import HttpTrouble
from aish.values.text import one_line

_MOST_AT_ONCE = 1 << 20  # decoded bytes of one step, so that a small body cannot fill the memory


class BodyDecoder:
    """Decodes one body with the encoding of its Content-Encoding header: gzip or deflate.

    Nobody compresses twice, except to make a few bytes expand to so much that reading them takes minutes.
    """

    def __init__(self, encodings: str) -> None:
        names = [name.strip().lower() for name in encodings.split(",")]
        unknown = [name for name in names if name not in ("gzip", "x-gzip", "deflate", "identity", "")]
        if unknown:
            name = one_line(unknown[0], 60)
            raise HttpTrouble(f"the server sent its answer in the encoding {name!r}, which was not asked for")
        packed = [name for name in names if name not in ("identity", "")]
        if len(packed) > 1:
            raise HttpTrouble("the server compressed its answer more than once, which aish does not read")
        self._inflate = _Inflate() if packed else None

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield what the data decodes to, in pieces of limited size. Raises `HttpTrouble`."""
        return self._inflate.feed(data) if self._inflate else iter((data,))

    @property
    def ended(self) -> bool:
        return self._inflate is None or self._inflate.ended


class _Inflate:
    """gzip, zlib, or the raw deflate that some servers send under that name; told apart by the first bytes."""

    def __init__(self) -> None:
        self._first = b""
        self._inflate: zlib._Decompress | None = None
        self.ended = True  # as long as nothing came

    def feed(self, data: bytes) -> Iterator[bytes]:
        if self._inflate is None:
            data = self._first = self._first + data
            self.ended = not data
            if len(data) < 2:
                return
            self._inflate = zlib.decompressobj(_window_bits(data))
        try:
            while data:
                piece = self._inflate.decompress(data, _MOST_AT_ONCE)
                if piece:
                    yield piece
                data = self._inflate.unconsumed_tail
                if self._inflate.eof and self._inflate.unused_data[:2] == b"\x1f\x8b":  # another member
                    data = self._inflate.unused_data
                    self._inflate = zlib.decompressobj(_window_bits(data))
        except zlib.error:
            raise HttpTrouble("the server's answer is not compressed as its head says") from None
        self.ended = self._inflate.eof


def _window_bits(start: bytes) -> int:
    if start[:2] == b"\x1f\x8b":
        return 31
    is_zlib = start[0] & 0x0F == 8 and int.from_bytes(start[:2], "big") % 31 == 0
    return 15 if is_zlib else -15


def page_title(page: bytes) -> bytes:
    """Return the title of a web page, else its first words; an error message has no room for more."""
    text = page[: 1 << 16].decode("utf-8", "replace")
    titled = re.search(r"(?i)<title[^<>]*>([^<]*)", text)  # these expressions read no character twice
    if not titled:
        text = re.sub(r"(?is)<(script|style)\b.*?(?:</\1>|\Z)", " ", text)
    words = titled[1] if titled else re.sub(r"<[^<>]*>", " ", text)
    return " ".join(html.unescape(words).split())[:200].encode()
