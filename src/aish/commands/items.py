"""What the commands of memory share: options, ids, tables of items, and what is said of a change."""

import json
import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, overload

from aish.commands.shell import Shell
from aish.memory.curation import Kept
from aish.memory.redaction import count_kinds
from aish.prompt.background import BackgroundLayer
from aish.storage.lines import decode
from aish.values.errors import BadUsage, NotFound
from aish.values.items import KINDS, Item, read_time
from aish.values.person import NOBODY, agrees
from aish.values.replies import Reply, Table
from aish.values.text import one_line
from aish.values.times import age, local

OPTIONS = {"--kind": "kind", "--tag": "tags", "--key": "key", "--limit": "limit"}
FLAGS = {"--yes": "yes", "--all": "all", "--trust": "trust"}
_USUAL = len(("id", "ts", "kind", "content", "source"))


def read_options(words: str) -> tuple[dict[str, Any], str]:
    """The options in front of the words, and the words. Raises `BadUsage`."""
    options: dict[str, Any] = {}
    rest = words.lstrip()
    while rest.startswith("--"):
        name, _, rest = rest.partition(" ")
        if name == "--":  # what follows is text, whatever it looks like
            return options, rest
        if name in FLAGS:
            options[FLAGS[name]] = True
        elif name in OPTIONS:
            value, rest = _value(rest.lstrip())
            if not value:
                raise BadUsage(f"{name} needs a value")
            options.setdefault("tags", []).append(value) if name == "--tag" else options.update({OPTIONS[name]: value})
        else:
            raise BadUsage(f"there is no option {name}; there are: {', '.join([*OPTIONS, *FLAGS])}")
        rest = rest.lstrip()
    return options, rest


def _value(text: str) -> tuple[str, str]:
    """The first word, or what stands in quotes, and the rest."""
    if quoted := re.match(r'"((?:[^"\\]|\\.)*)"(?=\s|$)', text, re.DOTALL):
        return re.sub(r"\\(.)", r"\1", quoted[1], flags=re.DOTALL), text[quoted.end() :]
    value, _, rest = text.partition(" ")
    return value, rest


async def keep_said(shell: Shell, text: str, kind: str, options: dict[str, Any]) -> Reply:
    """Remember what the user said; a secret only after a question."""
    fields: dict[str, Any] = {name: options[name] for name in ("tags", "key") if name in options}
    memory = shell.memory
    masked, plain = memory.redaction.mask(text), False
    if masked.kinds:
        question = f"this holds a secret ({count_kinds(masked.kinds)})\nremember it as it is? [y/N/mask] "
        answer = (await shell.person.line(question)).strip().lower()
        plain = answer in ("y", "yes")
        if not plain and answer not in ("m", "mask", NOBODY):
            return Reply("nothing was written", data={"new": False}, found=False)
    kept = memory.remember(text, kind, plain=plain, source="user", **said_where(shell), **fields)
    return say_kept(shell, kept)


def say_kept(shell: Shell, kept: Kept, text: str = "") -> Reply:
    item = kept.item
    said = text or (
        f"remembered (id {item.id}): {one_line(item.content, 80)}" if kept.new else f"already known (id {item.id})"
    )
    lines = [kept.masked, said] if kept.masked else [said]
    reply = Reply("\n".join(lines), data={"id": item.id, "new": kept.new, "masked": kept.masked, **item.record})
    return changed(shell, reply) if kept.new else reply


def changed(shell: Shell, reply: Reply) -> Reply:
    """The prompt follows what the user changed. Trouble with that is said too."""
    background = shell.session.layer(BackgroundLayer)
    notices = background.read(shell.session, again=True) if background.loaded else []
    return reply._replace(text="\n".join([*(notice.text for notice in notices), reply.text])) if notices else reply


def said_where(shell: Shell) -> dict[str, Any]:
    """The conversation that an item was said in, if there is one."""
    if shell.session.remembers and shell.session.turn_number:
        return {"conversation": shell.session.journal.id, "turn": shell.session.turn_number}
    return {}


def as_table(shell: Shell, items: list[Item], nothing: str) -> Reply:
    rows, styles = ItemRows(items, Moments(shell.program.now())), [item[2] for item in items]
    table = Table(("id", "age", "time", "kind", "content", "source"), rows, styles, wide=4)
    return Reply("" if items else nothing, table, [item[4] for item in items], found=bool(items))


class ItemRows(Sequence[tuple[str, ...]]):
    """The rows of a table of items. Made when they are looked at, because a long list would be kept twice."""

    def __init__(self, items: list[Item], moments: "Moments") -> None:
        self._items, self._moments = items, moments

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, place: int) -> tuple[str, ...]: ...
    @overload
    def __getitem__(self, place: slice) -> list[tuple[str, ...]]: ...
    def __getitem__(self, place: int | slice) -> tuple[str, ...] | list[tuple[str, ...]]:
        if isinstance(place, slice):
            return list(map(self._row, self._items[place]))
        return self._row(self._items[place])

    def _row(self, item: Item) -> tuple[str, ...]:
        id, ts, kind, text, record = item
        if len(record) == _USUAL and "source" in record:  # a long list is made of these
            source = str(record["source"])
        else:
            text, source = _in_full(item)
        return str(id), *self._moments.of(ts), kind, text, source


def _in_full(item: Item) -> tuple[str, str]:
    """Content and source of an item with more to say: tags, a key that its text does not name, whose words it is."""
    tags = "".join(f" #{tag}" for tag in item.tags)
    key = f" (takes the place of: {item.key})" if item.key and not item.content.startswith(item.key) else ""
    source = item.source if item.origin == item.source else f"{item.origin}, {item.source}"
    return item.content + tags + key, source


class Moments:
    """Times as a list shows them. Long lists need it fast, and have many items of one hour."""

    def __init__(self, now: datetime) -> None:
        self._now = now
        self._by_hour: dict[str, tuple[str, str]] = {}

    def of(self, ts: str) -> tuple[str, str]:
        """How long ago, and the time on the user's clock."""
        known, ours = self._by_hour.get(ts[:13]), len(ts) == 24 and ts[23] == "Z"
        if known and ours:
            return known[0], known[1] + ts[13:16]
        time = read_time(ts)
        old, clock = age(time, self._now), local(time)
        # after a day the hour is near enough, where clocks are whole hours apart
        if ours and clock[13:] == ts[13:16] and old.rstrip("s").endswith(("day", "week", "month", "year")):
            self._by_hour[ts[:13]] = old, clock[:13]
        return old, clock


def matching(items: Iterable[Item], options: dict[str, Any], words: str) -> Iterable[Item]:
    """The items of a kind, with these tags, that have all the words. Raises `BadUsage`."""
    kind, tags, wanted = options.get("kind"), set(options.get("tags", ())), words.casefold().split()
    if kind and kind not in KINDS:
        raise BadUsage(f"there is no kind {kind!r}; an item is one of: {', '.join(KINDS)}")
    if kind:
        items = (item for item in items if item.kind == kind)
    if tags:
        items = (item for item in items if tags <= set(item.tags))
    if wanted:
        items = (item for item in items if all(word in item.content.casefold() for word in wanted))
    return items


def read_limit(options: dict[str, Any]) -> int | None:
    return read_id(options["limit"]) if "limit" in options else None


def read_id(word: str) -> int:
    text = word.strip().removeprefix("#")
    if not text:
        raise BadUsage("an id is missing; :memory list shows them")
    if not text.isdecimal() or len(text) > 15:
        raise BadUsage(f"expected a number, got {one_line(word, 40)!r}")
    return int(text)


def read_ids(words: str, where: str = ":memory list") -> list[int]:
    if not words.strip():
        raise BadUsage(f"an id is missing; {where} shows them")
    return [read_id(word) for word in words.replace(",", " ").split()]


def pending_ids(shell: Shell, words: str) -> list[int]:
    if words.strip() == "all":
        return shell.memory.pending_ids()
    known, ids = set(shell.memory.pending_ids()), list(dict.fromkeys(read_ids(words, ":memory pending")))
    missing = [id for id in ids if id not in known]
    if missing:
        raise NotFound(f"nothing with the number {missing[0]} waits; :memory pending lists what does")
    return ids


def read_records(data: bytes) -> Iterable[dict[str, Any] | None]:
    """The records of a file: JSON lines, or one JSON list. None for what is neither."""
    try:
        whole = json.loads(data)
        if isinstance(whole, list):
            return [record if isinstance(record, dict) else None for record in whole]
    except (ValueError, RecursionError):
        pass
    return [decode(line) for line in data.split(b"\n") if line.strip()]


async def agreed(shell: Shell, question: str) -> bool:
    return agrees(await shell.person.line(f"{question} [y/N] "))


def nothing_after(name: str, words: str) -> None:
    """Raise `BadUsage` for words after a command that would act on more than they say."""
    if words.strip():
        raise BadUsage(f":memory {name} takes nothing after it, but got {one_line(words, 40)!r}; nothing was changed")
