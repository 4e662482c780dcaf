"""Scripts inside arguments: check that a sed or Python program only reads and prints.

Pure: text in, a yes or no out. Each function returns True only if it understood the whole script.
"""

from __future__ import annotations

import re
import warnings
from typing import TYPE_CHECKING

from aish.values.patterns import pattern

if TYPE_CHECKING:
    import ast

_SED_BARE = frozenset("=dDgGhHlnNpPxz}{ \t\n;")
_BRACKETS = r"\\.|\[\^?+\]?+[^\]]*+\]"  # escapes and complete bracket expressions
_BRACKET = pattern(r"\[")
_LONGEST_PROGRAM = 4000  # characters
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
    "Module Expr Assign For If Call keyword Constant BinOp UnaryOp BoolOp Compare List Tuple Dict Set Subscript "
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
        elif command in "aic" and (found := re.compile(r"[ \t]*[^\s\\][^\n\\]*(?=\n|$)").match(script, at)):
            at = found.end()  # the text to insert
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
        elif script[at] in "/\\":
            at += script[at] == "\\"
            at = _delimited(script, at, script[at : at + 1])
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
    if at >= len(script) or _BRACKET.search(re.sub(_BRACKETS, "", script[start:at])):
        return -1  # some implementations ignore a delimiter inside brackets
    return at + 1


def _sed_substitution(script: str, at: int) -> int:
    mark = script[at : at + 1]
    middle = _delimited(script, at, mark)
    end = _delimited(script, middle - 1, mark)
    if end < 0:
        return -1
    return re.compile(r"[gpiIm0-9]*").match(script, end).end()  # type: ignore[union-attr]  # matches the empty text too


def python_only_prints(program: str) -> bool:
    """Check that a program only computes and prints. It may import only `sys`: files can shadow other modules."""
    import ast  # here and below, because few commands contain a Python program

    if len(program) > _LONGEST_PROGRAM:
        return False
    try:
        with warnings.catch_warnings(action="ignore"):  # about escapes such as "\d"
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
    plain = tuple(getattr(ast, name) for name in _PYTHON_NODES)
    return not names.intersection(modules) and all(
        isinstance(node, plain) or _python_name(node, modules, names) for node in ast.walk(tree)
    )


def _python_name(node: ast.AST, modules: set[str], names: set[str]) -> bool:
    import ast

    match node:
        case ast.Attribute(value=ast.Name(id=name), attr=attribute) if name in modules:
            return attribute in _PYTHON_MODULES[name]
        case ast.Attribute(attr=attribute, ctx=ast.Load()):
            return attribute in _PYTHON_METHODS
        case ast.Name(id=name):
            return name in names or name in modules
    return False
