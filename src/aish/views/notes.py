"""`aish notes VERB`: the commands after `:notes`, for scripts."""

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from aish.commands import notes
from aish.commands.notes_scope import NOTES_COMMANDS
from aish.conversation.library import Library
from aish.storage.files import replace_file
from aish.values.errors import BadUsage
from aish.values.text import json_text
from aish.views.arguments import make_parser
from aish.views.exit_codes import NOTHING, OK
from aish.views.memory import finish
from aish.views.screen import Screen

if TYPE_CHECKING:
    from aish.memory.notes.channel_notes import ChannelNotes

__all__ = ["notes", "run"]


def run(library: Library, arguments: Sequence[str]) -> int:
    """Run one notes command."""
    verbs = {command.name.removeprefix("notes "): command for command in NOTES_COMMANDS.below("notes")}
    rows = "\n".join(f"  {name:<8} {command.summary}" for name, command in verbs.items())
    parser = make_parser(
        "aish notes", "Show and change the notes of a project.", epilog=f"verbs:\n{rows}", keep_lines=True
    )
    parser.add_argument("verb", nargs="?", metavar="VERB", help="what to do (default: list the notes)")
    parser.add_argument("words", nargs="*", help="the argument of the verb")
    parser.add_argument("--channel", default="", help="the channel (default: the project of this directory)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_intermixed_args(arguments)
    if options.verb and options.verb not in verbs:
        raise BadUsage(f"unknown verb {options.verb!r}; use one of: {', '.join(verbs)}")
    screen = Screen(library.settings.view.color)
    command = verbs[options.verb] if options.verb else NOTES_COMMANDS.find("notes")
    scope = VerbNotes(library, options.channel, screen.size.columns)
    reply = finish(command.run(scope, command.given(options.words, {})))
    if options.json:
        print(json_text(reply.data if reply.data is not None else {"text": reply.text}))
    else:
        screen.say(reply)
    return OK if reply.found else NOTHING


class VerbNotes:
    """The `NotesScope` of a verb."""

    def __init__(self, library: Library, channel: str, width: int) -> None:
        self._library, self.width = library, width
        self.channel = library.find_channel(channel)

    @property
    def notes(self) -> "ChannelNotes":
        return self._library.notes(self.channel)

    @property
    def edit_text(self) -> Callable[[str, str], str]:
        return edit_text


def edit_text(name: str, text: str) -> str:
    """Open the user's editor with a copy of a text. Raises `BadUsage` without an editor or a terminal."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    if not sys.stdin.isatty() and not os.environ.get("EDITOR"):
        raise BadUsage("no terminal to edit in; set EDITOR, or write the file directly")
    with tempfile.TemporaryDirectory(prefix="aish-") as folder:
        file = Path(folder) / name
        replace_file(file, text.encode("utf-8", "surrogateescape"), sync=False)
        try:
            done = subprocess.run([*shlex.split(editor), str(file)], check=False)
        except (OSError, ValueError) as error:
            raise BadUsage(f"cannot start the editor {editor!r}: {error}") from error
        if done.returncode:
            raise BadUsage(f"the editor ended with exit status {done.returncode}; nothing was changed")
        try:
            return file.read_bytes().decode("utf-8", "surrogateescape")
        except OSError as error:
            raise BadUsage(f"the editor left no file ({error.strerror or error}); nothing was changed") from error
