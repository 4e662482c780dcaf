"""Sort the arguments of a command into flags, their values and operands, by its table entry.

Pure: words in, words out.
"""

import re
from collections.abc import Collection, Sequence

from aish.action.command_table import CommandRule, Flags
from aish.action.command_words import UNKNOWN, CommandWord
from aish.values.named_tuple import NamedTuple
from aish.values.text import one_line

PATTERN_FLAGS = frozenset("-e --regexp --expression -f --file".split())  # with one of them the first operand is a file
_ANY = Flags(every=True)
_NO: frozenset[str] = frozenset()


class Taken(NamedTuple):
    """Sorted arguments; `odd` names a flag that is not permitted."""

    flags: frozenset[str]
    values: tuple[tuple[str, CommandWord], ...]
    operands: tuple[CommandWord, ...]
    odd: str = ""


def take(entry: CommandRule, arguments: Sequence[CommandWord], *, stop: bool = False) -> Taken:
    """Sort the arguments. With `stop`, flags end at the first operand, as in commands that run other commands."""
    permitted = entry.flags or _ANY
    flags: set[str] = set()
    values: list[tuple[str, CommandWord]] = []
    operands: list[CommandWord] = []
    valued_flag, over = "", False
    if entry.bundled and arguments and (first := arguments[0].plain) and first[0] != "-":  # tar tf
        arguments = _old_letters(permitted, first, arguments)
    for place, word in enumerate(arguments):
        for text in word.texts:
            if valued_flag:
                values.append((valued_flag, word))
                if not permitted.every and (word.loose or _is_odd_value(entry, permitted, text)):
                    return Taken(frozenset(flags), tuple(values), tuple(operands), f"{entry.name} {word.raw}")
                valued_flag = ""
            elif over or text in ("-", ""):
                operands.append(word)
            elif text == "--":
                over = True
            elif word.loose and (not permitted.every or (word.unknown_file and _can_harm(entry))):
                why = f"{entry.name} {word.raw} (which could become an option)"
                return Taken(frozenset(flags), tuple(values), tuple(operands), why)
            elif text[0] not in "-+" or (text[0] == "+" and text not in permitted.bare) or word.loose:
                if stop:
                    return Taken(frozenset(flags), tuple(values), tuple(arguments[place:]))
                operands.append(word)
                over = entry.ordered
            else:
                found, valued_flag = _flag(entry, permitted, text, word, values)
                if not found:
                    return Taken(frozenset(flags), tuple(values), tuple(operands), f"{entry.name} {one_line(text, 40)}")
                flags |= found
    return Taken(frozenset(flags), tuple(values), tuple(operands))


def _old_letters(permitted: Flags, first: str, arguments: Sequence[CommandWord]) -> list[CommandWord]:
    """Rewrite `tfC a.tar dir` as `-t -f a.tar -C dir`: the values follow in the order of the letters."""
    rest = list(arguments[1:])
    words: list[CommandWord] = []
    for letter in first:
        words.append(CommandWord(f"-{letter}", (f"-{letter}",)))
        if f"-{letter}" in permitted.valued and rest:
            words.append(rest.pop(0))
    return words + rest


def _can_harm(entry: CommandRule) -> bool:
    """Does an option of this command do more than read, although the table permits all others?"""
    return bool(entry.destroy or entry.runs or entry.writes or entry.reads or entry.hosts)


def _is_odd_value(entry: CommandRule, permitted: Flags, text: str) -> bool:
    """Would this value be a forbidden flag if the table were wrong and the flag before it took no value?"""
    if not re.match(r"--?[A-Za-z]", text) or " " in text or text in permitted.valued or text in permitted.bare:
        return False
    return not _flag(entry, permitted, text, CommandWord(text, (text,)), [])[0]


def _flag(
    entry: CommandRule, permitted: Flags, text: str, word: CommandWord, values: list[tuple[str, CommandWord]]
) -> tuple[set[str], str]:
    """Return the flags in one text and the flag that takes the next word; no flags if one is not permitted."""
    name, has_value, value = text.partition("=")
    if text in permitted.bare:
        return {name, text}, ""
    if text.startswith("--") or entry.single:
        if name in permitted.valued and UNKNOWN not in name:
            if has_value:
                values.append((name, _value(word, text, value)))
            return {name, text}, "" if has_value else name
        if not permitted.every:
            return set(), ""
        if meant := sorted(flag for flag in permitted.valued if is_short_for(entry, name, (flag,))):
            return (
                (set(), "") if len(meant) > 1 else _flag(entry, permitted, meant[0] + text[len(name) :], word, values)
            )
        return {name, text}, ""
    if re.fullmatch(r"-\d+", text) and ("-#" in permitted.bare or permitted.every):
        return {"-#"}, ""
    found: set[str] = set()
    for at in range(1, len(text)):
        letter, rest = f"-{text[at]}", text[at + 1 :]
        if letter in permitted.valued and (letter not in permitted.bare or rest.isdigit()):
            if rest:
                values.append((letter, _value(word, text, rest)))
            return found | {letter}, "" if rest else letter
        if letter not in permitted.bare and not permitted.every:
            return set(), ""
        found.add(letter)
    return found, ""


def _value(word: CommandWord, text: str, value: str) -> CommandWord:
    """Return the part of the word that is the value."""
    before = text[: len(text) - len(value)]
    return word._replace(raw=word.raw.removeprefix(before), texts=(value,))


def knows(entry: CommandRule, flags: Collection[str]) -> bool:
    """Are all long flags in the table as written? An abbreviated one could mean another flag."""
    known = entry.flags or _ANY
    return all(flag.partition("=")[0] in known.bare | known.valued for flag in flags if flag.startswith("--"))


def is_short_for(entry: CommandRule, flag: str, others: Collection[str]) -> bool:
    """Is this flag one of the others, or the beginning of a long one that the table does not know as written?"""
    if flag in others:
        return True
    if len(flag) < 3 or not flag.startswith("--") or not entry.flags or flag in entry.flags.bare | entry.flags.valued:
        return False
    return any(other.startswith(flag) for other in others)


def unwrap(entry: CommandRule, arguments: Sequence[CommandWord]) -> Taken:
    """Sort the words before a wrapped command; its own words are the operands."""
    taken = take(entry, arguments, stop=True)
    skip = entry.wraps or 0
    if any(word.plain is None for word in taken.operands[:skip]):
        return taken._replace(odd=f"{entry.name} {taken.operands[0].raw}")
    return taken._replace(operands=taken.operands[skip:])


def files_of(entry: CommandRule, arguments: Sequence[CommandWord]) -> tuple[str, ...]:
    """Return the files that a command which is not read-only would affect, as typed; none if its operands are none."""
    known = entry.flags or Flags()
    known = known._replace(every=True, valued=known.valued | entry.writes)
    taken = take(entry._replace(flags=known, destroy=_NO, runs=_NO, reads=_NO, writes=_NO), arguments)
    written = tuple(word.raw for flag, word in taken.values if flag in entry.writes)
    match entry.operands:
        case "names" | "files":
            return written + tuple(word.raw for word in taken.operands)
        case "text files":
            return written + tuple(word.raw for word in taken.operands[not PATTERN_FLAGS & taken.flags :])
    return written


def is_flag(mark: str, text: str) -> bool:
    """Is this word the flag, alone, with a value, or in a bundle of letters?"""
    if text == mark or (mark.startswith("--") and text.startswith(f"{mark}=")) or (mark == "+" and text[:1] == "+"):
        return True
    if mark == ":":
        return text.startswith(":")
    return len(mark) == 2 and mark[0] == "-" and bool(re.fullmatch(rf"-[A-Za-z]*{re.escape(mark[1])}.*", text))
