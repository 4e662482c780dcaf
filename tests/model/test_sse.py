"""Server-sent events: the events are the same however the bytes are split."""

import itertools
import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from aish.model.sse import SseReader

ENDINGS = [b"\n", b"\r\n", b"\r"]

in_line = st.binary(max_size=8).map(lambda data: data.replace(b"\n", b"-").replace(b"\r", b"+"))
data_lines = st.lists(in_line, min_size=1, max_size=3)
noise = st.sampled_from([b": keep-alive", b":", b"event: delta", b"id: 7", b"retry: 10", b"date: no", b"dat"])


@st.composite
def streams(draw: st.DrawFn) -> tuple[bytes, list[bytes]]:
    """Generate a stream with one kind of line ending, and its events."""
    end = draw(st.sampled_from(ENDINGS))
    lines: list[bytes] = []
    expected: list[bytes] = []
    for data in draw(st.lists(data_lines, max_size=5)):
        lines += draw(st.lists(noise, max_size=2))
        space = draw(st.booleans()) or any(line.startswith(b" ") for line in data)
        lines += [(b"data: " if space else b"data:") + line for line in data]
        lines += draw(st.lists(noise, max_size=1))
        lines += [b""] * draw(st.integers(1, 3))
        expected.append(b"\n".join(data))
    return b"".join(line + end for line in lines), expected


def read(pieces: list[bytes]) -> list[bytes]:
    reader = SseReader()
    events = [event for piece in pieces for event in reader.feed(piece)]
    return events + reader.end()


def cut(stream: bytes, places: list[int]) -> list[bytes]:
    """Split the stream into pieces, some possibly empty."""
    marks = [0, *sorted(min(place, len(stream)) for place in places), len(stream)]
    return [stream[start:end] for start, end in itertools.pairwise(marks)]


places = st.lists(st.integers(0, 200), max_size=12)


@given(streams(), places)
def test_any_cutting_of_a_stream_gives_its_events(told: tuple[bytes, list[bytes]], places: list[int]) -> None:
    """A network read ends anywhere: inside a word, between CR and LF, before a blank line."""
    stream, expected = told
    assert read(cut(stream, places)) == expected


@given(streams())
def test_a_stream_that_comes_byte_by_byte_gives_its_events(told: tuple[bytes, list[bytes]]) -> None:
    """The smallest possible pieces."""
    stream, expected = told
    assert read([stream[place : place + 1] for place in range(len(stream))]) == expected


@given(st.lists(st.sampled_from([b"data: a", b"data", b"data:", b"x", b" ", b"\r", b"\n", b"\xff"])), places)
@example([b"data: a", b"\r", b"\n", b"\r", b"\n"], [8, 9, 10])
def test_what_mixes_line_ends_is_read_the_same_however_it_is_cut(parts: list[bytes], places: list[int]) -> None:
    """A server may mix line endings."""
    stream = b"".join(parts)
    assert read(cut(stream, places)) == read([stream])


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_an_event_is_handed_over_with_its_blank_line(end: bytes) -> None:
    """Otherwise each token would be shown only with the next one."""
    reader = SseReader()

    assert reader.feed(b"data: one" + end) == []
    assert reader.feed(end) == [b"one"]
    assert reader.feed(b"data: two" + end + end + b"data: thr") == [b"two"]
    assert reader.feed(b"ee" + end + end) == [b"three"]
    assert reader.end() == []


@pytest.mark.parametrize("end", ENDINGS)
def test_the_last_event_counts_also_without_its_blank_line(end: bytes) -> None:
    """Some servers close the connection right after the last line, or even before its end."""
    assert read([b"data: one" + end + end + b"data: last" + end]) == [b"one", b"last"]
    assert read([b"data: one" + end + end + b"data: last"]) == [b"one", b"last"]


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_one_object_that_is_called_a_stream_is_returned_whole(size: int) -> None:
    """Some servers ignore that a stream was asked for, and label their answer as one anyway."""
    body = b'\n {"choices": [\n\n{"message": {"content": "data: x"}}]}\n'
    reader = SseReader()
    events = [event for place in range(0, len(body), size) for event in reader.feed(body[place : place + size])]

    assert events == []
    assert [json.loads(event) for event in reader.end()] == [json.loads(body)]


def test_empty_lines_of_data_count_as_buffered() -> None:
    """A server that never ends its event must not fill the memory with them."""
    reader = SseReader()
    reader.feed(b"data:\n" * 1000)
    assert reader.buffered >= 1000
