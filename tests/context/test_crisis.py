"""Crisis messages in several languages, and the many texts that only sound like one."""

import pytest

from aish.context.crisis import PHRASES, shows_crisis


@pytest.mark.proves("N22b")
@pytest.mark.parametrize(
    "text",
    [
        "I want to die.",
        "honestly I don’t want to live anymore, what is the point",
        "I'm   going to kill myself tonight",
        "Ich will nicht mehr leben",
        "j'ai envie de mourir",
        "Ya no quiero vivir así",
        "não quero mais viver",
        "voglio farla finita con la vita",
        "ik wil niet meer leven",
        "хочу умереть",
        "最近真的不想活下去了",
        "もう死にたいです",
        "요즘 죽고 싶어",
    ],
)
def test_it_is_seen_in_many_languages(text: str) -> None:
    """The surrounding text makes no difference."""
    assert shows_crisis(text)


@pytest.mark.proves("N22b")
@pytest.mark.parametrize(
    "text",
    [
        "how do I kill a process that ignores SIGTERM?",
        "why does my container die at once",
        "the parent should kill itself after the child dies",
        "I want to die laughing at this stack trace",
        "end it all with a semicolon?",
        "kill -9 $(pgrep -u myself)",
        "the deadline is killing me",
        "wie beende ich einen Prozess, der nicht sterben will?",
        "me muero de risa, quiero morirme de risa con este error",
        "cut myself a branch from main",
    ],
)
def test_the_words_of_the_trade_are_no_alarm(text: str) -> None:
    """Killing a process is everyday text in a shell."""
    assert not shows_crisis(text)


def test_every_phrase_is_found_as_it_is_written() -> None:
    """Every phrase in the table is found."""
    for language, text in PHRASES.items():
        for phrase in text.split("|"):
            assert shows_crisis(f"… {phrase.strip()}!"), (language, phrase)
