"""Records of goals as pages for people. Everything in them is text of models and programs, made safe for the terminal.

Pure: records in, text out.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from aish.acting.envelope import Envelope, described
from aish.acting.goal_budget import Spent, step_line
from aish.acting.goal_titles import without_title
from aish.values.replies import Table
from aish.values.stores import Record
from aish.values.text import clip, counted, exactly, foreign, one_line

_OUTPUT_SHOWN = 600  # characters
_NO_END = "it has no end in its record: aish was ended, or still works on it"


def listing(goals: Iterable[tuple[str, Record, Sequence[Record], Record]]) -> Table:
    """Return the list of goals: id, time, steps, how each ended, and the goal."""
    rows = [
        (
            id,
            _text(begin, "ts")[:16].replace("T", " "),
            str(len(steps)),
            _text(end, "kind") or "?",
            one_line(_text(begin, "goal"), 500),
        )
        for id, begin, steps, end in goals
    ]
    return Table(("id", "started", "steps", "end", "goal"), rows, ["" for _ in rows], wide=4)


def page(begin: Record, steps: Sequence[Record], end: Record, damaged: int, *, whole: bool) -> str:
    """Return a goal with its steps. With `whole`, also the answers and what commands printed, as they were shown."""
    lines = [*_head(begin)]
    envelope = envelope_of(begin)
    for number, step in enumerate(steps, start=1):
        lines += ["", *_step(envelope, number, step, whole=whole)]
    lines += ["", foreign(_text(end, "text")) if end else _NO_END]
    if damaged:
        lines.append(f"{counted(damaged, 'damaged line')} of the record left out")
    return "\n".join(lines)


def envelope_of(begin: Record) -> Envelope:
    """Return the envelope of a record; what is damaged has its usual value."""
    found, usual = begin.get("envelope"), Envelope()
    if not isinstance(found, dict):
        return usual
    kept: dict[str, Any] = {}
    for name, default in usual._asdict().items():
        value = found.get(name)
        if isinstance(default, tuple):
            kept[name] = tuple(map(str, value)) if isinstance(value, list) else default
        elif isinstance(default, bool):
            kept[name] = value is True
        else:
            kept[name] = value if isinstance(value, int | float) and value > 0 else default
    return Envelope(**kept)


def _head(begin: Record) -> Iterator[str]:
    if not begin:
        yield "the beginning of this record is damaged"
        return
    check = _text(begin, "check")
    done = f"`{one_line(exactly(check), 200)}` succeeds" if check else "the model says so"
    yield f"goal: {one_line(foreign(_text(begin, 'goal')), 500)}; done when {done}"
    yield f"it may: {described(envelope_of(begin), _text(begin, 'project'))}"


def _step(envelope: Envelope, number: int, step: Record, *, whole: bool) -> Iterator[str]:
    spent = _spent(step)
    yield step_line(envelope, spent, step["step"] if _is_number(step.get("step")) else number, _text(step, "plan"))
    answer = _text(step, "answer").strip()
    if whole and (shown := without_title(answer)):
        yield foreign(shown)
    for call in _records(step, "tools"):
        yield f"  tool {one_line(exactly(_text(call, 'name')), 60)} {one_line(exactly(_text(call, 'arguments')), 200)}"
        if whole:
            yield from _indented(_text(call, "result"))
    for one in _records(step, "commands"):
        yield f"  $ {exactly(_text(one, 'command'))}"
        status = one.get("status")
        ended = f", exit status {status}" if _is_number(status) else ""
        effect, decision = (one_line(foreign(_text(one, name)), 200) for name in ("effect", "decision"))
        yield f"    {effect}; {decision}{ended}"
        if whole:
            yield from _indented(_text(one, "output"))
    check = step.get("check")
    if isinstance(check, dict):
        yield f"  the command of the goal: exit status {one_line(exactly(str(check.get('status'))), 20)}"
        if whole:
            yield from _indented(_text(check, "output"))
    files = step.get("files")
    if isinstance(files, list) and files:
        yield f"  changed: {', '.join(one_line(exactly(str(name)), 100) for name in files[:20])}"


def _indented(text: str) -> Iterator[str]:
    for line in clip(text.strip(), _OUTPUT_SHOWN).splitlines():
        yield f"    {foreign(line)}"


def _spent(step: Record) -> Spent:
    found = step.get("spent")
    known = found if isinstance(found, dict) else {}
    return Spent(**{name: known[name] for name in Spent._fields if _is_number(known.get(name))})


def _records(step: Record, name: str) -> list[Record]:
    found = step.get(name)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _text(record: Record, name: str) -> str:
    value = record.get(name)
    return value if isinstance(value, str) else ""


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
