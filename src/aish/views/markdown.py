"""Show Markdown while it streams: finished blocks are written once, only the last block is redrawn.

Line breaks of the source are kept, as in a chat. A line of dashes is always a rule, even below text.

Pure: text in, text to write out.
"""

import re
from collections.abc import Callable

from aish.values.answer_lines import AnswerLines, CodeFence, quotes
from aish.values.named_tuple import NamedTuple
from aish.views.blocks import MarkdownTable, Prose, Verbatim, Window, split_row
from aish.views.highlight import Highlighter
from aish.views.region import Region
from aish.views.spans import StyledLine, StyledSpan, harmless, paint

_LONGEST_START = 4000  # characters to wait for before deciding what kind of line it is
# The start of a line whose kind is not certain yet. Possessive quantifiers keep the matching time linear.
_UNDECIDED = (
    r"(?>(?:[ >\t]|[-*+] |\d{1,9}[.)] )*)"
    r"(?:[-*_=+:|~ ]*|\#{1,6}|\d{1,9}[.)]?|`{1,2}|(?:```|~~~|\||\$\$|\\\[).*|\\|\$|\[[ xX]?\]?|C(?:M(?:D(?::\s*)?)?)?)"
)
_DEEPEST = 8  # nested quotes and lists
_ITEM = r"([-*+]|\d{1,9}[.)])(?: +|$)"
_RULE = r"([-*_])(?: *\1){2,} *"
_RULER = r"\|? *:?-+:? *(?:\| *:?-+:? *)*\|? *"
_APART = ("code", "formula", "table")
_NEXT_LINE = "   > "  # before the second and later lines of a command, as wide as the mark of the first one


class Level(NamedTuple):
    """An open list item: the column of its bullet, and the prefix of its other lines."""

    column: int
    rest: StyledSpan


class MarkdownStream:
    """Turns pieces of Markdown into output for a terminal, or, without `live`, for a pipe."""

    def __init__(
        self,
        write: Callable[[str], object],
        *,
        width: Callable[[], int],
        height: Callable[[], int],
        color: bool,
        theme: str = "default",
        live: bool = True,
    ) -> None:
        self._write, self._width, self._height = write, width, height
        self._color, self._theme, self._live = color, theme, live
        self._region = Region(live=live)
        self._window = self._measure()
        self._pending = ""  # source whose kind is not certain yet
        self._begun = False  # whether the current line already belongs to the open block
        self._block: Prose | Verbatim | MarkdownTable | None = None
        self._kind = ""  # of the open or the last block
        self._lines = AnswerLines()  # decides what is code, and which lines propose a command
        self._line: list[str] = []  # the pieces of a line that is shown before it is complete
        self._mark = ""  # of the open fence
        self._in_code = False  # whether the open block is code or a formula
        self._levels: list[Level] = []
        self._depth = 0  # of quotes
        self._gap: int | None = None  # the quote depth of a blank line in the source, if one came
        self._spaced = True  # whether the open block has a blank line above it
        self._final: list[StyledLine] = []

    def feed(self, text: str) -> None:
        """Add the next piece, and show the change."""
        self._follow_window()
        self._pending += text
        if self._drain(at_end=False):
            self._draw()

    def pause(self) -> None:
        """Make the shown text final and end its line, because something else will be written."""
        self._follow_window()
        if self._block:
            self._final += self._block.break_off(self._window)
        self._draw(live=False)

    def finish(self) -> None:
        """Show the remaining text, and end its line."""
        self._follow_window()
        self._drain(at_end=True)
        self._close()
        self._draw()

    def _measure(self) -> Window:
        return Window(max(self._width(), 10), max(self._height(), 3), self._color)

    def _follow_window(self) -> None:
        """After a resize the position of lines is unknown: leave the shown text, and continue below it."""
        window = self._measure()
        if window == self._window:
            return
        shown = self._region.leave()
        if shown and self._block:
            lines = self._block.break_off(window)
            self._final += lines if self._region.hidden else []
        elif self._block:
            self._block.window = window
        self._window = window
        if shown:
            self._write(shown)

    def _draw(self, *, live: bool = True) -> None:
        shown = self._block.live() if live and self._live and self._block else []
        out = self._region.update(self._final, shown, self._window.limit)
        self._final = []
        if out:
            self._write(out)

    def _drain(self, *, at_end: bool) -> bool:
        """Process pending lines, and the last partial line, if their kind is certain. Return whether any was."""
        text, place = self._pending, 0
        if "\r" in text:
            text = text.replace("\r\n", "\n")
        stop = len(text) - (text.endswith("\r") and not at_end)  # it may be the first half of \r\n
        while place < stop:
            newline = text.find("\n", place)
            if self._begun:
                end = newline if newline >= 0 else stop
                self._line.append(text[place:end])
                self._extend(text[place:end])
                if newline >= 0:
                    self._lines.read("".join(self._line))
                    self._end_line()
                    self._follow_fence()
            else:
                whole = newline >= 0 or at_end
                end = newline if newline >= 0 else stop
                if end - place > _LONGEST_START:
                    end, whole, newline = place + _LONGEST_START, False, -1
                line = text[place:end]
                if not whole and len(line) < _LONGEST_START and self._is_undecided(line):
                    break
                if whole and self._may_be_head(line, text[end + 1 : end + 1 + _LONGEST_START], at_end):
                    break
                self._begin(line, whole=whole)
            place = end + (newline >= 0)
        self._pending = text[place:]
        return place > 0

    def _is_undecided(self, line: str) -> bool:
        fence = self._lines.fence
        if self._lines.command:
            return False
        if fence and self._lines.is_inside(line):
            return fence.formula or bool(re.fullmatch(r"[> \t]*[`~]*[ \t]*", line))
        return isinstance(self._block, MarkdownTable) or bool(re.fullmatch(_UNDECIDED, line))

    def _may_be_head(self, line: str, after: str, at_end: bool) -> bool:
        """Return whether the line may be the head of a table; the next line decides."""
        known = self._in_code or self._lines.command or at_end or isinstance(self._block, MarkdownTable)
        if known or not line.lstrip(" >").startswith("|"):
            return False
        return "\n" not in after and len(after) < _LONGEST_START and bool(re.fullmatch(r"[ >|:-]*", after))

    def _begin(self, line: str, *, whole: bool) -> None:
        """Start a line whose kind is certain."""
        self._begun, self._line = not whole, [line]
        fence = self._lines.fence if self._lines.is_inside(line) else None
        goes_on = self._lines.command is not None
        command = goes_on or self._lines.proposes(line)
        if self._in_code and not fence:
            self._close()  # the quote around it has ended
        if whole:
            self._lines.read(line)
        if fence:
            self._in_fence(line, fence, whole)
            return
        if command:
            self._levels, self._depth = [], 0
            self._open("command", Verbatim(self._window, command=True))
            self._extend(_NEXT_LINE + line if goes_on else line)
        else:
            self._begin_outside(line, whole)
        if whole:
            self._follow_fence()
            if not self._in_code:
                self._end_line()

    def _in_fence(self, line: str, fence: CodeFence, whole: bool) -> None:
        """Process a line of code or of a formula, or the closing one."""
        closes = whole and not self._lines.fence
        text = line[len(quotes(line, fence.depth)) :]
        if closes and self._kind == "code":
            self._close()
            if not self._color:
                self._final.append(StyledLine(self._mark))
            return
        spaces = len(text) - len(text.lstrip(" "))
        self._extend(text[min(spaces, fence.indent) :])
        if whole:
            self._end_line()
        if closes:
            self._close()

    def _follow_fence(self) -> None:
        """Show the next lines as code, if a line opened a fence that was not recognized by its start."""
        if self._lines.fence and not self._in_code:
            self._open_fence()

    def _begin_outside(self, line: str, whole: bool) -> None:
        mark = quotes(line)
        text = line[len(mark) :]
        if not text.strip(" \t"):
            self._close()
            self._gap = min(mark.count(">"), self._depth)
            self._begun = False
            return
        depth = min(mark.count(">"), _DEEPEST)
        if depth != self._depth:
            self._close()
            self._depth, self._levels, self._gap = depth, [], 0
        body = text.lstrip(" \t")
        indent = len(text[: len(text) - len(body)].expandtabs(4))
        if whole and self._whole_line(body.rstrip(), indent):
            return
        if self._heading(body) or self._item(body, indent, whole):
            return
        self._text(line, body, indent)

    def _whole_line(self, body: str, indent: int) -> bool:
        """Process what needs a whole line: a fence, a formula, a rule, a table row. Return whether it was one."""
        paragraph = self._block if isinstance(self._block, Prose) and self._kind == "text" else None
        if isinstance(self._block, MarkdownTable):
            if "|" in body and not self._lines.fence:
                self._final += self._block.add(body)
                return True
            self._close()
        if self._lines.fence:
            self._open_fence()
            if self._lines.fence.formula:
                self._extend(body)
                self._end_line()
        elif paragraph and paragraph.whole and "\n" not in paragraph.source and self._under(paragraph, body):
            pass
        elif re.fullmatch(_RULE, body):
            self._open("rule", None)
            self._final.append(
                StyledLine(paint([StyledSpan("─" * min(self._window.room, 40), "2")], color=self._color))
            )
        else:
            return False
        return True

    def _open_fence(self) -> None:
        """Open a block for the code or the formula that begins."""
        fence = self._lines.fence
        assert fence
        word = re.match(r"\s*\{?\.?([\w+#-]*)", fence.info)
        name = word[1] if word else ""
        highlighter = Highlighter(name, self._theme) if self._color and not fence.formula else None
        self._open("formula" if fence.formula else "code", Verbatim(self._window, highlighter))
        self._in_code, self._mark = True, fence.mark
        if not self._color and not fence.formula:
            self._final.append(StyledLine(fence.mark + harmless(name)))

    def _under(self, paragraph: Prose, body: str) -> bool:
        """Turn the line above into a heading or a table head, if this line underlines it. Return whether it does."""
        if re.fullmatch("=+", body):
            heading = self._prose("1;4")
            heading.append(paragraph.source)
            self._block, self._kind = heading, "heading"
            return True
        many = len(split_row(body)) if "|" in paragraph.source and re.fullmatch(_RULER, body) else 0
        if many != len(split_row(paragraph.source)):
            return False
        self._block, self._kind = MarkdownTable(self._window, paragraph.source, body), "table"
        self._final += [] if self._spaced else [StyledLine()]
        return True

    def _heading(self, body: str) -> bool:
        if not (mark := re.match(r"(#{1,6})[ \t]+", body)):
            return False
        self._levels = []
        first = [] if self._color else [StyledSpan(f"{mark[1]} ")]
        self._open("heading", Prose(self._window, self._bars() + first, self._bars(), "1;4" if mark[1] == "#" else "1"))
        self._extend(body[mark.end() :])
        return True

    def _item(self, body: str, indent: int, whole: bool) -> bool:
        """Start a list item, or several nested ones in one line. Return whether the line is an item."""
        mark = re.match(_ITEM, body)
        if not mark:
            return False
        in_text = self._kind == "text" and self._block is not None and not self._levels
        if in_text and mark[1][0].isdigit() and mark[1] not in ("1.", "1)"):
            return False  # a number inside a paragraph
        bullets: list[StyledSpan] = []
        while mark and len(bullets) < _DEEPEST:
            while self._levels and indent < self._levels[-1].column + 2:
                self._levels.pop()
            bullet = f"{'•◦▪'[len(self._levels) % 3]} " if mark[1] in "-*+" else f"{mark[1]} "
            before = [level.rest for level in self._levels] if not bullets else []
            self._levels = self._levels[-_DEEPEST:]
            self._levels.append(Level(indent, StyledSpan(" " * len(bullet))))
            bullets += [*before, StyledSpan(bullet, "2")]
            body, indent = body[mark.end() :], indent + mark.end()
            mark = re.match(_ITEM, body)
        if task := re.match(r"\[([ xX])\](?: |$)", body):
            bullets.append(StyledSpan("☐ " if task[1] == " " else "☑ "))
            body = body[task.end() :]
        rest = self._bars() + [level.rest for level in self._levels]
        self._open("text", Prose(self._window, self._bars() + bullets, rest))
        if task or not (whole and self._whole_line(body.rstrip(), indent)):
            self._extend(body)
        return True

    def _text(self, line: str, body: str, indent: int) -> None:
        """Continue a paragraph, or start one."""
        if self._kind == "text" and isinstance(self._block, Prose) and not body.startswith("|"):
            self._extend("\n" + body)
            return
        while self._levels and indent < self._levels[-1].column + 2:
            self._levels.pop()
        if indent >= 4 and not self._levels and not self._depth:
            self._open("indented", Verbatim(self._window))
            self._extend(line[1:] if line.startswith("\t") else line[4:])
            return
        self._open("text", self._prose())
        self._extend(body)

    def _prose(self, style: str = "") -> Prose:
        before = self._bars() + [level.rest for level in self._levels]
        return Prose(self._window, before, before, style)

    def _bars(self) -> list[StyledSpan]:
        return [StyledSpan("│ ", "2")] * self._depth

    def _extend(self, text: str) -> None:
        if isinstance(self._block, Prose | Verbatim):
            self._final += self._block.append(text)

    def _end_line(self) -> None:
        self._begun = False
        if isinstance(self._block, Verbatim):
            self._final += self._block.newline()
            if not self._in_code:
                self._block = None
        elif isinstance(self._block, Prose) and self._kind == "heading":
            self._block.source = re.sub(r"(^|\s+)#+\s*$", "", self._block.source)
            self._close()

    def _open(self, kind: str, block: Prose | Verbatim | MarkdownTable | None) -> None:
        """Start a block, with a blank line above it if the source has one or the kind of block needs one."""
        self._close()
        apart = kind in _APART or self._kind in _APART or kind == "heading"
        self._spaced = not self._kind or self._gap is not None or apart
        if self._kind and self._spaced:
            self._final.append(
                StyledLine(paint([StyledSpan("│ " * (self._gap or 0), "2")], color=self._color).rstrip())
            )
        self._block, self._kind, self._gap = block, kind, None

    def _close(self) -> None:
        self._in_code = False
        if self._block:
            self._final += self._block.close()
        self._block = None
