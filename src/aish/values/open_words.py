"""The words of a shell text, line by line: which quotes, expansions and brackets are open at the end of a line.

Pure: lines in, values out.
"""

import re
from collections.abc import Callable

from aish.values.patterns import pattern

_PLAIN = pattern(r"[^ \t|&;()<>'\"`$\\]+")
_QUOTED = pattern(r"[^\"\\$`]*")
_ANSI = pattern(r"(?>(?:[^'\\]|\\.|\\$)*)")
_TICKED = pattern(r"(?>(?:[^`\\]|\\.|\\$)*)")
_BRACED = pattern(r"[^}'\"\\$`<>]*")
_BALANCED = pattern(r"[^]['\"\\$`()<>]*")
_INDEX = pattern(r"(?:[A-Za-z_]\w*)?\[")
_PARAMETER = pattern(r"\$[#?$!@*0-9-]?")
_LONGEST_WORD = 200  # characters to keep: no reserved word and hardly any name is longer


class Frame:
    """Something that is open. In lists of commands `at` says what may come next, `phase` where a compound command is.

    `at` is start (of a command), operator (a command must follow), one (word read), words, after (a compound command),
    name (of a function follows), body (of a function follows), time, pattern (of a case).
    """

    def __init__(self, kind: str, phase: str = "", *, waiting: int = 0) -> None:
        self.kind = kind
        self.phase = phase
        self.at = "start"
        self.word: str | None = None  # the word that is being read
        self.plain = True  # whether it has no quotes and nothing that is expanded
        self.target = False  # whether the next word belongs to a redirection
        self.depth = 0  # of brackets
        self.waiting = waiting  # here-documents that were waiting for their text when a substitution began


class OpenWords:
    """Reads words. The last frame is the innermost thing that is open."""

    def __init__(self) -> None:
        self._frames = [Frame("")]
        self._waiting = 0  # here-documents whose text follows
        self._continued = False  # whether the line ends with a backslash
        self._unsure = ""  # why the text can be read in two ways
        self._readers: dict[str, Callable[[str, int], int]] = {
            "'": self._single,
            "$'": lambda line, at: self._until(_ANSI, line, at),
            "`": lambda line, at: self._until(_TICKED, line, at),
            '"': self._double,
            "${": self._braced,
            "((": self._balanced,
            "[": self._balanced,
            "pair": self._balanced,
            "=(": self._array,
            "[[": self._test,
        }

    def _doubt(self, reason: str) -> None:
        self._unsure = self._unsure or reason

    def _open(self, kind: str, phase: str = "") -> None:
        self._frames.append(Frame(kind, phase, waiting=self._waiting))

    def _close(self) -> None:
        self._frames.pop()

    def _single(self, line: str, at: int) -> int:
        end = line.find("'", at)
        if end < 0:
            return len(line)
        self._close()
        return end + 1

    def _until(self, text: re.Pattern[str], line: str, at: int) -> int:
        """Read up to an end mark of one character that a backslash can hide."""
        found = text.match(line, at)
        end = found.end() if found else at
        if end < len(line):
            self._close()
        return end + 1

    def _double(self, line: str, at: int) -> int:
        found = _QUOTED.match(line, at)
        at = found.end() if found else at
        if line[at : at + 1] == '"':
            self._close()
            return at + 1
        return self._expansion(line, at, quoted=True)

    def _braced(self, line: str, at: int) -> int:
        found = _BRACED.match(line, at)
        at = found.end() if found else at
        if line[at : at + 1] == "}":
            self._close()
            return at + 1
        return self._expansion(line, at)

    def _balanced(self, line: str, at: int) -> int:
        """Read arithmetic or a pattern up to the bracket that closes it."""
        frame = self._frames[-1]
        found = _BALANCED.match(line, at)
        at = found.end() if found else at
        mark = line[at : at + 1]
        if not mark or mark not in "()[]":
            return self._expansion(line, at)
        if mark in ("[" if frame.kind == "[" else "("):
            frame.depth += 1
        elif mark in ("]" if frame.kind == "[" else ")"):
            frame.depth -= 1
        if frame.depth >= 0:
            return at + 1
        if frame.kind == "((":
            if line[at + 1 : at + 2] != ")":
                self._doubt("two brackets may be arithmetic or a list of commands")
            at += 1
        self._close()
        return at + 1

    def _expansion(self, line: str, at: int, *, quoted: bool = False) -> int:
        """Read what may begin with a quote, a dollar or a backslash, in a word or inside quotes."""
        mark, after = line[at : at + 1], line[at + 1 : at + 2]
        if mark == "\\":
            self._continued = not after
            return at + 2
        if mark == "`" or (mark and mark in "'\"" and not quoted):
            self._open(mark)
            return at + 1
        if mark and mark in "<>" and after == "(":
            self._doubt("a substitution inside an expansion")
        if mark != "$":
            return at + 1
        if line.startswith("$((", at):
            self._open("((")
            return at + 3
        if after == "(":
            self._open("$(")
        elif after == "{":
            if line[at + 2 : at + 3] in ("", " ", "\t", "|"):
                self._doubt("${ may begin a list of commands")
            self._open("${")
        elif after == "[":
            self._open("[")
        elif after and after in "'\"" and not quoted:
            self._open("$'" if after == "'" else '"')
        else:
            found = _PARAMETER.match(line, at)
            return found.end() if found else at + 1
        return at + 2

    def _begin_word(self, line: str, at: int) -> int:
        """Read a part of a word; what a quote or an expansion opens is read next. Return `at` if there is none."""
        frame = self._frames[-1]
        if found := _PLAIN.match(line, at):
            word = (frame.word or "") + found[0]
            index = _INDEX.match(word) if frame.plain and frame.kind != "[[" else None
            if index and (frame.kind == "=(" or index.end() > 1):
                frame.word, frame.plain = f"{index[0]}]", False
                self._open("[")
                return found.end() - len(word) + index.end()
            frame.word = word if len(word) < _LONGEST_WORD else word[:_LONGEST_WORD] + word[-1]
            return found.end()
        if line[at] in "'\"`$\\":
            if line[at] != "\\" or at + 1 < len(line):  # a backslash at the end only joins the next line
                frame.word, frame.plain = frame.word or "", False
            return self._expansion(line, at)
        if line[at] in "<>" and line[at + 1 : at + 2] == "(" and not line.startswith("<<", at - 1):
            frame.word, frame.plain = frame.word or "", False
            self._open("$(")
            return at + 2
        return at

    def _array(self, line: str, at: int) -> int:
        frame = self._frames[-1]
        if line[at] == "#" and frame.word is None:
            return len(line)
        if (end := self._begin_word(line, at)) != at:
            return end
        frame.word = None
        if line[at] == ")":
            self._close()
        elif line[at] not in " \t":
            self._doubt(f"{line[at]} inside an array")
        return at + 1

    def _test(self, line: str, at: int) -> int:
        """Read `[[ … ]]`."""
        frame = self._frames[-1]
        if line[at] == "#" and frame.word is None:
            self._doubt("# inside [[ ]]")
        if (end := self._begin_word(line, at)) != at:
            return end
        if self._ends_test():
            return at
        if line[at] == "(":
            frame.word, frame.plain = frame.word or "", False
            self._open("pair")
        elif line[at] == ";" or line.startswith("<<", at):
            self._doubt(f"{line[at]} inside [[ ]]")
        return at + 1

    def _ends_test(self) -> bool:
        """End a word of a test; return whether it was its last one."""
        frame = self._frames[-1]
        last = frame.word == "]]" and frame.plain
        frame.word, frame.plain = None, True
        if last:
            self._close()
        return last
