"""Which skills a question calls for: by the files that it names, and by the words of `when_to_use`.

Pure: texts in, reasons out. A skill that is brought for nothing costs room and distracts the model, so this is strict:
a file must match a pattern, or nearly all telling words of one part of `when_to_use` must be in the question.
"""

import re
from collections.abc import Callable, Collection, Iterable, Sequence

from aish.memory.finding.terms import query_terms
from aish.values.patterns import pattern
from aish.values.skills import Skill

MOST_FILES = 20
_LONGEST_PATH, _LONGEST_PATTERN = 300, 200
_MOST_QUESTION = 4_000  # characters; what follows is a paste
_MOST_ALTERNATIVES = 30
_FILE = pattern(r"""[^\s"'`<>|,;()\[\]{}]{1,300}""")
_PARTS = pattern(r"[,;.:!?\n]\s+|\s[-–—]\s|\b(?:or|oder|ou|o|или)\b")
# Words of instructions to a model, and of all work: they say nothing about the occasion.
_COMMON = frozenset(
    query_terms(
        "user users use using used skill skills task tasks asks asking ask request requests requested want wants wanted"
        " need needs needed when whenever whether mention mentions mentioned working work works involve involves"
        " related relating handle handling something anything thing things new create creating make making write"
        " writing add adding change changing help helping please get getting set setting do doing question questions"
        " file files project code trigger triggers triggered example examples way good best any all nutzer benutzer"
        " der die das den dem des ein eine einen einem einer und mit von zu zum zur im am an auf für ist sind er sie es"
        " le la les un une des du de et pour avec dans est el los las una unos con para por del en y es al"
        " fragt möchte wenn will soll neue neu quand utilisateur demande veut cuando usuario pide quiere nuevo nueva"
    )
)


def reason_for(skill: Skill, question: str, files: Collection[str]) -> str:
    """Return why a skill belongs to a question, in a few words; "" if it does not.

    `files` are the files that the question names, relative to the project.
    """
    for name in files:
        if any(matches(pattern, name) for pattern in skill.paths):
            return f"the question names {name}"
    asked = set(query_terms(question[:_MOST_QUESTION]))
    for part in _PARTS.split(skill.when_to_use):
        # Another word is added, because a text of stop words alone would be returned whole.
        telling = [term for term in query_terms(f"{part} skill") if term not in _COMMON]
        there = [term for term in telling if term in asked]
        if len(telling) < 2 and len(part.split()) < 3:
            continue  # a single word, as in a list of subjects, says too little
        if telling and (len(there) == len(telling) or (len(there) >= 3 and 3 * len(there) >= 2 * len(telling))):
            return f"when_to_use: {' '.join(part.split())}"
    return ""


def named_files(question: str) -> list[str]:
    """Return the words of a question that may be names of files, without addresses of the web."""
    words = (word.removeprefix("./").strip("*").rstrip(".:!?") for word in _FILE.findall(question[:_MOST_QUESTION]))
    found = (word for word in words if "://" not in word and re.search(r"\w[./]\w|/\w", word))
    return list(dict.fromkeys(found))[:MOST_FILES]


def matches(pattern: str, path: str) -> bool:
    """Does a pattern match a path? `*` and `?` stay within one part, `**` spans parts, `{a,b}` are alternatives.

    A pattern without a slash is for the last part alone. Time is limited for every pattern.
    """
    if len(pattern) > _LONGEST_PATTERN or len(path) > _LONGEST_PATH:
        return False
    parts = path.strip("/").split("/")
    for one in _alternatives(pattern):
        wanted = one.removeprefix("./").strip("/").split("/")
        if _match_all(wanted, parts if len(wanted) > 1 else parts[-1:], _match_part, "**"):
            return True
    return False


def _match_part(pattern: str, text: str) -> bool:
    return _match_all(pattern, text, lambda wanted, letter: wanted in ("?", letter), "*")


def _match_all(pattern: Sequence[str], items: Sequence[str], fits: Callable[[str, str], bool], star: str) -> bool:
    """Match items one by one; `star` stands for any number of them. Only the last star is tried again."""
    at = place = 0
    last, resume = -1, 0
    while place < len(items):
        if at < len(pattern) and pattern[at] == star:
            last, resume = at, place
            at += 1
        elif at < len(pattern) and fits(pattern[at], items[place]):
            at, place = at + 1, place + 1
        elif last >= 0:
            resume += 1
            at, place = last + 1, resume
        else:
            return False
    return all(one == star for one in pattern[at:])


def _alternatives(pattern: str) -> Iterable[str]:
    """Expand `{a,b}`, up to a limit."""
    waiting, found = [pattern], list[str]()
    while waiting and len(waiting) + len(found) < _MOST_ALTERNATIVES:
        one = waiting.pop()
        if group := re.search(r"\{([^{}]*)\}", one):
            waiting += [one[: group.start()] + each + one[group.end() :] for each in group[1].split(",")]
        else:
            found.append(one)
    return found
