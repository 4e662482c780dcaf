"""Check that an awk program only reads its input and prints.

Pure: text in, a yes or no out. Whether a slash divides or begins a regular expression depends on the grammar, and
implementations differ: where both are possible and would make a difference, the answer is no.
"""

import re

from aish.values.patterns import pattern

_TOKEN = pattern(
    r'(?P<space>[ \t\r]+|\\\n)|(?P<end>[;\n{}])|(?P<string>"(?>(?:[^"\\\n]|\\.)*)")'
    r"|(?P<number>\d++\.?\d*+(?:[eE][+-]?\d+)?|\.\d+)"
    r"|(?P<name>[A-Za-z_]\w*+)|(?P<close>[)\]])|(?P<step>\+\+|--)"
    r"|(?P<sign>\|\||&&|[<>=!]=|!~|[-+*%^]=|[-+*%^,<>=!~?:$(\[|&])",
    re.ASCII,
)
_REGEX = pattern(r"/(?>(?:[^/\\\n\[]|\\[^\n]|\[\^?+\]?+[^\]\n/\\]*+\])+)/")
_SINK = pattern(r'[ \t]*"/dev/(?:stdout|stderr|null)"[ \t]*(?:[;}\n]|$)')
_BAD = frozenset("close ARGV ENVIRON PROCINFO SYMTAB FUNCTAB nextfile extension".split())
_BEFORE_REGEX = frozenset("print printf return else do exit case".split())
_UNCLEAR = frozenset("in length getline next break continue delete function func BEGIN END default".split())
_HARMLESS = pattern(r"[\w \t$.,+*%/-]*", re.ASCII)
_WITH_BRACKETS = pattern(r"[\w \t$.,+*%/()-]*", re.ASCII)


def awk_only_prints(program: str) -> bool:
    """Check an awk program token by token; pipes, output files and other programs are rejected."""
    if re.search("system|getline", program):  # also inside strings and patterns
        return False
    at, kind, text = 0, "end", ""  # the last token
    printing, depth = False, 0
    while at < len(program):
        here = program[at]
        if here == "/" and (kind == "end" or kind == "sign" or text in _BEFORE_REGEX):
            found, new = _REGEX.match(program, at), "regex"
        elif here == "/":
            if not _divides(program, at, kind, text):
                return False
            at, kind, text = at + 1, "sign", "/"
            continue
        else:
            found = _TOKEN.match(program, at)
            new = (found.lastgroup or "") if found else ""
        if not found or found[0] in _BAD or found[0] == "|":
            return False
        at = found.end()
        if new == "space":
            continue
        if found[0] in ("print", "printf"):
            printing, depth = True, 0
        elif new == "end" and (found[0] != "\n" or kind in ("name", "number", "string", "close", "step", "regex")):
            printing = False  # elsewhere a line break continues the statement
        depth += (found[0] in ("(", "[")) - (found[0] in (")", "]"))
        if found[0] == ">" and printing and depth <= 0 and not _SINK.match(program, at):
            return False
        if new != "end" or found[0] != "\n" or kind != "sign":
            kind, text = new, found[0]
    return True


def _divides(program: str, at: int, kind: str, text: str) -> bool:
    """Is this slash a division, or would the program do the same if it were not?"""
    clear = kind in ("number", "string") or text == "]" or (kind == "name" and text not in _UNCLEAR)
    if clear:
        return program[at + 1 : at + 2] != "/"
    if kind in ("step", "regex"):
        return False
    # Without another slash it would be an unfinished regular expression, and nothing would run. What stands between the
    # slashes must mean the same inside and outside of one. Brackets do if no `>` depends on them.
    between = program[at + 1 : max(program.rfind("/"), at + 1)]
    return (_HARMLESS if ">" in program else _WITH_BRACKETS).fullmatch(between) is not None
