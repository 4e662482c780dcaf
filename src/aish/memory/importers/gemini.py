"""Read chats of Gemini CLI: `chats/session-*.json` and `.jsonl`, checkpoints, and `logs.json` with your prompts."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from aish.memory.importers.calls import ImportedCall, thought
from aish.memory.importers.fields import Oddities, Refs, compact, dict_of, label, last_part, list_of, moment, text_of
from aish.memory.importers.files import MOST, each_file, modified, open_file, records
from aish.memory.importers.json_walk import UNREADABLE, CutOff, JsonWalk
from aish.values.imported import THINKING, ImportedRecord, ImportedTurn, Skipped
from aish.values.turns import Role

_NAMES = ("session-*.json", "session-*.jsonl", "logs.json", "checkpoint*.json")
_ROLES: dict[object, Role] = {"user": "user", "gemini": "assistant", "model": "assistant"}
_NO_TURNS = ("info", "error", "warning")  # messages of the program
_REWIND = "$rewindTo"  # names the first message that is gone
_MOST_CALLS = 10_000  # ids that are remembered
_MOST_PROMPTS = 100_000  # that are remembered
_LOOK = 4096
_ADDED = "\n--- Content from referenced files"  # the text of files that the prompt names
_FIRST = "<session_context>", "This is the Gemini CLI. We are setting up the context for our chat."


def read(path: Path) -> Iterator[ImportedRecord]:
    """Yield the turns of one file, or of all files in the directory of Gemini CLI."""
    yield from each_file(path, _NAMES, _one)


def is_log(path: Path) -> bool:
    """Return whether a file has only prompts, which its sessions have as well."""
    try:
        with path.open("rb") as file:
            head = file.read(_LOOK)
    except OSError:
        return False  # reported when it is read
    return head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"[") and b'"messageId"' in head


class PromptsOnce:
    """Tells which prompts of a log are in no session that was read before it."""

    def __init__(self) -> None:
        self._told = set[int]()

    def is_new(self, record: ImportedRecord, *, logged: bool) -> bool:
        if isinstance(record, Skipped) or record.role != "user":
            return True
        if logged:
            return hash((record.conversation, record.text)) not in self._told
        if len(self._told) < _MOST_PROMPTS:
            session = record.branch_of or record.conversation
            self._told |= {hash((session, text)) for text in (record.text, record.text.partition(_ADDED)[0])}
        return True


def _one(path: Path) -> Iterator[ImportedRecord]:
    odd = Oddities()
    with path.open("rb") as file:
        walk = JsonWalk(file.read, MOST)
        try:
            if walk.peek() == b"{" and _is_lines(path):
                yield from _lines(path, odd)
            else:
                while first := walk.peek():  # sessions may stand one after another
                    yield from _listed(walk, path, odd) if first == b"[" else _session(walk, path, odd)
        except CutOff:
            yield Skipped(path.name, f"ends or is damaged at byte {walk.place:,}; copy or export it again")
    yield from odd.told(path.name)


def _is_lines(path: Path) -> bool:
    """Return whether the first line is a complete head of a session without messages, as in newer versions."""
    if not path.is_file():
        return False
    with open_file(path) as file:
        return any("projectHash" in record and "messages" not in record for _, record in _first(file))


def _first(file: Any) -> Iterator[tuple[int, dict[str, Any]]]:
    for place, record in records(file, Oddities()):
        yield place, record
        return


def _listed(walk: JsonWalk, path: Path, odd: Oddities) -> Iterator[ImportedTurn]:
    """Yield the prompts of `logs.json`, or the turns of a checkpoint, which has no times."""
    refs = Refs()
    for _ in walk.elements():
        record = _checked(walk.value(), odd)
        if "messageId" in record:
            time, session = moment(record.get("timestamp")), label(record.get("sessionId"))
            if text := text_of(record.get("message")):
                ref = f"{label(record.get('messageId'))} {time.isoformat() if time else ''}".strip()
                yield ImportedTurn(session, time, "user", text, ref=ref)
        elif record:
            yield from _content(record, path, refs, odd)


def _content(record: dict[str, Any], path: Path, refs: Refs, odd: Oddities) -> Iterator[ImportedTurn]:
    """Yield the turns of a message in the form of the API: a role and parts."""
    base = ImportedTurn(label(path.stem), modified(path), "user", "")
    said: list[str] = []
    role = record.get("role")
    if not isinstance(role, str) or role not in _ROLES:
        odd.add("a message with unknown role", compact(role))
        return
    for part in map(dict_of, list_of(record.get("parts"))):
        if answer := dict_of(part.get("functionResponse")):
            text = _result(answer.get("response"))
            yield from _turn(base._replace(role="tool", name=label(answer.get("name"))), text, refs)
        elif part.get("thought") is True:
            yield from _turn(base._replace(role="assistant", name=THINKING), thought(part.get("text")), refs)
        else:
            said.append(_part(part))
    text = "\n".join(filter(None, said))
    if not text.startswith(_FIRST):
        yield from _turn(base._replace(role=_ROLES[role]), text, refs)


def _turn(base: ImportedTurn, text: str, refs: Refs) -> Iterator[ImportedTurn]:
    if text:
        yield base._replace(text=text, ref=refs.name(base.role, text))


def _session(walk: JsonWalk, path: Path, odd: Oddities) -> Iterator[ImportedTurn]:
    """Yield the turns of one JSON object: a session, or a checkpoint with its history."""
    head: dict[str, Any] = {}
    answered: set[str] = set()
    refs = Refs()
    known = False
    for name in walk.members():
        known = known or name in ("sessionId", "history")
        if name == "messages" and walk.peek() == b"[":
            for _ in walk.elements():
                yield from _message(_checked(walk.value(), odd), head, answered, odd)
        elif name == "history" and walk.peek() == b"[":
            for _ in walk.elements():
                yield from _content(_checked(walk.value(), odd), path, refs, odd)
        elif name in ("sessionId", "startTime", "kind", "directories", "summary"):
            head[name] = walk.value()
    if not known:
        odd.add("something that is not a session")


def _lines(path: Path, odd: Oddities) -> Iterator[ImportedTurn]:
    """Yield the turns of a file with one record in each line. A later record with the same id replaces it.

    A resumed session begins with a list of all earlier messages, in which their times, thoughts and tool results are
    gone. Only those that are nowhere else are taken from it. What the user rewound is another branch.
    """
    last: dict[str, int] = {}
    listed: dict[str, int] = {}
    rewound, order = set[str](), dict[str, None]()
    with open_file(path) as file:
        for number, record in records(file, Oddities()):
            for message in _messages(record):
                id = label(message.get("id"))
                (last if message is record else listed)[id] = number
                order.setdefault(id)
                rewound.discard(id)  # it is there again
            if _REWIND in record and (target := label(record[_REWIND])) in order:
                id = ""
                while id != target:
                    id, _ = order.popitem()
                    rewound.add(id)
    head: dict[str, Any] = {}
    answered: set[str] = set()
    with open_file(path) as file:
        for number, record in records(file, odd):
            if "projectHash" in record:
                head |= record
            for message in _messages(record):
                id = label(message.get("id"))
                if last.get(id, listed.get(id)) == number:
                    for turn in _message(message, head, answered, odd):
                        yield turn.aside() if id in rewound else turn


def _messages(record: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the messages of a line: it is one, or it replaces a list of them."""
    if "id" in record and "type" in record:
        return [record]
    update = dict_of(record.get("$set")) or record
    return [one for one in map(dict_of, list_of(update.get("messages"))) if "id" in one]


def _message(
    message: dict[str, Any], head: dict[str, Any], answered: set[str], odd: Oddities
) -> Iterator[ImportedTurn]:
    """Yield the turns of a message. `answered` has the calls whose results were told, which some messages repeat."""
    kind, id = message.get("type"), label(message.get("id"))
    if not message or kind in _NO_TURNS:
        return
    if not isinstance(kind, str) or kind not in _ROLES:
        odd.add("a message with unknown type", compact(kind))
        return
    session = label(head.get("sessionId"))
    if not session:
        odd.add("a message without a session")
        return
    side = head.get("kind") == "subagent"
    role: Role = "assistant" if side else _ROLES[kind]
    time = moment(message.get("timestamp")) or moment(head.get("startTime"))
    project = last_part(next(iter(list_of(head.get("directories"))), ""))
    base = ImportedTurn(session, time, role, "", "subagent" if side else "", id, project, label(head.get("summary")))
    for number, one in enumerate(list_of(message.get("thoughts"))):
        fields = [text_of(one), *(text_of(dict_of(one).get(name)) for name in ("subject", "description"))]
        if text := thought("\n".join(filter(None, fields))):
            ref = f"{id}/thinking-{number}" if id else ""
            yield base._replace(role="assistant", name=THINKING, text=text, ref=ref)
    text = _text(message.get("content"))
    if text and not (kind == "user" and text.startswith(_FIRST)):
        yield base._replace(text=text)
    for part in map(dict_of, list_of(message.get("content"))):
        answer = dict_of(part.get("functionResponse"))
        if answer and (call_id := label(answer.get("id"))) not in answered:
            ref = f"{id}/{call_id}/result" if id else ""
            result = base._replace(role="tool", name=label(answer.get("name")), ref=ref)
            yield from _told(result, _result(answer.get("response")), answered, call_id)
    for call in map(dict_of, list_of(message.get("toolCalls"))):
        yield from _call(call, base, f"{id}/{label(call.get('id'))}" if id else "", answered)


def _call(call: dict[str, Any], base: ImportedTurn, ref: str, answered: set[str]) -> Iterator[ImportedTurn]:
    name = label(call.get("name"))
    yield base._replace(role="assistant", text=str(ImportedCall(name, call.get("args"))), ref=ref)
    result = call.get("result")
    answers = [dict_of(dict_of(one).get("functionResponse")) for one in list_of(result)]
    results = [_result(answer.get("response")) for answer in answers if answer]
    shown = call.get("resultDisplay") or (result if isinstance(result, str | dict) else "")
    text = "\n".join(filter(None, results)) or (compact(shown) if shown else "")
    told = base._replace(role="tool", name=name, ref=f"{ref}/result" if ref else "")
    yield from _told(told, text, answered, label(call.get("id")))


def _told(result: ImportedTurn, text: str, answered: set[str], call: str) -> Iterator[ImportedTurn]:
    """Yield the result of a call, and remember that it was told."""
    if text:
        if len(answered) > _MOST_CALLS:
            answered.clear()
        answered.update([call] if call else [])
        yield result._replace(text=text)


def _result(response: object) -> str:
    """Return what a tool gave: its output if there is only that, else everything."""
    fields = dict_of(response)
    only = next(iter(fields.values()), None) if len(fields) == 1 else None
    return text_of(only) if isinstance(only, str) else compact(response) if response else ""


def _text(content: object) -> str:
    parts = [content] if isinstance(content, str | dict) else list_of(content)
    return "\n".join(filter(None, (text_of(one) if isinstance(one, str) else _part(dict_of(one)) for one in parts)))


def _part(part: dict[str, Any]) -> str:
    if text := text_of(part.get("text")):
        return text
    if call := dict_of(part.get("functionCall")):
        return str(ImportedCall(call.get("name"), call.get("args")))
    file = dict_of(part.get("fileData")) or dict_of(part.get("inlineData"))
    return f"[{label(file.get('displayName')) or label(file.get('fileUri')) or 'file'}]" if file else ""


def _checked(value: Any, odd: Oddities) -> dict[str, Any]:
    if value is UNREADABLE:
        odd.add("a message that is too long or damaged")
    return dict_of(value)
