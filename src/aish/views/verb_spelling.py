"""What a mistyped verb was meant to be: `aish serach` is no question.

Pure: words in, a sentence or nothing out.
"""

from collections.abc import Collection, Sequence

# What people type who know other tools, and what does the same here.
_KNOWN_ELSEWHERE = {
    "version": "aish --version",
    "sessions": "aish recent, or :sessions in the shell",
    "session": "aish recent, or :sessions in the shell",
    "conversations": "aish recent, or :sessions in the shell",
    "list": "aish recent, or :sessions in the shell",
    "resume": "aish --resume ID",
    "continue": "aish --continue",
    "history": "aish recent, or :history in the shell",
    "find": "aish search WORDS",
    "grep": "aish search WORDS",
    "remember": "aish memory add TEXT",
    "forget": "aish memory forget ID",
    "settings": "aish config",
    "set": "aish config set KEY VALUE",
    "costs": "aish cost",
    "usage": "aish cost",
    "check": "aish doctor",
    "status": "aish doctor",
    "init": "aish config init",
    "login": "aish config",
    "shell": "aish, without a word after it",
    "start": "aish, without a word after it",
}
_SHORT, _LONG = 5, 6  # letters; a shorter word is near to many others, a long one may have two mistakes


def meant_verb(words: Sequence[str], verbs: Collection[str]) -> str:
    """Return what to say to words that look like a mistyped verb, or nothing if they are a question.

    A word alone may be known from other tools, or be near to a verb. With other words after it, letters must be
    swapped, missing or too many, and it must not be another form of the verb: `models are wrong` is a sentence, and so
    is `crash of the parser`, although it is near to `trash`.
    """
    first = words[0].lower() if words else ""
    if not first.isalpha() or not first.isascii():
        return ""
    if len(words) == 1:
        if first in verbs or first in _KNOWN_ELSEWHERE:
            return _sentence(words, f"aish {first}" if first in verbs else _KNOWN_ELSEWHERE[first])
        most = 2 if len(first) >= _LONG else 1
        like = [verb for verb in verbs if abs(len(verb) - len(first)) <= most]
        near = {verb: mistakes for verb in like if (mistakes := distance(first, verb)) <= most}
        near = {verb: far for verb, far in near.items() if far == min(near.values())}
    else:
        near = {verb: 1 for verb in verbs if not _same_stem(first, verb) and distance(first, verb) == 1}
    plain = len(words) > 1 or len(first) < _SHORT
    meant = [verb for verb in near if not (plain and len(verb) == len(first) and sorted(verb) != sorted(first))]
    meant = [verb for verb in meant if len(words) == 1 or len(verb) >= _SHORT]
    return _sentence(words, " or ".join(f"aish {verb}" for verb in meant)) if meant else ""


def _sentence(words: Sequence[str], meant: str) -> str:
    from shlex import quote  # seldom needed, and before every question asked on the command line

    asked = quote(" ".join(words))
    return f"there is no verb {words[0]}; did you mean {meant}? To ask it as a question: aish -p {asked}"


def _same_stem(one: str, other: str) -> bool:
    """Is one word the other with an ending, as in `goals` and `goal`?"""
    short, long = sorted((one, other), key=len)
    return long.startswith(short) or long[: len(short) - 1] == short[:-1]


def distance(one: str, other: str) -> int:
    """Return the number of letters to change, add, leave out or swap with their neighbour."""
    rows = [list(range(len(other) + 1))]
    for i, letter in enumerate(one, start=1):
        row = [i]
        for j, wanted in enumerate(other, start=1):
            cost = min(rows[-1][j] + 1, row[-1] + 1, rows[-1][j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == wanted:
                cost = min(cost, rows[-2][j - 2] + 1)
            row.append(cost)
        rows.append(row)
    return rows[-1][-1]
