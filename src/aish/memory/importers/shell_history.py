"""Read the histories of bash, zsh and fish: each command is a user turn, each day a conversation."""

from collections.abc import Iterator
from pathlib import Path

from aish.memory.command_history.history_formats import commands
from aish.memory.importers.fields import Oddities, Refs, label, moment, text_of
from aish.memory.importers.files import day_of, each_file, lines
from aish.values.imported import ImportedRecord, ImportedTurn

NAMES = ("*_history", "*.history", ".histfile", "*.zhistory")
_ZSH = ("zsh", "zhistory", "histfile")


def read(path: Path) -> Iterator[ImportedRecord]:
    """Yield the commands of a history file."""
    yield from each_file(path, NAMES, _one)


def _one(path: Path) -> Iterator[ImportedRecord]:
    odd, refs = Oddities(), Refs()
    name = label(path.name.lstrip("."))
    with path.open("rb") as file:
        typed = (line.data for line in lines(file, odd))
        for command, seconds in commands(typed, is_zsh=any(sign in name for sign in _ZSH)):
            time = moment(seconds)
            if text := text_of(command.decode("utf-8", "replace")):
                conversation = f"{name} {day_of(time)}".rstrip()
                ref = refs.name(time.isoformat() if time else "", text)
                yield ImportedTurn(conversation, time, "user", text, ref=ref, title=conversation)
    yield from odd.told(path.name)
