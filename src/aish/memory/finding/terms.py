"""Index terms: the normalized words of a text, the same for turns and for queries.

Pure: text in, terms out. Words are folded (case, accents, width) and stemmed. Identifiers are kept whole and in their
parts. Scripts without spaces become single characters and overlapping pairs and triples.
"""

import functools
import re
import unicodedata
from itertools import chain

_MAX_LENGTH = 64  # of a term; nobody types longer words
_CACHED_WORDS, _MAX_CACHED = 50_000, 24  # words whose terms are cached, 12 MB, and the length of the longest of them
_MAX_QUERY_TERMS = 128  # the first lines of a pasted page are enough
_VOWELS = frozenset("aeiouy")

# Stop words. They are indexed, because a phrase may need them, but not searched for.
_STOP = frozenset(
    "a an the this that these those and or but nor if then else than as at by for from in into of off on onto out over"
    " to up upon with within without about above after again against before below between during under until while"
    " i me my mine myself we us our ours ourselves you your yours yourself he him his himself she her hers herself it"
    " its itself they them their theirs themselves who whom whose which what when where why how is am are was were be"
    " been being do does did doing done have has had having can could may might must shall should will would not no"
    " yes so too very just also only even still there here all any both each few more most other some such own same"
    " s t d ll m re ve don didn doesn isn aren wasn weren hasn haven hadn couldn wouldn shouldn won ain let lets im"
    " ive id youre theyre dont didnt doesnt isnt cant".split()
)
# Irregular forms: the first word of each group is the stem of the others.
_FAMILIES = (
    "go went gone/buy bought/bring brought/think thought/teach taught/catch caught/seek sought/fight fought/take took"
    " taken/make made/give gave given/get got gotten/see saw seen/eat ate eaten/write wrote written/drive drove driven"
    "/ride rode ridden/speak spoke spoken/break broke broken/choose chose chosen/wake woke woken/wear wore worn/tear"
    " tore torn/begin began begun/sing sang sung/swim swam swum/drink drank drunk/run ran/come came/become became/know"
    " knew known/grow grew grown/throw threw thrown/draw drew drawn/fly flew flown/meet met/keep kept/sleep slept/feel"
    " felt/leave left/lose lost/find found/tell told/sell sold/hold held/say said/pay paid/build built/send sent/spend"
    " spent/lend lent/win won/sit sat/stand stood/understand understood/hear heard/lead led/fall fell fallen/forget"
    " forgot forgotten/hide hid hidden/steal stole stolen/rise rose risen/shoot shot/hang hung/dig dug/stick stuck"
    "/strike struck/child children/man men/woman women/person people/foot feet/tooth teeth/mouse mice/life lives/wife"
    " wives/leaf leaves/good better best/bad worse worst"
)
_IRREGULAR = {form: forms[0] for forms in map(str.split, _FAMILIES.split("/")) for form in forms[1:]}
# Suffixes and their replacements; the first match is applied.
_ENDINGS = (
    *(("ational", "at"), ("ization", "iz"), ("isation", "is"), ("fulness", ""), ("ousness", ""), ("iveness", "")),
    *(("ically", "ic"), ("ation", "at"), ("ement", ""), ("ment", ""), ("ness", ""), ("ance", ""), ("ence", "")),
    *(("ally", ""), ("ful", ""), ("ize", "iz"), ("ise", "is"), ("ous", ""), ("ion", ""), ("ly", "")),
)
_TAILS = frozenset("s d ll m re ve t".split())  # Anna's, they'll
_HEADS = frozenset("l d j m n s t c qu".split())  # l'amour, qu'il


def terms(text: str) -> list[str]:
    """All terms of a turn, in text order."""
    return list(chain.from_iterable(map(_FORMS.__getitem__, _words(text))))


def query_terms(text: str) -> list[str]:
    """The distinct terms of a query, without stop words unless there is nothing else."""
    asked = dict.fromkeys(term for word in _words(text) for term in _forms(word, asking=True))
    return ([term for term in asked if term not in _STOP] or list(asked))[:_MAX_QUERY_TERMS]


def _words(text: str) -> list[str]:
    """The words of a text in their original case, without accents."""
    if text.isascii():
        return _ascii_word().findall(text)
    bare = _marks().sub("", unicodedata.normalize("NFKD", text))
    return _word().findall(unicodedata.normalize("NFC", bare).replace("’", "'"))


def _forms(word: str, *, asking: bool) -> tuple[str, ...]:
    """The terms of one word, or of a run of text without spaces."""
    if not word.isascii() and _unspaced().search(word):
        return tuple(form for run in _runs().findall(word) for form in _run_forms(run, asking))
    return _spelled(word)


def _spelled(word: str) -> tuple[str, ...]:
    """The stem of a plain word; an identifier as a whole and its parts."""
    low, tail = word.casefold().strip("_"), word[1:]
    if low.isalpha() and (tail == tail.lower() or tail.isupper()):
        return (_stem(low[:_MAX_LENGTH]),)
    if "'" in low and low.replace("'", "").isalpha():
        return (_stem(_without_apostrophe(low)[:_MAX_LENGTH]),)
    pieces = [_stem(piece.casefold()[:_MAX_LENGTH]) for piece in _piece().findall(word) if len(piece) > 1]
    whole = (
        [_stem(low) if low.isalpha() else low] if 0 < len(low) <= _MAX_LENGTH else []
    )  # so that getusername finds getUserName
    return tuple(dict.fromkeys([*whole, *pieces]))


class _Forms(dict[str, tuple[str, ...]]):
    """The terms of words that occurred in turns; a dict, because a call per word takes longer than the rest."""

    def __missing__(self, word: str) -> tuple[str, ...]:
        forms = _forms(word, asking=False)
        if len(word) <= _MAX_CACHED:  # so that runs of text without spaces do not fill it
            if len(self) >= _CACHED_WORDS:
                self.clear()  # the frequent words are soon back
            self[word] = forms
        return forms


_FORMS = _Forms()


def _run_forms(run: str, asking: bool) -> tuple[str, ...]:
    """Pairs and triples of a run without spaces; in turns single characters too, because a query may have only one."""
    if not _unspaced().match(run):
        return _forms(run, asking=asking)
    sizes = range(min(2, len(run)) if asking else 1, 4)
    return tuple(run[at : at + size] for size in sizes for at in range(len(run) - size + 1))


def _without_apostrophe(word: str) -> str:
    head, _, tail = word.partition("'")
    if tail in _TAILS:
        return head
    return tail.replace("'", "") if head in _HEADS and tail else word.replace("'", "")


def _stem(word: str) -> str:
    """The stem of a word: by a list, then by rules for English that hardly affect other languages."""
    if len(word) < 3 or word in _STOP or not word.isascii():
        return word
    word = _uninflected(_IRREGULAR.get(word, word))
    for ending, left in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            word = word.removesuffix(ending) + left
            break
    if len(word) > 3 and word[-1] == "e":
        word = word[:-1]
    return word[:-1] + "i" if len(word) > 2 and word[-1] == "y" and word[-2] not in _VOWELS else word


def _uninflected(word: str) -> str:
    """The word without the endings of plural, past tense and -ing."""
    if len(word) < 4:
        return word
    if word.endswith("ies"):
        word = word[:-3] + "y" if len(word) > 4 else word[:-1]
    elif word.endswith("sses"):
        word = word[:-2]
    elif word[-1] == "s" and word[-2] not in "suiy":
        word = word[:-1]
    for ending in ("ing", "ed"):
        root = word.removesuffix(ending)
        if root != word and len(root) > 1 and not word.endswith("eed") and not _VOWELS.isdisjoint(root):
            return root[:-1] if len(root) > 3 and root[-1] == root[-2] and root[-1] not in "lsz" else root
    return word


@functools.cache
def _ascii_word() -> re.Pattern[str]:
    return re.compile(r"\w+(?:['./:@\\+#-]+\w+)*", re.ASCII)


@functools.cache
def _word() -> re.Pattern[str]:
    """Letters of any script with their combining marks; emoji one by one."""
    letters = r"[\w\u0900-\u0dff\u0e00-\u0eff\u0f18-\u0fc6\u102b-\u109f\u135d-\u135f\u17b4-\u17d3]+"
    return re.compile(rf"{letters}(?:['./:@\\+#-]+{letters})*|[\u2600-\u27bf\U0001f000-\U0001faff]")


@functools.cache
def _piece() -> re.Pattern[str]:
    """Parts of an identifier: getUserName, HTTPServer, foo_bar, utf8."""
    return re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\da-zA-Z_]+")


@functools.cache
def _marks() -> re.Pattern[str]:
    """Accents, and the vowel points of Hebrew and Arabic, which are optional."""
    return re.compile("[\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670]+")


UNSPACED = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    r"\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)


@functools.cache
def _unspaced() -> re.Pattern[str]:
    """Scripts without spaces, and Korean, where endings are attached to the words."""
    return re.compile(f"[{UNSPACED}]+")


@functools.cache
def _runs() -> re.Pattern[str]:
    return re.compile(f"[{UNSPACED}]+|[^{UNSPACED}]+")
