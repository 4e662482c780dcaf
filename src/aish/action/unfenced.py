"""Commands that run unasked also where there is no fence, and commands that read keys.

Pure: text in, answers out. The policy has judged the command before: here only the programs in it count.
"""

from collections.abc import Iterator

from aish.action.command_line import read_line
from aish.action.command_words import UnreadableCommand

# Programs of which every option is harmless: none writes, sends, runs another program or reads a file of settings.
_HARMLESS = frozenset(
    """
    : true false echo pwd whoami logname groups id uname arch nproc uptime basename dirname seq expr test [ sleep
    ls stat df du free cat head tail nl tac rev cut tr cksum sum wc which type cal tty readlink realpath
    """.split()
)
# Programs that show text page by page, or a changing screen, until the person leaves them.
_READS_KEYS = frozenset("less more most top htop btop watch".split())


def is_harmless(command: str) -> bool:
    """Are all programs of the command harmless with any option? A command that cannot be parsed is not."""
    names = list(_programs(command))
    return bool(names) and _HARMLESS.issuperset(names)


def reads_keys(command: str) -> bool:
    """Does a program of the command wait for keys of the person, as a pager does?"""
    return not _READS_KEYS.isdisjoint(_programs(command))


def _programs(command: str) -> Iterator[str]:
    try:
        for part in read_line(command).parts:
            if part.words:
                yield part.words[0].plain or "?"
    except (UnreadableCommand, RecursionError, UnicodeEncodeError):
        yield "?"
