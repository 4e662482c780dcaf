"""The words that the user typed, without what aish put in front of them: output of commands, piped input, memory.

Pure: a turn of a journal in, text out.
"""

from aish.values.turns import EXEC_MARK, FILES_MARK, INPUT_MARK, JournalEntry

TYPED_META = "typed"  # the number of lines at the end of a user turn that the user typed


def split_typed(entry: JournalEntry) -> tuple[str, str]:
    """Return the text in front of a question, and the words that the user typed."""
    lines = entry.turn.content.split("\n")
    typed = entry.meta.get(TYPED_META)
    if isinstance(typed, int) and 0 <= typed <= len(lines):
        return "\n".join(lines[: len(lines) - typed]).rstrip("\n"), "\n".join(lines[len(lines) - typed :])
    repeated = {number for span in entry.meta.get("recalled") or () for number in _span(span)}
    left = "\n".join(line for number, line in enumerate(lines) if number not in repeated).strip("\n")
    if EXEC_MARK not in left and not left.startswith((INPUT_MARK, FILES_MARK)):
        return "", left
    front, _, last = left.rpartition("\n\n")  # an older journal: only the last paragraph can be the question
    return (front, last) if front else (left, "")


def _span(span: object) -> range:
    match span:
        case [int(begin), int(end)]:
            return range(begin, min(end, begin + 1_000_000))
    return range(0)
