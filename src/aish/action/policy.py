"""Decide whether a command may run unasked: it must be fully understood, and the table must list it as read-only.

Pure: a text and a table in, a verdict out. Nothing is executed, no input makes it raise, and the cost is bounded.
"""

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType

from aish.action import script_rules, wrapper_rules
from aish.action.command_judge import Judgement, Rule, judge_text, worst
from aish.action.command_table import CommandTable
from aish.values.text import one_line
from aish.values.verdicts import SEVERITY, Effect, Verdict

_LONGEST, _LONGEST_UNASKED = 1_000_000, 2_500  # characters: refuse above the first, ask above the second
# The parser takes long for a text full of these marks.
_SYNTAX, _MOST_SYNTAX = re.compile(r"[^][(){}`$|&;<>!?~+*@\"]+"), 300
_RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "awk": script_rules.awk,
        "command": wrapper_rules.command,
        "env": wrapper_rules.env,
        "find": wrapper_rules.find,
        "joined": wrapper_rules.joined,
        "python": script_rules.python,
        "sed": script_rules.sed,
        "shell": wrapper_rules.shell,
        "sql": script_rules.sql,
        "wrapper": wrapper_rules.wrapper,
        "xargs": wrapper_rules.xargs,
    }
)


def judge(command: str, table: CommandTable, allowed: Collection[tuple[str, ...]] = ()) -> Verdict:
    """Return whether the command may run. `allowed` are the prefixes that the user always allows."""
    if not command.strip():
        return Verdict("refuse", "unknown", "the command is empty")
    if "\0" in command or len(command) > _LONGEST:
        return Verdict("refuse", "unknown", "it contains a NUL byte or more than a million characters")
    if trouble := _invisible(command):
        return Verdict("ask", "unknown", trouble)
    findings = judge_text(command, table, _RULES)
    asking = [one for one in findings if one.asks and not _is_allowed(one, allowed)]
    if not asking:
        effect: Effect = max((one.effect for one in findings), key=SEVERITY.index, default="read")
        return Verdict("run", effect, "it only reads" if effect == "read" else "you always allow it")
    verdict = _ask(asking)
    if not any(one.overwrites for one in asking):
        return verdict
    return verdict._replace(overwritten=_overwritten(asking), if_new=_ask(_as_new(one) for one in asking))


def _ask(asking: Iterable[Judgement]) -> Verdict:
    """Return the verdict on the parts of a line that ask."""
    asking = list(asking)
    decides = worst(asking)
    offered = () if any(not one.prefix for one in asking) else tuple(dict.fromkeys(one.prefix for one in asking))
    hit = tuple(dict.fromkeys(target for one in asking if one.effect == decides.effect for target in one.targets))
    return Verdict("ask", decides.effect, one_line(decides.reason, 160), hit, offered)


def _overwritten(asking: Iterable[Judgement]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(target for one in asking if one.overwrites for target in one.targets))


def _as_new(finding: Judgement) -> Judgement:
    """Return what a redirection does if its file does not exist yet."""
    if not finding.overwrites:
        return finding
    return finding._replace(effect="change", reason=f"it creates {', '.join(finding.targets)}")


def _invisible(command: str) -> str:
    """Return a reason to ask if the user could not see or review all of the text; empty if there is none."""
    if len(command) > _LONGEST_UNASKED:
        return f"it has {len(command):,} characters, too many to review"
    if len(command) > _MOST_SYNTAX and len(_SYNTAX.sub("", command)) > _MOST_SYNTAX:
        return "it has too many brackets and operators to review"
    if command.isascii() and command.isprintable():
        return ""
    for mark in command:
        kind = unicodedata.category(mark)
        if mark not in "\n\t" and (kind[0] == "C" or (kind[0] == "Z" and mark != " ")):
            return f"it contains an invisible character (U+{ord(mark):04X})"
    return ""


def _is_allowed(finding: Judgement, allowed: Collection[tuple[str, ...]]) -> bool:
    return any(finding.prefix[: len(one)] == one for one in allowed if one)
