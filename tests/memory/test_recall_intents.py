"""What a question wants, by its form, in six languages."""

import pytest

from aish.memory.recall.intents import kind_bonus, plain_kind, read_wish


@pytest.mark.parametrize(
    ("question", "intent"),
    [
        ("Where were we?", "state"),
        ("how far did I get with the parser?", "state"),
        ("Wo waren wir stehen geblieben?", "state"),
        ("où en étais-je ?", "state"),
        ("¿en qué estábamos?", "state"),
        ("我们做到哪里了？", "state"),
        ("どこまで進んだ？", "state"),
        ("what's next?", "open"),
        ("was fehlt noch?", "open"),
        ("qu'est-ce qui reste à faire ?", "open"),
        ("¿qué falta?", "open"),
        ("下一步是什么？", "open"),
        ("次にやることは？", "open"),
        ("it crashed again, what was it last time?", "trouble"),
        ("der Drucker geht nicht, hatten wir das schon mal?", "trouble"),
        ("pourquoi le courant a sauté la dernière fois ?", "trouble"),
        ("上次是什么原因？", "trouble"),
        ("また落ちた。前回の原因は？", "trouble"),
        ("why did we choose this?", "why"),
        ("warum haben wir das so gemacht?", "why"),
        ("who knows about the invoices?", "who"),
        ("bei wem bestelle ich?", "who"),
        ("谁管仓库？", "who"),
        ("what did we use before?", "past"),
        ("wo war das früher?", "past"),
        ("qu'est-ce qu'on utilisait avant ?", "past"),
        ("¿cómo era antes?", "past"),
        ("以前の予定は？", "past"),
        ("when is the exam?", "when"),
        ("how many seats are there?", "amount"),
        ("please write a release note", "work"),
        ("can I add a library?", "work"),
        ("schreib eine Rechnung", "work"),
        ("ajoute une page", "work"),
        ("añade una pantalla", "work"),
        ("帮我写一封信", "work"),
        ("メニューの文を書いて", "work"),
    ],
)
def test_the_form_of_a_question_tells_what_it_wants(question: str, intent: str) -> None:
    """The section of the notes that answers it follows from this."""
    assert intent in read_wish(question).intents


@pytest.mark.parametrize(
    "question",
    [
        "what is a monad?",
        "who invented the telephone?",
        "was ist eine Primzahl?",
        "¿cuánto es 17 por 23?",
        "素数とは何ですか",
    ],
)
def test_a_question_about_the_world_is_general(question: str) -> None:
    """Such a question needs more evidence."""
    wish = read_wish(question)

    assert wish.general and not wish.personal


@pytest.mark.parametrize(
    "question", ["what is our budget?", "is it still broken?", "was ist mit unserem Server?", "我们的预算是多少？"]
)
def test_a_question_with_my_or_still_is_personal(question: str) -> None:
    """It is about the user's own things, so little evidence is enough."""
    wish = read_wish(question)

    assert wish.personal and not wish.general


def test_a_question_about_the_last_time_is_not_one_about_earlier_facts() -> None:
    """The cause of the last crash is asked for, not what was replaced since."""
    assert "past" not in read_wish("the import fails again, any idea from before?").intents


def test_the_headings_of_notes_are_kinds() -> None:
    """People and models write sections, not kinds."""
    names = ["Next steps", "Errors and corrections", "DECISIONS", "pref", "haiku"]

    assert [plain_kind(name) for name in names] == ["todo", "error", "decision", "preference", "haiku"]


def test_the_intent_that_fits_a_kind_best_is_the_reason() -> None:
    """It is shown to the user."""
    assert kind_bonus({"state", "open"}, "state") == (0.8, "state")
    assert kind_bonus({"state", "open"}, "person") == (0.0, "")
