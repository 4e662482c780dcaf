"""Ctrl-R: the history as a list under the prompt, with search words, bounds, and what is known of a command."""

import asyncio
import os
import re
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

from prompt_toolkit.application import Application, get_app
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition, has_focus, vi_navigation_mode
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.key_binding.vi_state import InputMode
from prompt_toolkit.layout import BufferControl, ConditionalContainer, FormattedTextControl, HSplit, Window
from prompt_toolkit.layout.containers import Container
from prompt_toolkit.layout.dimension import Dimension
from prompt_toolkit.layout.processors import BeforeInput

from aish.memory.command_history.past_commands import Status, Wanted, narrowed
from aish.places import home_directory
from aish.values.past_command import PastCommand
from aish.values.text import for_terminal, one_line
from aish.values.times import ago
from aish.views.command_history import CommandHistory

_MOST_ROWS = 12  # of the list
_OTHER_ROWS = 6  # prompt, search line, preview, keys
_MOST_FOUND = 1_000  # nobody reads on; more words find it
_FIRST_STEP = 0.005  # seconds of search before the first rows are shown; enough for all words in 200,000 commands
_STEP = 0.003  # seconds of search between two looks at the keys
_ESCAPE_SECONDS = 0.05  # how long a lone Esc may be the beginning of a function key
_LOOK_AGAIN = 0.05  # seconds
_KEYS_HELP, _SHORT_HELP = "Enter runs  Tab edits  Esc leaves", "Enter Tab Esc"
_STATUSES: tuple[Status, ...] = ("", "failed", "succeeded")
_TIMES = ("", "today", "7 days")


class HistoryList:
    """The list, closed at first.

    1. Enter runs the chosen command, Tab puts it on the line for editing, Esc leaves the line as it was.
    2. A key never waits for the search: what a few milliseconds do not find appears later.
    """

    def __init__(self, history: CommandHistory, typed: Buffer, accept: Callable[[Buffer], None]) -> None:
        """Search a history for the buffer of the prompt. `accept` sends what is in it."""
        self._history, self._typed, self._accept = history, typed, accept
        self.words = Buffer(name="history", multiline=False, on_text_changed=lambda _: self._restart())
        self._open = False
        self._found: list[PastCommand] = []
        self._chosen = 0
        self._top = 0  # the first command on the screen
        self._search: Iterator[list[PastCommand]] | None = None
        self._last: Wanted | None = None  # what was searched for
        self._in_all = False  # was everything loaded when that search began?
        self._here, self._status, self._time = False, 0, 0
        self._escape_before: float | None = None

    @property
    def chosen(self) -> PastCommand | None:
        return self._found[self._chosen] if self._chosen < len(self._found) else None

    def container(self) -> Container:
        """Return what is shown under the prompt while the list is open."""
        before = BeforeInput("history: ", style="class:history.dim")
        rows = [
            Window(BufferControl(self.words, input_processors=[before]), height=1),
            Window(FormattedTextControl(self._rows), height=lambda: Dimension.exact(self._height())),
            Window(FormattedTextControl(self._preview), height=Dimension(min=1, max=3), wrap_lines=True),
            Window(FormattedTextControl(self._keys_line), height=1),
        ]
        return ConditionalContainer(HSplit(rows), Condition(lambda: self._open))

    def open(self, app: Application[str]) -> None:
        """Show the list, with the line as the first search words."""
        self._history.start()
        self._history.catch_up()
        self._open, self._escape_before, self._last = True, app.ttimeoutlen, None
        self._here, self._status, self._time = False, 0, 0
        app.ttimeoutlen = _ESCAPE_SECONDS
        app.vi_state.input_mode = InputMode.INSERT
        text = self._typed.text if "\n" not in self._typed.text else ""
        before = self.words.text
        self.words.document = Document(text)
        if before == text:  # otherwise the change has started the search
            self._restart()
        app.layout.focus(self.words)
        if not self._history.loaded:
            app.create_background_task(self._follow_loading())

    def close(self, app: Application[str]) -> None:
        self._open, self._search = False, None
        if self._escape_before is not None:
            app.ttimeoutlen, self._escape_before = self._escape_before, None
        app.layout.focus(self._typed)

    def _take(self, app: Application[str], *, run: bool) -> None:
        """Put the chosen command on the line; without one, the words that were typed."""
        chosen = self.chosen
        text = chosen.text if chosen else self.words.text
        self.close(app)
        self._typed.document = Document(text)
        if run and chosen:
            self._accept(self._typed)

    def _wanted(self) -> Wanted:
        today = datetime.now().astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
        days = {"": None, "today": 0, "7 days": 6}[_TIMES[self._time]]
        since = 0.0 if days is None else (today - timedelta(days=days)).timestamp()
        return Wanted(self.words.text, self._history.directory() if self._here else "", _STATUSES[self._status], since)

    def _restart(self) -> None:
        if not self._open:
            return
        wanted, before = self._wanted(), self._last
        whole = self._search is None and self._in_all and len(self._found) < _MOST_FOUND
        self._in_all = self._history.loaded
        if whole and before and before.words and _is_longer(wanted, before):
            self._search = narrowed(self._found, wanted.words)
        else:
            self._search = self._history.past.search(wanted)
        self._found, self._chosen, self._top, self._last = [], 0, 0, wanted
        self._step(self._search, _FIRST_STEP)
        if self._search:
            get_app().create_background_task(self._go_on(self._search))

    def _step(self, search: Iterator[list[PastCommand]], seconds: float) -> None:
        """Search for some milliseconds. At the end there is no search any more."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            batch = next(search, None)
            if batch is None or len(self._found) >= _MOST_FOUND:
                self._search = None
                return
            self._found += batch

    async def _go_on(self, search: Iterator[list[PastCommand]]) -> None:
        while self._search is search:
            await asyncio.sleep(0.001)
            before = len(self._found)
            if self._search is search:
                self._step(search, _STEP)
            if len(self._found) != before or self._search is None:
                get_app().invalidate()

    async def _follow_loading(self) -> None:
        """Search again when everything is loaded; the chosen command stays chosen."""
        while self._open and not self._history.loaded:  # noqa: ASYNC110  # another thread loads it
            await asyncio.sleep(_LOOK_AGAIN)
        chosen, rows = self.chosen, self._chosen
        self._restart()
        if chosen and rows and chosen.text in (texts := [one.text for one in self._found]):
            self._move(texts.index(chosen.text))
        get_app().invalidate()

    def _move(self, rows: int) -> None:
        self._chosen = max(0, min(self._chosen + rows, len(self._found) - 1))
        height = self._height()
        self._top = min(max(self._top, self._chosen - height + 1), self._chosen)

    def _height(self) -> int:
        return max(1, min(_MOST_ROWS, get_app().output.get_size().rows - _OTHER_ROWS))

    def _columns(self) -> int:
        return get_app().output.get_size().columns

    # What is shown

    def _count(self) -> str:
        found = f"{min(len(self._found), _MOST_FOUND):,}{'+' if len(self._found) >= _MOST_FOUND else ''}"
        return f"{found} of {len(self._history.past):,}{'' if self._history.loaded else ', loading'}"

    def _rows(self) -> StyleAndTextTuples:
        columns, terms = self._columns(), self.words.text.split()
        pattern = re.compile("|".join(map(re.escape, sorted(terms, key=len, reverse=True))), re.IGNORECASE)
        rows: StyleAndTextTuples = []
        for place in range(self._top, min(self._top + self._height(), len(self._found))):
            style = "class:history.chosen" if place == self._chosen else ""
            rows.append((style, "> " if place == self._chosen else "  "))
            text = for_terminal(one_line(self._found[place].text[: 4 * columns], max(columns - 3, 10)))
            rows += _marked(text, pattern if terms else None, style)
            rows.append(("", "\n"))
        return rows[:-1] or [("class:history.dim", "  nothing found")]

    def _preview(self) -> StyleAndTextTuples:
        chosen = self.chosen
        parts = [self._count(), *(details(chosen, time.time()) if chosen else ())]
        told = f"  {' · '.join(map(for_terminal, parts))}"
        shown = for_terminal(chosen.text) if chosen else ""
        whole = len(shown) > self._columns() - 3 or "\n" in shown
        return [("class:history.dim", told), ("", f"\n{shown[: 3 * self._columns()]}" if whole else "")]

    def _keys_line(self) -> StyleAndTextTuples:
        parts = [
            ("D", "this directory" if self._here else "anywhere", self._here),
            ("S", _STATUSES[self._status] or "any status", self._status),
            ("T", _TIMES[self._time] or "any time", self._time),
        ]
        room = self._columns() - len(_KEYS_HELP) - sum(len(value) for _, value, _ in parts)
        control, help = ("Ctrl-", _KEYS_HELP) if room > 32 else ("^", _SHORT_HELP)
        line: StyleAndTextTuples = [("", "  ")]
        for key, value, active in parts:
            style = "class:history.active" if active else ""
            line += [("class:history.dim", f"{control}{key} "), (style, value), ("", "  ")]
        return [*line, ("class:history.dim", help)]

    # Keys

    def bind(self, keys: KeyBindings, typing: Condition) -> None:
        """Add the keys of the list, and the one that opens it."""
        here = has_focus(self.words)

        @keys.add("c-r", filter=typing & ~vi_navigation_mode)
        def open_list(event: KeyPressEvent) -> None:
            self.open(event.app)

        @keys.add("enter", filter=here)
        def run(event: KeyPressEvent) -> None:
            self._take(event.app, run=True)

        @keys.add("tab", filter=here)
        def edit(event: KeyPressEvent) -> None:
            self._take(event.app, run=False)

        @keys.add("escape", filter=here, eager=True)
        @keys.add("c-c", filter=here)
        @keys.add("c-g", filter=here)
        def leave(event: KeyPressEvent) -> None:
            self.close(event.app)

        for names, rows in (("up c-p", -1), ("down c-n c-r", 1), ("pageup", -_MOST_ROWS), ("pagedown", _MOST_ROWS)):
            for name in names.split():
                keys.add(name, filter=here)(lambda event, rows=rows: self._move(rows))

        @keys.add("c-d", filter=here)
        def here_only(event: KeyPressEvent) -> None:
            self._here = not self._here
            self._restart()

        @keys.add("c-s", filter=here)
        def next_status(event: KeyPressEvent) -> None:
            self._status = (self._status + 1) % len(_STATUSES)
            self._restart()

        @keys.add("c-t", filter=here)
        def next_time(event: KeyPressEvent) -> None:
            self._time = (self._time + 1) % len(_TIMES)
            self._restart()


def _is_longer(wanted: Wanted, before: Wanted) -> bool:
    """Are all results of a search among those of the one before it?"""
    return wanted.words.startswith(before.words) and before == wanted._replace(words=before.words)


def details(one: PastCommand, now: float) -> Iterator[str]:
    """Yield what is known of a command: time, directory, status, duration, and where it is from."""
    if one.time > 0:
        yield ago(datetime.fromtimestamp(one.time, UTC), datetime.fromtimestamp(now, UTC))
    if one.directory:
        home = str(home_directory())
        inside = one.directory == home or one.directory.startswith(home + os.sep)
        yield f"~{one.directory[len(home) :]}" if inside else one.directory
    if one.status is not None:
        yield f"exit status {one.status}" if one.status else "succeeded"
    if one.seconds is not None:
        yield duration(one.seconds)
    if one.host and one.host != os.uname().nodename:
        yield f"on {one.host}"
    if one.source != "aish":
        yield "typed here" if one.source == "typed" else f"from {one.source}"


def duration(seconds: float) -> str:
    """Return a duration in the unit that tells most."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def _marked(text: str, pattern: re.Pattern[str] | None, style: str) -> StyleAndTextTuples:
    """Return a text with the search words emphasised."""
    if pattern is None:
        return [(style, text)]
    pieces: StyleAndTextTuples = []
    at = 0
    for found in pattern.finditer(text):
        pieces += [(style, text[at : found.start()]), (f"{style} class:history.match", found[0])]
        at = found.end()
    return [*pieces, (style, text[at:])]
