"""Decide whether a typed line is a shell command, a question, or unclear, so that the user must be asked.

Pure: takes the line and what the shell knows, returns a route. Runs nothing.

A leading `!` or `?` decides. Otherwise the line is split into simple commands. Each is judged by its first word and the
look of its other words: flags, paths and existing files suggest a command, the words of a sentence suggest a question.
Program names that are also English words (find, make, who) need such evidence. A command must be shell throughout.
"""

import re
from collections.abc import Sequence

from aish.intake import programs
from aish.intake.history_expansion import is_expansion
from aish.intake.operands import Kind, KnownWords, RouteVerdict, Scene, a_command, a_question, in_doubt, judge_known
from aish.intake.simple_commands import MIDDLE, cut, has_compound_syntax
from aish.intake.vocabulary import Clues, is_english, is_everyday, is_sentence_word, is_slip
from aish.values.named_tuple import NamedTuple

HEAD = 1000  # characters to read: the line is judged again at every key press
PARTS = 25  # simple commands to judge; the user is asked about longer pastes


class Route(NamedTuple):
    """Where a line goes and why; `text` is what to run or to ask."""

    kind: Kind
    reason: str
    text: str


def route(line: str, words: KnownWords) -> Route:
    """Return the route of a line. The caller handles lines that start with a colon and a name."""
    text = line.strip()
    if text[:1] in ("?", "？"):
        return Route("question", "a leading ? always asks the model", text[1:].strip())
    if text[:1] == "!" and text[1:2] not in ("", " ", "(") and not is_expansion(text):
        return Route("command", "a leading ! always runs the line", text[1:].strip())
    kind, reason = _judge_text(text, words)
    return Route(kind, reason, text)


def _judge_text(text: str, words: KnownWords) -> RouteVerdict:
    """Split the head of the text into simple commands, judge each, and return the most cautious verdict."""
    if not text:
        return a_command("nothing was typed")
    if text.startswith("$ "):
        return RouteVerdict("question" if "\n" in text[:HEAD] else "ask", "it was pasted with a shell prompt")
    if re.match(r"#\s*(include|define|ifdef|pragma)\b|<[A-Za-z!/][^<>\n]*>", text):
        return a_question("it looks like source code")
    head = text[:HEAD]
    pieces = cut(head)
    if pieces.fault:
        return a_question(pieces.fault)
    if not pieces.commands:
        return a_command("it is a comment")
    last, starts = len(pieces.commands) - 1, frozenset(command[0] for command in pieces.commands[1:])
    verdicts = [
        _judge(command, Scene(words, starts, place == 0, pieces.joined, pieces.asks and place == last))
        for place, command in enumerate(pieces.commands[:PARTS])
    ]
    if talk := next((verdict for verdict in verdicts if verdict.kind == "question"), None):
        return talk
    if len(pieces.commands) > PARTS or (len(text) > HEAD and "\n" in head):
        return in_doubt("it is too long to be sure")
    return next((verdict for verdict in verdicts if verdict.kind == "ask"), verdicts[0])


def _judge(command: Sequence[str], scene: Scene) -> RouteVerdict:
    """Judge one simple command of a text."""
    first, rest = command[0], command[1:]
    if re.match(r"[A-Za-z_]\w*(\[[^]]*\])?\+?=", first):
        return _judge(rest, scene._replace(joined=True, leads=False)) if rest else a_command("it sets a variable")
    if first in ("{", "}", "!") or (first in MIDDLE and not scene.leads):
        return _judge(rest, scene._replace(joined=True)) if rest else a_command("it is shell syntax")
    grammatical = has_compound_syntax(first, rest, scene.starts, scene.runs)
    if grammatical is not None:
        return a_command(f"{first} is a shell keyword") if grammatical else a_question(f"{first} is not a keyword here")
    clues = scene.clues(rest)
    spoken = _without_quotes(first) if first[:1] in "\\'\"" else ""
    if spoken and (scene.known(spoken) or "/" in spoken) and not clues.prose:
        return a_command(f"{first} is a command in quotes")
    known = scene.known(first)
    if not known and not scene.leads and not clues.prose and not clues.asking and not is_english(first):
        return a_command(f"{first} comes after a command")
    if clues.prose and not known:
        return a_question("it reads like a sentence")
    if verdict := _by_shape(first, clues, scene.words):
        return verdict
    if not known:
        return _judge_unknown(first, rest, clues, scene)
    if first in programs.PREFIXES and rest:
        return _judge_prefixed(first, rest, clues, scene)
    return judge_known(first, rest, clues, scene)


def _without_quotes(word: str) -> str:
    """Return the name that a first word such as `\\ls` or `'ls'` stands for; empty for a quoted sentence."""
    if word[0] == "\\":
        return word[1:]
    inner = word[1:-1] if word[-1] == word[0] and len(word) > 2 else ""
    return inner if inner.isprintable() and (" " not in inner or inner.startswith(("/", "./", "../", "~/"))) else ""


def _by_shape(first: str, clues: Clues, words: KnownWords) -> RouteVerdict | None:
    """Judge a first word that is not a plain name: a path, variable, substitution or start of an error message."""
    if is_expansion(first):
        return a_command("it repeats an earlier command")
    if re.fullmatch(r"\d*[<>&|-]+\d*", first) and not first.startswith("-"):
        return a_command("it starts with a redirection")
    if (len(first) > 1 and first[-1] in ":,;?!") or first.startswith(("//", "/*")):
        return a_question("it starts like a sentence or an error message")
    if first.startswith("((") or first.endswith("()"):
        return a_command("it is shell syntax")
    if re.match(r"\"?\$[A-Za-z_{(?!@*#]|`.+`$", first):
        return a_command("it starts with a variable or a substitution")
    if (
        re.match(r"(\.{1,2}|~\w*)?/.|\.\.$|~$|(bin|scripts?|tools|build|target)/|[\w.+-]+/.*[/._\d-]", first)
        and not clues.prose
    ):
        if first.count("/") == 1 and first[0] == "/" and not words.exists(first):
            return a_question(f"{first} does not exist")
        return a_command(f"{first} is a path")
    return None


def _judge_prefixed(first: str, rest: Sequence[str], clues: Clues, scene: Scene) -> RouteVerdict:
    """Judge the command after a prefix such as `sudo` or `time`."""
    tail = rest
    while tail and re.match(r"-|\w+=|\d+$", tail[0]):
        tail = tail[1:]
    if not tail or (len(tail) < len(rest) and not clues.prose):
        return a_command(f"{first} is followed by options")
    if first in ("sudo", "doas") and (tail[0] in programs.NOUNS or not is_everyday(tail[0])):
        operands = scene.clues(tail[1:])
        talk = operands.prose or operands.asking or (is_sentence_word(tail[0]) and not scene.known(tail[0]))
        return a_question(f"{first} is followed by a sentence") if talk else a_command(f"{first} runs what follows")
    if len(tail) == 1 and is_english(first) and is_english(tail[0]) and not scene.known(tail[0]):
        return in_doubt(f"{first} is a program, but {tail[0]} is not")
    return _judge(tail, scene)


def _judge_unknown(first: str, rest: Sequence[str], clues: Clues, scene: Scene) -> RouteVerdict:
    """Judge an unknown first word: a typo, a program that is not installed, or prose."""
    talk = a_question(f"{first[:40]} is not a command")
    if len(first) > 40 or not re.match(r"[A-Za-z_][^']*$", first) or clues.marks:
        return talk
    if not first.islower() and scene.known(low := first.lower()):
        sure = clues.flags or (rest and rest[0] in programs.SUBCOMMANDS.get(low, ()))
        return a_command(f"{first} means {low}") if sure and _judge([low, *rest], scene).kind == "command" else talk
    if is_english(first) or is_sentence_word(first):
        return talk
    if _lacks_space(first, scene.words):
        return a_command(f"{first} is missing a space")
    for candidate in _candidates(first, scene.words)[:3]:
        if programs.is_meant(candidate, first, rest, clues) and _judge([candidate, *rest], scene).kind == "command":
            return a_command(f"{first} looks like a typo of {candidate}")
    flagged = bool(rest) and re.match(r"--?\w", rest[0]) and not clues.sentence
    if flagged or (rest and clues.hard == clues.total and first.islower()):
        return a_command(f"{first} is used like a command")
    return talk


def _lacks_space(word: str, words: KnownWords) -> bool:
    """Is this a command and its first argument without a space: `cd..`, `ls-la`, `cd/tmp`, `gitstatus`?"""
    if glued := re.match(r"([a-z]{2,})(?:\.\.|-[a-zA-Z]{1,3}$)|(cd|ls|cat|vim?|nano)[/~]", word):
        return bool(words.kind(glued[1] or glued[2]))
    return any(word[place:] in programs.SUBCOMMANDS.get(word[:place], ()) for place in range(3, len(word) - 2))


def _candidates(word: str, words: KnownWords) -> list[str]:
    """Return likely corrections: installed commands, and well-known ones that are not installed."""
    initials = set(word[:2])
    others = (each for each in programs.WELL_KNOWN if each[0] in initials and is_slip(word, each))
    return [*dict.fromkeys([*sorted(others), *words.near(word)])]
