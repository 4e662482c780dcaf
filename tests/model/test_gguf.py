"""The head of a GGUF file says whether its model can chat, and no file can do harm."""

import struct
from pathlib import Path

import pytest
from gguf_files import CHAT, gguf
from hypothesis import given
from hypothesis import strategies as st

from aish.model.gguf import GgufHead, read_head

WORDS = {"tokenizer.ggml.tokens": [f"word{number}" for number in range(150_000)]}
SCORES = {"tokenizer.ggml.token_type": [1] * 400_000}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "model.gguf"


def test_a_head_says_what_its_model_is(file: Path) -> None:
    """The template comes after the vocabulary, which is longer than one block."""
    values = {
        "general.architecture": "qwen2",
        "general.name": "Qwen2.5 3B",
        "general.size_label": "3B",
        "general.parameter_count": 3_000_000,
        "qwen2.context_length": 32768,
        "qwen2.rope.freq_base": 1.5,
        "tokenizer.ggml.add_bos_token": False,
        **WORDS,
        **SCORES,
        "tokenizer.chat_template": "{{ messages }}",
        "split.count": 3,
    }
    file.write_bytes(gguf(values) + b"weights")

    assert read_head(file) == GgufHead("qwen2", has_template=True)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (CHAT, True),
        ({"general.architecture": "clip"}, False),  # the projector of a model that sees
        ({**CHAT, "llama.pooling_type": 1}, False),  # an encoder, made of a model that chats
        ({**CHAT, "llama.pooling_type": 0}, True),
        ({**CHAT, "llama.vision.block_count": 24}, False),
        ({**CHAT, "tokenizer.chat_template": ""}, False),
        ({**CHAT, "tokenizer.chat_template": 5}, False),
    ],
)
def test_whether_a_model_chats_is_read_from_its_head(values: dict[str, object], expected: bool, file: Path) -> None:
    """Names of files say little."""
    file.write_bytes(gguf(values))

    head = read_head(file)
    assert head and head.chats is expected


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"GGUF",
        b"GGML" + gguf(CHAT)[4:],
        gguf(CHAT, version=1),
        gguf(CHAT)[:-1],
        gguf({"general.name": "nobody"}),
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1 << 62),
        b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 1 << 62),
        gguf({})[:16] + struct.pack("<QQ1sIIQ", 1, 1, b"a", 9, 12, 1 << 25) + bytes(100),
        gguf({})[:16] + struct.pack("<QQ1sIIQ", 1, 1, b"a", 9, 8, 1 << 60),
        gguf({})[:16] + struct.pack("<QQ1sIIQ", 1, 1, b"a", 9, 9, 2),
        gguf({})[:16] + struct.pack("<QQ1sI", 1, 1, b"a", 77),
    ],
)
def test_a_damaged_head_is_none(content: bytes, file: Path) -> None:
    """Lengths in a file can ask for more than there is."""
    file.write_bytes(content)

    assert read_head(file) is None
    assert read_head(file.parent) is None and read_head(file / "x") is None


@given(place=st.integers(0, 400), bytes_=st.binary(min_size=1, max_size=12), cut=st.integers(0, 500))
def test_no_change_of_a_file_raises(
    place: int, bytes_: bytes, cut: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    whole = gguf({**CHAT, "general.name": "x", "a": 1.5, "b": True, "words": ["a", "b"], "numbers": [1, 2]})
    place %= len(whole)
    file = tmp_path_factory.getbasetemp() / "changed.gguf"
    file.write_bytes((whole[:place] + bytes_ + whole[place + len(bytes_) :])[: cut or None])

    head = read_head(file)
    assert head is None or isinstance(head.chats, bool)


@given(tail=st.binary(max_size=300))
def test_no_content_after_the_magic_raises(tail: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.getbasetemp() / "any.gguf"
    file.write_bytes(b"GGUF" + struct.pack("<I", 3) + tail)

    head = read_head(file)
    assert head is None or head.architecture
