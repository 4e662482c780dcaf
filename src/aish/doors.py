"""Opens the views on first use: the shell at a terminal, and a question from the command line.

Only this module, `opening.py`, `verbs.py` and `adapters.py` import own modules inside functions.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from aish.places import home_directory, model_directories
from aish.views.screen import Screen
from aish.views.start import Start

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

    from aish.action.shell import UserShell
    from aish.conversation.session import Session
    from aish.memory.command_history.command_store import CommandStore
    from aish.memory.command_history.loading import Sources
    from aish.memory.command_history.shell_files import HistoryFile
    from aish.memory.command_history.typed_lines import TypedLines
    from aish.program import Program
    from aish.views.answers import AnswerScreen, Stream
    from aish.views.command_history import CommandHistory
    from aish.views.editor import Editor
    from aish.views.line_editor import LineEditor, Look
    from aish.views.repl import Repl
    from aish.views.themes import Theme
    from aish.views.user_shell import PromptShell


def crash_report() -> str:
    """Write down the exception that is being handled, and say where."""
    from aish.memory.secret_hints import may_hold_secret
    from aish.views.crash import file_report

    return file_report(may_hold_secret)


def meant_verb(words: Sequence[str], verbs: Collection[str]) -> str:
    """What to say to words that look like a mistyped verb."""
    from aish.views.verb_spelling import meant_verb

    return meant_verb(words, verbs)


def first_prompt(template: str, model: str, cwd: Path, width: int) -> str:
    from aish.views.prompt import first_prompt

    return first_prompt(template, model, cwd, width)


def first_screen(start: Start, width: int) -> str:
    """What a new account sees above its first prompt. No network."""
    from aish import __version__
    from aish.model.machine import weights_file
    from aish.model.weights import known_weights
    from aish.views.prompt import git_branch, short_directory
    from aish.views.welcome import FirstFacts, first_screen

    settings, directory = start.settings, start.cwd
    shell = settings.commands.shell or os.environ.get("SHELL", "")  # others than these two are replaced by bash
    preset = settings.presets()[settings.model]
    chosen = preset.file(settings.embedded.path)
    weights = weights_file(chosen, preset.model, model_directories(start.places, os.environ), os.environ)
    known = known_weights(weights)
    facts = FirstFacts(
        version=__version__,
        directory=short_directory(str(directory), str(home_directory())),
        branch=git_branch(directory),
        shell=next((one for one in ("zsh", "bash") if shell.endswith(one)), "bash"),
        model=settings.model,
        preset=preset,
        installed=weights.is_file(),
        weights=known.label if known and known.form == "run" and weights.is_file() else "",
    )
    return first_screen(facts, width)


def hide_typed_keys(*, rich: bool) -> AbstractContextManager[None]:
    """While the program loads, typed keys are kept for the rich editor, which shows them."""
    from contextlib import nullcontext

    from aish.views.keys import lines

    return lines(wanted=False) if rich else nullcontext()


def load_line_editor() -> tuple[type[LineEditor], type[Look]]:
    from aish.views.line_editor import LineEditor, Look

    return LineEditor, Look


def open_answer_screen(color: str, *, show_reasoning: bool, styles: Theme | None = None) -> AnswerScreen:
    from aish.views.answers import AnswerScreen

    return AnswerScreen(color, show_reasoning=show_reasoning, styles=styles)


def open_markdown(screen: Screen, write: Callable[[str], object]) -> Stream:
    from aish.views.markdown import MarkdownStream

    return MarkdownStream(
        write, width=lambda: screen.size.columns, height=lambda: screen.size.lines, color=screen.colors
    )


def open_user_shell(start: Start, screen: Screen, *, login: bool) -> PromptShell:
    from aish.intake.route_choices import RouteChoices
    from aish.views.as_shell import is_login, parent_command
    from aish.views.user_shell import PromptShell

    places = start.places
    choices = RouteChoices(places.route_choices) if places.lasting else None
    login = login or is_login(os.environ, parent_command())
    return PromptShell(start.settings.commands.shell, start.cwd, screen, places.state, choices, login=login)


def open_history(program: Program, session: Session, user_shell: PromptShell) -> CommandHistory:
    """What the user typed and ran: recorded if this conversation is, and if there is a user at a terminal."""
    from aish.memory.command_history.command_store import CommandStore
    from aish.memory.command_history.history_rules import HistoryRules
    from aish.memory.command_history.typed_lines import TypedLines
    from aish.views.command_history import CommandHistory

    shell, places, mask = user_shell.shell, program.places, program.redaction.text
    lasting = places.lasting and session.remembers and sys.stdin.isatty()
    store = CommandStore(places.commands, mask) if lasting else None
    typed = TypedLines(places.typed_history, mask) if lasting else None
    return CommandHistory(
        store,
        typed,
        lambda: _history_sources(program, store, typed, shell),
        lambda: None if user_shell.is_starting else HistoryRules(*shell.history),
        user_shell.wait_started,
        lambda: shell.directory,
    )


def _history_sources(
    program: Program, store: CommandStore | None, typed: TypedLines | None, shell: UserShell
) -> Sources:
    """Where the history comes from. Loaded by a thread, while the first line is typed."""
    from aish.memory.command_history.loading import Sources
    from aish.memory.command_history.shell_files import history_files
    from aish.views.editor_setup import asked_before

    def files() -> list[HistoryFile]:
        return history_files(os.environ, home_directory(), shell.history.file)

    return Sources(store, typed, files, (lambda: asked_before(program)) if store else tuple)


def open_editor(
    program: Program,
    user_shell: PromptShell,
    screen: Screen,
    line_editor: tuple[type[LineEditor], type[Look]] | None,
    history: CommandHistory,
) -> Editor:
    from aish.views.editor_setup import make_editor

    return make_editor(program, user_shell, screen, line_editor, history)


def open_repl(
    program: Program,
    session: Session,
    editor: Editor,
    screen: AnswerScreen,
    user_shell: PromptShell,
    history: CommandHistory,
) -> Repl:
    from aish.views.repl import Repl

    return Repl(program, session, editor, screen, user_shell, history)


def release_signals() -> None:
    from aish.views.held_signals import release_signals

    release_signals()


def answer_once(
    program: Program, session: Session, screen: AnswerScreen, question: str, *, as_json: bool, explains: bool
) -> int:
    from aish.views.one_shot import run

    return run(program, session, screen, question, as_json=as_json, explains=explains)
