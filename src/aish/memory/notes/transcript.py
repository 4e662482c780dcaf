"""What was said and done in a conversation, as the writers of notes read it.

Pure: journal entries in, values out. Output of commands and tools, recalled memory and summaries of aish are left out:
notes are made of what the user typed, what the model answered, and which commands ran.
"""

from collections.abc import Iterable, Iterator, Sequence

from aish.memory.finding.terms import query_terms
from aish.memory.journal import PROVENANCE
from aish.memory.own_words import limits, sentences
from aish.memory.trust import OWN_TOOLS, least_trusted
from aish.values.invisible import visible
from aish.values.named_tuple import NamedTuple
from aish.values.patterns import pattern
from aish.values.text import clip, one_line
from aish.values.turns import (
    EXEC_MARK,
    FILES_MARK,
    HOOK_MARK,
    INPUT_MARK,
    PROPOSED_MARK,
    SKILL_MARK,
    SUMMARIZER_META,
    TASK_MARK,
    JournalEntry,
    Role,
)
from aish.values.typed_words import split_typed

_STATUS = pattern(r"\[exit status (\d{1,3})\]")
_MOST_ANSWER = 1_500  # characters of one turn in a transcript
_MOST_COMMAND = 200
_MOSTLY = 0.6  # of the words of a sentence


class RanCommand(NamedTuple):
    """A command that ran, its exit status, the last line that it printed, and who wrote it."""

    line: str
    status: int = 0
    last_output: str = ""
    origin: str = "user"


class SaidTurn(NamedTuple):
    """One turn without foreign text. `origin` is the least trusted source that its text can depend on."""

    number: int
    role: Role
    text: str
    origin: str = "user"
    commands: tuple[RanCommand, ...] = ()
    tools: tuple[tuple[str, str], ...] = ()  # name and arguments of each call
    complete: bool = True
    day: str = ""  # when it was said


class ConversationReader:
    """Reads the turns of a conversation in order. An answer after foreign text has the origin of that text."""

    def __init__(self, *, imported: bool = False) -> None:
        """`imported` means a conversation of another tool, whose words nobody has confirmed."""
        self._lowest = "import" if imported else "model"
        self._user = "import" if imported else "user"
        self._names: dict[str, str] = {}

    def read(self, entry: JournalEntry) -> SaidTurn | None:
        """Return the turn without foreign text; None if it is nobody's words."""
        turn = entry.turn
        if entry.meta.get("meta") == SUMMARIZER_META:
            return None
        if turn.role == "user":
            front, typed = split_typed(entry)
            commands = tuple(_commands(front, self._lowest))
            self._lower(*_origins_of_front(front))
            return SaidTurn(entry.number, "user", typed, self._user, commands, day=_day(entry))
        if turn.role == "assistant":
            self._names |= {call.id: call.name for call in turn.tool_calls}
            self._lower(str(entry.meta.get(PROVENANCE) or "model"))
            calls = tuple((call.name, call.arguments) for call in turn.tool_calls)
            whole = turn.state == "complete"
            return SaidTurn(
                entry.number, "assistant", turn.content, self._lowest, tools=calls, complete=whole, day=_day(entry)
            )
        name = self._names.get(turn.call_id, "unknown")
        if not entry.meta.get("own") and name not in OWN_TOOLS:
            self._lower(f"tool:{name}")
        return None

    def _lower(self, *origins: str) -> None:
        self._lowest = least_trusted([self._lowest, *origins])


def said_turns(entries: Iterable[JournalEntry], *, imported: bool = False) -> list[SaidTurn]:
    """Return the user's and the model's turns, oldest first."""
    reader = ConversationReader(imported=imported)
    return [turn for entry in entries if (turn := reader.read(entry))]


def transcript(turns: Sequence[SaidTurn], limit: int) -> str:
    """Return the turns as text for a model, in at most about `limit` characters. The oldest turns are dropped first."""
    lines: list[str] = []
    room = limit
    for turn in reversed(turns):
        text = _as_text(turn)
        if len(text) + 1 > room and lines:
            break
        lines.append(clip(text, max(room, 200)))
        room -= len(text) + 1
    return "\n".join(reversed(lines))


def beginning(turns: Sequence[SaidTurn], limit: int) -> list[SaidTurn]:
    """Return as many turns from the start as fit into a transcript of `limit` characters, and at least one."""
    kept: list[SaidTurn] = []
    for turn in turns:
        limit -= len(_as_text(turn)) + 1
        if limit < 0 and kept:
            break
        kept.append(turn)
    return kept


def significant(text: str) -> list[str]:
    """Return the terms of a text that say what it is about."""
    return [term for term in query_terms(text) if len(term) > 1]


class Grounds:
    """The words of a conversation by origin, to find out what a sentence of a model is based on."""

    def __init__(self, turns: Iterable[SaidTurn], known: Iterable[tuple[str, str]] = ()) -> None:
        """`known` are texts with their origins that the model was given besides the turns."""
        self._terms: dict[str, set[str]] = {}
        self._users: list[list[_Sentence]] = []  # what the user said, by turn
        for turn in turns:
            self._add(turn.origin, turn.text)
            for command in turn.commands:
                self._add(command.origin, command.line)
            for name, arguments in turn.tools:
                self._add(turn.origin, f"{name} {arguments}")
        for text, origin in known:
            self._add(origin or "user", text)

    def _add(self, origin: str, text: str) -> None:
        self._terms.setdefault(origin, set()).update(significant(text))
        if origin == "user":
            self._users.append([_Sentence(one) for one in sentences(text)])

    def says_about(self, text: str) -> bool:
        """Did the user use at least a third of the words of this text?"""
        terms = set(significant(text))
        return bool(terms) and 3 * len(terms & self._terms.get("user", set())) >= len(terms)

    def origin(self, text: str, *, least: float = 0.5) -> str:
        """Return the most trusted origin that has enough of the text's words; empty if it is invented.

        A sentence that is mostly the user's own words is the user's, unless it loses or adds a word that limits it:
        then it is a model's. Any other sentence takes the lowest trust of all origins that are needed to explain it.
        """
        terms = set(significant(text))
        if not terms:
            return ""
        found: set[str] = set()
        used: list[str] = []
        for origin in sorted(self._terms, key=_distrust):
            used.append(origin)
            found |= terms & self._terms[origin]
            if len(found) < (_MOSTLY if origin == "user" else least) * len(terms):
                continue
            if origin == "user" and not self._is_users(text, terms):
                return least_trusted(["model", *(one for one, said in self._terms.items() if said & terms)])
            return least_trusted(used) if len(used) > 1 else origin
        return ""

    def _is_users(self, text: str, terms: set[str]) -> bool:
        """Does the text limit what it says as the user did?

        Every sentence of the user that has most of the words counts. If there is none, all sentences of one turn that
        have some of them count together.
        """
        wanted = set(limits(text))
        whole = [one for turn in self._users for one in turn if len(one.terms & terms) >= _MOSTLY * len(terms)]
        if whole:
            return all(one.limits == wanted for one in whole)
        for turn in self._users:
            near = [one for one in turn if one.terms & terms]
            said = {term for one in near for term in one.terms}
            if len(said & terms) >= _MOSTLY * len(terms):
                return {word for one in near for word in one.limits} == wanted
        return False


class _Sentence:
    """A sentence of the user: its terms, and the words that limit it."""

    def __init__(self, text: str) -> None:
        self.terms = set(significant(text))
        self.limits = set(limits(text))


def _distrust(origin: str) -> int:
    order = ("user", "model", "file", "import", "tool")
    kind = origin.partition(":")[0]
    return order.index(kind) if kind in order else len(order)


def _as_text(turn: SaidTurn) -> str:
    parts = [
        f"{'user' if command.origin == 'user' else 'assistant'} ran: {one_line(command.line, _MOST_COMMAND)}"
        + (f" (exit status {command.status})" if command.status else "")
        for command in turn.commands
    ]
    if turn.text.strip():
        parts.append(f"{turn.role}: {clip(' '.join(turn.text.split()), _MOST_ANSWER)}")
    parts += [f"assistant used {name}: {one_line(arguments, _MOST_COMMAND)}" for name, arguments in turn.tools]
    return visible("\n".join(parts))


def _origins_of_front(front: str) -> list[str]:
    marks = {EXEC_MARK: "tool:exec", INPUT_MARK: "file", HOOK_MARK: "tool:hook", SKILL_MARK: "file:skill"}
    marks |= {TASK_MARK: "tool:delegate", FILES_MARK: "file"}
    return [origin for mark, origin in marks.items() if mark in front]


def _commands(front: str, model: str) -> Iterator[RanCommand]:
    """Yield the commands in held output: after each mark a line `$ COMMAND`, then its output and status.

    A command that the model proposed has the origin `model`, the least trusted text that the model had read.
    """
    own = f"\n{front}".partition(f"\n{INPUT_MARK}\n")[0].partition(f"\n{FILES_MARK}\n")[
        0
    ]  # a file could forge the mark
    for block in own.split(f"\n{EXEC_MARK}\n")[1:]:
        lines = [line for line in block.split("\n") if line.strip()]
        proposed = lines[:1] == [PROPOSED_MARK]
        lines = lines[proposed:]
        if not lines or not lines[0].startswith("$ "):
            continue
        ended = _STATUS.fullmatch(lines[-1].strip()) if len(lines) > 1 else None
        output = lines[1 : len(lines) - 1 if ended else len(lines)]
        last, origin = output[-1].strip() if output else "", model if proposed else "user"
        yield RanCommand(lines[0][2:].strip(), int(ended[1]) if ended else 0, last, origin)


def _day(entry: JournalEntry) -> str:
    return entry.time.astimezone().date().isoformat()
