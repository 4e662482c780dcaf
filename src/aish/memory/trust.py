"""Trust: who said a text, and whether a model claims to have saved something.

Pure functions, without a model.
"""

import re
from collections.abc import Iterable

from aish.memory.own_words import keeps_wording
from aish.values.invisible import is_visible
from aish.values.turns import EXEC_MARK, FILES_MARK, HOOK_MARK, INPUT_MARK, SKILL_MARK, TASK_MARK, Turn

# Patterns are compiled on first use, because compiling them takes longer than loading the rest of this folder.
OWN_TOOLS = ("memory_add",)  # tools of aish, with trusted answers
_DISTRUST = {"model": 1, "file": 2, "import": 3, "tool": 4}
_ASKS = (
    r"(?i)\b(?:remember|memori[sz]e|don'?t forget|do not forget|keep in mind|(?:make|take) a note|note (?:down|that)|"
    r"(?:save|store) (?:this|that|it)(?! (?:to|in|into|as|under|on)\b(?! (?:my |your )?memory))|"
    r"merk(?:e|en)? (?:dir|es)|merke?n? sie sich|vergiss nicht|notier\w*|"
    r"souviens[- ]toi|rappelle[- ]toi|retiens|n'oublie pas|recuerda|acu[ée]rdate|no olvides|apunta|lembre|lembra|"
    r"ricorda|запомни)\b|记住|記住|记下|別忘|别忘|覚えて|기억해"
)
# A request with its politeness; what is left is what the user wants remembered.
_ASKING = (
    rf"(?i)(?:\b(?:can|could|will|would) you )?(?:please )?(?:{_ASKS.removeprefix('(?i)')})(?: (?:that|this|it)\b)?"
)
_QUOTED = (
    r"""(?ms)```.*?(?:```|\Z)|`[^`\n]{0,2000}`|"[^"\n]{0,2000}"|“[^”\n]{0,2000}”|«[^»\n]{0,2000}»|"""
    r"""(?<!\w)'[^'\n]{1,2000}'(?!\w)|^>[^\n]*"""
)
# Before such a word, these make it a statement or a negation, not a request.
_NO_REQUEST = (
    r"(?i)(?:\b(?:i|we|they|he|she|who|(?<!can )(?<!could )(?<!will )(?<!would )(?<!should )you)(?: do| did| still)?|"
    r"\b(?:not|never|cannot|\w+n't|forgot to|(?:asked|told) \w+ to|who (?:will|can|does)))\s+(?:even |really |quite )?$"
)
_REQUEST = r"(?i)\b(?:can|could|will|would) you\b|\bplease\b|\bbitte\b|\bk[öo]nn\w+ (?:du|sie)\b|\bpeux-tu\b"

_HAVE = r"\bi(?:'ve| have|'ll| will|'m going to| am going to| just| also| now)\s+(?:now |just |also |successfully )*"
_REST = r"[^.\n!?;]{0,60}"
_OF_MEMORY = r"\b(?:to|in|into) (?:(?:my|your|our|long-term|persistent|permanent) ){1,2}memor(?:y|ies)\b(?!-)"
_CLAIMS = (  # count even if the user did not ask to remember anything
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


def asks_to_remember(typed: str) -> bool:
    """Does the user ask to remember something? Quoted text does not count."""
    plain = re.sub(_QUOTED, " ", typed.replace("’", "'"))
    return any(_is_request(plain, match) for match in re.finditer(_ASKS, plain))


def said_by_user(content: str, typed: str) -> bool:
    """Did the user say this in this turn, and ask to remember it? Then it needs no confirmation.

    The request must be in the first line. The other lines may be pasted, so they count only if the first line refers to
    them ("remember this:"). The wording must be the user's, see `keeps_wording`, and nothing in it hidden.
    """
    first = typed.lstrip().partition("\n")[0].rstrip()
    if not asks_to_remember(first) or not is_visible(content):
        return False
    said = typed if first.endswith(":") else first
    return keeps_wording(content, re.sub(_ASKING, " ", said.replace("’", "'")))


def claims_to_have_saved(answer: str, typed: str) -> bool:
    """Does the model claim to have saved something in memory?"""
    answer = answer.replace("’", "'")
    claims = [*re.finditer(_CLAIMS, answer)]
    if asks_to_remember(typed):
        claims += re.finditer(_CLAIMS_WHEN_ASKED, answer)
    sentences = (_sentence(answer, match) for match in claims)
    return any(not one.endswith("?") and not re.search(_NO_CLAIM, one) for one in sentences)


def is_users(origin: str) -> bool:
    """Are these the user's own words?"""
    return origin in ("", "user")


def is_trusted(origin: str) -> bool:
    """Are these the words of the user or of a model that read no foreign text? An empty origin is the user."""
    return origin in ("", "user", "model")


def least_trusted(origins: Iterable[str]) -> str:
    """Return the least trusted of these origins. A text made from all of them is trusted no more than this one."""
    return max(origins, key=lambda origin: _DISTRUST.get(origin.partition(":")[0], 0), default="model")


def lowest_trust(turns: Iterable[Turn]) -> str:
    """Return the least trusted origin of these turns, which is the origin of what a model makes from them."""
    names: dict[str, str] = {}
    source = "model"
    for turn in turns:
        names |= {call.id: call.name for call in turn.tool_calls}
        if turn.role == "tool" and names.get(turn.call_id) not in OWN_TOOLS:
            return f"tool:{names.get(turn.call_id, 'unknown')}"
        if turn.role == "user" and EXEC_MARK in turn.content:
            return "tool:exec"
        if turn.role == "user" and TASK_MARK in turn.content:  # what the model that wrote it had read is not known here
            return "tool:delegate"
        if turn.role == "user" and f"\n{HOOK_MARK}" in f"\n{turn.content}":
            return "tool:hook"
        if turn.role == "user" and f"\n{SKILL_MARK}" in f"\n{turn.content}":
            source = "file:skill"
        marks = (INPUT_MARK, FILES_MARK)
        if turn.role == "user" and any(f"\n{mark}" in f"\n{turn.content}" for mark in marks):  # also after others
            source = "file"
    return source


def _is_request(text: str, match: re.Match[str]) -> bool:
    """Is this a request? A statement is not, and neither is a question such as "do you remember …?"."""
    if re.search(_NO_REQUEST, text[max(match.start() - 40, 0) : match.start()]):
        return False
    sentence = _sentence(text, match)
    return not sentence.endswith("?") or bool(re.search(_REQUEST, sentence))


def _sentence(text: str, match: re.Match[str]) -> str:
    """Return the sentence in which a match begins, up to 300 characters before and after."""
    near = max(match.start() - 300, 0)
    start = max(text.rfind(mark, near, match.start()) for mark in ".!?;\n") + 1 or near
    return text[start : match.start()] + (re.match(_SENTENCE, text[match.start() : match.start() + 301]) or match)[0]
