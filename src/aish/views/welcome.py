"""The first screen of a new account: where you are, which model answers, and three things to try.

Pure: values in, text out. It is shown once; later starts show the prompt only.
"""

from textwrap import wrap

from aish.settings.options import EMBEDDED, Preset
from aish.values.named_tuple import NamedTuple

_LEAST_WIDTH, _LONGEST = 24, 88  # columns
_NARROW = 60  # columns; below that, explanations are under what they explain
_TRY = (
    ("ls -la", "A command runs in your own shell, as always."),
    ("how do I find large files here?", "A question goes to the model. It asks before it changes anything."),
    (":remember I like short answers", "Known in every conversation from now on."),
)
_END = "`help` shows all commands and keys. `exit` or Ctrl-D leaves."


class FirstFacts(NamedTuple):
    """What the first screen tells."""

    version: str
    directory: str
    branch: str
    shell: str
    model: str  # the name of the preset
    preset: Preset
    installed: bool = True  # are the weights of the embedded model here?
    weights: str = ""  # the title of those that the machine chose, if they are here and no toy


def first_screen(facts: FirstFacts, width: int) -> str:
    """Return the text of the first screen."""
    width = max(min(width - 1, _LONGEST), _LEAST_WIDTH)
    branch = f" (git branch {facts.branch})" if facts.branch else ""
    rows = [("You are in", f"{facts.directory}{branch}, with {facts.shell}"), ("Model", _model(facts))]
    lines = _wrapped(f"aish {facts.version}: your shell, and a model beside it that remembers what was said.", width)
    gap = [""] if width >= _NARROW else []  # a narrow window is short of lines
    lines += [*gap, *_columns(rows, width), "", "Three things to try:", *_columns(_TRY, width), *gap]
    return "\n".join([*lines, *_wrapped(_END, width), *gap])


def _model(facts: FirstFacts) -> str:
    preset = facts.preset
    if preset.kind == EMBEDDED:
        own = preset.model or preset.path.rpartition("/")[2]
        if own and facts.installed:
            return f"{facts.model} ({own}), which runs inside aish"
        if own:
            return f"none yet. `aish models pull {own}` fetches it, `:setup` finds others"
        if facts.weights:
            return f"{facts.weights}, which runs inside aish. `:setup` lists others"
        return "the best one for this machine: a server that runs here, or one that is fetched while you work"
    if preset.kind == "scripted":
        return f"{facts.model}, which plays a script"
    return f"{facts.model} ({preset.model or facts.model} at {preset.address or 'no address'})"


def _columns(rows: "list[tuple[str, str]] | tuple[tuple[str, str], ...]", width: int) -> list[str]:
    first = max(len(name) for name, _ in rows) + 2
    lines = list[str]()
    for name, text in rows:
        if width < _NARROW:
            lines += [*_wrapped(f"  {name}", width), *_wrapped(text, width, "      ")]
        else:
            begin, *more = _wrapped(text, width - first - 2)
            lines += [f"  {name:<{first}}{begin}", *(f"  {' ' * first}{line}" for line in more)]
    return lines


def _wrapped(text: str, width: int, indent: str = "") -> list[str]:
    return wrap(text, width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)
