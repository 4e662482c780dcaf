"""What each line of a Markdown answer is: code, quoted text, or the answer's own words.

The renderer and the search for proposed commands both use this reader, so that a line is offered as a command exactly
if the user sees it as one. `CMD: ` starts a proposal only at the top level of the answer. Where Markdown can be read in
two ways, the line is not a proposal: a quoted file may have been written to look like the answer's own words. If the
shell needs more lines to complete a command, the next lines belong to it, whatever they look like in Markdown.

Pure: lines in, values out. The time is linear in the length of the answer.
"""

import re

from aish.values.named_tuple import NamedTuple
from aish.values.open_command import OpenCommand
from aish.values.patterns import pattern

MARK = "CMD: "
_DEEPEST = 8  # nested lists in one line
_QUOTES = pattern(r"(?>(?: {0,3}> ?)*)")
_ITEM = pattern(r"([-*+]|\d{1,9}[.)])( +|$)")
_TASK = pattern(r"\[[ xX]\](?: |$)")
_FENCE = pattern(r"(`{3,})([^`]*)|(~{3,})(.*)")
_FORMULA = pattern(r"(\$\$(?!\$)|\\\[)(?!.*(?:\$\$|\\\]))")
_CLOSERS = {"$$": "$$", "\\[": "\\]"}
_RULER = pattern(r"\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*")
_RULE = pattern(r"([-*_])(?:[ \t]*\1){2,}[ \t]*")
_HEADING = pattern(r"#{1,6}(?:[ \t]|$)")
_DEFINITION = pattern(r"\*?\[[^\]]*(?:\]:|$)|:[ \t]")
# Elements whose text is quoted wherever they begin. Names that models use for their thoughts are among them.
_QUOTING = frozenset(
    "pre script style textarea xmp template details blockquote think thinking thought thoughts reasoning reflection "
    "scratchpad analysis".split()
)
_THOUGHTS = frozenset("think thinking thought thoughts reasoning reflection scratchpad analysis".split())
_BLOCKS = frozenset(
    "address article aside body caption center dd dialog dir div dl dt fieldset figcaption figure footer form h1 h2 h3 "
    "h4 h5 h6 head header html iframe li main menu nav noscript ol p section summary table tbody td tfoot th thead "
    "title tr ul".split()
)
_VOID = frozenset("area base br col embed hr img input link meta param source track wbr".split())
_MARKUP = pattern(
    r"<(?P<end>/?)(?P<name>[A-Za-z][\w.-]*(?::[\w.-]+)*)(?=[\s/>]|$)(?P<rest>[^<>]*)(?P<close>>?)"
    r"|(?P<open><!--|<\?|<!\[CDATA\[|<![A-Za-z])"
    r"|[\[◁]/?(?P<word>(?i:think))[\]▷]|<\|(?P<turn>begin|end)_of_(?P<of>\w+)\|>"
)
_ENDS = {"<!--": "-->", "<?": "?>", "<![CDATA[": "]]>"}


class CodeFence(NamedTuple):
    """An open block of code or a formula: its mark, its indent, and the depth of quotes around it."""

    mark: str
    indent: int
    depth: int
    most: int  # spaces before the closing mark
    info: str = ""  # the language, and what else follows the mark

    @property
    def formula(self) -> bool:
        return self.mark in _CLOSERS

    def closed_by(self, indent: int, body: str) -> bool:
        """Return whether this line, without its quotes and indent, is the closing one."""
        if self.formula:
            return not body or _CLOSERS[self.mark] in body
        same = body.rstrip(" \t")
        return indent <= self.most and len(same) >= len(self.mark) and same == self.mark[0] * len(same)


class AnswerLines:
    """Follows an answer line by line. `fence` is the block of code or the formula that is open now.

    `command` is the command to which the next line belongs.
    """

    def __init__(self) -> None:
        self.fence: CodeFence | None = None
        self.command: OpenCommand | None = None
        self._held: OpenCommand | None = (
            None  # the same for a command that is not a proposal: its lines are none either
        )
        self._certain = True  # whether the standard sees the open fence as one, too
        self.thoughts_ended = False  # an end of thoughts without a beginning: all before it were thoughts
        self._nested: list[CodeFence] = []  # open fences, if a fence with a language inside another one is nested
        self._strict = _StrictFences()
        self._plain = True  # whether all lines since the last blank one are the answer's own
        self._html = False  # whether one of these lines starts with a tag, which ends at a blank line
        self._before = ""  # the line before, if it is such a line
        self._ticks: set[int] = set()  # lengths of the backtick runs without partner since the last blank line
        self._dollars = False
        self._formula = ""  # what would have closed a formula that a blank line has ended
        self._until = ""  # what ends the comment that is open
        self._elements: dict[str, int] = {}  # open elements of HTML, and how often each is open

    def is_inside(self, line: str) -> bool:
        """Return whether this line or start of a line belongs to the open fence."""
        return self.fence is not None and quotes(line).count(">") >= self.fence.depth

    def proposes(self, line: str) -> bool:
        """Return whether the next line proposes a command; its start is enough, with a part of the command."""
        return line.startswith(MARK) and bool(line[len(MARK) :].strip()) and self._free

    @property
    def is_top_level(self) -> bool:
        """Whether a line that starts now, without a mark of Markdown, is shown as the answer's own words."""
        return self._free

    @property
    def _free(self) -> bool:
        doubts = (
            self.command
            or self._held
            or self.fence
            or self._nested
            or self._strict.fence
            or self._ticks
            or self._dollars
            or self._formula
        )
        return self._plain and not (doubts or self._html or self._until or self._elements)

    def read(self, line: str) -> None:
        """Take the next line, without its end."""
        if self.command or self.proposes(line):
            self._read_command(line)
            return  # a command is no Markdown
        self._follow_held(line)
        in_text = bool(self._before)
        self._strict.read(line)
        self._nest(line, in_text)
        depth, indent, body = _parts(line, self.fence)
        if self.fence and depth < self.fence.depth:
            self.fence = None
        if self.fence:
            self._inside(line, indent, body)
        else:
            self._outside(depth, indent, body, *_without_items(body, indent, in_text=in_text))

    def _read_command(self, line: str) -> None:
        if self.command is None:
            self._before = ""
            self._strict.leave()
            command = OpenCommand()
            command.read(line[len(MARK) :])
        else:
            command = self.command
            command.read(line)
            # Perhaps the model only thought of this command: then what it thought of before is not offered either.
            self.thoughts_ended = self.thoughts_ended or any(map(_ends_thoughts, _MARKUP.finditer(line)))
        self.command = command if command.needs_more else None

    def _follow_held(self, line: str) -> None:
        held = self._held
        if held is None and line.startswith(MARK) and line[len(MARK) :].strip() and not self.is_inside(line):
            held, line = OpenCommand(), line[len(MARK) :]
        if held:
            held.read(line)
            self._held = held if held.needs_more else None

    def _inside(self, line: str, indent: int, body: str) -> None:
        assert self.fence
        if self.fence.formula:  # for others it is Markdown
            self._plain = self._plain and not (self._strict.in_item or quotes(line))
            self._look_for_markup(body)
        if not self.fence.closed_by(indent, body):
            return
        if not self.fence.formula:
            self._start_block()
            self._plain = self._certain
        elif not body:
            self._formula = _CLOSERS[self.fence.mark]
            self._html = False
            self._start_block()
        self.fence, self._before = None, ""

    def _outside(self, depth: int, indent: int, body: str, inner: str | None, column: int) -> None:
        if not body:
            self._before = ""
            if not depth:
                self._html = False
                self._start_block()
            return
        late = self._formula and self._formula in body  # it ends what a blank line has ended on the screen
        if inner is not None and not late and (fence := _opening(inner, column, depth, self._room(column))):
            self.fence, self._before = fence, ""
            if fence.formula:  # for others it is only text, which may continue a list or a quote
                self._plain = self._plain and not (depth or column > indent or self._strict.in_item)
            else:
                self._certain = self._strict.fence is not None
            return
        if not depth and indent <= 3 and (_HEADING.match(body) or (_RULE.fullmatch(body) and "|" not in self._before)):
            self._start_block()
            self._before = ""
            self._look_into_text(body)
            return
        item = inner is None or column > indent
        ruler = bool(_RULER.fullmatch(body)) and bool(re.search(r"[|:]", body) or "|" in self._before)
        self._html = self._html or bool(_MARKUP.match(body))
        odd = body[0] == "|" or indent > 3 or bool(_DEFINITION.match(body))
        if depth or item or ruler or odd or self._strict.in_item:
            self._plain = False
        self._before = "" if depth or item else body
        self._look_into_text(body)

    def _room(self, indent: int) -> int:
        """Return how far the end of a fence may be indented. In lists, models do not indent exactly."""
        return indent + 3 if self._strict.in_item or indent > 3 else 3

    def _start_block(self) -> None:
        self._plain, self._dollars = True, False
        self._ticks.clear()

    def _nest(self, line: str, in_text: bool) -> None:
        """Follow the fences as an author means them who puts a fence with a language inside another fence."""
        depth, indent, body = _parts(line, self._nested[-1] if self._nested else None)
        while self._nested and self._nested[-1].depth > depth:
            self._nested.pop()
        if not self._nested:
            inner, column = _without_items(body, indent, in_text=in_text)
            indent, body = column, inner or ""
        found = _FENCE.fullmatch(body)
        if not found:
            return
        mark = found[1] or found[3]
        top = self._nested[-1] if self._nested else None
        if top and (not mark.startswith(top.mark) or indent > top.most):
            return
        if top and not (found[2] or found[4] or "").strip():
            self._nested.pop()
        else:
            self._nested.append(CodeFence(mark, indent, depth, self._room(indent)))

    def _look_into_text(self, body: str) -> None:
        """Find what begins or ends in the middle of this line."""
        if self._formula and self._formula in body:
            self._formula = ""
        text, alone = _without_code(body)
        if self._ticks or "\\`" in body:
            text = body  # its backticks may have another partner
        self._ticks ^= alone
        self._dollars ^= len(re.findall(r"(?<!\$)\$\$(?!\$)", text)) % 2 == 1
        self._look_for_markup(text)

    def _look_for_markup(self, text: str) -> None:
        """Find the comments and elements that begin or end in this line."""
        place = 0
        while place < len(text):
            if self._until:
                end = text.find(self._until, place)
                if end < 0:
                    return
                place, self._until = end + len(self._until), ""
            found = _MARKUP.search(text, place)
            if not found:
                return
            place = found.end()
            starts = found.start() == 0
            self._take_markup(found, starts=starts, alone=starts and not text[place:].strip())

    def _take_markup(self, found: re.Match[str], *, starts: bool, alone: bool) -> None:
        if found["open"]:
            self._until = _ENDS.get(found["open"], ">")
            return
        if found["name"] and not found["close"]:
            self._plain = False  # the tag may go on in the next line
        name = _element(found)
        if _is_end(found):
            self.thoughts_ended = self.thoughts_ended or (name in _THOUGHTS and name not in self._elements)
            self._held = None if name in _THOUGHTS else self._held  # what the model thought of ends with its thoughts
            if self._elements.get(name, 0) > 1:
                self._elements[name] -= 1
            else:
                self._elements.pop(name, None)
        elif name in _VOID or ((found["rest"] or "").endswith("/") and name not in _QUOTING):
            pass
        elif not found["name"] or name in _QUOTING or name in self._elements or alone or (starts and name in _BLOCKS):
            self._elements[name] = self._elements.get(name, 0) + 1


def own_lines(answer: str, start: str) -> list[str]:
    """Return the lines of an answer with this start that are its own words: no code, no quote and no thoughts."""
    if start not in answer:
        return []
    lines, found = AnswerLines(), list[str]()
    for line in re.split(r"\r?\n", answer):
        if line.startswith(start) and lines.is_top_level:
            found.append(line)
        lines.read(line)
        if lines.thoughts_ended:  # what looked like the answer was the model talking to itself
            found, lines.thoughts_ended = [], False
    return found


class _StrictFences:
    """The fences as the standard reads them: a line that is indented less than a list item ends the item's fence."""

    def __init__(self) -> None:
        self.fence: CodeFence | None = None
        self._columns: list[int] = []  # where the text of each open list item begins
        self._depth = 0
        self._text = False  # whether the line before may go on in this one

    @property
    def in_item(self) -> bool:
        return bool(self._columns)

    def leave(self) -> None:
        """Take a line that is outside all lists."""
        self._columns, self._text = [], True

    def read(self, line: str) -> None:
        depth, indent, body = _parts(line, self.fence)
        if depth != self._depth and (body or depth < self._depth):
            self._depth, self.fence, self._columns = depth, None, []
        if not body:
            self._text = False
            return
        column = self._columns[-1] if self._columns else 0
        if self.fence:
            if indent >= column:
                if self.fence.closed_by(indent, body):
                    self.fence = None
                return
            self.fence = None
        in_text = self._text and not self._columns
        if not self._text or any(kind.match(body) for kind in (_FENCE, _ITEM, _HEADING, _RULE)):
            while self._columns and indent < self._columns[-1]:
                self._columns.pop()
        for _ in range(_DEEPEST):
            found = _ITEM.match(body)
            column = self._columns[-1] if self._columns else 0
            number = found and found[1][0].isdigit() and found[1][:-1] != "1"  # perhaps inside a paragraph
            if not found or indent - column > 3 or _RULE.fullmatch(body) or (number and in_text):
                break
            wide = len(found[2])
            self._columns.append(indent + len(found[1]) + (wide if 0 < wide < 5 else 1))
            indent, body = indent + found.end(), body[found.end() :]
        column = self._columns[-1] if self._columns else 0
        if indent - column <= 3 and (opening := _FENCE.fullmatch(body)):
            self.fence = CodeFence(opening[1] or opening[3], column, depth, column + 3)
        self._text = not self.fence


def _element(found: re.Match[str]) -> str:
    return (found["name"] or found["word"] or found["of"] or "").lower()


def _is_end(found: re.Match[str]) -> bool:
    """Return whether this markup ends an element."""
    return bool(found["end"]) or found[0][1:2] == "/" or found["turn"] == "end"


def _ends_thoughts(found: re.Match[str]) -> bool:
    return _is_end(found) and _element(found) in _THOUGHTS


def quotes(line: str, most: int = 1 << 30) -> str:
    """Return the quote marks at the start of a line, at most this many."""
    found = _QUOTES.match(line)
    mark = found[0] if found else ""
    if mark.count(">") <= most:
        return mark
    ends = [found.end() for found in re.finditer(r"> ?", mark)]
    return mark[: ends[most - 1]] if most else ""


def _parts(line: str, fence: CodeFence | None) -> tuple[int, int, str]:
    """Return the depth of quotes, the indent and the text of a line; code keeps the quote marks that are part of it."""
    mark = quotes(line, fence.depth) if fence else quotes(line)
    text = line[len(mark) :]
    body = text.lstrip(" \t")
    return mark.count(">"), len(text[: len(text) - len(body)].expandtabs(4)), body


def _opening(body: str, indent: int, depth: int, most: int) -> CodeFence | None:
    """Return the block that a line opens, at any indent: models often indent a fence more than they should."""
    if fence := _FENCE.fullmatch(body):
        return CodeFence(fence[1] or fence[3], indent, depth, most, fence[2] or fence[4] or "")
    formula = _FORMULA.match(body)
    return CodeFence(formula[1], indent, depth, most) if formula else None


def _without_items(body: str, indent: int, *, in_text: bool) -> tuple[str | None, int]:
    """Return the text after the bullets of list items, and its column; None for the text of a task."""
    found = _ITEM.match(body)
    if found and in_text and found[1][0].isdigit() and found[1][:-1] != "1":
        return body, indent  # a number inside a paragraph
    for _ in range(_DEEPEST):
        if not found:
            break
        body, indent = body[found.end() :], indent + found.end()
        found = _ITEM.match(body)
    return (None if _TASK.match(body) else body), indent


def _without_code(text: str) -> tuple[str, set[int]]:
    """Return the text without code between backticks, and the lengths of backtick runs that have no partner."""
    if "`" not in text:
        return text, set()
    runs = [(run.start(), run.end()) for run in re.finditer("`+", text)]
    later: dict[int, int] = {}
    partners = [-1] * len(runs)
    for number in range(len(runs) - 1, -1, -1):
        size = runs[number][1] - runs[number][0]
        partners[number] = later.get(size, -1)
        later[size] = number
    kept: list[str] = []
    alone: set[int] = set()
    place = number = 0
    while number < len(runs):
        begin, end = runs[number]
        kept.append(text[place:begin])
        if partners[number] < 0:
            alone ^= {end - begin}
            place, number = end, number + 1
        else:
            place, number = runs[partners[number]][1], partners[number] + 1
    return "".join([*kept, text[place:]]), alone
