"""Reading a line on a real terminal, with prompt_toolkit: what it is shows while it is typed.

History, search, completion and paste of many lines; the program's own event loop goes on while one types.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from prompt_toolkit import PromptSession
from prompt_toolkit.application import Application, run_in_terminal
from prompt_toolkit.auto_suggest import AutoSuggest, Suggestion
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.enums import DEFAULT_BUFFER, EditingMode
from prompt_toolkit.filters import emacs_insert_mode, has_focus, vi_insert_mode, vi_navigation_mode
from prompt_toolkit.formatted_text import ANSI, StyleAndTextTuples, to_formatted_text
from prompt_toolkit.formatted_text.utils import split_lines
from prompt_toolkit.input import Input
from prompt_toolkit.input.typeahead import store_typeahead
from prompt_toolkit.input.vt100_parser import Vt100Parser
from prompt_toolkit.key_binding import KeyBindings, KeyPress, KeyPressEvent
from prompt_toolkit.lexers import Lexer
from prompt_toolkit.output import ColorDepth, Output
from prompt_toolkit.styles import Style

from aish.intake.completion import read_command
from aish.values.text import for_terminal
from aish.views.prompt import SIGN, signs
from aish.views.themes import PLAIN, Theme, editor_style, theme
from aish.views.typed_history import Mask, typed_history

Suggest = Callable[[str], Iterable[tuple[str, int, str]]]  # text before the cursor → (word, replaced length, hint)
Route = Callable[[str], tuple[str, str]]  # a line → command, question, ask or colon, and the reason
_LONGEST_COLOURED = 600  # characters; what is longer was pasted, and looking at all of it takes too long for a key
_PATIENCE = 0.3  # seconds that Enter waits for what Tab brings
_MENU = {  # what Tab offers: quiet on any background
    "completion-menu.completion": "noinherit bg:#303030 #d0d0d0",
    "completion-menu.completion.current": "noinherit bold bg:#005f87 #ffffff",
    "completion-menu.meta.completion": "noinherit bg:#262626 #9e9e9e",
    "completion-menu.meta.completion.current": "noinherit bg:#00456b #e4e4e4",
}
_KINDS = ("command", "question", "ask", "colon")


def _question(line: str) -> tuple[str, str]:
    """What a line is where nobody tells."""
    return ("colon" if line.startswith(":") else "question"), ""


class Look(NamedTuple):
    """How the editor shows things; `known` tells whether a word is the name of a command."""

    styles: Theme = theme()
    colors: bool = True
    unicode: bool = True
    known: Callable[[str], bool] | None = None


class LineEditor:
    """A line of the user's, typed with all comforts.

    1. Nothing slow happens between two keys: completion of shell words runs in a thread, history loads by itself.
    2. Enter never ends half a command: in quotes, here-documents and blocks and after a backslash, a line is added.
    3. What is pasted is text, whatever it contains.
    """

    def __init__(
        self,
        history: Path | None,
        suggest: Suggest,
        mask: Mask,
        *,
        vi: bool = False,
        route: Route | None = None,
        older: Callable[[], Iterable[str]] = tuple,
        look: Look | None = None,
        input: Input | None = None,
        output: Output | None = None,
    ) -> None:
        self._look = look or Look()
        self._line = _LineKind(route or _question)
        self._signs = signs(unicode=self._look.unicode)
        self._style = _style(self._look.styles)
        self._prompts: dict[str, StyleAndTextTuples] = {kind: [] for kind in self._signs}
        suggestions = _Suggestions(suggest)
        self._session: PromptSession[str] = PromptSession(
            message=self._message,
            history=typed_history(history, mask, older),
            completer=suggestions,
            auto_suggest=_FromHistory(),
            lexer=_Colours(self._line, self._look.known),
            complete_while_typing=False,
            editing_mode=EditingMode.VI if vi else EditingMode.EMACS,
            enable_history_search=True,
            multiline=True,
            prompt_continuation=lambda width, line, wrapped: "" if wrapped else "> ",
            key_bindings=_keys(self._line, suggestions),
            style=self._style,
            color_depth=None if self._look.colors else ColorDepth.DEPTH_1_BIT,
            input=input,
            output=output,
        )
        self._session.default_buffer.on_text_changed += self._tell_reason

    @property
    def app(self) -> Application[str]:
        return self._session.app

    def read(self, runner: asyncio.Runner, prompt: str) -> str:
        return runner.run(self.read_line(prompt))

    async def read_line(self, prompt: str) -> str:
        pieces = to_formatted_text(ANSI(prompt))
        self._prompts = {kind: self._prompt_with(kind, pieces) for kind in self._signs}
        self._session.bottom_toolbar = None
        return await self._session.prompt_async()

    def take_keys(self, keys: bytes) -> None:
        presses: list[KeyPress] = []
        parser = Vt100Parser(presses.append)
        parser.feed(keys.decode("utf-8", "replace").replace("\n", "\r"))
        parser.flush()
        store_typeahead(self._session.app.input, presses)

    def show_above(self, write: Callable[[], object]) -> None:
        asyncio.ensure_future(run_in_terminal(write))  # noqa: RUF006  # the application keeps it

    async def edit(self, text: str) -> str:
        once: PromptSession[str] = PromptSession(
            editing_mode=self._session.editing_mode, style=self._style, color_depth=self._session.color_depth
        )
        try:
            return await once.prompt_async("edit: ", default=" ".join(text.splitlines()))
        except (EOFError, KeyboardInterrupt):
            return ""

    def _message(self) -> StyleAndTextTuples:
        """The prompt with the sign for what is typed now."""
        kind, _ = self._line.of(self._session.default_buffer.text)
        return self._prompts[kind]

    def _prompt_with(self, kind: str, pieces: StyleAndTextTuples) -> StyleAndTextTuples:
        """Put a sign into a prompt; what has one style becomes one piece, because each is drawn at every key."""
        sign = (f"class:sign.{kind}", self._signs[kind])
        signed = [(sign if kind else (style, sign[1])) if text == SIGN else (style, text) for style, text, *_ in pieces]
        grouped = groupby(signed, key=itemgetter(0))
        return [(style, "".join(text for _, text in group)) for style, group in grouped]

    def _tell_reason(self, buffer: Buffer) -> None:
        kind, reason = self._line.of(buffer.text)
        self._session.bottom_toolbar = for_terminal(reason) if kind == "ask" and reason else None


class _LineKind:
    """What a line is, found out once for each text: the sign, the colours and the keys all want to know."""

    def __init__(self, route: Route) -> None:
        self._route = route
        self._known: tuple[str, tuple[str, str]] = ("", ("", ""))

    def of(self, text: str) -> tuple[str, str]:
        if text != self._known[0]:
            try:
                kind, reason = self._route(text) if text.strip() else ("", "")
            except Exception:  # a bug in the rule must not end the line; it is met again, and told, when it is sent
                kind, reason = "", ""
            self._known = text, (kind if kind in _KINDS else "", reason)
        return self._known[1]


class _Suggestions(Completer):
    """What Tab offers. Colon commands look at what is in memory; all else waits for disks and bash, in a thread."""

    def __init__(self, suggest: Suggest) -> None:
        self._suggest = suggest
        self._done = asyncio.Event()
        self.under_way = False

    def begin(self) -> None:
        """Tab was pressed: keys that come now were meant for what it will bring."""
        self.under_way = True
        self._done.clear()

    async def finished(self) -> None:
        """Wait for what Tab brings, but not for ever."""
        try:
            await asyncio.wait_for(self._done.wait(), _PATIENCE)
        except TimeoutError:
            pass

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        try:
            found = list(self._suggest(document.text_before_cursor))
        except Exception:  # no suggestion is worth the line that is being typed
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


class _FromHistory(AutoSuggest):
    """The end of the newest line that began like this one."""

    def get_suggestion(self, buffer: Buffer, document: Document) -> Suggestion | None:
        text = document.text
        if not text.strip() or "\n" in text:
            return None
        for line in reversed(buffer.history.get_strings()):
            if line.startswith(text) and line != text:
                return Suggestion(line[len(text) :].partition("\n")[0])
        return None


class _Colours(Lexer):
    """The names of commands, known or not; the rest of a line is the user's and stays as it is."""

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


def _keys(line: _LineKind, suggestions: _Suggestions) -> KeyBindings:
    """What prompt_toolkit does otherwise or not at all."""
    keys = KeyBindings()
    typing = has_focus(DEFAULT_BUFFER)

    @keys.add("enter", filter=typing)
    def enter(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.complete_state and buffer.complete_state.current_completion:
            buffer.complete_state = None  # it was chosen; whether to run the line is another question
        elif suggestions.under_way:
            event.app.create_background_task(_enter_later(suggestions, buffer, line))  # as it was typed: Tab, Enter
        else:
            _enter(buffer, line)

    @keys.add("tab", filter=typing & (emacs_insert_mode | vi_insert_mode))
    def complete(event: KeyPressEvent) -> None:
        if event.current_buffer.complete_state:
            event.current_buffer.complete_next()
        else:
            suggestions.begin()
            event.current_buffer.start_completion(insert_common_part=True)

    @keys.add("escape", "enter", filter=typing & (emacs_insert_mode | vi_insert_mode))
    def new_line(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    @keys.add("c-x", "c-e", filter=typing & (emacs_insert_mode | vi_insert_mode))
    @keys.add("v", filter=typing & vi_navigation_mode)
    def open_editor(event: KeyPressEvent) -> None:
        event.current_buffer.open_in_editor()  # what comes back is seen before it is run

    @keys.add("c-z", filter=typing)
    def stop_nothing(event: KeyPressEvent) -> None:
        """No program runs that could be stopped, and nobody wants the letter."""

    @keys.add("<bracketed-paste>", filter=typing)
    def paste(event: KeyPressEvent) -> None:
        text = event.data.replace("\r\n", "\n").replace("\r", "\n")
        event.current_buffer.insert_text(text.rstrip("\n"))

    return keys


def _enter(buffer: Buffer, line: _LineKind) -> None:
    if unfinished(buffer.text, line.of(buffer.text)[0]):
        buffer.cursor_position = len(buffer.text)
        buffer.insert_text("\n")
    else:
        buffer.validate_and_handle()


async def _enter_later(suggestions: _Suggestions, buffer: Buffer, line: _LineKind) -> None:
    await suggestions.finished()
    _enter(buffer, line)


def unfinished(text: str, kind: str) -> bool:
    """Whether Enter should only add a line: a question ends where it ends, also with an apostrophe in it."""
    if kind == "command":
        return bool(read_command(text.removeprefix("!")).unfinished)
    return kind != "" and (len(text) - len(text.rstrip("\\"))) % 2 == 1


def _style(styles: Theme) -> Style:
    """The theme in the editor's own names."""
    names = {f"sign.{kind}": kind for kind in _KINDS} | {"auto-suggestion": "suggestion", "bottom-toolbar": "ask"}
    names |= {name: name for name in ("command", "unknown", "colon")}
    rules = {ours: f"noinherit {editor_style(styles[theirs])}" for ours, theirs in names.items()}
    return Style.from_dict(rules | (_MENU if any(styles.values()) and styles != theme(PLAIN) else {}))
