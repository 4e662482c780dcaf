"""Does a shell text need another line? The reader of commands that have several lines.

It follows what bash keeps open at the end of a line: here-documents, quotes, substitutions, brackets, a trailing
operator or backslash, and compound commands up to `done`, `fi`, `esac` or `}`. It does not check the grammar: a text
that bash rejects may be complete or not. Where bash could read a text in two ways, the text stays open, so that a
command is never cut short.

Pure: lines in, an answer out. The time is linear in the length of the text.
"""

import re

from aish.values.named_tuple import NamedTuple
from aish.values.open_words import Frame, OpenWords
from aish.values.patterns import pattern
from aish.values.text import one_line

MOST_LINES, MOST_CHARACTERS = 400, 20_000  # of a command that has several lines

_ASSIGNMENT = pattern(r"[A-Za-z_]\w*(?:\[.*\])?\+?=", re.DOTALL)
_NO_ARGUMENTS = pattern(r"\([ \t]*\)")
_OPERATOR = pattern(r";;&|;;|;&|;|&>>|&>|&&|&|\|\||\|&|\||<<<|<<-|<<|<&|<>|<|>>|>&|>\||>")
_DELIMITER = pattern(r"[ \t]*((?!#)(?>(?:[^ \t|&;()<>'\"`$\\]|\\.|'[^']*'|\"[^\"$`\\]*\")+))(?=[ \t|&;()<>]|$)")
_SIMPLE = pattern(r"[ \t]*+([\w./:,@%^+-][\w./:,@%^+=-]*+)(?>(?:[ \t]++[\w./:,@%^+=~*?-]++)*)[ \t]*+", re.ASCII)
_STARTS = frozenset("if while until for select case { [[".split())
_RESERVED = _STARTS | frozenset("then elif else fi do done esac } ! time coproc function".split())
_ENDS = {
    "'": "a closing '",
    "$'": "a closing '",
    '"': 'a closing "',
    "`": "a closing `",
    "${": "a closing }",
    "{": "a closing }",
    "((": "a closing ))",
    "[": "a closing ]",
    "[[": "a closing ]]",
    "if": "fi",
    "while": "done",
    "for": "done",
    "case": "esac",
}
_COMMANDS = frozenset(["", "(", "$(", "{", "if", "while", "for", "case"])


class _Here(NamedTuple):
    """A here-document: the line that ends it, whether tabs before it do not count, and whether its text is literal."""

    name: str
    tabs: bool
    literal: bool


class OpenCommand(OpenWords):
    """Reads a command line by line. Give it another line as long as `needs_more`."""

    def __init__(self) -> None:
        super().__init__()
        self._here: list[_Here] = []  # here-documents whose text follows, in order
        self._in_text = False  # whether the next line belongs to the first of them
        self._joined = ""  # the start of a line of this text that ends with a backslash
        self._glue = ""  # an operator or a dollar before a backslash at the end of the line
        self._lines = self._size = 0
        self._readers |= dict.fromkeys(_COMMANDS, self._commands)

    @property
    def needs_more(self) -> bool:
        """Whether the text so far is not a complete command."""
        first = self._frames[0]
        open_now = len(self._frames) > 1 or first.at in ("operator", "body", "name") or self._continued
        return open_now or self._in_text or bool(self._unsure) or self.too_long

    @property
    def too_long(self) -> bool:
        return self._lines > 1 and (self._lines > MOST_LINES or self._size > MOST_CHARACTERS)

    @property
    def missing(self) -> str:
        """What the text still needs, in words; empty if it is complete."""
        last = self._frames[-1]
        if self.too_long:
            return f"it has more than {MOST_LINES} lines or {MOST_CHARACTERS:,} characters"
        if self._unsure:
            return f"it is unclear where it ends: {self._unsure}"
        if self._in_text:
            return f"the line “{one_line(self._here[0].name, 40)}” that ends a here-document is missing"
        if self._continued:
            return "the line after a backslash is missing"
        if len(self._frames) > 1:
            return f"{_ENDS.get(last.kind, 'a closing )')} is missing"
        if last.at == "operator":
            return "the command after an operator is missing"
        return "the body of a function is missing" if self.needs_more else ""

    def read(self, line: str) -> None:
        """Take the next line, without its end."""
        self._lines += 1
        self._size += len(line) + 1
        if self._unsure or self.too_long:
            return
        if self._lines == 1 and (simple := _SIMPLE.fullmatch(line)) and simple[1] not in _RESERVED:
            return
        if self._in_text:
            self._here_text(line)
            return
        if self._glue and line[:1] and line[:1] in "|&;<>(){['\"-":
            self._doubt("a line is continued in the middle of an operator")
        self._continued = False
        at = 0
        while at < len(line):
            at = self._readers[self._frames[-1].kind](line, at)
        if not self._continued:
            self._glue = ""
            self._end_line()
        elif line != "\\":
            joins = "|&;<>($" if self._frames[-1].kind in _COMMANDS else "<>$"
            self._glue = line[-2:-1] if line[-2:-1] in joins else ""

    def _here_text(self, line: str) -> None:
        """Take a line of a here-document. If it is not literal, a backslash at the end of a line joins the next one."""
        here = self._here[0]
        text = self._joined + line
        if not here.literal and (len(text) - len(text.rstrip("\\"))) % 2:
            self._joined = text[:-1]
            return
        self._joined = ""
        if (text.lstrip("\t") if here.tabs else text) == here.name:
            del self._here[0]
            self._waiting -= 1
            self._in_text = bool(self._here)

    def _take_delimiter(self, line: str, at: int, tabs: bool) -> int:
        found = _DELIMITER.match(line, at)
        if not found:
            self._doubt("the name of a here-document is not plain")
            return len(line)
        raw = found[1]
        name = re.sub(r"\\(.)|'([^']*)'|\"([^\"]*)\"", lambda part: part[1] or part[2] or part[3] or "", raw)
        if not name:
            self._doubt("the name of a here-document is empty")
        self._here.append(_Here(name, tabs, literal=any(mark in raw for mark in "'\"\\")))
        self._waiting += 1
        return found.end()

    def _commands(self, line: str, at: int) -> int:
        frame = self._frames[-1]
        if line[at] == "#" and frame.word is None:
            return len(line)
        if (end := self._begin_word(line, at)) != at:
            return end
        if line[at] == "(" and frame.word and _ASSIGNMENT.fullmatch(frame.word):
            self._open("=(")
            frame.plain = False
            return at + 1
        if frame.word is not None and frame.plain and frame.word.isdigit() and line[at] in "<>":
            frame.word = None  # the number of a descriptor
        else:
            self._end_word()
        if line[at] in " \t":
            return at + 1
        if self._frames[-1].kind == "[[":
            return at
        if line[at] == "(":
            return self._bracket(line, at)
        if line[at] == ")":
            self._closing_bracket()
            return at + 1
        return self._operator(line, at)

    def _bracket(self, line: str, at: int) -> int:
        frame = self._frames[-1]
        if frame.kind == "case" and frame.phase == "patterns":
            frame.at = "pattern"
            return at + 1
        double = line.startswith("((", at)
        if frame.kind == "for" and frame.phase == "name" and double:
            frame.phase = "do"
        elif frame.at in ("one", "body") and (empty := _NO_ARGUMENTS.match(line, at)):
            frame.at = "body"
            return empty.end()
        else:
            frame.at = "after"
        self._open("((" if double else "(")
        return at + 1 + double

    def _closing_bracket(self) -> None:
        frame = self._frames[-1]
        if frame.kind == "case" and frame.phase == "patterns":
            frame.phase, frame.at = "commands", "start"
        elif frame.kind in ("(", "$("):
            if frame.kind == "$(" and len(self._here) > frame.waiting:
                self._doubt("the text of a here-document follows its substitution")
            self._close()

    def _operator(self, line: str, at: int) -> int:
        frame = self._frames[-1]
        found = _OPERATOR.match(line, at)
        mark = found[0] if found else line[at]
        at += len(mark)
        if mark[0] in "<>" or mark.startswith("&>"):
            frame.at = "words" if frame.at != "body" else "body"
            if mark in ("<<", "<<-"):
                return self._take_delimiter(line, at, tabs=mark == "<<-")
            frame.target = True
        elif frame.kind == "case" and frame.phase == "patterns":
            pass  # a | between patterns
        elif mark in ("&&", "||", "|", "|&"):
            frame.at = "operator"
        elif mark in (";;", ";&", ";;&") and frame.kind == "case":
            frame.phase, frame.at = "patterns", "start"
        else:
            self._end_command()
        return at

    def _end_command(self) -> None:
        frame = self._frames[-1]
        frame.target = False
        if frame.kind == "for" and frame.phase in ("in", "words"):
            frame.phase = "do"
        if frame.kind == "case" and frame.phase != "commands":
            return
        frame.at = "start"

    def _end_line(self) -> None:
        frame = self._frames[-1]
        if frame.kind in ("=(", "[["):
            if self._here:
                self._doubt("a here-document begins before a list of words")
            if frame.kind == "[[":
                if not self._ends_test():
                    return
                frame = self._frames[-1]
            else:
                frame.word = None
                return
        if frame.kind not in _COMMANDS:
            return
        self._end_word()
        frame = self._frames[-1]
        if frame.target:
            self._doubt("a redirection has no file")
        if self._here:
            inner = next((one for one in reversed(self._frames) if one.kind == "$("), None)
            if inner and inner.waiting:
                self._doubt("a here-document begins before a substitution of several lines")
            self._in_text = True
        if frame.kind == "[[":
            return
        if frame.kind == "for" and frame.phase == "in":
            return  # `in` may come in the next line
        if frame.at not in ("operator", "body"):
            self._end_command()

    def _end_word(self) -> None:
        frame = self._frames[-1]
        word, plain = frame.word, frame.plain
        frame.word, frame.plain = None, True
        if word is None:
            return
        if frame.target:
            frame.target = False
        elif frame.kind == "for" and frame.phase != "commands":
            self._word_of_for(frame, word if plain else "")
        elif frame.kind == "case" and frame.phase != "commands":
            self._word_of_case(frame, word if plain else "")
        elif frame.at == "name":
            frame.at = "body"
        elif frame.at in ("one", "words"):
            frame.at = "words"
        elif plain and word in _RESERVED:
            self._reserved(frame, word)
        elif frame.at == "body":
            self._doubt("the body of a function is no compound command")
        elif frame.at != "time" or word not in ("-p", "--"):
            frame.at = "words" if frame.at == "after" or _ASSIGNMENT.match(word) else "one"

    def _word_of_for(self, frame: Frame, word: str) -> None:
        match frame.phase, word:
            case "name", _:
                frame.phase = "in"
            case "in", "in":
                frame.phase = "words"
            case (("in" | "do"), "do"):
                frame.phase, frame.at = "commands", "start"
            case (("in" | "do"), _):
                self._doubt("a loop without do")

    def _word_of_case(self, frame: Frame, word: str) -> None:
        match frame.phase, word:
            case "word", _:
                frame.phase = "in"
            case "in", "in":
                frame.phase = "patterns"
            case "in", _:
                self._doubt("case without in")
            case "patterns", "esac" if frame.at == "start":
                self._close()
            case _:
                frame.at = "pattern"

    def _reserved(self, frame: Frame, word: str) -> None:
        """Read a reserved word where a command can begin. A word that closes nothing here is taken for a command."""
        before = frame.at
        frame.at = "after"
        match word, frame.kind, frame.phase:
            case (("if" | "while" | "until"), _, _):
                self._open("if" if word == "if" else "while", "condition")
            case (("for" | "select"), _, _):
                self._open("for", "name")
            case "case", _, _:
                self._open("case", "word")
            case (("{" | "[["), _, _):
                self._open(word)
            case ("then", "if", "condition") | ("do", "while", "condition"):
                frame.phase, frame.at = "commands", "start"
            case (("elif" | "else"), "if", "commands"):
                frame.phase, frame.at = "condition" if word == "elif" else "commands", "start"
            case ("fi", "if", "commands") | ("done", "while" | "for", "commands") | ("esac", "case", "commands"):
                self._close()
            case "}", "{", _:
                self._close()
            case "!", _, _:
                frame.at = "operator" if before == "operator" else "start"
            case "time", _, _:
                frame.at = "time"
            case "function", _, _:
                frame.at = "name"
            case "coproc", _, _:
                self._doubt("coproc")
            case _:
                frame.at = "words"
