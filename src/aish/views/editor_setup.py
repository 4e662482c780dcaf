"""Set up the editor for this terminal: completion, the kind of each line, and earlier questions as history."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from aish.action.bash_completion import BashCompletion
from aish.action.shell_words import BUILTINS
from aish.action.zsh_completion import Offer, ZshCompletion
from aish.action.zsh_grammar import is_closed
from aish.commands.conversation import EXPORT_FORMATS
from aish.commands.manual import COMMANDS
from aish.commands.settings import complete_setting
from aish.intake.completion import matching, suggest
from aish.program import Program
from aish.values.errors import AishError
from aish.values.text import one_line
from aish.views.command_history import CommandHistory
from aish.views.editor import Editor, PlainEditor, ShellSuggestions
from aish.views.screen import Screen
from aish.views.themes import theme
from aish.views.user_shell import PromptShell

if TYPE_CHECKING:  # prompt_toolkit takes long to load, and only real terminals need it
    from aish.views.line_editor import LineEditor, Look

_MOST_ITEMS = 200
_MOST_ASKED = 500  # earlier questions that Ctrl-R can find


def make_editor(
    program: Program,
    user_shell: PromptShell,
    screen: Screen,
    line_editor: "tuple[type[LineEditor], type[Look]] | None",
    history: CommandHistory,
) -> Editor:
    """Return the line editor if its classes were loaded, else the plain one."""
    if line_editor is None:
        return PlainEditor()
    make_line_editor, make_look = line_editor
    words, view = user_shell.words, program.settings.view
    shell = ShellSuggestions(
        lambda: [*words.programs(), *words.aliases, *words.functions, *BUILTINS],
        lambda: user_shell.shell.directory,
        BashCompletion(rules=lambda: user_shell.rules() if user_shell.shell.kind == "bash" else "").ask,
        zsh=_zsh(user_shell),
        variables=lambda: {*user_shell.shell.variables, *os.environ},
        jobs=user_shell.shell.jobs,
    )

    def suggestions(text: str) -> Iterable[tuple[str, int, str]]:
        if text.startswith(":"):
            return suggest(text, COMMANDS, arguments(program, shell))
        return shell(text) or shell.attached(text)

    look = make_look(
        theme(view.theme, view.colors, colors=screen.colors),
        colors=screen.colors,
        unicode="utf" in (sys.stdout.encoding or "").lower(),
        known=lambda name: bool(words.kind(name)),
    )
    return make_line_editor(
        history,
        suggestions,
        vi=program.settings.view.keys == "vi",
        chosen=lambda: user_shell.shell.keys,
        route=user_shell.kind,
        closed=lambda text: user_shell.shell.kind == "zsh" and is_closed(text),
        look=look,
    )


def _zsh(user_shell: PromptShell) -> Callable[[str, str], list[Offer] | None]:
    """Return the completions of zsh for a user whose shell it is."""
    completion = ZshCompletion(rules=user_shell.rules, path=lambda: user_shell.shell.names.path)
    return lambda line, directory: completion.ask(line, directory) if user_shell.shell.kind == "zsh" else None


def arguments(program: Program, shell: ShellSuggestions) -> dict[str, Any]:
    """Return the completions for the arguments of colon commands."""

    def items(typed: str) -> list[tuple[str, int, str]]:
        try:
            newest = islice(program.memory.items(), _MOST_ITEMS)
            return matching(typed, [(str(item.id), one_line(item.content, 60)) for item in newest])
        except AishError:
            return []

    def export(typed: str) -> list[tuple[str, int, str]]:
        formats = [(word, len(typed), "") for word in EXPORT_FORMATS if word.startswith(typed)]
        return formats + shell.file_argument(typed)

    by_id = ("forget", "edit", "why", "purge")
    return {
        "model": list(program.presets()),
        "set": lambda typed: complete_setting(program, typed),
        "resume": [name for name in program.conversations.names().values() if name],
        "cost": ["detail", "all"],
        "export": export,
        "memory export": shell.file_argument,
        "memory import": shell.file_argument,
        "memory list": ["fact", "pref", "context"],
        **{f"memory {verb}": items for verb in by_id},
    }


def asked_before(program: Program) -> Iterator[str]:
    """Yield the questions of past conversations, newest first."""
    try:
        yield from islice(_questions(program), _MOST_ASKED)
    except AishError:
        return


def _questions(program: Program) -> Iterator[str]:
    for id in (
        program.conversations.own_ids()
    ):  # not imported ones: one key puts the line on the prompt, so the user must have typed it
        for entry in program.conversations.open(id).entries_back():
            if entry.turn.role == "user" and "\n" not in entry.turn.content:
                yield entry.turn.content
