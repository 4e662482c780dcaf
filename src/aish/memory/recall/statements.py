"""Statements: what a memo is about, how it goes on, and whether it tells of a change.

Pure: text in, values out. English, German, French, Spanish, Chinese and Japanese.
"""

import re
from functools import cache

from aish.memory.finding.terms import terms
from aish.memory.recall.phrases import AWAY, CHANGES, joined
from aish.memory.recall.wording import Word, words
from aish.values.named_tuple import NamedTuple

# Verbs that end the subject of a statement.
_VERBS = frozenset(
    (
        "is am are was were be will has have had uses used using runs ran lives sits stays keeps goes comes closes"
        " opens starts begins ends takes moved moves changed changes switched switches works needs must may can should"
        " gets got reports costs expires supports arrives leaves meets owns wants prefers likes knows belongs became"
        " becomes happens stands returns lasts remains"
        " ist sind war waren wird werden wurde läuft laufen steht stehen liegt hat haben kommt geht heißt kostet findet"
        " beginnt gilt nutzt benutzt verwendet fährt wohnt arbeitet schließt öffnet zieht beträgt bleibt dauert gehört"
        " est sont était étaient sera a ont utilise utilisent se s'appelle coûte commence finit passe tourne ferme"
        " ouvre dure reste vaut"
        " es son era eran está están fue será usa usan tiene tienen cuesta empieza termina vive abre cierra lleva llama"
        " queda dura vale"
    ).split()
)
# Verbs that are also nouns; they end the subject only after a plural ("Backups run", but not "Best run").
_AMBIGUOUS = frozenset(
    "run use need report start work cost change move switch live stay keep go close open end return".split()
)
_SUBJECT_ENDS_CJK = r"[はがを是在用为由改换：:]|现在|目前|已经|变更|から"
_CJK = r"[\u3040-\u30ff\u4e00-\u9fff]"
_MAX_SUBJECT_CJK = 16  # characters
# Words that do not make another subject: "the new job" is "job".
ARTICLES = frozenset(
    "the a an our my this that der die das den dem ein eine unser unsere mein meine le la les l un une notre mon ma mes"
    " el los las una nuestro nuestra mi".split()
)
_FRESH = frozenset(
    "new now current currently since neu neue neuer neues jetzt nouveau nouvelle nuevo nueva ahora maintenant".split()
)
PREPOSITIONS = frozenset(
    "on at in with to by from for under auf bei mit am im bis chez sous avec en dans à sur con de sobre hasta".split()
)
_TOKEN = r"[^\W_]+(?:['’./@+#_*-]+[^\W_]+)*|[:;,.](?=\s|$)|[()]"
_NEW_PLACE = r"[,;.](?:\s|$)|\b(?:to|vers|nach|hacia)\b|[，。、]"  # after it comes what is so now
_TELLING, _CERTAIN = 0.2, 0.45  # weights of words


class Statement(NamedTuple):
    """What a text says.

    `subject` has the terms before the verb, `frame` the verb and what follows, `away` what is no longer so.
    """

    subject: tuple[str, ...]
    frame: tuple[str, ...]
    telling: frozenset[str]
    away: frozenset[str]
    changes: bool
    numbers: frozenset[str]


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    return joined(AWAY), joined(CHANGES)


def read_statement(text: str) -> Statement:
    """Parse the text of a memo."""
    away, changes = _patterns()
    telling = frozenset(form for word in words(text) if word.weight > _TELLING for form in word.forms)
    subject, frame = _cjk_subject(text) if re.search(_CJK, text) else _subject(text)
    change = changes.search(text) is not None
    gone = _gone(text, away) if change else frozenset()
    return Statement(subject, frame, telling, gone, change, frozenset(re.findall(r"\d+", text)))


def _gone(text: str, away: re.Pattern[str]) -> frozenset[str]:
    """The terms near a word that tells of something that is no longer so."""
    found: list[Word] = []
    for match in away.finditer(text):
        before, after = text[max(match.start() - 30, 0) : match.start()], text[match.end() : match.end() + 40]
        found += [*words(before)[-2:], *words(re.split(_NEW_PLACE, after, maxsplit=1)[0])]
    return frozenset(form for word in found if word.weight >= _CERTAIN for form in word.forms)


def _subject(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The terms before the verb or colon, and the first words after them."""
    tokens = re.findall(_TOKEN, text[:300].casefold())
    head: list[str] = []
    without_verb: tuple[tuple[str, ...], tuple[str, ...]] = (), ()  # "We ship on Mondays"
    for at, token in enumerate(tokens):
        if head and (token in _VERBS or (token in _AMBIGUOUS and tokens[at - 1].endswith("s"))):
            return tuple(head), tuple(tokens[at : at + 3])
        if token == ":" and head:
            return tuple(head), (":", *tokens[at + 1 : at + 2])
        if token in (".", ";", ","):
            has_value = len(head) > 1 and head[-1].isdigit()  # "Line length 100, …"
            return (tuple(head[:-1]), ("#",)) if has_value else without_verb
        if token in PREPOSITIONS and len(head) > 1 and not without_verb[0]:
            without_verb = tuple(head), tuple(tokens[at : at + 2])
        if token not in ARTICLES and token not in _FRESH and token not in ("(", ")"):
            head += terms(token)[:1]
    return without_verb


def _cjk_subject(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What stands before the topic particle or the verb."""
    match = re.search(_SUBJECT_ENDS_CJK, text)
    if not match or not 1 < match.start() <= _MAX_SUBJECT_CJK:
        return (), ()
    return (text[: match.start()],), ()
