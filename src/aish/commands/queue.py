"""Commands about what is typed while the model works."""

from aish.acting.message_queue import MessageQueue
from aish.commands.shell import COMMANDS, Shell
from aish.intake.commands import Arguments
from aish.values.errors import BadUsage
from aish.values.replies import Reply
from aish.values.text import counted, foreign, one_line


@COMMANDS.add("queue", argument="[clear]")
async def queue(shell: Shell, arguments: Arguments) -> Reply:
    """List the lines that you typed while the model worked, or forget them with `:queue clear`.

    Each finished line is queued and sent by itself after the answer, in order. After Ctrl-C nothing is sent: the lines
    come back into the prompt one by one, for editing.
    """
    waiting, words = shell.worker.queue if shell.worker else MessageQueue(), arguments.text.strip()
    if words == "clear":
        number = waiting.clear()
        return Reply(f"forgot {counted(number, 'line')}" if number else "nothing is queued", found=bool(number))
    if words:
        raise BadUsage("use :queue, or :queue clear")
    text = "\n".join(f"{place} {foreign(one_line(line, 200))}" for place, line in enumerate(waiting.lines, 1))
    return Reply(text or "nothing is queued", found=bool(waiting.lines))


@COMMANDS.add("steer", argument="TEXT")
async def steer(shell: Shell, arguments: Arguments) -> Reply:
    """While the model works: give it TEXT before its next request, as your words.

    Type it during an answer, or while tools or commands run. If the answer is already the last one, TEXT becomes the
    next message. At the prompt, where nothing is running, just ask.
    """
    text = "nothing is running: :steer is for while the model works; now just write your message"
    return Reply(text, found=False)
