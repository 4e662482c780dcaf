"""Scripts inside arguments: check that a sed, awk, SQL or Python program only reads and prints.

Pure: text in, a yes or no out. Each function returns True only if it understood the whole script.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ast

_SED_BARE = frozenset("=dDgGhHlnNpPxz}{ \t\n;")
_AWK_TOKEN = (
    r'(?P<space>[ \t\r]+|\\\n)|(?P<end>[;\n{}])|(?P<string>"(?:[^"\\\n]|\\.)*")'
    r"|(?P<number>\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+)"
    r"|(?P<name>[A-Za-z_]\w*)|(?P<close>[)\]])|(?P<step>\+\+|--)|(?P<sign>\|\||&&|[<>=!]=|[-+*%^]=|[-+*%^,<>=!~?:$(\[|&])"
)
_AWK_REGEX = r"/(?:[^/\\\n\[]|\\.|\[\^?\]?[^\]\n/]*\])+/"
_AWK_BAD = frozenset("close ARGV ENVIRON PROCINFO SYMTAB FUNCTAB nextfile".split())
_SQL_START = r"\s*(select|with|explain(?!\s+(\(|analy[sz]e))|show|values|describe|desc|table)\b"
_SQL_PRAGMA = (
    r"\s*pragma\s+(table_info|table_list|index_list|index_info|foreign_key_list|database_list|integrity_check|quick_check"
    r"|user_version|journal_mode|page_count|page_size|compile_options|encoding)\s*(\(\s*\w+\s*\))?\s*;?\s*"
)
_SQL_BAD = (
    r"\b(into|insert|update|delete|drop|alter|create|truncate|replace|merge|grant|revoke|copy|call|do|execute|lock|vacuum"
    r"|reindex|attach|detach|pragma|load|set|begin|commit|analy[sz]e|outfile|dumpfile|cluster|refresh|notify|listen)\b"
)
_SQL_CALLS = frozenset(
    "count sum avg min max coalesce lower upper length substr substring round abs now date datetime time "
    "strftime extract trim group_concat string_agg array_agg cast nullif ifnull json_extract current_database "
    "current_user version over in exists and or not on as from where join using values any all row_number "
    "rank date_trunc to_char pg_size_pretty julianday printf pg_database_size pg_total_relation_size "
    "pg_relation_size left right concat distinct total ceil floor typeof then else when select by having "
    "union except intersect between like case end filter partition limit offset interval char_length to_date".split()
)
_PYTHON_NAMES = frozenset(
    "print len sum min max abs round sorted range list dict set tuple str int float bool repr ord chr hex bin "
    "oct enumerate zip map filter any all reversed divmod pow isinstance bytes True False None".split()
)
_PYTHON_MODULES = {
    "sys": "version version_info path executable platform argv stdin stdout prefix maxsize byteorder".split(),
}
_PYTHON_METHODS = frozenset(
    "read readline readlines strip lstrip rstrip split rsplit join upper lower title replace startswith "
    "endswith items keys values get count index find format zfill ljust rjust center splitlines append sort "
    "isdigit isalpha encode decode hex major minor micro name bit_length is_integer casefold partition write".split()
)
_PYTHON_NODES = (
    "Module Expr Assign For If Call keyword Name Constant BinOp UnaryOp BoolOp Compare List Tuple Dict Set Subscript "
    "Slice ListComp SetComp DictComp GeneratorExp comprehension IfExp JoinedStr FormattedValue Starred operator "
    "unaryop boolop cmpop expr_context Import alias"
).split()  # classes of `ast`


def sed_only_prints(script: str) -> bool:
    """Check a sed script command by command; commands that write, read files or run programs are rejected."""
    at = 0
    while at < len(script):
        at = _sed_address(script, at)
        if at < 0:
            return False
        if at == len(script):
            return True
        command = script[at]
        at += 1
        if command in _SED_BARE:
            continue
        if command == "s":
            at = _sed_substitution(script, at)
        elif command == "y":
            at = _delimited(script, _delimited(script, at, script[at : at + 1]) - 1, script[at : at + 1])
        elif command in "qQ":
            at = re.compile(r"\s*\d*").match(script, at).end()  # type: ignore[union-attr]  # matches the empty text too
        elif command in "btT:":
            at = re.compile(r"[ \t]*\w*").match(script, at).end()  # type: ignore[union-attr]  # likewise
        elif command == "#" and not script.endswith("\\"):
            end = script.find("\n", at)
            at = len(script) if end < 0 else end
        else:
            return False
        if at <= 0:
            return False
    return not script.endswith("\\")


def _sed_address(script: str, at: int) -> int:
    while at < len(script):
        if script[at] in " \t;\n,!$+~0123456789":
            at += 1
        elif script[at] == "/":
            at = _delimited(script, at, "/")
            if at < 0:
                return -1
            at = re.compile("[IM]*").match(script, at).end()  # type: ignore[union-attr]  # matches the empty text too
        else:
            break
    return at


def _delimited(script: str, at: int, mark: str) -> int:
    """Return the position after the text between the delimiter at `at` and the next one; -1 if it is ambiguous."""
    if at < 0 or len(mark) != 1 or mark in "\\\n" or mark.isalnum() or script[at : at + 1] != mark:
        return -1
    start = at = at + 1
    while at < len(script) and script[at] != mark:
        at += 2 if script[at] == "\\" else 1
    inside = script[start:at]
    if at >= len(script) or inside.count("[") - inside.count("\\[") > inside.count("]"):
        return -1  # some implementations ignore a delimiter inside brackets
    return at + 1


def _sed_substitution(script: str, at: int) -> int:
    mark = script[at : at + 1]
    middle = _delimited(script, at, mark)
    end = _delimited(script, middle - 1, mark)
    if end < 0:
        return -1
    return re.compile(r"[gpiIm0-9]*").match(script, end).end()  # type: ignore[union-attr]  # matches the empty text too


def awk_only_prints(program: str) -> bool:
    """Check an awk program token by token; pipes, output files and other programs are rejected."""
    if re.search("system|getline", program):  # also inside strings and patterns: where they end can be ambiguous
        return False
    regex, token = re.compile(_AWK_REGEX), re.compile(_AWK_TOKEN)
    at, before, last, printing, depth = 0, "", "", False, 0
    while at < len(program):
        if program[at] == "/" and before not in ("number", "name", "string", "close", "step"):
            found = regex.match(program, at)
            kind = "string"
        elif program[at] == "/":
            if before == "step" or program[at + 1 : at + 2] == "/":
                return False
            at, before = at + 1, "sign"
            continue
        elif program[at] == "#":
            return False
        else:
            found = token.match(program, at)
            kind = found.lastgroup or "" if found else ""
        if not found:
            return False
        text, at = found[0], found.end()
        if kind == "space":
            continue
        if text in _AWK_BAD or text == "|":
            return False
        if text in ("print", "printf"):
            printing, depth = True, 0
        elif kind == "end" and not (text == "\n" and last in (",", "&&", "||")):  # the statement continues there
            printing = False
        depth += (text in ("(", "[")) - (text in (")", "]"))
        if text == ">" and printing and depth <= 0:
            return False
        last = text
        before = kind if text not in ("print", "printf", "return", "in") else "sign"
    return True


def sql_only_reads(query: str) -> bool:
    """Check that all queries only select, and call only functions that are known to be harmless."""
    if re.fullmatch(_SQL_PRAGMA, query, re.IGNORECASE):
        return True
    if re.search(r"--|/\*|\\|\$\$|\bU&|\be'", query, re.IGNORECASE):
        return False
    bare = re.sub(r"'[^']*'|\"[^\"]*\"", " x ", query)
    if (
        "'" in bare
        or '"' in bare
        or re.search(_SQL_BAD, re.sub(r"(?i)^\s*explain\s+\w+", "explain", bare), re.IGNORECASE)
    ):
        return False
    called = (name.lower() for name in re.findall(r"(\w+)\s*\(", bare))
    statements = [part for part in bare.split(";") if part.strip()]
    return all(re.match(_SQL_START, part, re.IGNORECASE) for part in statements) and _SQL_CALLS.issuperset(called)


def python_only_prints(program: str) -> bool:
    """Check that a program only computes and prints. It may import only `sys`: files can shadow other modules."""
    import ast  # here and below, because few commands contain a Python program

    try:
        tree = ast.parse(program)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    modules, names = set(), set(_PYTHON_NAMES)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names if alias.asname is None}
            if not all(alias.name in _PYTHON_MODULES and alias.asname is None for alias in node.names):
                return False
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
    return not names.intersection(modules) and all(_python_node(node, modules, names) for node in ast.walk(tree))


def _python_node(node: ast.AST, modules: set[str], names: set[str]) -> bool:
    import ast

    match node:
        case ast.Attribute(value=ast.Name(id=name), attr=attribute) if name in modules:
            return attribute in _PYTHON_MODULES[name]
        case ast.Attribute(attr=attribute, ctx=ast.Load()):
            return attribute in _PYTHON_METHODS
        case ast.Name(id=name):
            return name in names or name in modules
    return isinstance(node, tuple(getattr(ast, name) for name in _PYTHON_NODES))
