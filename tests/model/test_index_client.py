"""Downloads that survive breaks: proxies that cut, resets, silence, and hosts that come back after a while."""

import io
import random
import time
from collections.abc import Callable, Sequence

import pytest
from fake_server import Asked, FakeServer, Say

from aish.model.index_client import IndexClient, IndexTrouble
from aish.model.index_settings import IndexSettings

CONTENT = random.Random(5).randbytes(1_000_000)
CUT = 150_000  # bytes of an answer


def ignore(done: int, size: int) -> None:
    """Discards the progress."""


def is_whole(target: io.BytesIO) -> bool:
    """Without a difference of a million bytes in the report."""
    return target.getvalue() == CONTENT


def raw(status: str, headers: Sequence[str], body: bytes) -> Say:
    return Say(raw=True, pieces=["\r\n".join([f"HTTP/1.1 {status} x", *headers, "", ""]).encode() + body])


def rest(asked: Asked) -> tuple[int, str, list[str]]:
    """Where the answer to a request begins, with its status and its range."""
    start = int(asked.headers.get("range", "bytes=0-")[6:-1])
    if start >= len(CONTENT):
        return start, "416", [f"Content-Range: bytes */{len(CONTENT)}"]
    span = [f"Content-Range: bytes {start}-{len(CONTENT) - 1}/{len(CONTENT)}"] if start else []
    return start, "206" if start else "200", span


def cut_short(asked: Asked) -> Say:
    """Close the connection in the middle of the body."""
    start, status, span = rest(asked)
    return raw(status, [*span, f"Content-Length: {len(CONTENT) - start}"], CONTENT[start : start + CUT])


def cut_with_length(asked: Asked) -> Say:
    """Send a part, and a length that fits it, as some proxies do."""
    start, status, span = rest(asked)
    body = CONTENT[start : start + CUT]
    return raw(status, [*span, f"Content-Length: {len(body)}"], body)


def cut_chunks(asked: Asked) -> Say:
    """Chunks without the last one."""
    start, status, span = rest(asked)
    body = CONTENT[start : start + CUT]
    chunk = b"%x\r\n%s\r\n" % (len(body), body) if body else b""
    return raw(status, [*span, "Transfer-Encoding: chunked"], chunk)


def without_ranges(asked: Asked) -> Say:
    """Always the whole file."""
    return raw("200", [f"Content-Length: {len(CONTENT)}"], CONTENT)


class Link:
    """A download from a server that answers by the number of the request."""

    def __init__(self, *answers: Callable[[Asked], Say]) -> None:
        self.answers = answers
        self.pauses = list[float]()
        self.server = FakeServer(self._answer)

    def _answer(self, asked: Asked) -> Say:
        return self.answers[min(len(self.server.asked), len(self.answers)) - 1](asked)

    def client(self, silence: float = 30.0) -> IndexClient:
        return IndexClient(IndexSettings(), {}, sleep=self.pauses.append, silence=silence)

    def fetch(self, target: io.BytesIO, silence: float = 30.0) -> None:
        with self.server as server:
            self.client(silence).download(f"{server.url}/file", target, ignore)


@pytest.mark.parametrize("answer", [cut_short, cut_chunks], ids=["length", "chunks"])
def test_an_answer_that_is_cut_again_and_again_is_continued(answer: Callable[[Asked], Say]) -> None:
    """A proxy with a limit of 100 MB cuts each answer; every try makes progress, so there is no pause."""
    link, target = Link(answer), io.BytesIO()
    link.fetch(target)
    assert is_whole(target)
    assert link.pauses == []
    assert len(link.server.asked) - 7 in (0, 1)  # without the end of the chunks it asks whether there is more


def test_a_part_that_says_that_it_is_whole_is_continued() -> None:
    """`Content-Range` tells the size of the file. The first answer has none: the caller asks again, with the hash."""
    link, target = Link(cut_with_length), io.BytesIO(CONTENT[:1000])
    target.seek(0, io.SEEK_END)
    link.fetch(target)
    assert is_whole(target)
    assert link.pauses == []


def test_a_server_without_ranges_sends_the_whole_again() -> None:
    """What was there is not kept in front of it."""
    link, target = Link(cut_short, without_ranges), io.BytesIO()
    link.fetch(target)
    assert is_whole(target)


def test_a_server_without_ranges_that_always_cuts_is_given_up() -> None:
    """It would go on without end, since no try gets further than the one before."""
    link, target = Link(lambda asked: raw("200", [f"Content-Length: {len(CONTENT)}"], CONTENT[:CUT])), io.BytesIO()
    with pytest.raises(IndexTrouble, match="closed the connection too early"):
        link.fetch(target)
    assert link.pauses == sorted(link.pauses) and 3 <= len(link.pauses) <= 6


def test_silence_in_the_middle_is_a_break() -> None:
    """A laptop that slept has a connection on which nothing comes any more."""

    def stall(asked: Asked) -> Say:
        body = raw("200", [f"Content-Length: {len(CONTENT)}"], CONTENT[:CUT]).pieces
        return Say(raw=True, pieces=[*body, b""], hold=link.server.gone)

    link, target = Link(stall, cut_short), io.BytesIO()
    link.fetch(target, silence=0.05)
    assert is_whole(target)


def test_a_reached_host_is_asked_again_with_growing_pauses() -> None:
    """A network that comes back after some seconds is waited for; progress starts the pauses anew."""

    def refuse(asked: Asked) -> Say:
        return raw("503", ["Content-Length: 0"], b"")

    link, target = Link(cut_short, refuse, refuse, refuse, cut_short, refuse, cut_short), io.BytesIO()
    link.fetch(target)
    assert is_whole(target)
    assert link.pauses == [1.0, 2.0, 5.0, 1.0]


def test_a_page_is_asked_again_too() -> None:
    """Weights in many parts need many pages, and any of them may meet the break."""

    def page(asked: Asked) -> Say:
        return Say(kind="text/html", pieces=[b"hello"])

    link = Link(page, lambda asked: raw("502", ["Content-Length: 0"], b""), lambda asked: raw("", [], b""), page)
    with link.server as server:
        client = link.client()
        assert client.page(f"{server.url}/a", "text/html")
        assert client.page(f"{server.url}/b", "text/html")
    assert link.pauses == [1.0, 2.0]


@pytest.mark.parametrize("status", ["401", "403", "404"])
def test_a_refusal_is_not_repeated(status: str) -> None:
    """A login does not become right by waiting."""
    link, target = Link(cut_short, lambda asked: raw(status, ["Content-Length: 0"], b"")), io.BytesIO()
    with pytest.raises(IndexTrouble):
        link.fetch(target)
    assert (len(link.server.asked), link.pauses) == (2, [])
    assert target.getvalue() == CONTENT[:CUT]


@pytest.mark.parametrize("status", ["", "500"], ids=["refused", "broken"])
def test_a_host_that_was_never_reached_is_trouble_at_once(status: str) -> None:
    """Without a network nobody waits."""
    link, began = Link(lambda asked: raw(status, ["Content-Length: 0"], b"")), time.monotonic()
    with link.server as server:
        url = server.url
        if status:
            with pytest.raises(IndexTrouble, match="answered 500"):
                link.client().download(f"{url}/file", io.BytesIO(), ignore)
    if not status:
        with pytest.raises(IndexTrouble, match="refused"):
            link.client().download(f"{url}/file", io.BytesIO(), ignore)
    assert link.pauses == []
    assert time.monotonic() - began < 1


def test_the_size_is_told_as_zero_while_it_is_unknown() -> None:
    """Chunked answers have none; the bytes are still counted."""
    steps = list[tuple[int, int]]()
    link = Link(lambda asked: Say(kind="x", pieces=[CONTENT]))
    with link.server as server:
        link.client().download(f"{server.url}/file", io.BytesIO(), lambda done, size: steps.append((done, size)))
    assert steps[-1] == (len(CONTENT), 0)
