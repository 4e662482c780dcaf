"""The line editor for real terminals, built on prompt_toolkit. It shows the kind of a line while it is typed.

It has history, search, completion and multi-line paste. The program's event loop runs while the user types.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable
from itertools import groupby
from operator import itemgetter

from prompt_toolkit import PromptSession
from prompt_toolkit.application import Application, run_in_terminal
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.enums import DEFAULT_BUFFER, EditingMode
from prompt_toolkit.filters import Condition, emacs_insert_mode, has_focus, vi_insert_mode, vi_navigation_mode
from prompt_toolkit.formatted_text import ANSI, StyleAndTextTuples, to_formatted_text
from prompt_toolkit.formatted_text.utils import split_lines
from prompt_toolkit.input import Input
from prompt_toolkit.input.typeahead import store_typeahead
from prompt_toolkit.input.vt100_parser import Vt100Parser
from prompt_toolkit.key_binding import KeyBindings, KeyPress, KeyPressEvent
from prompt_toolkit.layout import HSplit, to_container
from prompt_toolkit.lexers import Lexer
from prompt_toolkit.output import ColorDepth, Output
from prompt_toolkit.styles import Style

from aish.intake.completion import read_command
from aish.values.named_tuple import NamedTuple
from aish.values.text import for_terminal
from aish.views.command_history import CommandHistory
from aish.views.history_list import HistoryList
from aish.views.prompt import OWN_SIGN, SIGN, signs
from aish.views.themes import PLAIN, Theme, editor_style, theme
from aish.views.typed_history import FromHistory, TypedHistory

Suggest = Callable[[str], Iterable[tuple[str, int, str]]]  # text before the cursor → (word, replaced length, hint)
Route = Callable[[str], tuple[str, str]]  # a line → command, question, ask or colon, and the reason
_LONGEST_COLOURED = 600  # characters; highlighting longer, pasted text would delay each key
_PATIENCE = 0.3  # seconds that Enter waits for a completion
_MENU = {  # the completion menu, readable on any background
    "completion-menu.completion": "noinherit bg:#303030 #d0d0d0",
    "completion-menu.completion.current": "noinherit bold bg:#005f87 #ffffff",
    "completion-menu.meta.completion": "noinherit bg:#262626 #9e9e9e",
    "completion-menu.meta.completion.current": "noinherit bg:#00456b #e4e4e4",
}
_KINDS = ("command", "question", "ask", "colon")


def _question(line: str) -> tuple[str, str]:
    """Return the kind of a line when no route is given."""
    return ("colon" if line.startswith(":") else "question"), ""


class Look(NamedTuple):
    """How the editor looks; `known` says whether a word is the name of a command."""

    styles: Theme = theme()
    colors: bool = True
    unicode: bool = True
    known: Callable[[str], bool] | None = None


class LineEditor:
    """Reads a line with history, completion and colours.

    1. Nothing slow happens between two keys: shell completion runs in a thread, history loads in the background.
    2. Enter never sends an unfinished command: in quotes, here-documents and blocks and after a backslash it adds a
       line.
    3. Pasted text is only inserted, whatever it contains.
    """

    def __init__(
        self,
        history: CommandHistory,
        suggest: Suggest,
        *,
        vi: bool = False,
        chosen: Callable[[], str] = str,
        route: Route | None = None,
        closed: Callable[[str], bool] = lambda text: False,
        look: Look | None = None,
        input: Input | None = None,
        output: Output | None = None,
    ) -> None:
        self._chosen = chosen  # the keys that the user chose in the shell: vi, emacs or empty
        self._look = look or Look()
        self._line = _LineKind(route or _question, closed)
        self._signs = signs(unicode=self._look.unicode)
        self._style = _style(self._look.styles)
        self._prompts: dict[str, StyleAndTextTuples] = {kind: [] for kind in self._signs}
        suggestions, typed = _Suggestions(suggest), TypedHistory(history)
        self._session: PromptSession[str] = PromptSession(
            message=self._message,
            history=typed,
            completer=suggestions,
            auto_suggest=FromHistory(history),
            lexer=_Colours(self._line, self._look.known),
            complete_while_typing=False,
            editing_mode=EditingMode.VI if vi else EditingMode.EMACS,
            enable_history_search=True,
            multiline=True,
            prompt_continuation=lambda width, line, wrapped: "" if wrapped else "> ",
            key_bindings=(keys := _keys(self._line, suggestions, typed)),
            style=self._style,
            color_depth=None if self._look.colors else ColorDepth.DEPTH_1_BIT,
            input=input,
            output=output,
        )
        self._list = HistoryList(history, self._session.default_buffer, self._run_again)
        self._list.bind(keys, has_focus(DEFAULT_BUFFER))
        under_prompt = self._session.layout.container
        assert isinstance(under_prompt, HSplit)
        under_prompt.children.append(to_container(self._list.container()))
        self._session.default_buffer.on_text_changed += self._tell_reason
        self._text = ""  # what the next line starts with
        self._key_bindings, self._reason, self._below = keys, "", ""

    @property
    def app(self) -> Application[str]:
        return self._session.app

    @property
    def is_reading(self) -> bool:
        return self._session.app.is_running

    def read(self, runner: asyncio.Runner, prompt: str) -> str:
        return runner.run(self.read_line(prompt))

    async def read_line(self, prompt: str) -> str:
        if chosen := self._chosen():
            self._session.editing_mode = EditingMode.VI if chosen == "vi" else EditingMode.EMACS
        pieces = to_formatted_text(ANSI(prompt))
        self._prompts = {kind: self._prompt_with(kind, pieces) for kind in self._signs}
        self._reason = ""
        self._show_bottom()
        text, self._text = self._text, ""
        return await self._session.prompt_async(default=text)

    def take_keys(self, keys: bytes) -> None:
        presses: list[KeyPress] = []
        parser = Vt100Parser(presses.append)
        parser.feed(keys.decode("utf-8", "replace").replace("\n", "\r"))
        parser.flush()
        store_typeahead(self._session.app.input, presses)

    def put(self, text: str) -> None:
        self._text += text

    def remember(self, line: str) -> None:
        self._session.history.append_string(line)

    def restyle(self, styles: Theme, *, vi: bool) -> None:
        self._session.style = self._style = _style(styles)
        self._session.editing_mode = EditingMode.VI if vi else EditingMode.EMACS

    def _run_again(self, buffer: Buffer) -> None:
        """Send a line of the history. What was a command then is one now, also if it looks like a question."""
        chosen = self._list.chosen
        if chosen and chosen.is_command and self._line.of(chosen.text)[0] != "command":
            buffer.document = Document(
                f"!{chosen.text} "
            )  # with a space, `!name` is no earlier command with that start
        buffer.validate_and_handle()

    def show_above(self, write: Callable[[], object]) -> None:
        asyncio.ensure_future(run_in_terminal(write))  # noqa: RUF006  # the application keeps it

    async def edit(self, text: str) -> str:
        """Let the user edit a text of one or more lines. As at the prompt, Alt-Enter starts a new line."""
        keys = KeyBindings()
        inserting = emacs_insert_mode | vi_insert_mode
        keys.add("enter")(lambda event: event.current_buffer.validate_and_handle())
        keys.add("escape", "enter", filter=inserting)(lambda event: event.current_buffer.insert_text("\n"))
        once: PromptSession[str] = PromptSession(
            editing_mode=self._session.editing_mode,
            style=self._style,
            color_depth=self._session.color_depth,
            multiline=True,
            prompt_continuation=lambda width, line, wrapped: "" if wrapped else f"{'> ':>{width}}",
            key_bindings=keys,
            input=self._session.app.input,
            output=self._session.app.output,
        )
        try:
            return await once.prompt_async("edit: ", default=text)
        except (EOFError, KeyboardInterrupt):
            return ""

    def _message(self) -> StyleAndTextTuples:
        """Return the prompt with the sign for the current line."""
        kind, _ = self._line.of(self._session.default_buffer.text)
        return self._prompts[kind]

    def _prompt_with(self, kind: str, pieces: StyleAndTextTuples) -> StyleAndTextTuples:
        """Put a sign into a prompt. Neighbours with one style are joined, because each piece is drawn at every key."""
        sign = (f"class:sign.{kind}", self._signs[kind])
        signed, own = [], False
        for style, text, *_ in pieces:
            if text == SIGN or (own and kind not in ("", "command")):
                signed.append(sign if kind else (style, sign[1]))
            elif text != OWN_SIGN:
                signed.append((style, text))
            own = text == OWN_SIGN
        grouped = groupby(signed, key=itemgetter(0))
        return [(style, "".join(text for _, text in group)) for style, group in grouped]

    def show_below(self, text: str) -> None:
        self._below = text
        self._show_bottom()
        if self.is_reading:
            self.app.invalidate()

    def on_key(self, key: str, act: Callable[[], object]) -> None:
        self._key_bindings.add(key)(lambda event: act())

    @property
    def left_empty(self) -> bool:
        return not self._session.default_buffer.text

    def _tell_reason(self, buffer: Buffer) -> None:
        kind, reason = self._line.of(buffer.text)
        self._reason = reason if kind == "ask" else ""
        self._show_bottom()

    def _show_bottom(self) -> None:
        """Show why a line is unclear, else what goes on in the background."""
        self._session.bottom_toolbar = for_terminal(self._reason or self._below) or None


class _LineKind:
    """The kind of a line, cached for the last text: the sign, the colours and the keys all need it."""

    def __init__(self, route: Route, closed: Callable[[str], bool] = lambda text: False) -> None:
        self._route, self.closed = route, closed
        self._known: tuple[str, tuple[str, str]] = ("", ("", ""))

    def of(self, text: str) -> tuple[str, str]:
        if text != self._known[0]:
            try:
                kind, reason = self._route(text) if text.strip() else ("", "")
            except Exception:  # a bug in routing must not lose the line; it is reported when the line is sent
                kind, reason = "", ""
            self._known = text, (kind if kind in _KINDS else "", reason)
        return self._known[1]


class _Suggestions(Completer):
    """Tab completion. Colon commands complete at once; shell words may need disk and bash, so they use a thread."""

    def __init__(self, suggest: Suggest) -> None:
        self._suggest = suggest
        self._done = asyncio.Event()
        self.under_way = False

    def begin(self) -> None:
        """Note that Tab was pressed: keys typed now were meant for the completed line."""
        self.under_way = True
        self._done.clear()

    async def finished(self) -> None:
        """Wait for the completion, for a limited time."""
        try:
            await asyncio.wait_for(self._done.wait(), _PATIENCE)
        except TimeoutError:
            pass

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        try:
            found = list(self._suggest(document.text_before_cursor))
        except Exception:  # a failed completion must not lose the typed line
            found = []
        for word, length, hint in found:
            if document.text_after_cursor[:1].isspace():
                word = word.removesuffix(" ")
            shown = for_terminal(word.rstrip())
            yield Completion(word, start_position=-length, display=shown, display_meta=for_terminal(hint))

    async def get_completions_async(
        self, document: Document, complete_event: CompleteEvent
    ) -> AsyncGenerator[Completion, None]:
        try:
            if document.text.startswith(":"):
                found = list(self.get_completions(document, complete_event))
            else:
                found = await asyncio.to_thread(lambda: list(self.get_completions(document, complete_event)))
            for one in found:
                yield one
        finally:
            self.under_way = False
            self._done.set()


class _Colours(Lexer):
    """Colours command names, known or unknown; the rest of the line has no colour."""

    def __init__(self, line: _LineKind, known: Callable[[str], bool] | None) -> None:
        self._line = line
        self._known = known or (lambda name: True)

    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        if len(document.text) > _LONGEST_COLOURED:
            return lambda number: [("", document.lines[number])]
        lines = list(split_lines(self._fragments(document.text)))
        return lambda number: lines[number] if number < len(lines) else []

    def _fragments(self, text: str) -> StyleAndTextTuples:
        kind, _ = self._line.of(text)
        if kind == "colon":
            name, space, words = text.partition(" ")
            return [("class:colon", name), ("", space + words)]
        if kind != "command":
            return [("", text)]
        fragments: StyleAndTextTuples = []
        done = start = int(text.startswith("!"))
        for word in read_command(text[start:]).names:
            style = "class:command" if self._known(word.text) else "class:unknown"
            fragments += [("", text[done : start + word.start]), (style, text[start + word.start : start + word.end])]
            done = start + word.end
        return [("", text[:start]), *fragments, ("", text[done:])]


def _keys(line: _LineKind, suggestions: _Suggestions, history: TypedHistory) -> KeyBindings:
    """Return the key bindings that differ from prompt_toolkit's."""
    keys = KeyBindings()
    typing = has_focus(DEFAULT_BUFFER)

    @keys.add("enter", filter=typing)
    def enter(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.complete_state and buffer.complete_state.current_completion:
            buffer.complete_state = None  # Enter accepts the completion, and does not run the line
        elif suggestions.under_way:
            event.app.create_background_task(_enter_later(suggestions, buffer, line))  # keep the order: Tab, Enter
        else:
            _enter(buffer, line)

    @keys.add("tab", filter=typing & (emacs_insert_mode | vi_insert_mode))
    def complete(event: KeyPressEvent) -> None:
        if event.current_buffer.complete_state:
            event.current_buffer.complete_next()
        else:
            suggestions.begin()
            event.current_buffer.start_completion(insert_common_part=True)

    @keys.add("up", filter=typing & Condition(lambda: not history.there.is_set()))
    def go_back(event: KeyPressEvent) -> None:
        """Wait for the history: Up may be the first key."""
        event.app.create_background_task(_up_later(history, event.current_buffer))

    @keys.add("escape", "enter", filter=typing & (emacs_insert_mode | vi_insert_mode))
    def new_line(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    @keys.add("c-x", "c-e", filter=typing & (emacs_insert_mode | vi_insert_mode))
    @keys.add("v", filter=typing & vi_navigation_mode)
    def open_editor(event: KeyPressEvent) -> None:
        event.current_buffer.open_in_editor()  # the text comes back to the prompt and does not run at once

    @keys.add("c-z", filter=typing)
    def stop_nothing(event: KeyPressEvent) -> None:
        """Ignore Ctrl-Z: no program is running, and the control character is not wanted."""

    @keys.add("<bracketed-paste>", filter=typing)
    def paste(event: KeyPressEvent) -> None:
        text = event.data.replace("\r\n", "\n").replace("\r", "\n")
        event.current_buffer.insert_text(text.rstrip("\n"))

    return keys


def _enter(buffer: Buffer, line: _LineKind) -> None:
    if unfinished(buffer.text, line.of(buffer.text)[0], line.closed):
        buffer.cursor_position = len(buffer.text)
        buffer.insert_text("\n")
    else:
        buffer.validate_and_handle()


async def _enter_later(suggestions: _Suggestions, buffer: Buffer, line: _LineKind) -> None:
    await suggestions.finished()
    _enter(buffer, line)


async def _up_later(history: TypedHistory, buffer: Buffer) -> None:
    try:
        await asyncio.wait_for(history.there.wait(), _PATIENCE)
    except TimeoutError:
        pass
    buffer.auto_up()


def unfinished(text: str, kind: str, closed: Callable[[str], bool] = lambda text: False) -> bool:
    """Return whether Enter should only add a line. Quotes count in commands only: a question may have an apostrophe.

    `closed` is asked about a command that leaves a block open by the rules of bash.
    """
    if kind == "command":
        why = read_command(text.removeprefix("!")).unfinished
        return bool(why) and not (why == "block" and closed(text.removeprefix("!")))
    return kind != "" and (len(text) - len(text.rstrip("\\"))) % 2 == 1


def _style(styles: Theme) -> Style:
    """Translate the theme to prompt_toolkit's style names."""
    names = {f"sign.{kind}": kind for kind in _KINDS} | {"auto-suggestion": "suggestion", "bottom-toolbar": "ask"}
    names |= {name: name for name in ("command", "unknown", "colon")}
    names |= {"history.dim": "dim", "history.match": "match", "history.chosen": "command", "history.active": "ask"}
    rules = {ours: f"noinherit {editor_style(styles[theirs])}" for ours, theirs in names.items()}
    return Style.from_dict(rules | (_MENU if any(styles.values()) and styles != theme(PLAIN) else {}))
