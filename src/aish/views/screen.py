"""The terminal as the program sees it: results on standard output, everything else on standard error."""

import os
import sys
from itertools import islice

from aish.values.invisible import visible
from aish.values.replies import Reply
from aish.values.text import COMMAND_SIGN, GUTTER, foreign
from aish.views.table import lay_out
from aish.views.themes import Theme, codes, theme

# Go to the start of the line, reset colours, character sets, insert mode and margins, and clear below. Earlier output
# may have changed these, and a command must be shown exactly.
_RESET_TERMINAL = "\r\x1b[m\x1b%G\x1b(B\x0f\x1b[4l\x1b7\x1b[r\x1b8\x1b[J"

_LONGEST_BAR, _SHORTEST_BAR = 30, 5  # columns


class Screen:
    """Writes for people. Text of models is neutralised before output, here and in `AnswerScreen` while it streams.

    On a terminal each line of a message or question starts with the sign `GUTTER`, and each command with
    `COMMAND_SIGN`. Text of models and output of their commands cannot contain these signs, with or without colours, so
    nobody else can write such a line.
    """

    def __init__(self, color: str = "auto", *, styles: Theme | None = None) -> None:
        self._color = color
        self._styles = styles or theme()

    def restyle(self, styles: Theme) -> None:
        """Use other colours from now on."""
        self._styles = styles

    @property
    def width(self) -> int:
        return self.size.columns

    @property
    def room(self) -> int:
        """The columns for a line of a result; unlimited on a pipe, so that scripts get the full text."""
        return self.width if sys.stdout.isatty() else sys.maxsize

    @property
    def size(self) -> os.terminal_size:
        try:
            size = os.get_terminal_size(sys.stdout.fileno())
        except (OSError, ValueError):
            size = os.terminal_size((0, 0))
        return os.terminal_size((size.columns or 80, size.lines or 24))

    @property
    def colors(self) -> bool:
        """Whether to use colours."""
        return self._color == "always" or (self._color == "auto" and colorful())

    def styled(self, text: str, style: str) -> str:
        numbers = codes(self._styles.get(style, "")) if self.colors else ""
        return f"\x1b[{numbers}m{text}\x1b[0m" if numbers else text

    def say(self, result: str | Reply) -> None:
        """Write a result to standard output."""
        reply = Reply(result) if isinstance(result, str) else result
        if reply.table and reply.table.rows:
            width = self.width if sys.stdout.isatty() else None  # on a pipe, scripts get the full text
            plain = width is None and self._color != "always"
            rows = lay_out(reply.table, width)
            lines = (line if plain else self.styled(line, style) for line, style in rows)
            while some := list(islice(lines, 1000)):
                sys.stdout.write("\n".join(some) + "\n")
        if reply.text:
            print(self._colored_difference(reply.text) if reply.difference else self._marked(reply))
        sys.stdout.flush()

    def _marked(self, reply: Reply) -> str:
        """Return the text of a reply, with matches highlighted on a terminal."""
        if self._color != "always" and not sys.stdout.isatty():
            return visible(reply.text)
        if not reply.marks:
            return "\n".join(self._folded(line) for line in visible(reply.text).split("\n"))
        shown, at = [], 0
        for begin, end in reply.marks:
            shown += [visible(reply.text[at:begin]), self.styled(visible(reply.text[begin:end]), "match")]
            at = end
        return "".join([*shown, visible(reply.text[at:])])

    def _folded(self, line: str) -> str:
        """Wrap a sentence between words if it is wider than the screen. Columns and code stay as they are."""
        if len(line) <= self.width or "  " in line or not line[:1].isalpha():
            return line
        from textwrap import wrap  # here, because most runs have nothing to wrap

        return "\n".join(wrap(line, self.width, break_long_words=False, break_on_hyphens=False))

    def note(self, text: str, *, warning: bool = False) -> None:
        """Write a message to standard error; on a terminal it wraps between words."""
        self._own_lines(f"[aish] {foreign(visible(text))}", "warning" if warning else "dim")

    def step(self, text: str) -> None:
        """Write the line of a step that the model took by itself."""
        self._own_lines(f"{' ' if sys.stderr.isatty() else ''}{foreign(visible(text))}", "dim")

    def _own_lines(self, text: str, style: str) -> None:
        """Write lines that only aish can write to standard error; on a terminal they wrap between words."""
        if sys.stderr.isatty():
            lines = [self.gutter + self.styled(row, style) for row in self._rows(text)]
            print("\n".join(lines), file=sys.stderr, flush=True)
        else:
            print(self.styled(text, style), file=sys.stderr, flush=True)

    def own_question(self, text: str) -> str:
        """Return a question as lines that only aish can write; the answer is typed after the last of them."""
        rows = self._rows(f"[aish] {foreign(text)}") if sys.stderr.isatty() else [f"[aish] {foreign(text)}"]
        return "\n".join(self.gutter + row for row in rows).rstrip(" ") + " " * text.endswith(" ")

    def _rows(self, text: str) -> list[str]:
        """Wrap a text between words, for lines after the gutter; the rest of a line is indented."""
        from textwrap import wrap  # here, because most runs have nothing to wrap

        room = max(self.width - len(GUTTER), 1)
        indent = "  " if room > 20 else ""  # columns; a narrower screen has no room for it
        wrapped = (
            wrap(line, room, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False) or [""]
            for line in text.split("\n")
        )
        return [row for rows in wrapped for row in rows]

    @property
    def gutter(self) -> str:
        """The sign before a message or a question on a terminal."""
        return self.styled(GUTTER, "prompt") if sys.stderr.isatty() else ""

    def difference(self, text: str) -> None:
        """Show a difference that a question is about, on standard error."""
        print(self._colored_difference(text), file=sys.stderr, flush=True)

    def _colored_difference(self, text: str) -> str:
        styles = {"+": "added", "-": "removed", "@": "dim"}
        lines = foreign(text).split("\n")
        return "\n".join(self.styled(line, styles[line[0]]) if line[:1] in styles else line for line in lines)

    def command(self, text: str, effect: str) -> None:
        """Show a command that is about to run or to be confirmed; each of its lines has the sign."""
        style = {"read": "dim", "destroy": "error"}.get(effect, "warning")
        reset = _RESET_TERMINAL if sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb" else ""
        lines = "\n".join(self.styled(f"{COMMAND_SIGN} {line}", style) for line in text.split("\n"))
        print(f"{reset}{lines}", file=sys.stderr, flush=True)


def colorful() -> bool:
    """Return whether this terminal wants colours."""
    return sys.stderr.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM", "dumb") != "dumb"


def bar_line(what: str, percent: int, columns: int) -> str:
    """Return a progress bar that fits in so many columns; a narrow terminal shows less of it. Pure."""
    number = f"{percent:>3} %"
    room = columns - 1 - len(what) - len(number)  # the last column stays free: some terminals would wrap
    length = min(room - 2, _LONGEST_BAR)
    if length >= _SHORTEST_BAR:
        full = percent * length // 100
        return f"{what} {'█' * full}{'░' * (length - full)} {number}"
    return f"{what} {number}" if room >= 1 else number[: max(columns - 1, 0)]


class Bar:
    """A progress bar on standard error, shown on a terminal only."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._percent = -1
        self._is_open = False  # the cursor is behind the bar

    def __call__(self, done: int, whole: int) -> None:
        percent = 100 * done // max(whole, 1)
        if percent == self._percent or not sys.stderr.isatty():
            return
        self._percent = percent
        end = "\n" if done >= whole else ""
        self._is_open = not end
        sys.stderr.write(f"\r{bar_line(self._what, percent, self._columns())}{end}")
        sys.stderr.flush()

    def _columns(self) -> int:
        try:
            return os.get_terminal_size(sys.stderr.fileno()).columns or 80
        except (OSError, ValueError):
            return 80

    def stop(self) -> None:
        """End the line of a bar that did not get to its end, so that what follows has its own."""
        if self._is_open:
            self._is_open = False
            sys.stderr.write("\n")
