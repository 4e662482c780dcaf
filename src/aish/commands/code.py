"""Commands about the code blocks of the last answer: copy one, run one, edit one."""

import asyncio
import os

from aish.action.clipboard import MOST_BYTES, copy, write_to_terminal
from aish.action.code_blocks import CodeBlock, code_blocks
from aish.commands.shell import COMMANDS, Shell
from aish.intake.commands import Arguments
from aish.values.errors import BadUsage
from aish.values.invisible import is_visible
from aish.values.replies import Reply
from aish.values.text import counted, one_line

_ALL = "all"


@COMMANDS.add("copy", argument="[N|all]")
async def copy_block(shell: Shell, arguments: Arguments) -> Reply:
    """Copy code block N of the last answer to the clipboard; without a number the last block.

    An answer without code blocks is copied as a whole, and so is any with `:copy all`. It uses wl-copy, xclip, xsel or
    pbcopy, and asks the terminal to copy (OSC 52), which also works over ssh if the terminal allows it.
    """
    words, answer = arguments.text.strip(), _last_answer(shell)
    blocks = [] if words == _ALL else code_blocks(answer)
    if words == _ALL or (not words and not blocks):
        text, what = answer, "the answer"
    else:
        number, block = _chosen(blocks, words)
        text, what = block.text, f"block {number} of {len(blocks)}"
    ways = await asyncio.to_thread(copy, text, os.environ, write_to_terminal)
    size = counted(text.count("\n") + 1, "line")
    if not ways:
        long = len(text.encode("utf-8", "replace")) > MOST_BYTES
        remedy = "install wl-clipboard, xclip or xsel" if long or not shell.worker else "there is no terminal here"
        return Reply(f"{what} could not be copied ({size}); {remedy}", found=False)
    odd = "" if is_visible(text) else "; it has characters that cannot be seen"
    return Reply(f"copied {what} ({size}) with {' and '.join(ways)}{odd}")


@COMMANDS.add("run", argument="[N]")
async def run_block(shell: Shell, arguments: Arguments) -> Reply:
    """Run code block N of the last answer; without a number the last block.

    It goes the same way as a command that the model proposes: it is shown, judged, asked for if it does more than
    read, and runs in a fence. What it prints is sent with the next question. Only shell code can be run.
    """
    return await _run(shell, _shell_block(shell, arguments.text.strip()))


@COMMANDS.add("edit", argument="[N]")
async def edit_block(shell: Shell, arguments: Arguments) -> Reply:
    """Edit code block N of the last answer in the line editor, then run it as `:run` does.

    Ctrl-C in the editor runs nothing.
    """
    command = _shell_block(shell, arguments.text.strip())
    changed = await shell.person.edit(command)
    return await _run(shell, changed if changed.strip() else command)


async def _run(shell: Shell, command: str) -> Reply:
    gate = shell.worker.gate if shell.worker else None
    if gate is None:
        raise BadUsage("commands of a model run at a terminal only")
    decided = await gate.decide(command, hold=True)
    gate.for_turn.end()
    return Reply("", data={"status": decided.outcome.status if decided.outcome else None}, found=bool(decided.outcome))


def _last_answer(shell: Shell) -> str:
    """Return the newest answer that has text. Raises `BadUsage`."""
    for turn in reversed(shell.session.history.turns):
        if turn.role == "assistant" and turn.content.strip():
            return turn.content.strip("\n")
    raise BadUsage("there is no answer yet in this conversation")


def _chosen(blocks: list[CodeBlock], words: str) -> tuple[int, CodeBlock]:
    """Return the number and the block that the user wants, by default the last one. Raises `BadUsage`."""
    if not blocks:
        raise BadUsage("the last answer has no code block")
    number = int(words) if words.isdecimal() and len(words) < 6 else 0
    if words and not 1 <= number <= len(blocks):
        has = counted(len(blocks), "code block")
        raise BadUsage(f"expected the number of a block, got {one_line(words, 40)!r}; the last answer has {has}")
    number = number or len(blocks)
    return number, blocks[number - 1]


def _shell_block(shell: Shell, words: str) -> str:
    """Return the command of a block. Raises `BadUsage` if it is no shell code, or is cut off."""
    number, block = _chosen(code_blocks(_last_answer(shell)), words)
    if not block.is_shell:
        raise BadUsage(f"block {number} is {one_line(block.language, 40)}, not shell code; :copy {number} copies it")
    if not block.whole:
        raise BadUsage(f"block {number} is not complete, because the answer was cut off; ask for the rest first")
    if not block.command.strip():
        raise BadUsage(f"block {number} is empty")
    return block.command
