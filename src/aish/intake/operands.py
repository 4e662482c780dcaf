"""Decide by its operands whether a line that starts with the name of a command is one, or talks about it.

Pure: takes words and what the shell knows, returns a verdict.
"""

import re
from collections.abc import Sequence
from functools import partial
from typing import Literal, Protocol

from aish.intake import programs, vocabulary
from aish.intake.vocabulary import Clues, clues_in, is_english, is_everyday, is_sentence_word, is_slip
from aish.values.named_tuple import NamedTuple

Kind = Literal["command", "question", "ask"]


class KnownWords(Protocol):
    """What the shell knows about a word."""

    def kind(self, word: str) -> str:
        """Return builtin, keyword, alias, function, program or path; empty for an unknown word."""

    def exists(self, path: str) -> bool:
        """Does this path exist, relative to the shell's directory?"""

    def is_target(self, program: str, word: str) -> bool:
        """Is this a target of the makefile, justfile or package in the shell's directory?"""

    def has_run(self, word: str) -> bool:
        """Has the user run a command with this first word before?"""

    def near(self, word: str) -> tuple[str, ...]:
        """Return the commands that are one typo away."""


class RouteVerdict(NamedTuple):
    """The judgement of one simple command."""

    kind: Kind
    reason: str


a_command, a_question, in_doubt = (
    partial(RouteVerdict, "command"),
    partial(RouteVerdict, "question"),
    partial(RouteVerdict, "ask"),
)


class Scene(NamedTuple):
    """The context of one simple command."""

    words: KnownWords
    starts: frozenset[str]  # the first words of the commands after the first
    leads: bool  # this is the first command of the text
    joined: bool  # with operators, redirections or assignments
    asks: bool  # this is the last command, and the text ends in a question mark

    def known(self, word: str) -> str:
        return self.words.kind(word) or ("program" if word in programs.WELL_KNOWN or self.has_run(word) else "")

    def has_run(self, word: str) -> bool:
        """Is this a command that the user has run, perhaps on another machine? English words need other evidence."""
        return not is_english(word) and self.words.has_run(word)

    def runs(self, word: str) -> bool:
        """Is this a command that no English sentence would have here?"""
        return bool(self.known(word)) and not is_everyday(word)

    def clues(self, words: Sequence[str]) -> Clues:
        return clues_in(words, self.words.exists)


def judge_known(first: str, rest: Sequence[str], clues: Clues, scene: Scene) -> RouteVerdict:
    """Judge a command whose first word can be run."""
    name = first.rsplit("/", 1)[-1]
    ordinary = name in programs.NOUNS or name not in programs.STANDARD_WORDS or not is_everyday(name)
    if not rest:
        return _judge_bare(name, ordinary=ordinary or scene.joined)
    if name == "aish":  # its verbs take any words, and what is no verb is a question, which it asks
        return a_command("aish runs itself")
    doubted = (
        rest[0] in ("vs", "without") or (scene.asks and rest[0] in ("is", "does", "or")) or rest[-1] in ("how", "why")
    )
    if name in programs.SPEAKERS and not (doubted and clues.total > 1):
        return a_command(f"{name} takes any text")
    if name == "cd" and len(rest) == 1 and not scene.asks:
        return a_command("cd takes one directory")
    if scene.asks and not _is_pattern(name, rest, clues):
        return a_question("it ends in a question mark")
    if (scene.words.kind(first) or scene.has_run(first)) and programs.is_chosen(name):
        return _judge_chosen(name, rest, clues)
    if _fits(name, rest, clues, scene):
        return a_command(f"{name} accepts these arguments")
    if not ordinary and clues.total == 1 and clues.sentence and rest[0].isascii() and name not in vocabulary.STARTERS:
        return in_doubt(f"{name} is also an English word")
    if _is_talk(name, rest, scene):
        return a_question(f"{name} is followed by a sentence")
    if scene.words.kind(name) in ("alias", "function") and (ordinary or clues.total == 1):
        return a_command(f"{name} is your alias or function")
    if not ordinary:
        return _judge_english(name, rest, clues, joined=scene.joined)
    if name in programs.SUBCOMMANDS and not rest[0].startswith("-"):
        return _judge_subcommand(name, rest, scene.clues(rest[1:]))
    return _judge_ordinary(name, rest, clues, scene)


def _judge_chosen(name: str, rest: Sequence[str], clues: Clues) -> RouteVerdict:
    """Judge a program that the user installed: its operands may be any words, except those of a question."""
    last = rest[-1].lower()
    contrasts = not vocabulary.CONTRASTS.isdisjoint(rest)
    if clues.total == 1:
        asks = last in ("how", "why", "what", "when", "where", "who", "please")
        return (
            in_doubt(f"{name} is a command, but {last} may be a question")
            if asks
            else a_command(f"{name} is a command")
        )
    if rest[0] == "add" and name not in programs.SUBCOMMANDS:  # any text may follow, as in `task add`
        return a_command(f"{name} is a command")
    if contrasts or (clues.prose and (clues.asking or clues.sentence > 1 or clues.marks)):
        return a_question(f"{name} is followed by a sentence")
    known = rest[0] in programs.SUBCOMMANDS.get(name, ())
    if vocabulary.is_sentence(rest, clues, needs_article=known):
        return a_question(f"{name} is followed by a sentence")
    if not clues.hard and not known and last in vocabulary.REMARKS:
        return in_doubt(f"{name} is a command, but it may be a question about it")
    return a_command(f"{name} is a command")


def _judge_bare(name: str, *, ordinary: bool) -> RouteVerdict:
    if name in programs.BARE or ordinary:
        return a_command(f"{name} is a command")
    if name in vocabulary.STARTERS and name not in ("help", "time"):
        return a_question(f"{name} alone reads like a reply")
    return in_doubt(f"{name} is also an English word")


def _is_pattern(name: str, rest: Sequence[str], clues: Clues) -> bool:
    """Does the final question mark belong to a file name pattern or a variable, as in `ls log.?`"""
    stem = rest[-1].rstrip("?")
    if stem == "-":  # the flag -?
        return True
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
    if len(rest) == 2 and (name in programs.OF_FILES or name in programs.OF_PATHS):
        others = [word for word in rest if word not in ("in", "out")]  # which are also names of files
        if len(others) == 1 and others[0].isalpha() and not is_english(others[0]):
            return True
    return name in programs.OF_NUMBERS and clues.numbers + clues.flags == clues.total


def _is_talk(name: str, rest: Sequence[str], scene: Scene) -> bool:
    """Is the text after the program and its subcommand a remark about it?"""
    operands = rest[1:] if rest[0] in programs.SUBCOMMANDS.get(name, ()) else rest
    clues = scene.clues(operands)
    linked = len(operands) > 1 and len(operands[1]) > 1 and operands[0] in vocabulary.LINKS and not clues.hard
    trouble = len(rest) > 1 and not clues.hard and rest[-1] != "help" and vocabulary.is_trouble(rest[-1])
    return clues.prose or linked or trouble or not vocabulary.CONTRASTS.isdisjoint(rest)


def _judge_ordinary(name: str, rest: Sequence[str], clues: Clues, scene: Scene) -> RouteVerdict:
    """Judge a program whose name rarely starts a request: a command, unless its operands are only words."""
    command = a_command(f"{name} is a command")
    bundled = name in ("tar", "ar") and re.fullmatch(r"[cxtrudvzjfJpk]{2,}", rest[0])
    if clues.flags or bundled or name in ("mkdir", "rmdir", "useradd", "adduser"):
        return command
    if name in programs.ONLY_NUMBERS and clues.wordy and clues.total > 1 and not clues.shell:
        return a_question(f"{name} takes numbers, not words")
    if clues.shell:
        talk = clues.wordy > 2 * clues.shell and not clues.numbers
        return in_doubt(f"{name} is followed mostly by English words") if talk else command
    if not "".join(rest).isascii():
        one = clues.total == 1 and name in programs.OF_FILES
        return in_doubt(f"{rest[0]} does not exist") if one else a_question(f"{name} is followed by words")
    if clues.total == 1:
        return _judge_one(name, rest[0], clues)
    if name in programs.OF_PATHS and clues.total == 2 and rest[0] not in vocabulary.AMOUNTS:
        return command
    if clues.wordy * 2 < clues.total or clues.total - clues.numbers < 2:
        return command
    if clues.total == 2 and name in ("grep", "egrep", "rg", "ag"):
        return command if not scene.leads else in_doubt(f"the file {rest[1]} does not exist")
    remote = name == "ssh" and scene.known(rest[1]) and not is_everyday(rest[1])
    return command if remote else a_question(f"only words follow {name}")


def _judge_one(name: str, word: str, clues: Clues) -> RouteVerdict:
    """Judge a program with one plain word."""
    if not clues.wordy or word[0].isupper():
        return a_command(f"{name} is a command")
    if word in vocabulary.ABOUT:
        return a_question(f"it asks about {name}")
    if name in programs.OF_PAGES:
        return a_command(f"{name} looks up {word}")
    if name in programs.OF_FILES and name != "file":  # the shell says so if there is no such file
        return a_command(f"{name} is a command")
    if is_everyday(name) or name in programs.WITHOUT_WORDS or name in programs.CHANGING:
        return in_doubt(f"{name} is a command, but {word} may be a topic")
    return a_command(f"{name} is a command")


def _judge_subcommand(name: str, rest: Sequence[str], clues: Clues) -> RouteVerdict:
    """Judge a program that needs a subcommand: another word is a typo if close to one, and prose if it is English."""
    known = programs.SUBCOMMANDS[name]
    sub, tail = rest[0], rest[1:]
    if sub in known:
        if name == "git":
            lists = sub in programs.GIT_GROUPS or "origin" in tail or "upstream" in tail
        else:
            lists = sub in programs.LISTING or any(word in known or word in programs.RESOURCES for word in tail)
        listed = clues.wordy == len(tail) and not lists
        vague = len(tail) > 1 and (tail[0] in vocabulary.AMOUNTS or listed)
        sentence = vocabulary.is_sentence(rest, clues, needs_article=True)
        talk = not clues.hard and (vague or sentence or not "".join(tail).isascii())
        return a_question(f"only words follow {name} {sub}") if talk else a_command(f"{sub} is a subcommand of {name}")
    none = f"{sub} is not a subcommand of {name}"
    if (
        (clues.hard and not clues.prose)
        or not re.fullmatch(r"[A-Za-z]\w*", sub)
        or (not is_english(sub) and any(is_slip(sub, each) for each in known))
    ):
        return a_command(f"{name} is a command")
    if is_english(sub) or not re.match(r"[a-z]", sub):
        talk = bool(tail) or not sub.isascii() or sub in vocabulary.WEAK or sub in vocabulary.ABOUT
        return a_question(none) if talk else a_command(f"{name} is a command")  # which names its subcommands
    talk = clues.prose or clues.asking > 0 or vocabulary.is_sentence(rest, clues)
    return a_question(none) if talk else a_command(f"{name} is a command")  # perhaps a plugin


def _judge_english(name: str, rest: Sequence[str], clues: Clues, *, joined: bool) -> RouteVerdict:
    """Judge a program whose name is an English word: it is a command only with evidence."""
    command = a_command(f"{name} is used like a command")
    talk = a_question(f"{name} is an English word, followed by words")
    either = in_doubt(f"{name} is also an English word")
    starter = name in vocabulary.STARTERS
    if not clues.hard and (not "".join(rest).isascii() or (starter and clues.wordy and clues.total > 1)):
        return talk
    if name == "touch" and not clues.sentence and not vocabulary.is_sentence(rest, clues):
        return command
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
    if clues.total == 1 and not clues.wordy:
        return command
    if clues.total == 1:
        return talk if (starter and clues.sentence) or name in ("install", "join", "link") else either
    return talk if clues.wordy else either
