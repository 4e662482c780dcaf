"""The help: a page that fits the screen, the list of all commands, the keys, and the explanation of one command."""

from collections.abc import Iterable, Iterator
from textwrap import fill

from aish.commands.shell import COMMANDS, Shell
from aish.intake.commands import Arguments, Command
from aish.values.replies import Reply

_LEAST_WIDTH = 40  # columns; a narrower window breaks the lines itself
_LEAST_SUMMARY = 24  # columns; narrower text beside the names is hard to read
_LONGEST_LINE = 100  # columns; longer lines are hard to read
_REST = "More"  # the group of commands that no group names
_GROUPS = {  # the first page, in this order; a command that is missing here comes last
    "Conversation": "new reset save sessions resume history export compact",
    "Finding": "recall thread recent timeline why",
    "Memory": "remember memory unmask notes session channel",
    "Model": "model context tokens cost",
    "Work": "run edit copy goal plan steps unfold undo diff queue steer agent agents",
    "Project": "project skills skill mcp",
    "aish": "setup set route help quit",
}
_LINES = (
    ("ls -la", "A command runs in your shell. `!` in front runs any line."),
    ("why is the sky blue?", "A question goes to the model. `?` in front asks any line."),
    ("?", "Alone, it asks why the last command failed."),
    (":NAME", "A command of aish, from the list below. Tab completes it."),
)
_KEYS = (
    ("Enter", "run or ask the line; inside open quotes or a block it starts a new line"),
    ("Alt-Enter", "start a new line"),
    ("Tab", "complete commands, files, options, `:` commands and their arguments"),
    ("Ctrl-R", "search what you typed and asked"),
    ("Up, Down", "earlier lines that begin like this one"),
    ("Right, Ctrl-E", "take the grey suggestion"),
    ("Ctrl-X Ctrl-E", "write the line in your $EDITOR; with the keys of vi: v after Escape"),
    ("Ctrl-C", "clear the line, stop the answer (what was shown is kept) or the running command"),
    ("Ctrl-D", "leave"),
    ("Ctrl-Z", "stop the running command; fg continues it"),
    ("Ctrl-A, Ctrl-E", "go to the start or the end of the line"),
    ("Alt-B, Alt-F", "go back or forward by a word"),
    ("Ctrl-W, Ctrl-U, Ctrl-K", "delete a word, the line before or after the cursor; Ctrl-Y inserts it again"),
    ("Ctrl-_", "undo the last edit"),
    ("Ctrl-L", "clear the screen"),
)
_FEW_KEYS = "Tab completes, Ctrl-R searches, Alt-Enter adds a line, Ctrl-C stops, Ctrl-D leaves; :help keys lists all"


@COMMANDS.add("help", argument="[COMMAND|keys|all]")
async def show_help(shell: Shell, arguments: Arguments) -> Reply:
    """Show what you can type, the commands and the keys, or explain one command.

    `:help resume` explains `:resume`, `:help keys` lists the keys, `:help all` lists every command with what it does.
    `help` and `/help` show the first page, too; `help cd` is still that of your shell.
    """
    words, width = arguments.text.strip(), max(shell.width, _LEAST_WIDTH)
    if words == "keys":
        return Reply(_two_columns(_KEYS, width), paged=True)
    if words == "all" or (not words and not shell.height):  # a script has no screen that the list must fit
        return Reply("\n".join(_everything(width)), paged=True)
    if not words:
        return Reply("\n".join(_first_page(width)), paged=True)
    name, _, more = words.removeprefix(":").partition(" ")
    command, _ = COMMANDS.resolve(name, more)
    below = _listed(COMMANDS.below(command.name), width)
    text = "\n\n".join(filled(part, width) for part in (f"{command.usage}", command.summary, command.details) if part)
    return Reply("\n\n".join(part for part in (text.replace("\n\n", "\n", 1), below) if part), paged=True)


def groups() -> dict[str, list[Command[Shell]]]:
    """Return the commands of one word by group, in the order of the first page."""
    known = {command.name: command for command in COMMANDS if " " not in command.name}
    found = {title: [known[name] for name in names.split() if name in known] for title, names in _GROUPS.items()}
    named = {command.name for commands in found.values() for command in commands}
    found[_REST] = [command for name, command in known.items() if name not in named]
    return {title: commands for title, commands in found.items() if commands}


def _first_page(width: int) -> Iterator[str]:
    yield _two_columns(_LINES, width)
    yield ""
    names = [(title, " ".join(f":{one.name}" for one in commands)) for title, commands in groups().items()]
    yield _two_columns([*names, ("Keys", _FEW_KEYS)], width)
    yield ""
    yield filled(":help COMMAND explains one, :help all lists every command with what it does.", width)


def _everything(width: int) -> Iterator[str]:
    """Yield the whole list, by groups, each command with those below it."""
    for title, commands in groups().items():
        yield f"{title}\n"
        yield _listed((one for command in commands for one in (command, *COMMANDS.below(command.name))), width)
        yield ""
    yield "Keys\n"
    yield _two_columns(_KEYS, width)
    yield ""
    yield "Lines\n"
    yield _two_columns(_LINES, width)


def _listed(commands: Iterable[Command[Shell]], width: int) -> str:
    return _two_columns([(one.usage, one.summary) for one in commands], width)


def _two_columns(rows: Iterable[tuple[str, str]], width: int) -> str:
    """Lay out names and texts in two columns; each text is below its name if the window is too narrow for them."""
    chosen = list(rows)
    first = max((len(name) for name, _ in chosen), default=0) + 2
    beside = width >= first + _LEAST_SUMMARY
    begins = [f"{name:<{first}}" if beside else f"{filled(name, width)}\n    " for name, _ in chosen]
    indent, room = (first, width - first) if beside else (4, width - 4)
    texts = [fill(text, room, break_on_hyphens=False).replace("\n", f"\n{' ' * indent}") for _, text in chosen]
    return "\n".join(f"{begin}{text}" for begin, text in zip(begins, texts, strict=True))


def filled(text: str, width: int) -> str:
    """Wrap paragraphs between words. Lines of lists and examples, which are indented or begin with a dash, stay."""
    paragraphs = []
    for paragraph in text.split("\n\n"):
        lines = paragraph.split("\n")
        if any(line.startswith((" ", "-")) for line in lines):
            paragraphs.append("\n".join(fill(line, width, subsequent_indent="  ") for line in lines))
        else:
            wrapped = fill(" ".join(lines), min(width, _LONGEST_LINE), break_on_hyphens=False)
            paragraphs.append(wrapped)
    return "\n\n".join(paragraphs)
