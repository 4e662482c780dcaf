"""Judge commands whose arguments are programs: sed, awk, database clients and Python.

Pure: words in, a judgement out.
"""

import re
from collections.abc import Callable, Collection

from aish.action.arguments import take
from aish.action.awk_programs import awk_only_prints
from aish.action.command_judge import READS, Judgement, LineJudge
from aish.action.command_table import CommandRule
from aish.action.command_words import CommandWord
from aish.action.inline_scripts import python_only_prints, sed_only_prints
from aish.action.line_parts import Simple
from aish.action.sql_queries import lists_tables, sql_only_reads
from aish.values.patterns import pattern
from aish.values.text import one_line

_QUERY_FLAGS = frozenset("-c -e --command --execute".split())
_NO_NEW_FILE = pattern(r":memory:|file:[^?]+\?mode=ro|/dev/null")

Words = list[CommandWord]
Feed = tuple[Simple, ...]


def sed(judge: LineJudge, entry: CommandRule, arguments: Words, feed: Feed) -> Judgement:
    return _scripted(judge, entry, arguments, ("-e", "--expression"), sed_only_prints)


def awk(judge: LineJudge, entry: CommandRule, arguments: Words, feed: Feed) -> Judgement:
    return _scripted(judge, entry, arguments, (), awk_only_prints)


def _scripted(
    judge: LineJudge, entry: CommandRule, arguments: Words, options: Collection[str], harmless: Callable[[str], bool]
) -> Judgement:
    """Judge a command whose first operand, or the value of one of these options, is a script."""
    taken = take(entry, arguments)
    if taken.odd:
        return judge.asked(entry._replace(effect="unknown"), arguments, taken.odd)
    if (found := judge.values(entry, taken)).asks:
        return found
    scripts, files = [word for flag, word in taken.values if flag in options], list(taken.operands)
    if not scripts:
        scripts, files = files[:1], files[1:]
    for script in scripts or [CommandWord("", ())]:
        if script.plain is None or not harmless(script.plain):
            return Judgement("unknown", f"{entry.name} runs a script that is not known to only print: {script.raw}")
    return judge.contents(entry.name, files)


def sql(judge: LineJudge, entry: CommandRule, arguments: Words, feed: Feed) -> Judgement:
    """Judge a database client by its queries: values of options, or for sqlite3 the operands after the first."""
    taken = take(entry, arguments)
    queries = [word for flag, word in taken.values if flag in _QUERY_FLAGS]
    if entry.words[0] == "sqlite3":
        queries = list(taken.operands[1:])
    for query in queries:
        text = query.plain
        if text and entry.words[0] in ("mysql", "mariadb"):
            text = re.sub(r"\\G\s*$", "", text)  # prints the result in rows
        if text is None or not (sql_only_reads(text) or lists_tables(text)):
            loss = re.search(r"\b(drop|delete|truncate|update|alter)\b", query.raw, re.IGNORECASE)
            what = f"{entry.name} runs {one_line(query.raw, 60)}, which is not known to be read-only"
            return Judgement("destroy" if loss else "unknown", what)
    if taken.odd or not (queries or taken.flags & {"-l", "--list"}):
        return Judgement("unknown", f"{taken.odd or entry.name} is not known to be read-only")
    if (found := judge.values(entry, taken)).asks:
        return found
    if entry.words[0] == "sqlite3":
        return _database_file(judge, entry, taken.operands[0], readonly="-readonly" in taken.flags, queries=queries)
    words = (*taken.operands, *(word for flag, word in taken.values if flag in ("-d", "--dbname", "--database", "-D")))
    for word in words:
        if any(not re.fullmatch(r"[\w.-]+", text) for text in word.texts):
            return Judgement("send", f"{entry.name} could contact {one_line(word.raw, 60)}")
    return READS


def _database_file(
    judge: LineJudge, entry: CommandRule, file: CommandWord, *, readonly: bool, queries: Words
) -> Judgement:
    if (found := judge.contents(entry.name, [file])).asks:
        return found
    if readonly or (file.plain and _NO_NEW_FILE.fullmatch(file.plain)):
        return READS
    if all(query.plain and lists_tables(query.plain) for query in queries):
        return READS  # at worst this creates an empty file, in a directory where the sandbox permits it
    what = "creates the file if it does not exist; -readonly prevents that"
    return Judgement("change", f"{entry.name} {file.raw} {what}", (file.raw,))


def python(judge: LineJudge, entry: CommandRule, arguments: Words, feed: Feed) -> Judgement:
    """Judge Python: a harmless program after -c, or one of two modules if no file can shadow them."""
    texts = [word.plain for word in arguments]
    apart = False  # from the current directory
    while texts and re.fullmatch(r"-[IPEsSBu]+", texts[0] or ""):
        apart = apart or not {"I", "P"}.isdisjoint(texts[0] or "")
        texts, arguments = texts[1:], arguments[1:]
    match texts:
        case ["-c", str(program), *_] if python_only_prints(program):
            return READS
        case ["-m", "pip" | "json.tool", *_] if apart:
            return judge.command(arguments[1:], feed)
        case ["-m", "pip" | "json.tool", *_]:
            return Judgement("unknown", f"{entry.name} -m loads modules of the current directory; with -I it does not")
        case ["-V"] | ["-VV"]:
            return READS
    return Judgement("unknown", f"{entry.name} runs a program that is not known to be read-only")
