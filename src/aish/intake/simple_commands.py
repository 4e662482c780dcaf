"""Split a text into simple commands by shell grammar, as far as needed to tell commands from prose.

Pure: takes a text, returns lists of words, or the reason why it cannot be shell.
"""

import re
from collections.abc import Callable, Sequence
from functools import cache

from aish.intake.vocabulary import MAX_WORDS, clues_in, is_english, is_shell
from aish.values.named_tuple import NamedTuple

_WORD = r"[ \t]*[^\s;&|<>)}\d#]"  # a word in a place that allows only an operator
_OPENERS = frozenset("if while until do then else elif ! { time".split())
MAX_LENGTH = 10_000  # characters of a command to split into words
MIDDLE = frozenset("do done then else elif fi esac".split())


class CutLine(NamedTuple):
    """A text split into simple commands, each a list of words; `fault` says why it cannot be shell."""

    commands: list[list[str]]
    fault: str = ""
    asks: bool = False  # the text ends in a question mark
    joined: bool = False  # there are operators or redirections


@cache
def _token() -> re.Pattern[str]:
    inner = r"(?>(?:[^()]++|\((?>(?:[^()]++|\([^()]*+\))*)\))*)"
    return re.compile(
        rf"""(?P<space>[ \t\r]+|\\\n)
        |(?P<comment>(?<![^\s;&|(])\#[^\n]*)
        |(?P<heredoc><<-?[ ]*(?!<)["'\\]?(?P<end>\w+)["']?)
        |(?P<redirect>\d*(?:&>>?|<<<|>>|>\||[<>]&[\d-]*|[<>](?!\()))
        |(?P<operator>\|\||&&|;;&?|\|&|[;&|\n])
        |(?P<word>(?>(?:\\.|'[^']*'|"(?:[^"\\]|\\.)*"|[$<>]\({inner}\)|\(\({inner}\)\)|`[^`\n]*`|\$\{{[^}}]*\}}
            |(?<=[A-Za-z])'(?=(?:t|s|re|ve|ll|d|m)\b)|(?<==)\({inner}\)|(?<=[@?*+!])\([^()]*\)|[^\s;&|<>()'"`\\])+))
        |(?P<open>['"`])|(?P<paren>[()])|(?P<other>.)""",
        re.VERBOSE | re.DOTALL,
    )


class _Cutter:
    """Splits a text at its operators, as the shell would; quoted strings stay whole."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.commands: list[list[str]] = [[]]
        self.joined = False
        self.last = ""  # kind of the previous token
        self._depth = 0
        self._heredoc = ""

    def step(self) -> str:
        """Read the next token. Return why the text cannot be shell, or nothing."""
        match = _token().match(self.text, self.position)
        assert match  # the last alternative takes any character
        kind, token = ("heredoc" if match["end"] else match.lastgroup or ""), match[0]
        self.position = match.end()
        self.joined = self.joined or kind in ("heredoc", "operator", "redirect")
        fault = ""
        if kind == "heredoc":
            self._heredoc = match["end"]
        elif kind == "operator":
            self._operator(token)
        elif kind == "redirect":
            fault = self._redirect(token)
        elif kind == "paren":
            fault = self._paren(token)
        elif kind == "open":
            fault = self._open(token)
        elif kind in ("word", "other"):
            self._word(token, match.start())
        self.last = kind
        return fault

    def follows(self, pattern: str) -> bool:
        return bool(re.compile(pattern).match(self.text, self.position))

    def _operator(self, token: str) -> None:
        self.commands.append([])
        if token == "\n" and self._heredoc:
            body = re.compile(rf"^\s*{re.escape(self._heredoc)}$", re.MULTILINE).search(self.text, self.position)
            self.position, self._heredoc = (body.end() if body else len(self.text)), ""

    def _redirect(self, token: str) -> str:
        """Skip a redirection. At the start of a line its target must look like a file."""
        target = _token().match(self.text, self.position + self.follows(" "))
        starts, name = not self.commands[-1], target[0] if target and target.lastgroup == "word" else ""
        if target and name:
            self.position = target.end()
        if starts and not (name and (is_shell(name) or not self.follows(_WORD))):
            return "it starts like a quotation or an HTML tag"
        if starts and not self.follows(_WORD):
            self.commands[-1].append(token)
        return ""

    def _paren(self, token: str) -> str:
        current = self.commands[-1]
        if token == "(" and len(current) == 1 and self.follows(r"\)\s*[{(]"):  # the definition of a function
            current[0] += "()"
            self.commands.append([])
            self.position += 1
        elif token == "(" and all(word in _OPENERS for word in current):
            self._depth += 1
        elif token == "(" and current and current[-1].endswith(("$", "=")) and self.last == "word":  # not closed
            current[-1] += self.text[self.position - 1 :]
            self.position = len(self.text)
        elif token == ")" and self._depth and not self.follows(_WORD):
            self._depth -= 1
            self.commands.append([])
        else:
            return "it has parentheses where the shell does not allow them"
        return ""

    def _open(self, token: str) -> str:
        """Read an unclosed quote to the end of the text, unless it is an apostrophe."""
        rest = self.text[self.position :]
        flag = re.search(
            r"(?<!\S)-\w$", self.text[: self.position - 1]
        )  # as in `curl -d'`, which goes on in the next line
        if token == "'" and self.text[self.position - 2 : self.position - 1].isalnum() and not flag:
            return "it has an apostrophe, like a sentence"
        self.commands[-1].append(token + rest)
        self.position = len(self.text)
        return ""

    def _word(self, token: str, start: int) -> None:
        current = self.commands[-1]
        if len(current) < MAX_WORDS:
            current.append(token)
        else:  # skip the middle of a long command to bound time and recursion
            current[-1] = token
        if current == ["case"]:
            whole = re.compile(r"case[ \t]+\S+[ \t]+in\s.*?\besac\b", re.DOTALL).match(self.text, start)
            if whole:  # not parsed further: its patterns do not look like commands
                self.position = whole.end()
                current += ["", "in"]


def cut(text: str) -> CutLine:
    """Split a text at its operators; stop at the first fault."""
    cutter = _Cutter(text)
    while cutter.position < len(text):
        if fault := cutter.step():
            return CutLine([], fault)
    asks = text.endswith("?") and cutter.last != "comment"
    return CutLine([each for each in cutter.commands if each], asks=asks, joined=cutter.joined)


def words_of(command: str) -> list[str]:
    """Return the words and operators of a command as they were typed; quoted strings stay whole."""
    return [
        found[0] for found in _token().finditer(command[:MAX_LENGTH]) if found.lastgroup not in ("space", "comment")
    ]


def has_compound_syntax(
    first: str, rest: Sequence[str], starts: frozenset[str], is_command: Callable[[str], bool]
) -> bool | None:
    """Is this a compound command, or the first line of one? None for a simple command.

    `starts` are the first words of the later commands; `is_command` says whether a word can be run.
    """
    second = rest[0] if rest else ""
    if first in ("if", "while", "until"):
        opens = second in ("[", "[[", "((", "!", "true", "false", ":", "test", "read") or is_command(second)
        keyword_follows = not starts.isdisjoint(("then", "do"))
        prose = clues_in(rest).prose
        fits = (opens and keyword_follows) or ((opens or keyword_follows) and not prose)
    elif first in ("for", "select"):
        loops = rest[1:2] == ["in"] and second.isidentifier() and not rest[-1].endswith((":", ","))
        listed = clues_in(rest[2:])
        fits = second.startswith("((") or (loops and ("do" in starts or (not listed.prose and not listed.english)))
    elif first == "case":
        fits = rest[1:] == ["in"]
    elif first == "function":
        fits = second.endswith("()") or rest[1:2] == ["{"] or (len(rest) == 1 and not is_english(second))
    elif first in ("[", "[["):
        fits = rest[-1:] == ["]" if first == "[" else "]]"] or (first == "[[" and bool(starts))
    elif first in MIDDLE or first == "in":
        fits = False
    else:
        return None
    return fits
