"""Write the tool calls and the thinking of other models as text that people can read, with nothing left out.

Pure: values in, text out.
"""

from collections.abc import Iterator

from aish.memory.importers.fields import compact, label, parsed, text_of
from aish.values.imported import THINKING
from aish.values.named_tuple import NamedTuple

_SHORT = 200  # characters of arguments that stay in one line, as JSON
_DEEPEST = 6  # levels of arguments that get their own lines


class ImportedCall(NamedTuple):
    """A tool call of a model."""

    name: object
    arguments: object

    def __str__(self) -> str:
        """Return the call as text: the tool and its command first, then every other argument.

        Short arguments stay as they are; long ones and those of several lines get lines of their own, so that a
        document that the model wrote can be read.
        """
        given = self.arguments
        if isinstance(given, str) and given.lstrip().startswith("{"):
            given = parsed(given) or given
        head = f"[{label(self.name) or 'tool'}]"
        if not isinstance(given, dict):
            return f"{head} {compact(given)}".rstrip()
        command = _command(given)
        if command is None:
            short = compact(given)
            if len(short) <= _SHORT and r"\n" not in short:
                return f"{head} {short}".rstrip()
        rest = {name: value for name, value in given.items() if command is None or name != command[0]}
        first = f"{head} {command[1] if command else ''}".rstrip()
        return "\n".join([first, *_lines(rest)]) if rest else first


def thought(text: object) -> str:
    """Return what a model thought, marked so that nobody takes it for its answer; "" for nothing."""
    words = text_of(text)
    return f"[{THINKING}] {words}" if words else ""


def _command(given: dict[str, object]) -> tuple[str, str] | None:
    """Return the argument that is the command of a shell or an editor, and its text."""
    for name in ("command", "cmd"):
        value = given.get(name)
        if isinstance(value, list):
            return name, " ".join(map(compact, value))
        if isinstance(value, str):
            return name, text_of(value)
    return None


def _lines(value: object, name: str = "", depth: int = 0) -> Iterator[str]:
    """Yield each argument with its name, such as `edits[2].new_string`."""
    if isinstance(value, dict | list) and value and depth < _DEEPEST:
        short = compact(value)
        if not depth or len(short) > _SHORT or r"\n" in short:
            items = value.items() if isinstance(value, dict) else enumerate(value)
            for key, one in items:
                step = f"[{key}]" if isinstance(value, list) else f".{label(key)}" if name else label(key)
                yield from _lines(one, f"{name}{step}", depth + 1)
            return
    text = compact(value)
    yield f"{name}:\n{text}" if "\n" in text else f"{name}: {text}".rstrip()
