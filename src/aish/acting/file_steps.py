"""Steps in which the model changes files: each call of a tool, and each allowed command. `:undo` takes one back."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from aish.conversation.session import Session
from aish.places import find_project
from aish.values.errors import StoreTrouble
from aish.values.text import one_line

_LONGEST_COMMAND = 200  # characters that are recorded


def new_step() -> str:
    """Return the id of a new step."""
    return f"{time.time_ns():x}"


@contextmanager
def command_step(session: Session, command: str) -> Iterator[Callable[[str], None] | None]:
    """Keep what a command changes in the project as one step. Yields the function for `Fence.before_write`.

    Without a place to keep it the command still runs; then this yields None.
    """
    if not session.remembers:
        yield None
        return
    try:
        changes = session.services.open_files().around_command(find_project(session.cwd))
    except StoreTrouble:
        yield None
        return
    with changes:
        try:
            yield changes.before_write
        finally:  # also after Ctrl-C: the command may have changed something
            try:
                number, what = question_number(session), one_line(command, _LONGEST_COMMAND)
                changes.record(session.owner, turn=number, step=new_step(), by=what)
            except StoreTrouble:
                pass  # the work of the command matters more than the way back


def question_number(session: Session) -> int:
    """Return the number of the user's last question in the journal, which a step belongs to."""
    if session.parent:
        return int(str(session.recorder.about.get("turn", 0)))
    return next((entry.number for entry in session.journal.entries_back() if entry.turn.role == "user"), 0)
