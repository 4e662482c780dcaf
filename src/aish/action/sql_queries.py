"""Check that a database query only reads.

Pure: text in, a yes or no out. Databases differ in their quoting, so only what means the same in all of them is read:
words, numbers, operators, and strings and names in plain quotes. Everything else is rejected.
"""

import re

from aish.values.patterns import pattern

_TOKEN = pattern(
    r"\s++|(?P<word>[A-Za-z_]\w*+)(?!['\"])|(?P<number>\d++(?:\.\d++)?(?:[eE][+-]?\d++)?)(?![\w.])"
    r"|(?P<quoted>'(?>(?:[^']|'')*)'|\"(?>(?:[^\"]|\"\")*)\")(?!['\"\w])"
    r"|(?P<sign>::|->>?|<=|>=|<>|!=|\|\||-(?!-)|/(?!\*)|[(),.;*=<>+%~])",
    re.ASCII,
)
_START = frozenset("select with explain show values describe desc table".split())
_BAD = frozenset(
    "into insert update delete drop alter create truncate replace merge grant revoke copy call do execute lock vacuum "
    "reindex attach detach pragma load set begin commit analyze analyse outfile dumpfile cluster refresh notify "
    "listen".split()
)
_CALLS = frozenset(
    "count sum avg min max coalesce lower upper length substr substring round abs now date datetime time "
    "strftime extract trim group_concat string_agg array_agg cast nullif ifnull json_extract current_database "
    "current_user version over in exists and or not on as from where join using values any all row_number "
    "rank date_trunc to_char pg_size_pretty julianday printf pg_database_size pg_total_relation_size "
    "pg_relation_size left right concat distinct total ceil floor typeof then else when select by having "
    "union except intersect between like case end filter partition limit offset interval char_length to_date".split()
)
# A pragma with a value in brackets writes, except these, which ask about a table.
_PRAGMA = pattern(
    r"\s*pragma\s+(?:(?:table_info|table_xinfo|index_list|index_info|foreign_key_list)\s*\(\s*['\"]?\w+['\"]?\s*\)"
    r"|(?:integrity_check|quick_check)(?:\s*\(\s*\d+\s*\))?"
    r"|table_list|database_list|user_version|journal_mode|page_count|page_size|compile_options|encoding)\s*;?\s*",
    re.IGNORECASE | re.ASCII,
)
_LISTING = pattern(
    r"(?:\\(?:d[a-zA-Z]{0,3}|l)\+?|\.(?:tables|schema|databases|indexes|indices|fullschema))(?: [\w.]+)?",
    re.ASCII,
)
# Commands of the mysql client, at the start of a line.
_CLIENT = pattern(
    r"^\s*(?:system|source|tee|notee|pager|nopager|edit|delimiter|connect|charset|prompt|use|rehash|print|ego|go)\b",
    re.IGNORECASE | re.MULTILINE,
)


def lists_tables(query: str) -> bool:
    """Is this a command of the client that lists tables and the like?"""
    return bool(_LISTING.fullmatch(query))


def sql_only_reads(query: str) -> bool:
    """Check that all queries only select, and call only functions that are known to be harmless."""
    if _PRAGMA.fullmatch(query):
        return True
    if "\\" in query or _CLIENT.search(query):
        return False
    at, before, last = 0, "", ""  # the two last tokens
    starts = True  # a statement
    while at < len(query):
        found = _TOKEN.match(query, at)
        if not found:
            return False
        at, kind, text = found.end(), found.lastgroup, found[0].lower()
        if kind is None:  # space
            continue
        if starts and not (text in _START if kind == "word" else text in (";", "(")):
            return False
        if not starts and kind == "word" and not _is_harmless(text, last):
            return False
        if text == "(" and not _may_be_called(last, before):
            return False
        starts = text == ";" or (starts and text == "(")
        before, last = last, text
    return bool(last)


def _is_harmless(word: str, last: str) -> bool:
    if last == "explain":  # `explain delete …` runs nothing, but `explain analyze` does
        return word not in ("analyze", "analyse")
    return word not in _BAD


def _may_be_called(name: str, before: str) -> bool:
    """May a bracket follow this token? A name in quotes or after a dot could be any function."""
    return name in _CALLS and before != "." if name.isidentifier() else name[:1] not in ("'", '"')
