"""Index terms: word forms match each other, identifiers are found whole and in parts, and every script works."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aish.memory.finding import terms as terms_module
from aish.memory.finding.terms import query_terms, terms


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("we bought two tickets", "buying a ticket"),
        ("the children were painting", "child paints"),
        ("they went hiking", "go hike"),
        ("she studied the stories", "studying a story"),
        ("he stopped smoking", "stop smoke"),
        ("a celebration of happiness", "celebrate happy"),
        ("CAFÉ Größe naïve", "cafe grösse naive"),
        ("ＡＢＣ ﬁne", "abc fine"),
        ("Anna’s bike isn't here", "anna bike"),
        ("Bob'd come", "bob"),
        ("l'amour", "amour"),
        ("ПАРОЛЬ ёлка", "пароль елка"),
        ("מִשְׁפָּחָה", "משפחה"),
        ("مُحَمَّد", "محمد"),
    ],
)
def test_other_forms_of_a_word_match(said: str, asked: str) -> None:
    """Users rarely remember the exact form."""
    assert set(query_terms(asked)) <= set(terms(said))


@pytest.mark.parametrize(
    ("one", "other"), [("need", "ne"), ("nation", "nat"), ("bus", "bu"), ("string", "str"), ("red", "r")]
)
def test_short_words_are_not_cut_to_pieces(one: str, other: str) -> None:
    """A stem that is too short would match anything."""
    assert terms(one) != terms(other)


@pytest.mark.parametrize(
    ("said", "pieces"),
    [
        ("getUserName", ["getusername", "user"]),
        ("HTTPServer", ["httpserver", "http", "server"]),
        ("foo_bar", ["foo_bar", "foo", "bar"]),
        ("/etc/nginx.conf", ["etc/nginx.conf", "nginx", "conf"]),
        ("v1.2.3", ["v1.2.3"]),
        ("error E0308!", ["e0308", "0308"]),
        ("__init__", ["init"]),
        ("2024-05-08", ["2024-05-08", "2024"]),
        ("me@example.org", ["me@example.org", "example"]),
        ("use --force-with-lease", ["force-with-lease", "force"]),
    ],
)
def test_words_of_code_are_kept_whole_and_in_pieces(said: str, pieces: list[str]) -> None:
    """An identifier is pasted whole or half remembered; both must find it."""
    for piece in pieces:
        assert terms(piece)[0] in terms(said)


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("我用Python写的猫很可爱", "可爱"),
        ("我用Python写的猫很可爱", "猫"),
        ("我用Python写的猫很可爱", "python"),
        ("東京タワーに行きました", "タワー"),
        ("한국어를 공부했다", "한국어"),
        ("ซื้อหนังสือเล่มใหม่", "หนังสือ"),
        ("हिन्दी भाषा", "हिन्दी"),
        ("what a party 🎉", "🎉"),
    ],
)
def test_scripts_without_blanks_are_found_by_a_part(said: str, asked: str) -> None:
    """Without blanks the word borders are unknown, so every two and three characters are a term."""
    assert query_terms(asked)
    assert set(query_terms(asked)) <= set(terms(said))


def test_the_marks_of_a_script_stay_with_their_letters() -> None:
    """Vowel signs are not letters in Python; a word without them is another word."""
    assert terms("हिन्दी") == ["हिन्दी"]


def test_a_longer_question_in_chinese_does_not_ask_for_single_characters() -> None:
    """They are in nearly every turn, and only make the search slow."""
    assert query_terms("可爱的猫") == ["可爱", "爱的", "的猫", "可爱的", "爱的猫"]


def test_stop_words_are_indexed_but_searched_only_without_other_words() -> None:
    """A phrase needs them; a question works better without."""
    assert terms("to be or not to be") == ["to", "be", "or", "not", "to", "be"]
    assert query_terms("what did we say about the boat") == ["say", "boat"]
    assert query_terms("who are you") == ["who", "are", "you"]


def test_a_question_has_each_term_once_and_a_limited_number() -> None:
    """A pasted page would take too long."""
    assert query_terms("boat boats Boat") == ["boat"]
    page = " ".join(f"word{number}" for number in range(1000))
    assert query_terms(page)[:2] == ["word0", "word"]
    assert len(query_terms(page)) == 128


def test_an_overlong_word_is_not_a_whole_term() -> None:
    """Keys and blobs would fill the index, and nobody searches for them."""
    assert max(map(len, terms("a" * 300 + " " + "b-" * 300 + "c"))) == 64


@settings(max_examples=60, deadline=None)
@given(st.text(st.characters(), max_size=80) | st.text("aB'’_.-/é猫ก한 \ud800\x00🎉", max_size=60))
def test_any_text_has_terms_without_blanks_that_can_be_written(text: str) -> None:
    """Terms are joined by blanks and stored as UTF-8; equal texts have equal terms."""
    found = terms(text)
    assert " ".join(found).split() == found
    " ".join(found).encode()
    assert set(query_terms(text)) <= set(found)


@pytest.mark.parametrize("unit", ["a", "a.", "a'", "aB", "_", "猫", "é-", "'.", "\u0301", "word "])
def test_a_hundred_kilobytes_of_any_text_are_fast(unit: str) -> None:
    """For any pasted text, the time grows linearly."""
    text = unit * (100_000 // len(unit))
    start = time.process_time()
    terms(text)
    query_terms(text)
    assert time.process_time() - start < 1.5  # about 0.1 s; quadratic growth would take minutes


def test_a_word_has_the_same_terms_after_many_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """The terms of words are cached, and the cache is bounded."""
    monkeypatch.setattr(terms_module, "_CACHED_WORDS", 100)
    known = ["heron", "getusernam", "get", "user", "nam", "北", "京", "北京"]
    assert terms("Herons getUserName 北京") == known
    for number in range(300):
        terms(f"reed{number}")
    assert len(terms_module._FORMS) <= 100
    assert terms("Herons getUserName 北京") == known
