"""Decide whether a typed line is a shell command, a question, or unclear, so that the user must be asked.

Pure: takes the line and what the shell knows, returns a route. Runs nothing.

A leading `!` or `?` decides. Otherwise the line is split into simple commands. Each is judged by its first word and the
look of its other words: flags, paths and existing files suggest a command, the words of a sentence suggest a question.
Program names that are also English words (find, make, who) need such evidence. A command must be shell throughout.
"""

import re
from collections.abc import Sequence
from functools import partial
from typing import Literal, NamedTuple, Protocol

from aish.intake import programs, vocabulary
from aish.intake.simple_commands import MIDDLE, cut, has_compound_syntax
from aish.intake.vocabulary import Clues, clues_in, is_english, is_everyday, is_sentence_word, is_slip

HEAD = 1000  # characters to read: the line is judged again at every key press
PARTS = 25  # simple commands to judge; the user is asked about longer pastes
Kind = Literal["command", "question", "ask"]


class Route(NamedTuple):
    """Where a line goes and why; `text` is what to run or to ask."""

    kind: Kind
    reason: str
    text: str


class KnownWords(Protocol):
    """What the shell knows about a word."""

    def kind(self, word: str) -> str:
        """Return builtin, keyword, alias, function, program or path; empty for an unknown word."""

    def exists(self, path: str) -> bool:
        """Does this path exist, relative to the shell's directory?"""

    def is_target(self, program: str, word: str) -> bool:
        """Is this a target of the makefile, justfile or package in the shell's directory?"""

    def near(self, word: str) -> tuple[str, ...]:
        """Return the commands that are one typo away."""


class RouteVerdict(NamedTuple):
    """The judgement of one simple command."""

    kind: Kind
    reason: str


_command, _question, _ask = (
    partial(RouteVerdict, "command"),
    partial(RouteVerdict, "question"),
    partial(RouteVerdict, "ask"),
)


def route(line: str, words: KnownWords) -> Route:
    """Return the route of a line. The caller handles lines that start with a colon and a name."""
    text = line.strip()
    if text[:1] in ("?", "？"):
        return Route("question", "a leading ? always asks the model", text[1:].strip())
    if text[:1] == "!" and text[1:2] not in ("", " ", "!", "$", "(", "-"):
        return Route("command", "a leading ! always runs the line", text[1:].strip())
    kind, reason = _judge_text(text, words)
    return Route(kind, reason, text)


def _judge_text(text: str, words: KnownWords) -> RouteVerdict:
    """Split the head of the text into simple commands, judge each, and return the most cautious verdict."""
    if not text:
        return _command("nothing was typed")
    if text.startswith("$ "):
        return RouteVerdict("question" if "\n" in text[:HEAD] else "ask", "it was pasted with a shell prompt")
    if re.match(r"#\s*(include|define|ifdef|pragma)\b|<[A-Za-z!/][^<>\n]*>", text):
        return _question("it looks like source code")
    head = text[:HEAD]
    pieces = cut(head)
    if pieces.fault:
        return _question(pieces.fault)
    if not pieces.commands:
        return _command("it is a comment")
    last, starts = len(pieces.commands) - 1, frozenset(command[0] for command in pieces.commands[1:])
    verdicts = [
        _judge(command, Scene(words, starts, place == 0, pieces.joined, pieces.asks and place == last))
        for place, command in enumerate(pieces.commands[:PARTS])
    ]
    if talk := next((verdict for verdict in verdicts if verdict.kind == "question"), None):
        return talk
    if len(pieces.commands) > PARTS or (len(text) > HEAD and "\n" in head):
        return _ask("it is too long to be sure")
    return next((verdict for verdict in verdicts if verdict.kind == "ask"), verdicts[0])


class Scene(NamedTuple):
    """The context of one simple command."""

    words: KnownWords
    starts: frozenset[str]  # the first words of the commands after the first
    leads: bool  # this is the first command of the text
    joined: bool  # with operators, redirections or assignments
    asks: bool  # this is the last command, and the text ends in a question mark

    def known(self, word: str) -> str:
        return self.words.kind(word) or ("program" if word in programs.WELL_KNOWN else "")

    def clues(self, words: Sequence[str]) -> Clues:
        return clues_in(words, self.words.exists)


def _judge(command: Sequence[str], scene: Scene) -> RouteVerdict:
    """Judge one simple command of a text."""
    first, rest = command[0], command[1:]
    if re.match(r"[A-Za-z_]\w*(\[[^]]*\])?\+?=", first):
        return _judge(rest, scene._replace(joined=True)) if rest else _command("it sets a variable")
    if first in ("{", "}", "!") or (first in MIDDLE and not scene.leads):
        return _judge(rest, scene._replace(joined=True)) if rest else _command("it is shell syntax")
    grammatical = has_compound_syntax(first, rest, scene.starts)
    if grammatical is not None:
        return _command(f"{first} is a shell keyword") if grammatical else _question(f"{first} is not a keyword here")
    clues = scene.clues(rest)
    known = scene.known(first)
    if clues.prose and not known:
        return _question("it reads like a sentence")
    if verdict := _by_shape(first, clues, scene.words):
        return verdict
    if not known:
        return _judge_unknown(first, rest, clues, scene)
    if first in programs.PREFIXES and rest:
        return _judge_prefixed(first, rest, clues, scene)
    return _judge_known(first.rsplit("/", 1)[-1], rest, clues, scene)


def _by_shape(first: str, clues: Clues, words: KnownWords) -> RouteVerdict | None:
    """Judge a first word that is not a plain name: a path, variable, substitution or start of an error message."""
    if first in ("!!", "!$"):
        return _command("it repeats the previous command")
    if re.fullmatch(r"\d*[<>&|-]+\d*", first) and not first.startswith("-"):
        return _command("it starts with a redirection")
    if (len(first) > 1 and first[-1] in ":,;?!") or first.startswith(("//", "/*")):
        return _question("it starts like a sentence or an error message")
    if first.startswith("((") or first.endswith("()"):
        return _command("it is shell syntax")
    if re.match(r"\"?\$[A-Za-z_{(?!@*#]|`.+`$", first):
        return _command("it starts with a variable or a substitution")
    if (
        re.match(r"(\.{1,2}|~\w*)?/.|\.\.$|~$|(bin|scripts?|tools|build|target|node_modules)/", first)
        and not clues.prose
    ):
        if first.count("/") == 1 and first[0] == "/" and not words.exists(first):
            return _question(f"{first} does not exist")
        return _command(f"{first} is a path")
    return None


def _judge_prefixed(first: str, rest: Sequence[str], clues: Clues, scene: Scene) -> RouteVerdict:
    """Judge the command after a prefix such as `sudo` or `time`."""
    tail = rest
    while tail and re.match(r"-|\w+=|\d+$", tail[0]):
        tail = tail[1:]
    if not tail or (len(tail) < len(rest) and not clues.prose):
        return _command(f"{first} is followed by options")
    if len(tail) == 1 and is_english(first) and is_english(tail[0]) and not scene.known(tail[0]):
        return _ask(f"{first} is a program, but {tail[0]} is not")
    return _judge(tail, scene)


def _judge_known(name: str, rest: Sequence[str], clues: Clues, scene: Scene) -> RouteVerdict:
    """Judge a command whose first word can be run."""
    ordinary = name in programs.NOUNS or not is_everyday(name)
    if not rest:
        return _judge_bare(name, ordinary=ordinary or scene.joined)
    if name == "aish" and rest[0] in programs.SUBCOMMANDS[name]:  # plain words may follow our own verbs
        return _command(f"{rest[0]} is a subcommand of {name}")
    doubted = (
        rest[0] in ("vs", "without") or (scene.asks and rest[0] in ("is", "does", "or")) or rest[-1] in ("how", "why")
    )
    if name in programs.SPEAKERS and not (doubted and clues.total > 1):
        return _command(f"{name} takes any text")
    if scene.asks and not _is_pattern(name, rest, clues):
        return _question("it ends in a question mark")
    if _fits(name, rest, clues, scene):
        return _command(f"{name} accepts these arguments")
    if not ordinary and clues.total == 1 and clues.sentence and rest[0].isascii() and name not in vocabulary.STARTERS:
        return _ask(f"{name} is also an English word")
    if _is_talk(name, rest, scene):
        return _question(f"{name} is followed by a sentence")
    if scene.words.kind(name) in ("alias", "function") and (ordinary or clues.total == 1):
        return _command(f"{name} is your alias or function")
    if not ordinary:
        return _judge_english(name, rest, clues, joined=scene.joined)
    if name in programs.SUBCOMMANDS and not rest[0].startswith("-"):
        return _judge_subcommand(name, rest, scene.clues(rest[1:]))
    return _judge_ordinary(name, rest, clues, scene)


def _judge_bare(name: str, *, ordinary: bool) -> RouteVerdict:
    if name in programs.BARE or ordinary:
        return _command(f"{name} is a command")
    if name in vocabulary.STARTERS and name not in ("help", "wait", "true", "false"):
        return _question(f"{name} alone reads like a reply")
    return _ask(f"{name} is also an English word")


def _is_pattern(name: str, rest: Sequence[str], clues: Clues) -> bool:
    """Does the final question mark belong to a file name pattern or a variable, as in `ls log.?`"""
    stem = rest[-1].rstrip("?")
    if not stem or stem.startswith("-") or clues.sentence:
        return False
    one = clues.total - clues.flags == 1 and name in programs.OF_FILES
    return one or not stem.replace("-", "").isalpha()


def _fits(name: str, rest: Sequence[str], clues: Clues, scene: Scene) -> bool:
    """Are these valid operands for this program? Only knows programs with strict operands."""
    line = " ".join(rest)
    plain = [word for word in rest if not word.startswith(("-", "+")) and "=" not in word]
    if name in programs.BUILDERS:
        return all(scene.words.is_target(name, word) or word in programs.USUAL_TARGETS for word in plain)
    if name in programs.FORMS:
        return bool(re.search(programs.FORMS[name], line)) and (name == "who" or not clues.sentence)
    if name == "help":
        return scene.words.kind(line) in ("builtin", "keyword")
    if name in programs.OF_PROGRAMS and plain:
        vague = is_sentence_word(plain[0]) or plain[0] in vocabulary.WEAK
        others = plain[1:] if name != "watch" and not clues.hard else []
        return not vague and all(scene.known(word) for word in (plain[0], *others))
    return name in programs.OF_NUMBERS and clues.numbers + clues.flags == clues.total


def _is_talk(name: str, rest: Sequence[str], scene: Scene) -> bool:
    """Is the text after the program and its subcommand a remark about it?"""
    operands = rest[1:] if rest[0] in programs.SUBCOMMANDS.get(name, ()) else rest
    clues = scene.clues(operands)
    linked = len(operands) > 1 and len(operands[1]) > 1 and operands[0] in vocabulary.LINKS and not clues.hard
    trouble = len(rest) > 1 and not clues.flags and vocabulary.is_trouble(rest[-1])
    return clues.prose or linked or trouble or not vocabulary.CONTRASTS.isdisjoint(rest)


def _judge_ordinary(name: str, rest: Sequence[str], clues: Clues, scene: Scene) -> RouteVerdict:
    """Judge a program whose name rarely starts a request: a command, unless its operands are only words."""
    command = _command(f"{name} is a command")
    bundled = name in ("tar", "ar") and re.fullmatch(r"[cxtrudvzjfJpk]{2,}", rest[0])
    if clues.flags or bundled or name in ("mkdir", "rmdir", "useradd", "adduser"):
        return command
    if clues.shell:
        talk = clues.wordy > 2 * clues.shell and not clues.numbers
        return _ask(f"{name} is followed mostly by English words") if talk else command
    if not "".join(rest).isascii():
        one = clues.total == 1 and name in programs.OF_FILES
        return _ask(f"{rest[0]} does not exist") if one else _question(f"{name} is followed by words")
    if clues.total == 1:
        return _judge_one(name, rest[0], clues)
    if name in programs.OF_PATHS and clues.total == 2 and rest[0] not in vocabulary.AMOUNTS:
        return command
    if clues.wordy * 2 < clues.total or clues.total - clues.numbers < 2:
        return command
    if clues.total == 2 and name in ("grep", "egrep", "rg", "ag"):
        return _ask(f"the file {rest[1]} does not exist")
    remote = name == "ssh" and scene.known(rest[1]) and not is_everyday(rest[1])
    return command if remote else _question(f"only words follow {name}")


def _judge_one(name: str, word: str, clues: Clues) -> RouteVerdict:
    """Judge a program with one plain word."""
    if not clues.wordy or word[0].isupper():
        return _command(f"{name} is a command")
    if word in vocabulary.ABOUT:
        return _question(f"it asks about {name}")
    if is_everyday(name) or name in programs.WITHOUT_WORDS or name in programs.CHANGING:
        return _ask(f"{name} is a command, but {word} may be a topic")
    return _command(f"{name} is a command")


def _judge_subcommand(name: str, rest: Sequence[str], clues: Clues) -> RouteVerdict:
    """Judge a program that needs a subcommand: another word is a typo if close to one, and prose if it is English."""
    known = programs.SUBCOMMANDS[name]
    sub, tail = rest[0], rest[1:]
    if sub in known:
        if name == "git":
            lists = sub in programs.GIT_GROUPS or "origin" in tail or "upstream" in tail
        else:
            lists = sub in programs.LISTING or any(word in known or word in programs.RESOURCES for word in tail)
        vague = len(tail) > 1 and (tail[0] in vocabulary.AMOUNTS or (clues.wordy == len(tail) and not lists))
        talk = not clues.hard and (vague or not "".join(tail).isascii())
        return _question(f"only words follow {name} {sub}") if talk else _command(f"{sub} is a subcommand of {name}")
    none = f"{sub} is not a subcommand of {name}"
    if clues.flags or sub[0] in "./~$@{" or (not is_english(sub) and any(is_slip(sub, each) for each in known)):
        return _command(f"{name} is a command")
    if is_english(sub) or not re.match(r"[a-z]", sub):
        talk = bool(tail) or not sub.isascii() or sub in vocabulary.WEAK or sub in vocabulary.ABOUT
        return _question(none) if talk else _ask(none)
    talk = (len(tail) > 1 or len(sub) > 3) and clues.wordy > 0 and not clues.hard
    return _question(none) if talk else _command(f"{name} is a command")


def _judge_english(name: str, rest: Sequence[str], clues: Clues, *, joined: bool) -> RouteVerdict:
    """Judge a program whose name is an English word: it is a command only with evidence."""
    command = _command(f"{name} is used like a command")
    talk = _question(f"{name} is an English word, followed by words")
    either = _ask(f"{name} is also an English word")
    starter = name in vocabulary.STARTERS
    if not clues.hard and (not "".join(rest).isascii() or (starter and clues.wordy and clues.total > 1)):
        return talk
    if name in ("let", "return", "yes") and not joined:
        return talk
    if clues.flags or (clues.shell and not clues.wordy):
        return command
    if clues.shell:
        return either if vocabulary.is_shell(rest[0]) or clues.shell >= clues.wordy else talk
    if name in programs.OF_NAMES and not clues.wordy and not clues.numbers:
        return command
    if joined and clues.total < 3 and not clues.sentence:
        return command
    if clues.total == 1:
        return talk if (starter and clues.sentence) or name in ("install", "join", "link") else either
    return talk if clues.wordy else either


def _judge_unknown(first: str, rest: Sequence[str], clues: Clues, scene: Scene) -> RouteVerdict:
    """Judge an unknown first word: a typo, a program that is not installed, or prose."""
    talk = _question(f"{first[:40]} is not a command")
    if len(first) > 40 or not re.match(r"[A-Za-z_][^']*$", first) or clues.marks:
        return talk
    if not first.islower() and scene.known(low := first.lower()):
        sure = clues.flags or (rest and rest[0] in programs.SUBCOMMANDS.get(low, ()))
        return _command(f"{first} means {low}") if sure and _judge([low, *rest], scene).kind == "command" else talk
    if is_english(first) or is_sentence_word(first):
        return talk
    if _lacks_space(first, scene.words):
        return _command(f"{first} is missing a space")
    for candidate in _candidates(first, scene.words)[:3]:
        if programs.is_meant(candidate, first, rest, clues) and _judge([candidate, *rest], scene).kind == "command":
            return _command(f"{first} looks like a typo of {candidate}")
    flagged = bool(rest) and re.match(r"--?\w", rest[0]) and not clues.sentence
    if flagged or (rest and clues.hard == clues.total and first.islower()):
        return _command(f"{first} is used like a command")
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
