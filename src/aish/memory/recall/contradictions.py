"""Contradictions: which of two memos replaces the other.

Pure: memos in, pairs out. A memo replaces an older one if both say something about the same subject in the same way
("Deadline is 31 July", "Deadline moved to 30 September"), or if it tells of a change away from what the older one says
("switched from nginx to Envoy"). A subject with other attributes ("cert of mail", "wildcard cert") is another subject.
"""

from collections import defaultdict
from collections.abc import Sequence

from aish.memory.recall.intents import plain_kind
from aish.memory.recall.statements import ARTICLES, PREPOSITIONS, Statement, read_statement
from aish.values.recall import Memo, NoteLayer

# Kinds that hold until something else is said. Errors, commands and tasks happened, and stay true.
_LASTING = frozenset("fact decision preference event constraint person context note".split())
_STATES = frozenset({"state", "goal"})  # they may replace what holds, but are not replaced by it
_RANKS: dict[NoteLayer, int] = {"session": 0, "memory": 1, "ledger": 1, "workspace": 2, "history": 3}

_VERB_FORMS = (
    "is am are was were be/has have had/ist sind war waren wird werden wurde/hat haben/est sont était étaient/a ont"
    "/es son era eran fue/está están/tiene tienen"
)
_SAME_VERBS = {form: forms[0] for forms in map(str.split, _VERB_FORMS.split("/")) for form in forms}
_MANY = frozenset(
    "has hat a tiene like want need prefer own know must can may should".split()
)  # with many things at once
_MOST_AFTER_COLON = 14  # terms
_SHORT = 3  # telling terms of a statement that is about one thing only
_LONGEST = 240  # characters of a statement; a longer text says many things
_MOST_VERSIONS = 6  # of one fact; what more memos start with is a topic or a speaker ("Anna: …")
_MAX_GROUP = 200  # memos with one term that are compared with each other


class Contradictions:
    """Finds what is replaced. Pairs that were compared for the previous memos are not compared again."""

    def __init__(self) -> None:
        self._statements: dict[str, Statement] = {}
        self._compared: dict[tuple[str, str, bool], bool] = {}

    def find(self, memos: Sequence[Memo]) -> dict[int, int]:
        """Which memos are replaced, each with the newest memo that replaces it; both as places in the sequence."""
        kinds = [plain_kind(memo.kind) for memo in memos]
        short = [at for at, memo in enumerate(memos) if kinds[at] in _STATES | _LASTING and len(memo.text) <= _LONGEST]
        texts = {memos[at].text for at in short}
        said = {text: self._statements.get(text) or read_statement(text) for text in texts}
        same: dict[tuple[str, ...], list[int]] = defaultdict(list)  # by subject
        mentioned: dict[str, list[int]] = defaultdict(list)  # by term
        for at in short:
            if kinds[at] in _LASTING:
                statement = said[memos[at].text]
                same[_nouns(statement.subject)].append(at)
                for term in statement.telling:
                    mentioned[term].append(at)
        compared: dict[tuple[str, str, bool], bool] = {}
        found: dict[int, int] = {}
        for at in short:
            memo, newer = memos[at], said[memos[at].text]
            alike = same.get(_nouns(newer.subject), []) if newer.subject else []
            near = set(alike) if len(alike) <= _MOST_VERSIONS else set()
            near.update(place for term in newer.away for place in mentioned.get(term, ())[-_MAX_GROUP:])
            replaced = []
            for other in sorted(near):
                older = memos[other]
                if not _is_newer(memo, older):
                    continue
                pair = memo.text, older.text, "person" in (kinds[at], kinds[other])
                if pair not in self._compared:
                    self._compared[pair] = _replaces(newer, said[older.text], person=pair[2])
                compared[pair] = self._compared[pair]
                replaced += [other] if compared[pair] else []
            if len(replaced) <= _MOST_VERSIONS:
                for other in replaced:
                    if other not in found or _is_newer(memo, memos[found[other]]):
                        found[other] = at
        self._statements, self._compared = said, compared
        return found


def _is_newer(one: Memo, other: Memo) -> bool:
    """Is one memo fresher than another? Of two that were learned at the same or an unknown time, the layer decides."""
    if one.time is not None and other.time is not None and one.time != other.time:
        return one.time > other.time
    return _RANKS[one.layer] < _RANKS[other.layer]


def _replaces(newer: Statement, older: Statement, *, person: bool) -> bool:
    """Does a newer statement replace an older one?"""
    if _same_subject(newer.subject, older.subject):
        if newer.frame[:1] == (":",) and max(len(newer.telling), len(older.telling)) > _MOST_AFTER_COLON:
            return False  # a heading, not a value
        return _same_frame(newer, older, person=person)
    if newer.away.isdisjoint(older.telling):
        return False
    about = _overlap(frozenset(newer.subject), older.telling)
    about += _overlap(frozenset(older.subject), newer.telling - newer.away)
    return about > 0 or len(older.telling) <= _SHORT


def _same_subject(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Are two subjects the same? A name such as *.example.org may be left out of one of them."""
    if not one or not other or one[0] != other[0] or _nouns(one) != _nouns(other):
        return False
    names, others = ([term for term in subject if not term.isalpha()] for subject in (one, other))
    return not names or not others or names == others


def _nouns(subject: tuple[str, ...]) -> tuple[str, ...]:
    """A subject without names, numbers and other identifiers."""
    return tuple(term for term in subject if term.isalpha())


def _same_frame(newer: Statement, older: Statement, *, person: bool) -> bool:
    """Do both go on in the same way, or does the newer one tell of a change? People do many things at once."""
    if not newer.frame:
        return True  # Chinese and Japanese: the topic is all that is compared
    same_verb = _verb(newer.frame) == _verb(older.frame)
    common = _overlap(newer.telling.difference(newer.subject), older.telling.difference(older.subject))
    if _verb(older.frame) in _MANY:
        return same_verb and common > 0 and newer.numbers != older.numbers
    if newer.changes and not person:
        return True
    if len(newer.subject) == 1:
        return same_verb and _opening(newer.frame) == _opening(older.frame)
    return same_verb or common > 0


def _verb(frame: tuple[str, ...]) -> str:
    """The verb of a statement in one form: runs, run; is, are, was."""
    first = frame[0] if frame else ""
    return _SAME_VERBS.get(first, first.removesuffix("s").removesuffix("e"))


def _opening(frame: tuple[str, ...]) -> str:
    """What follows the verb: a preposition as it is, "the" for any article or possessive, or nothing of the kind."""
    second = frame[1] if len(frame) > 1 else ""
    return second if second in PREPOSITIONS else "the" if second in ARTICLES else ""


def _overlap(some: frozenset[str], others: frozenset[str]) -> int:
    """How many terms have an equal one, or a longer or shorter form, among the others."""
    return sum(term in others or any(_related(term, other) for other in others) for term in some)


def _related(one: str, other: str) -> bool:
    short, long = (one, other) if len(one) < len(other) else (other, one)
    return len(short) >= 4 and long.startswith(short)
