"""Words and how much they tell: function words tell nothing, everyday words little, names and rare words most.

Pure: text in, words out.
"""

import re
from collections.abc import Iterable
from functools import cache

from aish.memory.finding.terms import terms
from aish.values.named_tuple import NamedTuple

# Words that carry no subject: articles, pronouns, prepositions, auxiliaries, question words. A text is read in one
# language, because the function words of one language are names and nouns in another.
_FUNCTION = {
    "English": (
        "a an the this that these those and or but nor if then else than as at by for from in into of off on onto"
        " out over to up upon with within without about above after again against before below between during"
        " under until while i me my mine myself we us our ours ourselves you your yours yourself he him his she"
        " her hers it its itself they them their theirs who whom whose which what when where why how is am are was"
        " were be been being do does did doing done have has had having can could may might must shall should will"
        " would not no yes so too very just also only even still there here all any both each few more most other"
        " some such own same s t d ll m re ve don doesn didn isn aren wasn won ain let lets im ive id dont didnt"
        " doesnt isnt cant please ok okay hey hi thanks ever never yet already now today currently actually really"
        " maybe perhaps like etc per via because since though although however"
    ),
    "German": (
        "der die das den dem des ein eine einen einem einer eines kein keine keinen und oder aber wenn dann als"
        " wie so auch nur noch schon sehr mehr mal doch ja nein nicht nichts ich du er sie es wir ihr mich mir"
        " dich dir uns euch ihn ihm mein meine meinen meinem meiner unser unsere unseren unserem unserer sein"
        " seine ihre ihren ist sind war waren bin bist wird werden wurde wurden hat habe haben hatte hatten kann"
        " konnte muss musste soll sollte will wollte darf wer wen wem was wo wann warum wieso woran womit wohin"
        " woher welche welcher welches welchen bei mit nach von vom zu zum zur im in am an auf aus fur uber unter"
        " vor hinter neben um ab bis seit durch gegen ohne statt dass ob weil bitte jetzt heute gerade wieder hier"
        " dort man sich etwas alle alles diese dieser dieses"
    ),
    "French": (
        "le la les un une des du de au aux et ou mais si donc car que qui quoi quel quelle quels quelles dont ce"
        " cet cette ces ca cela je tu il elle on nous vous ils elles me te se moi toi lui leur mon ma mes ton ta"
        " tes son sa ses notre nos votre vos est es sont suis sommes etait etaient ete etre a as ai avons avez ont"
        " avait avoir y en dans par pour sur sous avec sans chez vers entre ne pas plus moins tres bien encore"
        " deja maintenant comment pourquoi quand combien c d j l m n qu s t est-ce a-t-il fait faire dois peux"
        " qu'est-ce y-a-t-il"
    ),
    "Spanish": (
        "el la los las a un uno una unos unas y o pero si que quien quienes cual cuales cuando donde como cuanto"
        " cuantos por para con sin sobre entre hasta desde de del al en es son era eran fue ser estar esta estan"
        " este estos estas ese eso esa he has ha hemos han habia hay me te se nos le les lo mi mis tu tus su sus"
        " nuestro nuestra yo ellos ellas usted no ya muy mas menos tambien todavia ahora hoy aun porque cuanta"
    ),
}
# Everyday words. They may match by chance, so one of them alone is no evidence.
_WEAK = (
    "use used get got give make made take put set go come see look find show tell say know think want need try"
    " keep work thing stuff way kind sort part place point lot bit new old good bad big small long short high low"
    " first last next right wrong left open best better same different time day week month year hour minute"
    " tonight tomorrow yesterday morning evening date number name people person someone anyone one two three four"
    " five many much often ask call talk write read add create change start stop run happen help please problem"
    " question answer idea reason explain describe list check fix update remove delete move do done about possible"
    " sure main single whole full free able mean matter remember still current actual recent seen far turn top own"
    " end world cost costs arrive arrives leave live lives eat buy bring follow meet visit seem soon likely"
    " typically usually latest stupid happy large tall second machen gemacht tun gehen kommen geben nehmen sagen"
    " wissen finden brauchen neu neue neuen alt gut schlecht gross kostet kosten klein lang erste letzte letztes"
    " letzten nachste mal zeit tag woche monat jahr uhr ding sache leute schreib schreibe zeig erklare erklar gib"
    " mach wichtig viel viele wenig lag liegt grund fruher vorher damals heisst geht faire utiliser mettre prendre"
    " donner aller voir dire savoir trouver nouveau nouvelle ancien bon grand petit coute premier derniere dernier"
    " fois temps jour semaine mois annee chose ecris montre explique ajoute prepare avant auparavant usar hacer"
    " poner tomar dar ir ver decir saber encontrar nuevo nueva viejo bueno grande pequeno primero cuesta ultimo"
    " ultima vez tiempo dia semana mes ano cosa escribe muestra explica prepara antes falta faltan otra"
)
# Characters of Chinese and Japanese that are grammar; a pair with one of them tells little.
_GRAMMAR = frozenset(
    "的了是在我你他她它们这那哪什么怎么样吗呢吧啊和与就也还要有会能可以为因被把给对从到个不没很多少谁几又再去来做用"
    "上下里时候一二三些次如何请帮最现前后想让得着过何誰今"
)
_WORD = r"[^\W_]+(?:['’./:@\\+#_-]+[^\W_]+)*"
_CJK = r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uff66-\uff9f]"
_RUN = (
    r"(?P<ideographs>[\u3400-\u4dbf\u4e00-\u9fff々]+)|(?P<katakana>[\u30a0-\u30ff\uff66-\uff9f]+)|"
    r"(?P<hiragana>[\u3040-\u309f]+)|(?P<other>[^\W_\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]+)"
)
_SENTENCE = r"(?<=[.!?;])\s+|[。！？；\n]+"
_LONGEST, _MAX_SENTENCES = 20_000, 16  # of a question: its beginning and end, because the rest is pasted material
_MAX_WORDS = 256  # of a text; the first lines of a pasted page are enough
_WEAK_WEIGHT, _NUMBER_WEIGHT, _PAIR_WEIGHT, _GRAMMAR_WEIGHT = 0.25, 0.45, 0.75, 0.15


class Word(NamedTuple):
    """A word of a text: how it is written, its index terms, and how much it tells (0 to 1)."""

    surface: str
    forms: tuple[str, ...]
    weight: float


@cache
def _function() -> tuple[frozenset[str], ...]:
    return tuple(frozenset(terms(text)) for text in _FUNCTION.values())


@cache
def _weak() -> frozenset[str]:
    return frozenset(terms(_WEAK))


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    return re.compile(_WORD), re.compile(_CJK), re.compile(_RUN)


def sentences(text: str) -> list[str]:
    """The sentences of a text. Each is judged alone, so that what follows never takes anything away."""
    parts = [part for part in re.split(_SENTENCE, text[:_LONGEST].strip()) if part.strip()]
    return parts if len(parts) <= _MAX_SENTENCES else parts[: _MAX_SENTENCES // 2] + parts[-_MAX_SENTENCES // 2 :]


def words(text: str) -> list[Word]:
    """The words of a text that tell something, each once."""
    word, unspaced, _ = _patterns()
    spoken = word.findall(text)[:_MAX_WORDS]
    plain = [surface for surface in spoken if surface.isascii() or not unspaced.search(surface)]
    forms = {surface: tuple(terms(surface)) for surface in plain}
    function = _language(forms.values())
    found: dict[str, Word] = {}
    for surface in spoken:
        if surface not in forms:
            for part in _run_words(surface, function):
                found.setdefault(part.surface, part)
            continue
        acronym = len(surface) > 1 and surface.isupper() and not text.isupper()  # MIT is not the German word
        telling = forms[surface] if acronym else tuple(form for form in forms[surface] if form not in function)
        if telling:
            found.setdefault(telling[0], Word(surface.casefold(), telling, _weight(telling)))
    return list(found.values())


def _language(forms: Iterable[tuple[str, ...]]) -> frozenset[str]:
    """The function words of the language of a text: the one that has most of them in it; English if none has."""
    found = {form for each in forms for form in each[:1]}
    return max(_function(), key=lambda function: len(function & found))


def _weight(forms: tuple[str, ...]) -> float:
    if forms[0].isdigit():
        return _NUMBER_WEIGHT
    if forms[0] in _weak() or len(forms[0]) < 2:
        return _WEAK_WEIGHT
    return 1.0


def _run_words(run: str, function: frozenset[str]) -> list[Word]:
    """The words of a run without spaces: katakana and other scripts as they are, overlapping pairs of ideographs."""
    found = []
    for match in _patterns()[2].finditer(run):
        part = match[0]
        if match.lastgroup == "ideographs":
            pairs = [part[at : at + 2] for at in range(len(part) - 1)] or [part]
            found += [Word(pair, (pair,), _pair_weight(pair)) for pair in pairs]
        elif match.lastgroup == "katakana":
            found.append(Word(part, (part,), 1.0 if len(part) > 1 else _WEAK_WEIGHT))
        elif match.lastgroup == "hiragana":
            found += [Word(part, (part,), _WEAK_WEIGHT)] if len(part) > 1 else []
        elif forms := tuple(form for form in terms(part) if form not in function):
            found.append(Word(part.casefold(), forms, _weight(forms)))
    return found


def _pair_weight(pair: str) -> float:
    if any(letter in _GRAMMAR for letter in pair):
        return _GRAMMAR_WEIGHT
    return _PAIR_WEIGHT if len(pair) > 1 else _WEAK_WEIGHT
