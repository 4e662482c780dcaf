"""Whose words something is, and what a model says it has done.

Pure: texts and turns in, words out. Nothing here is decided by a model.
"""

import re
import unicodedata
from collections.abc import Iterable

from aish.values.turns import EXEC_MARK, INPUT_MARK, Turn

# Patterns are compiled when they are used first: at every start that would take longer than all else in this folder.
OWN_TOOLS = ("memory_add",)  # what they answer are our own words
_DISTRUST = {"model": 1, "file": 2, "import": 3, "tool": 4}
_ASKS = (
    r"(?i)\b(?:remember|memori[sz]e|don'?t forget|do not forget|keep in mind|(?:make|take) a note|note (?:down|that)|"
    r"(?:save|store) (?:this|that|it)(?! (?:to|in|into|as|under|on)\b(?! (?:my |your )?memory))|"
    r"merk(?:e|en)? (?:dir|es)|merke?n? sie sich|vergiss nicht|notier\w*|"
    r"souviens[- ]toi|rappelle[- ]toi|retiens|n'oublie pas|recuerda|acu[ée]rdate|no olvides|apunta|lembre|lembra|"
    r"ricorda|запомни)\b|记住|記住|记下|別忘|别忘|覚えて|기억해"
)
_QUOTED = (
    r"""(?ms)```.*?(?:```|\Z)|`[^`\n]{0,2000}`|"[^"\n]{0,2000}"|“[^”\n]{0,2000}”|«[^»\n]{0,2000}»|"""
    r"""(?<!\w)'[^'\n]{1,2000}'(?!\w)|^>[^\n]*"""
)
# In front of the word, these make a statement of it, or a wish for the opposite.
_NO_WISH = (
    r"(?i)(?:\b(?:i|we|they|he|she|who|(?<!can )(?<!could )(?<!will )(?<!would )(?<!should )you)(?: do| did| still)?|"
    r"\b(?:not|never|cannot|\w+n't|forgot to|(?:asked|told) \w+ to|who (?:will|can|does)))\s+(?:even |really |quite )?$"
)
_REQUEST = r"(?i)\b(?:can|could|will|would) you\b|\bplease\b|\bbitte\b|\bk[öo]nn\w+ (?:du|sie)\b|\bpeux-tu\b"

_HAVE = r"\bi(?:'ve| have|'ll| will|'m going to| am going to| just| also| now)\s+(?:now |just |also |successfully )*"
_REST = r"[^.\n!?;]{0,60}"
_OF_MEMORY = r"\b(?:to|in|into) (?:(?:my|your|our|long-term|persistent|permanent) ){1,2}memor(?:y|ies)\b(?!-)"
_CLAIMS = (  # said by a model that was not asked to remember anything
    rf"(?i){_HAVE}(?:make sure to |be sure to |try to )?(?:remember(?:ed)?|memori[sz]ed?)\b|"
    rf"\bi(?:'ll| will) (?:keep {_REST}\bin mind|be remembering)\b|\bi (?:won't|will not) forget\b|"
    rf"\bi(?:'ve| have) (?:(?:made|taken) (?:a )?note|updated (?:my|your) memory)\b|"
    rf"{_HAVE}(?:saved?|stored?|noted?|recorded?|added?|committed|put|kept?)\b{_REST}"
    rf"(?:\bto memory\b(?!-)|{_OF_MEMORY}|\bfor (?:later|next time|(?:the |our )?future))|"
    rf"\b(?:is|been)(?: now)? (?:saved|stored|added|written|recorded) {_OF_MEMORY}|"
    rf"\bich (?:habe|werde)\b{_REST}\b(?:gemerkt|merken)\b|\bhabe ich mir\b{_REST}\bgemerkt\b|"
    rf"\bich merke (?:mir|es)\b|\bin meine[mn] (?:gedächtnis|notizen)\b{_REST}\b(?:gespeichert|notiert)\b|"
    rf"\bje (?:m'en|me) souviendrai\b|\bje vais m'en souvenir\b|\bje l'ai {_REST}\bdans ma mémoire\b|"
    rf"\b(?:lo|me) (?:recordaré|acordaré)|\bhe guardado\b{_REST}\bmi memoria\b|"
    r"\bvou (?:me )?lembrar\b|\blembrarei\b|\bricorderò\b|\bя запомн(?:ил|ю)|"
    r"我(?:会|已|已经)?记住|已(?:经)?(?:记住|记下)|保存到(?:了)?记忆|覚えました|覚えておきます|"
    r"기억하겠습니다|기억해 ?[두둘]"
)
_CLAIMS_WHEN_ASKED = (
    r"(?i)\b(?:noted|saved|stored|remembered|memori[sz]ed|recorded|my notes|memory (?:is )?updated|gespeichert|gemerkt|"
    r"notiert|noté|retiens|anotado|guardado|anotei|annotato|запомнила?)\b|^\W{0,9}done\W{0,9}$|"
    r"已保存|保存しました|저장했습니다"
)
_NO_CLAIM = (
    r"(?i)\b(?:no|not|nothing|never|cannot|if|once|unless|when you|should i|shall i|you can|nicht|nichts|pas)\b|"
    r"\w+n't\b(?! forget)"
)
_SENTENCE = r"[^.!?;\n。！？]{0,300}[.!?;\n。！？]?"
_SMALL = frozenset(
    "a an the is are was be am do does i me my mine you your we our us user user's users he she they it its this that "
    "and or of in on at to for with as by from use uses using used like likes prefer prefers preferred want wants wish "
    "has have had always usually please remember note fact pref context named called name's s ist sind der die das "
    "ein eine mein meine ich bin er sie es und le la les un une mon ma je suis est el los las mi yo soy es y".split()
)
_NOT = frozenset(
    "no not never none nor neither nothing nobody cannot without nicht nichts kein keine keinen nie niemals ohne "
    "ne pas jamais rien sans nunca jamás nada sin não nem non mai senza не нет никогда".split()
)


def asks_to_remember(typed: str) -> bool:
    """Does the user ask, in words, that something be remembered? What is quoted is not the user's wish."""
    plain = re.sub(_QUOTED, " ", typed.replace("’", "'"))
    return any(_is_wish(plain, match) for match in re.finditer(_ASKS, plain))


def said_by_user(content: str, typed: str) -> bool:
    """Did the user say this in this turn, and ask to remember it? Then it needs no second yes.

    The wish stands in the first line. What follows may be pasted, so it counts only where the first line points at it
    ("remember this:"). Every word of weight must be the user's own and in the user's order, and no "not" may be lost,
    added or moved.
    """
    first = typed.lstrip().partition("\n")[0].rstrip()
    if not asks_to_remember(first):
        return False
    said = typed if first.endswith(":") else first
    wanted, given = _words(content), _words(re.sub(_ASKS, " ", said.replace("’", "'")))
    weight, theirs = _weight(wanted), _weight(given)
    denied, denied_before = _denied(wanted), _denied(given)
    return (
        bool(weight)
        and any(map(_is_not, wanted)) == any(map(_is_not, given))
        and denied == denied_before & set(weight)
        and _in_order(weight, theirs)
    )


def claims_to_have_saved(answer: str, typed: str) -> bool:
    """Does the model say that it has put something into memory?"""
    answer = answer.replace("’", "'")
    claims = [*re.finditer(_CLAIMS, answer)]
    if asks_to_remember(typed):
        claims += re.finditer(_CLAIMS_WHEN_ASKED, answer)
    sentences = (_sentence(answer, match) for match in claims)
    return any(not one.endswith("?") and not re.search(_NO_CLAIM, one) for one in sentences)


def least_trusted(origins: Iterable[str]) -> str:
    """The one of these that is trusted least: what is made of all of them is trusted no more than it."""
    return max(origins, key=lambda origin: _DISTRUST.get(origin.partition(":")[0], 0), default="model")


def lowest_trust(turns: Iterable[Turn]) -> str:
    """Where words that a model makes of these turns may come from: the least trusted of its inputs."""
    names: dict[str, str] = {}
    source = "model"
    for turn in turns:
        names |= {call.id: call.name for call in turn.tool_calls}
        if turn.role == "tool" and names.get(turn.call_id) not in OWN_TOOLS:
            return f"tool:{names.get(turn.call_id, 'unknown')}"
        if turn.role == "user" and EXEC_MARK in turn.content:
            return "tool:exec"
        if turn.role == "user" and turn.content.startswith(INPUT_MARK):
            source = "file"
    return source


def _is_wish(text: str, match: re.Match[str]) -> bool:
    """A question whether somebody remembers is none, nor is a statement."""
    if re.search(_NO_WISH, text[max(match.start() - 40, 0) : match.start()]):
        return False
    sentence = _sentence(text, match)
    return not sentence.endswith("?") or bool(re.search(_REQUEST, sentence))


def _sentence(text: str, match: re.Match[str]) -> str:
    """The sentence that a match begins in, with its mark, as far as it is near."""
    near = max(match.start() - 300, 0)
    start = max(text.rfind(mark, near, match.start()) for mark in ".!?;\n") + 1 or near
    return text[start : match.start()] + (re.match(_SENTENCE, text[match.start() : match.start() + 301]) or match)[0]


def _words(text: str) -> list[str]:
    """The words, folded and without endings, in their order."""
    flat = unicodedata.normalize("NFKC", text).casefold().replace("’", "'")
    return re.findall(r"[^\W_]+(?:[.'/@:_-]+[^\W_]+)*", flat)


def _weight(words: list[str]) -> list[str]:
    return [_stem(word) for word in words if word not in _SMALL and not _is_not(word)]


def _denied(words: list[str]) -> set[str]:
    """The words of weight that a "not" stands before."""
    denied, waiting = set(), False
    for word in words:
        if _is_not(word):
            waiting = True
        elif waiting and word not in _SMALL:
            denied.add(_stem(word))
            waiting = False
    return denied


def _is_not(word: str) -> bool:
    return word in _NOT or word.endswith("n't")


def _stem(word: str) -> str:
    stem = word.removesuffix("'s").removesuffix("s")
    return stem if len(stem) > 2 else word


def _in_order(wanted: list[str], given: list[str]) -> bool:
    """Do the wanted words stand among the given ones in the same order?"""
    rest = iter(given)
    return all(word in rest for word in wanted)
