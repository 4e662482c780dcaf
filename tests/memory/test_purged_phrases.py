"""Purged phrases are recognized by their fingerprints in the same way as the purge found them by their words."""

import json
import os
import unicodedata
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aish.memory.fingerprint import fingerprint
from aish.memory.ledger_lines import folded
from aish.memory.purge import Eraser
from aish.memory.purged_phrases import Purged
from aish.storage.lines import LineFile

SALT = b"s" * 32


def knows(phrases: Iterable[str], salt: bytes = SALT) -> Purged:
    return Purged([fingerprint(folded(phrase), salt) for phrase in phrases], salt)


@pytest.mark.proves("M61")
@pytest.mark.parametrize(
    ("phrase", "text", "clean"),
    [
        ("magpie nest", "The magpie nest is high.", "The [purged] is high."),
        ("magpie nest", "The MAGPIE\n   nest is high.", "The [purged] is high."),
        ("magpie nest", "magpie nest, magpie nest", "[purged], [purged]"),
        ("magpie nest", '{"say": "a magpie\\nnest"}', '{"say": "a [purged]"}'),
        ("magpie nest.", "The magpie nest: high", "The [purged]: high"),
        ("otter", "an otter, two otters, an Otter", "an [purged], two otters, an [purged]"),
        ("otter", "one\\notter", "one\\n[purged]"),
        ("swordfish9", "mysql -pswordfish9x", "mysql -p[purged]x"),
        ("café au lait", "un cafe\u0301 au lait noir", "un [purged] noir"),
        ("café au lait", "un caf\\u00e9 au lait noir", "un [purged] noir"),
        ("straße 12", "in der STRASSE 12 dort", "in der [purged] dort"),
        ("喜鹊的巢", "我看到了喜鹊的巢在树上", "我看到了[purged]在树上"),
        ("喜鹊", "我看到了喜鹊在树上", "我看到了[purged]在树上"),
        ("각시 나무", f"그 {unicodedata.normalize('NFD', '각시 나무')} 옆", "그 [purged] 옆"),
        ("smile 😀 now", "a smile \\ud83d\\ude00 now", "a [purged]"),
        ('say "hi" now', 'they say \\"hi\\" now', "they [purged]"),
        ("ﬁnch egg", "a finch egg", "a [purged]"),
    ],
)
def test_purged_words_are_found_in_every_form(phrase: str, text: str, clean: str) -> None:
    """Case, blanks, accents, escapes and scripts without blanks: as a purge finds them in a journal."""
    assert knows([phrase]).clean(text) == clean


@pytest.mark.proves("M61")
def test_of_two_phrases_at_one_place_the_longer_is_removed() -> None:
    """Otherwise the rest of an item would reveal its subject."""
    assert knows(["magpie", "magpie in the oak"]).clean("A magpie in the oak, a magpie.") == "A [purged], a [purged]."


@pytest.mark.proves("M61")
def test_overlapping_phrases_are_removed_as_in_a_purge() -> None:
    """Otherwise a purged turn would not be recognized."""
    phrases, text = ["otter heron", "heron nest", "nest"], "an otter heron nest, a heron nest"
    assert knows(phrases).clean(text) == Eraser(phrases, lambda _: "").clean(text) == "an [purged] [purged], a [purged]"


def test_with_another_salt_nothing_is_recognized() -> None:
    """A fingerprint is useless without its salt."""
    fingerprints = [fingerprint(folded("magpie nest"), SALT)]
    assert Purged(fingerprints, b"t" * 32).clean("the magpie nest") == "the magpie nest"


def test_fingerprints_of_another_form_are_ignored() -> None:
    """A ledger can be written by hand, and by later versions."""
    assert Purged(["f00", "", "9-xyz", "99999999-" + "0" * 24, "-3-" + "0" * 24], SALT).clean("a heron") == "a heron"


words = st.sampled_from('heron Heron otter magpie nest the élan e\u0301lan = 喜鹊的巢 x\\ny "oak" İzmir ß'.split())
texts = st.lists(words, min_size=1, max_size=12).flatmap(
    lambda some: st.lists(st.sampled_from([" ", "\n", "  ", ", "]), min_size=len(some), max_size=len(some)).map(
        lambda gaps: "".join(word + gap for word, gap in zip(some, gaps, strict=True))
    )
)
phrases = st.lists(words.filter(lambda word: "=" not in word), min_size=2, max_size=3).map(" ".join)


@settings(max_examples=150, deadline=None)
@given(text=texts, purged=st.lists(phrases, min_size=1, max_size=3), packed=st.booleans())
def test_everything_a_purge_would_remove_is_removed(text: str, purged: list[str], packed: bool) -> None:
    """For any words, also inside JSON."""
    kept = json.dumps(text) if packed else text
    clean = knows(purged).clean(kept)
    eraser = Eraser(purged, lambda _: "")
    assert not eraser.found_in(clean)
    if not eraser.found_in(kept) and not any(folded(phrase) in folded(text) for phrase in purged):
        assert clean == kept


@settings(max_examples=100, deadline=None)
@given(text=st.text(max_size=60), start=st.integers(0, 50), size=st.integers(4, 20))
def test_any_part_of_any_text_can_be_purged_and_the_rest_stays(text: str, start: int, size: int) -> None:
    """The text before and after it stays unchanged."""
    part = text[start : start + size]
    clean = knows([part] if folded(part) else []).clean(text)
    if "[purged]" in clean and "[purged]" not in text:
        assert text.startswith(clean.partition("[purged]")[0])
        assert text.endswith(clean.rpartition("[purged]")[2])
    else:
        assert clean == text


def test_a_long_text_takes_no_time_when_nothing_was_purged() -> None:
    """Most users never purge anything."""
    text = os.urandom(1 << 20).hex()
    assert Purged([], SALT).clean(text) is text


def test_eight_letters_are_removed_inside_a_word_and_seven_are_not() -> None:
    """A long word is rarely part of another by chance, and it may be a secret."""
    assert Eraser(["gatekeep"], str).clean("the gatekeeper") == "the [purged]er"
    assert Eraser(["gatekee"], str).clean("the gatekeeper") == "the gatekeeper"


def test_a_link_is_left_alone(tmp_path: Path) -> None:
    """Its target is not ours, and the link must not become a copy of it."""
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("the gatekeeper", encoding="utf-8")
    link.symlink_to(target)

    assert not Eraser(["gatekeeper"], str).clean_file(link)
    assert link.is_symlink()
    assert target.read_text(encoding="utf-8") == "the gatekeeper"


def test_a_file_without_the_words_is_only_read(tmp_path: Path) -> None:
    """A purge does not wait for the writers of other files, and sets nothing aside in them."""
    busy, torn = LineFile(tmp_path / "busy.jsonl"), tmp_path / "torn.jsonl"
    busy.append({"content": "nothing"})
    torn.write_bytes(b'{"content": "noth')
    busy.hold()

    assert not any(Eraser(["gatekeeper"], str).clean_file(path) for path in (busy.path, torn))
    assert torn.read_bytes() == b'{"content": "noth'
    busy.close()
