"""Read fields of foreign records: times, texts and names, whatever type they have.

Pure: values in, values out; nothing here raises.
"""

import functools
import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any

from aish.values.imported import MADE_REF, Skipped
from aish.values.invisible import visible
from aish.values.items import utc_time
from aish.values.text import for_keeping, one_line

_MILLISECONDS, _MICROSECONDS = 1e11, 1e14  # larger numbers are not seconds (before the year 5138)
_YEARS = 1970, 9998  # outside of these, some times have no representation in other time zones
_KINDS = 20  # kinds that are counted separately; a damaged file could have millions
_REPEATS = 100_000
_LONG = 1 << 20  # characters of a JSON text whose lists and objects are counted
_PARTS = 200_000  # lists and objects that such a text may have


def moment(value: object) -> datetime | None:
    """Convert a number of seconds or an ISO text to a time in UTC; None if it is not a time."""
    try:
        if isinstance(value, str):
            time = utc_time(value.strip())
            return time if _YEARS[0] <= time.year <= _YEARS[1] else None
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value <= 0:
            return None
        scale = 1e6 if value >= _MICROSECONDS else 1e3 if value >= _MILLISECONDS else 1
        time = datetime.fromtimestamp(value / scale, UTC)
        return time if time.year <= _YEARS[1] else None
    except (ValueError, OverflowError, OSError):
        return moment(float(value)) if isinstance(value, str) and _is_number(value) else None


def text_of(value: object) -> str:
    """Return a text that is safe to store, stripped; "" if the value is not a text."""
    if not isinstance(value, str):
        return ""
    # Most texts need no cleaning, and searching is much faster than cleaning.
    return (for_keeping(value) if _stray().search(value) else value).strip()


def label(value: object) -> str:
    """Return an id, a name or a title as one line of limited length."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 63:
        return str(value)
    if not isinstance(value, str):
        return ""
    return value if len(value) < 100 and _plain().fullmatch(value) else one_line(visible(value), 200)


def last_part(path: object) -> str:
    """Return the last part of a directory path, with either kind of slash."""
    return label(path).replace("\\", "/").rstrip("/").rpartition("/")[2]


def dict_of(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def list_of(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def compact(value: object) -> str:
    """Return data as readable text: a text unchanged, anything else as JSON."""
    try:
        return text_of(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    except (ValueError, RecursionError):
        return ""


def parsed(text: str | bytes) -> Any:
    """Parse JSON, even with control characters in strings; None if it is not JSON or has too many parts."""
    try:
        said = text if isinstance(text, str) else text.decode("utf-8", "replace")
        return None if len(said) > _LONG and _has_too_many_parts(said) else _decoder().decode(said)
    except (ValueError, RecursionError):
        return None


def _has_too_many_parts(text: str) -> bool:
    """Are there more lists and objects than any session has? Two bytes of an empty list become sixty in memory."""
    if text.count("[") + text.count("{") <= _PARTS:
        return False
    end, after = 0, _to_part()  # code in a string has brackets, too
    for _ in range(_PARTS + 1):
        match = after.match(text, end)
        if not match:
            return False
        end = match.end()
    return True


class Refs:
    """Ids for turns that have none in their source: the same turn gets the same id in every export.

    An id is a hash of the text plus the number of earlier repeats. So ids stay the same if the tool removes the
    beginning of a file, as shell histories do.
    """

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()

    def name(self, *said: str) -> str:
        digest = blake2b("\0".join(said).encode("utf-8", "replace"), digest_size=8).hexdigest()
        if len(self._seen) >= _REPEATS:
            self._seen.clear()  # memory is bounded; repeats this far apart count as one
        self._seen[digest] += 1
        again = f"-{self._seen[digest]}" if self._seen[digest] > 1 else ""
        return f"{MADE_REF}{digest}{again}"


class Oddities:
    """Counts what was left out, so that each kind is reported once."""

    def __init__(self) -> None:
        self._kinds: Counter[str] = Counter()

    def add(self, kind: str, detail: object = None) -> None:
        named = f"{kind} {one_line(visible(detail), 40)!r}" if isinstance(detail, str) else kind
        self._kinds[named if named in self._kinds or len(self._kinds) < _KINDS else "other oddities"] += 1

    def told(self, where: str) -> Iterator[Skipped]:
        for kind, count in self._kinds.items():
            yield Skipped(where, kind, count)
        self._kinds.clear()


@functools.cache
def _decoder() -> json.JSONDecoder:
    return json.JSONDecoder(strict=False)


@functools.cache
def _to_part() -> re.Pattern[str]:
    """Match up to the next list or object, and its bracket."""
    return re.compile(r'(?>(?:[^"\[{]++|"[^"\\]*+(?>(?:\\.[^"\\]*+)*)")*)[\[{]', re.DOTALL)


@functools.cache
def _stray() -> re.Pattern[str]:
    """Match characters that `for_keeping` would change."""
    return re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


@functools.cache
def _plain() -> re.Pattern[str]:
    return re.compile(r"[\w.:/-]*", re.ASCII)


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
