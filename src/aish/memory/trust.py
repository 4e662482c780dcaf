"""Whose words something is, and what a model says it has done.

Pure: texts and turns in, words out. Nothing here is decided by a model.
"""

import re
import unicodedata
from collections.abc import Iterable

from aish.values.turns import EXEC_MARK, INPUT_MARK, Turn

# Patterns are compiled when they are used first: at every start that would take longer than all else in this folder.
OWN_TOOLS = ("memory_add",)  # what they answer are our own words
_ASKS = (
    r"(?i)\b(?:remember|memori[sz]e|don'?t forget|do not forget|keep in mind|(?:make|take) a note|note (?:down|that)|"
    r"save (?:this|that|it)|store (?:this|that|it)|merk(?:e|en)? (?:dir|es)|merke?n? sie sich|vergiss nicht|notier\w*|"
    r"souviens[- ]toi|rappelle[- ]toi|retiens|n'oublie pas|recuerda|acu[ée]rdate|no olvides|apunta|lembre|lembra|"
    r"ricorda|запомни)\b|记住|記住|记下|別忘|别忘|覚えて|기억해"
)
_CLAIMS = (
    r"(?i)\b(?:i(?:'ve| have|'ll| will|'m| am)?|(?:it|this|that)(?:'s| is| has been))\s+"
    r"(?:now |just |also |successfully |been |going to )*"
    r"(?:remember(?:ed)?|memori[sz]ed?|saved?|stored?|noted?|recorded?|added?|committed|written|kept|keep|put)"
    r"[^.\n!?]{0,80}|"
    r"\b(?:ich (?:habe|werde|merke)|je (?:m'en souviendrai|l'ai|retiens|vais)|lo (?:recordaré|he guardado|recordar)|"
    r"(?:he|lo) guardado|vou lembrar|ricorderò|я запомн)\w*[^.\n!?]{0,80}|"
    r"(?P<han>已(?:经)?(?:记住|保存|记下)|我(?:会)?记住|覚えました|覚えておきます|기억하겠습니다|저장했습니다)"
)
_SHORT_CLAIM = (
    r"(?i)^\W*(?:ok(?:ay)?|sure|got it|alright|certainly|of course|done)?\W*(?:i(?:'ve| have|'ll| will)?\s+)?"
    r"(?:noted|saved|stored|remember(?:ed)?|memori[sz]ed|recorded|gespeichert|gemerkt|notiert|noté|anotado|guardado)\b"
)
_MEMORY = (
    r"(?i)\bmemor(?:y|ies)\b|remember|memori|\b(?:for|next|in) (?:later|next time|(?:the )?future)|\bmy notes?\b|"
    r"\b(?:gedächtnis|gemerkt|merken|gespeichert|mémoire|souviendrai|retiens|memoria|recordar\w*|lembrar|ricorder\w*|запомн\w*)"
)
_SMALL = frozenset(
    "a an the is are was be am do does i me my mine you your we our us user user's users he she they it its this that "
    "and or of in on at to for with as by from use uses using used like likes prefer prefers preferred want wants wish "
    "has have had always usually please remember note fact pref context named called name's s ist sind der die das "
    "ein eine mein meine ich bin er sie es und le la les un une mon ma je suis est el los las mi yo soy es y".split()
)
_NOT = frozenset(
    "no not never none without don't doesn't isn't aren't won't can't nicht kein keine nie ne pas jamais nunca".split()
)


def asks_to_remember(typed: str) -> bool:
    """Does the user ask, in words, that something be remembered?"""
    return bool(re.search(_ASKS, typed))


def said_by_user(content: str, typed: str) -> bool:
    """Did the user say this in this turn, and ask to remember it? Then it needs no second yes.

    Every word of weight must be the user's own, and no "not" may be lost or added.
    """
    if not asks_to_remember(typed):
        return False
    wanted, given = _words(content), _words(typed)
    weight = wanted - _SMALL
    negated = bool(wanted & _NOT) == bool(given & _NOT)
    return bool(weight) and negated and all(_among(word, given) for word in weight - _NOT)


def claims_to_have_saved(answer: str, typed: str) -> bool:
    """Does the model say that it has put something into memory?"""
    if asks_to_remember(typed) and re.search(_SHORT_CLAIM, answer):
        return True
    return any(match["han"] or re.search(_MEMORY, match[0]) for match in re.finditer(_CLAIMS, answer))


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


def _words(text: str) -> frozenset[str]:
    flat = unicodedata.normalize("NFKC", text).casefold().replace("’", "'")
    return frozenset(re.findall(r"[^\W_]+(?:[.'/@:_-]+[^\W_]+)*", flat))


def _among(word: str, given: frozenset[str]) -> bool:
    """Is the word there, but for an ending?"""
    if word in given:
        return True
    stem = word.removesuffix("'s").removesuffix("s")
    return len(stem) > 3 and any(one.removesuffix("'s").removesuffix("s") == stem for one in given)
