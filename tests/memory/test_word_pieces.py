"""Word pieces: every text has some, always the same ones, and splitting is fast."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aish.memory.finding import word_pieces
from aish.memory.finding.word_pieces import WordPieces

BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
WORDS = ["▁", "o", "t", "e", "r", "s", "ot", "er", "ter", "▁ot", "▁otter", "ö", "狐"]


@pytest.fixture(scope="module")
def pieces(tmp_path_factory: pytest.TempPathFactory) -> WordPieces:
    """Write a small vocabulary file, in the format of the weights."""
    path = tmp_path_factory.mktemp("pieces") / "tokens.json"
    ids = {word: number for number, word in enumerate([*BYTES, *WORDS])}
    path.write_text(json.dumps({"model": {"type": "BPE", "vocab": ids, "merges": ["o t"]}}), encoding="utf-8")
    return WordPieces(path)


def told(pieces: WordPieces, text: str) -> list[str]:
    return [[*BYTES, *WORDS][id] for id in pieces.ids(text)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("otter", ["▁otter"]),
        ("otters", ["▁otter", "s"]),
        ("toe", ["▁", "t", "o", "e"]),
        ("otter otter", ["▁otter", "▁otter"]),
        ("ö狐", ["▁", "ö", "狐"]),
        ("ä", ["▁", "<0xC3>", "<0xA4>"]),
        ("", ["▁"]),
        ("o  o", ["▁", "o", "▁", "▁", "o"]),
        ("o\no", ["▁", "o", "<0x0A>", "o"]),
    ],
)
def test_a_text_is_split_into_the_pieces_that_were_learned(pieces: WordPieces, text: str, found: list[str]) -> None:
    """Pairs are merged in the learned order; an unknown character is split into bytes."""
    assert told(pieces, text) == found


@settings(max_examples=60, deadline=None)
@given(st.text(st.characters(exclude_categories=()), max_size=120))
def test_every_text_can_be_restored_from_its_pieces(pieces: WordPieces, text: str) -> None:
    """Half characters become a question mark; nothing is dropped, and nothing is an error."""
    out = bytearray()
    for piece in told(pieces, text):
        out += bytes([int(piece[3:5], 16)]) if piece in BYTES else piece.encode()
    words = text.encode("utf-8", "replace").decode().split(" ")
    assert out.decode() == "".join(f"▁{word}" for word in words)


def test_a_very_long_word_is_split_quickly(pieces: WordPieces) -> None:
    """The time grows with the square of a word's length, so words have a limit."""
    assert len(pieces.ids("otter" * 20_000)) < 100_000


def test_a_word_has_the_same_pieces_after_many_others(pieces: WordPieces, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pieces of words are cached, and the cache is bounded."""
    monkeypatch.setattr(word_pieces, "_CACHED_WORDS", 100)
    for number in range(300):
        pieces.ids(f"reed{number}")
    assert len(pieces._pieces) <= 100
    assert told(pieces, "otters") == ["▁otter", "s"]
    assert told(pieces, "otter" * 9)[:3] == ["▁otter", "ot", "ter"]  # longer than a cached word


def test_an_invalid_vocabulary_file_is_detected(tmp_path: Path) -> None:
    """The caller then continues without vectors."""
    path = tmp_path / "tokens.json"
    with pytest.raises(OSError, match=r"tokens\.json"):
        WordPieces(path)
    for text in ("rubbish", '{"model": {}}', '{"model": {"vocab": {"a": 1, ', ""):
        path.write_text(text, encoding="utf-8")
        with pytest.raises((ValueError, KeyError)):
            WordPieces(path)
