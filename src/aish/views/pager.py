"""Show a long text page by page on the terminal."""

import os
import sys

from aish.values.person import Person
from aish.values.replies import Reply
from aish.views.screen import Screen

_QUESTION = "more: space for the next page, q ends "


async def show_reply(reply: str | Reply, screen: Screen, person: Person) -> None:
    """Show the reply of a command; a long one that wants pages waits for a key after each."""
    lines = reply.text.split("\n") if isinstance(reply, Reply) and reply.paged else []
    rows = screen.size.lines - 2  # one for the question, one to see where the last page ended
    if len(lines) <= rows + 1 or rows < 2 or not (sys.stdin.isatty() and sys.stdout.isatty()):
        screen.say(reply)
        return
    for at in range(0, len(lines), rows):
        screen.say("\n".join(lines[at : at + rows]))
        if at + rows < len(lines):
            key = await person.key(_QUESTION, " q")
            if os.environ.get("TERM", "dumb") != "dumb":
                sys.stderr.write("\x1b[A\r\x1b[J")  # the question leaves when it is answered
                sys.stderr.flush()
            if key == "q":
                return
