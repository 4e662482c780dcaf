"""Own words: whether a model's wording still says what the user said.

Pure: text in, verdict out. A sentence changes its meaning by a word that is left out ("only after my review") as easily
as by one that is added. So the words that limit a statement must all be there, and the other words in one piece.
"""

import re
import unicodedata
from collections.abc import Iterator

from aish.values.patterns import pattern

_MOST = 20_000  # characters; a longer text is a paste, not a sentence of the user
_SENTENCE = r"(?<=[.!?;。！？；])\s+|\s*\n\s*|(?<=[。！？；])"
_TOKEN = r"[^\W_]+(?:[.'/@:_-]+[^\W_]+)*|[,:;]|[+<>=%$€£&|~^#\\]+|(?<!\w)--?(?=\w)|[.!?。！？；，、：]+"
_SELF, _OTHER, _CUT = "§1", "§2", ","
# Articles, forms of "to be", possessives of the user, and politeness: nothing depends on them.
_FREE = frozenset(
    "a an the is are am be do does it its this that these those there please kindly my mine our ours user's "
    "users' also "
    "fact pref context note der das den dem des ein eine einen einem einer ist sind bin bist mein meine meinen "
    "meinem "
    "meiner unser unsere dass daß bitte es le la les un une est suis sont mon mes notre que el los las una son "
    "soy mi mis "
    "os um uma é são sou meu minha il gli è sono mio mia che это мой моя моё мои что пожалуйста".split()
)
_FIRST = frozenset(
    "i me we us user ich wir mich mir uns je j nous moi yo nosotros eu nós io noi я мы мне нас "
    "nutzer benutzer utilisateur usuario usuário utente пользователь".split()
)
_SECOND = frozenset("you assistant aish du sie dich dir tu vous toi te tú usted você voi ты вы тебя вас".split())
_SPELLED = {
    **{
        word.replace("'", ""): word for word in "don't doesn't didn't can't won't isn't aren't wasn't shouldn't".split()
    },
    "cannot": "can not",
    "can't": "can not",
    "won't": "will not",
    "shan't": "shall not",
    "has": "have",
    "i'm": "i",
    "it's": "it",
    "that's": "that",
    "there's": "there",
    "let's": "let",
}
_TAILS = {"n't": " not", "'ve": " have", "'ll": " will", "'d": " would", "'re": ""}
_HEADS = pattern(r"^(l|d|j|m|n|s|t|c|qu|jusqu|lorsqu)'(?=\w)")
# Words that limit a statement: negations, conditions, order, exceptions, doubt. In any sentence they matter.
_LIMITS = frozenset(
    # English
    "not never no none nor neither nothing nobody without only solely merely except excepted excluding unless "
    "until till "
    "before after first if when whenever once provided assuming instead rather otherwise longer maybe perhaps "
    "possibly "
    "may might rarely seldom hardly barely least "
    # German
    "nicht nichts kein keine keinen keinem keiner nie niemals niemand ohne nur lediglich ausschließlich außer "
    "ausser falls "
    "wenn sofern sobald solange bis bevor ehe nachdem nach vor erst zuerst zunächst statt anstatt stattdessen "
    "vielleicht "
    "höchstens mindestens selten weder "
    # French
    "ne n pas jamais rien aucun aucune ni sans seulement uniquement sauf excepté hormis jusque jusqu jusqu'à "
    "avant après si "
    "quand lorsque lorsqu dès d'abord moins lieu plutôt peut-être rarement "
    # Spanish, Portuguese, Italian
    "nunca jamás nada nadie ninguno ninguna ningún sin solo sólo solamente únicamente excepto salvo hasta "
    "antes después "
    "cuando mientras primero menos quizá quizás vez não nem sem só somente apenas exceto até depois se quando "
    "enquanto "
    "primeiro talvez non mai senza soltanto tranne eccetto fino prima dopo mentre finché forse né "
    # Russian
    "не нет никогда ни без только лишь кроме до после если когда пока сначала вместо возможно".split()
)
# These matter too when the wording is to count as the user's own, word by word.
_MODAL = frozenset(
    "can could should shall will would must ought then just but however although though yet always usually sometimes "
    "often mostly during while even probably kann können könnte muss müssen soll sollte darf dürfen wird würde immer "
    "meistens manchmal aber jedoch während dann peut doit toujours mais alors parfois puede debe siempre pero aunque "
    "pode deve sempre può можно нужно должен всегда но потом".split()
)
_UNSPACED = (  # the same in scripts without spaces, where they are parts of a run of letters
    r"不再|不|没有|没|沒|别|別|勿|无|無|未|除非|除了|以外|只有|只|仅|僅|如果|若|直到|之前|以前|之后|之後|以后|以後|先|后|後|才"
    r"|可能|也许|也許|必须|必須"
    r"|ない|ません|ぬ|だけ|のみ|しか|まで|前に|後に|てから|もし|なら|たら|ずに"
    r"|않|안 |못|만 |없이|전에|후에|까지|만약|면 "
)
_SCOPE = frozenset(  # a phrase that starts with one of these narrows the statement beside it
    "for in on at with by from to into of as under within per via against für in im auf bei mit von zu zum zur "
    "aus als unter "
    "gegen pour en dans sur avec par de du des à au aux chez para con por del al em no na com da do per nel "
    "con di для в на "
    "с по от к из при".split()
)
_AND = frozenset("and und et y e и".split())
_LEADING = frozenset([_SELF, "to", "zu", "de", "à"])  # "remember to …" becomes "the user …"
_ASIDE = (
    r"(?i)^\W*(?:how|what|why|where|which|who|wie|was|warum|wo|welche\w*|wer"
    r"|comment|pourquoi|où|quel\w*|cómo|qué|dónde|как|что|где)\b"
)


def sentences(text: str) -> list[str]:
    """Split a text at the ends of sentences and lines."""
    return [part for part in re.split(_SENTENCE, text) if part.strip()]


def limits(text: str) -> list[str]:
    """Return the words that limit what the text says, in order."""
    return [word for token in _tokens(text) for word in _limiting(token, strict=False)]


def keeps_wording(content: str, said: str) -> bool:
    """Is the content what was said, in these words?

    Articles, "please", "my" and "the user's", and the ending -s may differ. Every limiting word must be there, in
    order, and no other. The rest must be one piece of what was said, from one comma, "and" or sentence end to another.
    What is left out must not start like "for the demo", which narrows the statement beside it.
    """
    if len(content) > _MOST or len(said) > _MOST:
        return False
    wanted = [token for token in _tokens(content) if token != _CUT]
    given, cuts = list[str](), {0}
    for sentence in sentences(said):
        if sentence.rstrip().endswith("?") and re.match(_ASIDE, sentence):
            continue  # a question beside the request limits nothing
        for token in _tokens(sentence):
            if token == _CUT:
                cuts.add(len(given))
            else:
                given.append(token)
                if token in _AND:
                    cuts |= {len(given) - 1, len(given)}
        cuts.add(len(given))
    while wanted and wanted[0] in _LEADING:
        wanted = wanted[1:]
    if not wanted or all(token in _LIMITS for token in wanted) or _all_limits(wanted) != _all_limits(given):
        return False
    return any(_fits(place, place + len(wanted), given, cuts) for place in _found(wanted, given))


def _tokens(text: str) -> Iterator[str]:
    """Yield the normalised words and symbols that carry meaning; a comma stands for any punctuation between them."""
    flat = unicodedata.normalize("NFKC", text).casefold().replace("’", "'")
    before = ""
    for found in re.findall(_TOKEN, flat):
        if found[0] in ".!?。！？；，、：,:;":
            yield _CUT
            before = _CUT
            continue
        for word in _spelled(found).split():
            token = _SELF if word in _FIRST else _OTHER if word in _SECOND else _stem(word)
            if word not in _FREE and not (token == "to" and before == "not"):  # "not to restart"
                yield token
                before = token


def _spelled(word: str) -> str:
    """Return a word without its contractions: don't → do not, n'utilise → ne utilise."""
    word = _SPELLED.get(word, word)
    word = _SPELLED.get(word, word)
    for tail, full in _TAILS.items():
        if word.endswith(tail) and len(word) > len(tail):
            return word.removesuffix(tail) + full
    head = _HEADS.match(word)
    if not head or word in _LIMITS or head[1] == "s":
        return word
    rest = word[head.end() :]
    return rest if head[1] == "l" else f"{head[1]} {rest}"


def _stem(word: str) -> str:
    if word in _LIMITS or word in _MODAL:
        return word
    stem = word.removesuffix("'s")
    if stem.endswith(("ches", "shes", "sses", "xes", "zes")):
        return stem[:-2]
    if stem.endswith("ies") and len(stem) > 4:
        return f"{stem[:-3]}y"
    stem = stem.removesuffix("s")
    return stem if len(stem) > 2 else word


def _limiting(token: str, *, strict: bool) -> list[str]:
    if token in _LIMITS or (strict and token in _MODAL):
        return [token]
    return [] if token.isascii() else [part.strip() for part in re.findall(_UNSPACED, f"{token} ")]


def _all_limits(tokens: list[str]) -> list[str]:
    return [word for token in tokens for word in _limiting(token, strict=True)]


def _found(wanted: list[str], given: list[str]) -> Iterator[int]:
    """Yield the places where the wanted words stand in one piece."""
    places, size = dict[int, int](), 1
    for place, token in enumerate(given):
        places[size] = place
        size += len(token) + 1
    needle, hay = f" {' '.join(wanted)} ", f" {' '.join(given)} "
    at = hay.find(needle)
    while at >= 0:
        yield places[at + 1]
        at = hay.find(needle, at + 1)


def _fits(start: int, end: int, given: list[str], cuts: set[int]) -> bool:
    """May everything outside of this piece be left out?"""
    while start not in cuts and start > 0 and given[start - 1] in _LEADING:
        start -= 1
    if start not in cuts or end not in cuts:
        return False
    outside = (place for place in cuts if place < len(given) and not start <= place < end)
    return not any(given[place] in _SCOPE for place in outside)
