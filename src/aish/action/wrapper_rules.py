"""Judge commands that run other commands: `env`, `command`, `watch`, `eval`, shells, `xargs`, `find` and the like.

Pure: words in, a judgement out. What a command runs is taken from the words as `arguments.take` sorted them.
"""

import re

from aish.action.arguments import unwrap
from aish.action.command_judge import READS, Judgement, LineJudge, worst
from aish.action.command_table import CommandRule
from aish.action.command_words import UNKNOWN, CommandWord
from aish.action.line_parts import Dialect, Simple

_EXEC_FLAGS = frozenset(("-exec", "-execdir", "-ok", "-okdir"))
_DIALECTS: dict[str, Dialect] = {"bash": "bash", "sh": "posix", "dash": "posix", "ash": "posix"}

Words = list[CommandWord]
Feed = tuple[Simple, ...]


def wrapper(judge: LineJudge, entry: CommandRule, arguments: Words, feed: Feed) -> Judgement:
    """Judge a command that runs its remaining arguments as another command."""
    taken = unwrap(entry, arguments)
    if taken.odd:
        return Judgement("unknown", f"{taken.odd} is not known to be read-only")
    if not taken.operands:
        return Judgement("unknown", f"{entry.name} has no command that can be checked")
    found = judge.values(entry, taken)
    return found if found.asks else judge.through(entry, judge.command(taken.operands, feed))


def env(judge: LineJudge, entry: CommandRule, arguments: Words, feed: Feed) -> Judgement:
    """Judge `env`, which sets variables for a command, or prints all of them."""
    taken = unwrap(entry, arguments)
    if taken.odd:
        return Judgement("unknown", f"{taken.odd} is not known to be read-only")
    rest = list(taken.operands)
    while rest and "=" in (text := rest[0].plain or ""):
        name, _, value = text.partition("=")
        found = judge.assignment(name, CommandWord(value, (value,)), exported=True)
        if found.asks:
            return found
        rest = rest[1:]
    return judge.through(entry, judge.command(rest, feed)) if rest else READS


def command(judge: LineJudge, entry: CommandRule, arguments: Words, feed: Feed) -> Judgement:
    """Judge `command`: `command -v ls` prints where a command is; `command ls` runs it."""
    if arguments and arguments[0].plain in ("-v", "-V"):
        return READS
    return wrapper(judge, entry, arguments, feed)


def joined(judge: LineJudge, entry: CommandRule, arguments: Words, feed: Feed) -> Judgement:
    """Judge `eval` and `watch`, which pass their arguments to a shell as one text."""
    taken = unwrap(entry, arguments)
    if not taken.odd and taken.flags & {"-x", "--exec"}:  # watch without a shell
        return wrapper(judge, entry, arguments, feed)
    texts = [word.plain for word in taken.operands]
    if taken.odd or not texts or None in texts:
        return Judgement("unknown", f"{taken.odd or entry.name} runs a text that is only known at run time")
    dialect: Dialect | None = None if entry.name == "eval" else "posix"
    return judge.inner(entry, " ".join(text for text in texts if text), dialect)


def shell(judge: LineJudge, entry: CommandRule, arguments: Words, feed: Feed) -> Judgement:
    """Judge `bash -c text`, `bash -n file` and the same with other shells."""
    texts = [word.plain for word in arguments]
    if texts[:1] == ["-n"] and len(texts) == 2 and not (arguments[1].loose or arguments[1].raw.startswith("-")):
        return judge.contents(entry.name, arguments[1:])  # it only checks the syntax
    if len(texts) < 2 or not re.fullmatch(r"-[eul]*c", texts[0] or "") or texts[1] is None:
        return Judgement("unknown", f"{entry.name} runs commands that cannot be checked")
    found = judge.inner(entry, texts[1], _DIALECTS.get(entry.words[0], "other"))
    if "l" in (texts[0] or "") and not found.asks:
        return Judgement("unknown", f"{entry.name} -l runs the login scripts")
    return found


def xargs(judge: LineJudge, entry: CommandRule, arguments: Words, feed: Feed) -> Judgement:
    """Judge `xargs` with an item of its input in the place where xargs would put it."""
    taken = unwrap(entry, arguments)
    if taken.odd:
        return Judgement("unknown", f"{taken.odd} is not known to be read-only")
    fed = bool(feed) and judge.lists(feed)
    item = CommandWord("(the input of xargs)", (UNKNOWN,), loose=True, unknown_file=not fed)
    marks = {text for flag, word in taken.values if flag == "-I" for text in word.texts}
    if len(marks) > 1 or ("-I" in taken.flags and not all(marks)):
        return Judgement("unknown", "it is unclear where xargs puts its input")
    for flag, word in taken.values:
        if flag in ("-P", "--max-procs") and not re.fullmatch(r"[1-9]|[1-3]\d", word.plain or ""):
            return Judgement("unknown", f"xargs {flag} {word.raw} runs too many commands at once")
    if not taken.operands:
        return READS
    words = list(taken.operands)
    words = [_filled(word, mark, item) for mark in marks for word in words] or [*words, item]
    return judge.through(entry, judge.command(words))


def find(judge: LineJudge, entry: CommandRule, arguments: Words, feed: Feed) -> Judgement:
    """Judge `find` and the commands that it runs for each match."""
    own: Words = []
    wide = any(judge.is_wide(text) for word in arguments for text in word.texts)
    item = CommandWord("(a match of find)", (f"./{UNKNOWN}",), unknown_file=wide or judge.names_secret)
    at, found = 0, []
    typed = " ".join(("find", *(word.raw for word in arguments)))
    while at < len(arguments):
        text = arguments[at].plain
        if text in _EXEC_FLAGS:
            end = _end_of_exec(arguments, at)
            if end < 0:
                return Judgement("unknown", "find runs a command that does not end in ; or +")
            run = judge.command([_filled(word, "{}", item) for word in arguments[at + 1 : end]])
            found.append(run._replace(targets=(typed,) if run.targets else ()))
            at = end + 1
        else:
            step = 2 if entry.flags and text in entry.flags.valued else 1
            own += arguments[at : at + step]
            at += step
    done = judge.permitted(entry, own)
    if done.effect == "destroy":
        done = done._replace(targets=(_before_delete(own) or typed,))
    return worst((*found, done))._replace(prefix=())


def _end_of_exec(arguments: Words, start: int) -> int:
    """Return where the command after -exec ends: at `;`, or at `+` after `{}`; -1 if it does not, or is empty."""
    for at in range(start + 2, len(arguments)):
        text = arguments[at].plain
        if text == ";" or (text == "+" and arguments[at - 1].plain == "{}"):
            return at
    return -1


def _before_delete(own: Words) -> str:
    """Return the part of `find` that decides what -delete deletes, as typed; empty if it is another action."""
    texts = [word.plain for word in own]
    return " ".join(("find", *(word.raw for word in own[: texts.index("-delete")]))) if "-delete" in texts else ""


def _filled(word: CommandWord, mark: str, item: CommandWord) -> CommandWord:
    """Return the word with the placeholder replaced by the item that `find` or `xargs` inserts."""
    if all(mark not in text for text in word.texts):
        return word
    texts = tuple(text.replace(mark, item.texts[0]) for text in word.texts)
    return item._replace(raw=word.raw, texts=texts, loose=item.loose or word.plain != mark)
