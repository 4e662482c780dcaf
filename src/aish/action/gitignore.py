"""Which files a project ignores, by the usual patterns of its `.gitignore` files.

Pure: patterns and paths in, answers out. Settings of git and global ignore files are not read.
"""

import re
from collections.abc import Sequence

from aish.values.named_tuple import NamedTuple

_LONGEST = 400  # characters of a pattern
_MOST = 1_000  # patterns of one file
_MOST_DEEP = 2  # `**` in a pattern


class IgnoreRule(NamedTuple):
    """One pattern. `base` is the directory of its file, relative to the root, with a slash at the end, or empty."""

    base: str
    matches: re.Pattern[str]
    directories_only: bool
    keeps: bool  # starts with `!`: the path is not ignored


def read_rules(base: str, text: str) -> list[IgnoreRule]:
    """Return the patterns of one `.gitignore` file. Patterns that cannot be read are left out."""
    rules = []
    for line in text.splitlines()[:_MOST]:
        pattern = re.sub(r"(?<!\\)\s+$", "", line)
        if not pattern or pattern.startswith("#") or len(pattern) > _LONGEST:
            continue
        keeps = pattern.startswith("!")
        pattern = pattern[1:] if keeps else pattern
        directories_only = pattern.endswith("/")
        pattern = pattern.rstrip("/")
        anchored = "/" in pattern
        pattern = pattern.lstrip("/")
        if not pattern:
            continue
        try:
            matches = re.compile(("" if anchored else "(?:.*/)?") + as_regex(pattern))
        except re.error:
            continue
        rules.append(IgnoreRule(base, matches, directories_only, keeps))
    return rules


def as_regex(pattern: str) -> str:
    """Return a glob as a regular expression: `*` and `?` stop at slashes, `**` does not.

    Matching takes linear time for each `**`: the pattern may be written to take for ever. Raises `re.error`.
    """
    *above, last = pattern.split("/")
    if above.count("**") > _MOST_DEEP:
        raise re.error("too many **")
    parts = ["(?:.*/)?" if part == "**" else _part(part) + "/" for part in above]
    return "".join([*parts, ".*" if last == "**" else _part(last)])


def _part(glob: str) -> str:
    """Return the expression for one name. Each text between two stars is taken where it is found first."""
    first, *rest = (_letters(text) for text in re.split(r"(?<!\\)\*+", glob))
    if not rest:
        return first
    return first + "".join(f"(?>[^/]*?{text})" for text in rest[:-1]) + f"[^/]*{rest[-1]}"


def _letters(glob: str) -> str:
    found = re.findall(r"\\(.)|(\?)|\[([!^]?)(\]?[^\]]*)\]|(.)", glob, re.DOTALL)
    return "".join(
        "[^/]"
        if any_one
        else f"[{'^' * bool(negated)}{re.escape(group).replace(chr(92) + '-', '-')}]"
        if group
        else re.escape(escaped or letter)
        for escaped, any_one, negated, group, letter in found
    )


def is_ignored(rules: Sequence[IgnoreRule], path: str, *, directory: bool) -> bool:
    """Is a path (relative to the root) ignored? The last matching pattern decides. Parents are not looked at."""
    if path == ".git" or path.endswith("/.git"):
        return True
    for rule in reversed(rules):
        if rule.directories_only and not directory:
            continue
        if path.startswith(rule.base) and rule.matches.fullmatch(path, len(rule.base)):
            return not rule.keeps
    return False
