"""What is known about models: kept in a cache file that may be lost, damaged or written by another version."""

import json
from pathlib import Path

import pytest

from aish.model.addresses import model_identity
from aish.model.model_cards import Finding, ModelCard, ModelCards, tools_word

DAY = 24 * 3600
CARD = ModelCard(
    tools=Finding(True, "2 of 2 calls were correct", 5, tried=True),
    json=Finding(False, "answered 'no'", 5, tried=True),
    window_tokens=8192,
    tokens_per_second=12.5,
    first_token_seconds=0.25,
)


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.seconds = 1_000_000.0

    def __call__(self) -> float:
        return self.seconds


def test_a_card_is_found_again_by_another_process(tmp_path: Path) -> None:
    """Also after a card of another model was added."""
    path = tmp_path / "cache" / "cards.json"
    ModelCards(path).keep("one", CARD)
    ModelCards(path).keep("two", ModelCard())

    assert ModelCards(path).of("one") == CARD
    assert ModelCards(path).takes_tools("one") is True
    assert ModelCards(path).of("three") == ModelCard()
    assert path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[" * 100_000,
        b"\xff\xfe",
        b"[]",
        b'{"version": 99, "models": {"one": {"tools": {"able": true, "text": "", "time": 1}}}}',
        b'{"version": 1, "models": []}',
        b'{"version": 1, "models": {"one": 7}}',
        b'{"version": 1, "models": {"one": {"tools": {"able": "yes", "text": "", "time": 1, "tried": true}}}}',
        b'{"version": 1, "models": {"one": {"tools": [true], "window_tokens": "big", "tokens_per_second": -1}}}',
    ],
)
def test_a_damaged_file_says_nothing_and_is_replaced(tmp_path: Path, content: bytes) -> None:
    """It is a cache: what it said is found out again."""
    path = tmp_path / "cards.json"
    path.write_bytes(content)
    cards = ModelCards(path)

    assert cards.of("one") == ModelCard()
    assert cards.takes_tools("one") is None
    cards.keep("one", CARD)
    assert ModelCards(path).of("one") == CARD


def test_the_rest_of_a_card_survives_one_bad_field(tmp_path: Path) -> None:
    """Another hand may have edited it."""
    path = tmp_path / "cards.json"
    ModelCards(path).keep("one", CARD)
    stored = json.loads(path.read_text(encoding="utf-8"))
    stored["models"]["one"]["json"] = "?"
    path.write_text(json.dumps(stored), encoding="utf-8")

    assert ModelCards(path).of("one") == CARD._replace(json=Finding())


def test_what_was_seen_in_passing_is_believed_for_a_week(tmp_path: Path) -> None:
    """A server may be started again with other options. What was tried stays."""
    clock = Clock()
    cards = ModelCards(tmp_path / "cards.json", clock)
    assert cards.saw_tools("seen", "the server refuses tools", able=False)
    cards.keep("tried", CARD)
    assert not cards.saw_tools("seen", "the server refuses tools", able=False), "known already"
    clock.seconds += 6 * DAY
    before = cards.takes_tools("seen")
    clock.seconds += 2 * DAY

    assert (before, cards.takes_tools("seen"), cards.takes_tools("tried")) == (False, None, True)


def test_a_guess_does_not_replace_what_was_tried_but_a_refusal_does(tmp_path: Path) -> None:
    """A model that can call tools may once write a call into an answer."""
    cards = ModelCards(tmp_path / "cards.json")
    cards.keep("one", CARD)

    assert not cards.saw_tools("one", "wrote a call", able=False, certain=False)
    assert cards.takes_tools("one") is True
    assert cards.saw_tools("one", "the server refuses tools", able=False)
    assert ModelCards(tmp_path / "cards.json").takes_tools("one") is False
    assert cards.of("one").window_tokens == 8192


def test_what_could_not_be_tried_now_keeps_its_earlier_result() -> None:
    """A busy server must not make a model forget that it can call tools."""
    now = ModelCard(tools=Finding(None, "could not try: busy"), json=Finding(True, "one object", 9, tried=True))

    assert now.over(CARD).tools == CARD.tools
    assert now.over(CARD).json == now.json


def test_a_disk_that_cannot_be_written_is_no_trouble_in_passing(tmp_path: Path) -> None:
    """The model is being used; what was seen holds for this run."""
    blocked = tmp_path / "file"
    blocked.write_text("", encoding="utf-8")
    cards = ModelCards(blocked / "cards.json")

    assert cards.saw_tools("one", "the server refuses tools", able=False)
    assert cards.takes_tools("one") is False


def test_the_file_has_at_most_two_hundred_models(tmp_path: Path) -> None:
    """The oldest leave."""
    path = tmp_path / "cards.json"
    cards = ModelCards(path)
    for number in range(205):
        cards.keep(f"m{number}", CARD)

    stored = json.loads(path.read_text(encoding="utf-8"))["models"]
    assert (len(stored), "m4" in stored, "m5" in stored) == (200, False, True)


def test_a_model_is_known_by_its_server_and_name_and_not_by_the_name_of_the_preset() -> None:
    """A password in the URL is not written anywhere."""
    one = model_identity("openai", "a", endpoint="http://me:secret@host:1/v1", model="m")
    assert one == "http://host:1/v1 m" == model_identity("openai", "b", endpoint="http://host:1", model="m")
    assert model_identity("openai", "m", endpoint="http://host:1") == one
    assert model_identity("embedded", "e", weights="x.gguf") == "embedded x.gguf"
    assert model_identity("scripted", "s") == "script:s"


@pytest.mark.parametrize(
    ("setting", "found", "word"),
    [(None, None, "unknown"), (None, True, "yes"), (None, False, "no"), (True, False, "yes"), (False, True, "no")],
)
def test_the_setting_is_shown_before_what_is_known(setting: bool | None, found: bool | None, word: str) -> None:
    """It always wins."""
    assert tools_word(setting, found) == word
