"""Finds and masks secrets in text, with patterns for the usual content of shells and chats.

Pure functions. A mask keeps the kind, the last characters of a long value and a salted hash, so that different secrets
have different masks.

This runs before every write, so it must be fast for any text. It scans only blocks that `secret_hints` selects,
compiles a pattern when its needle is first found, and limits repetitions in patterns.
"""

import hashlib
import re
from typing import NamedTuple

from aish.memory.named_secrets import named_values
from aish.memory.rule_search import rule_matches
from aish.memory.secret_hints import (
    PRIVATE_KEY,
    SHORTEST,
    blocks_with_secrets,
    key_end,
    lowered,
    noiseless_places,
    without_noise,
)
from aish.memory.secret_names import token_name
from aish.memory.secret_rules import Rule
from aish.memory.secret_values import LIKELY, is_sample, looks_secret, shape, trimmed
from aish.values.patterns import compiled

_MASK = r"\[masked [A-Za-z0-9][A-Za-z0-9 .-]{1,30}?(?: ….{1,4})? #[0-9a-f]{8}\]"
_SAMPLE = r"(?i)x{6}|example|your[_-]|(.)\1{9}|1234567890abcdef|abcdefghijklm"  # sample tokens in documentation
_ESCAPE = r"\\{1,4}[nrt]"
_ESCAPED = rf'\\"|{_ESCAPE}(?=[\s"\'\\]|\Z)|{_ESCAPE}.{{0,2000}}?{_ESCAPE}'

# The first line of a private key, after signs of code and of JSON, numbers of lines, and headers such as `Comment: …`.
_KEY_START = (
    r"(?:[\s\"'`+,>|\\→]|\\[nrt]|\d{1,6}(?=[\s→:|])|[A-Z][\w-]{1,30}: [^\n\\]{0,200}+){0,200}[A-Za-z0-9+/=]{16}"
)
_KEY_LINE, _KEY_HEAD = r"[A-Za-z0-9+/]{32,80}", 500  # a line of a key, and characters before the first one


class FoundSecret(NamedTuple):
    """The kind and position of a secret in a text, and why it is one: the rule, and where its context starts."""

    kind: str
    start: int
    end: int
    rule: str = ""
    context: int = 0


def find(text: str) -> list[FoundSecret]:
    """Return all secrets in the text, in order, without overlaps."""
    return [
        FoundSecret(kind, start + first, start + last, rule, start + context)
        for start, end in blocks_with_secrets(text)
        if end - start >= SHORTEST
        for kind, first, last, rule, context in _find_in_block(text[start:end])
    ]


def redact(text: str, salt: bytes) -> tuple[str, list[FoundSecret]]:
    """Return the text with all secrets masked, and the secrets found."""
    found = find(text)
    parts, done = [], 0
    for item in found:
        parts += [text[done : item.start], mask(item.kind, text[item.start : item.end], salt)]
        done = item.end
    return "".join([*parts, text[done:]]), found


def mask(kind: str, value: str, salt: bytes) -> str:
    """Return the mask that replaces a secret."""
    tail = f" …{value.strip()[-4:]}" if len(value) >= 16 and "\n" not in value else ""
    return f"[masked {kind}{tail} #{hashlib.blake2s(value.encode('utf-8', 'replace'), key=salt[:32]).hexdigest()[:8]}]"


def _find_in_block(block: str) -> list[FoundSecret]:
    """Return the secrets of one block. Colours and zero-width characters inside names and values do not count."""
    if (clean := without_noise(block)) == block:
        return _find_in_clean(block)
    places = noiseless_places(block)
    return [
        found._replace(start=places[found.start], end=places[found.end - 1] + 1, context=places[found.context])
        for found in _find_in_clean(clean)
        if found.end > found.start
    ]


def _find_in_clean(block: str) -> list[FoundSecret]:
    """Return the secrets of a block without noise."""
    if "[masked " in block:
        block = compiled(_MASK).sub(lambda match: "…" * len(match[0]), block)
    block = _without_escapes(block)
    result: list[FoundSecret] = []
    for item in sorted(_spans(block, lowered(block)), key=lambda one: (one.start, -one.end)):
        if not result or item.start >= result[-1].end:
            result.append(item)
        elif item.end > result[-1].end:
            result[-1] = result[-1]._replace(end=item.end)
    return result


def _without_escapes(block: str) -> str:
    """Return the block with blanks for escaped line ends, as in JSON: a value ends there. Keeps all positions."""
    if "\\" not in block or not compiled(_ESCAPED).search(block):
        return block
    return compiled(_ESCAPE).sub(
        lambda match: " " * (len(match[0]) - 1) + (" " if match[0][-1] == "t" else "\n"), block
    )


def _spans(block: str, low: str) -> list[FoundSecret]:
    """Return all secrets, also those that overlap."""
    spans = _keys(block) if "-----BEGIN" in block else []
    for rule, match in rule_matches(block, low):
        if found := _judged(rule, block, match):
            spans.append(found)
    spans += [FoundSecret(*one) for one in named_values(block, low)]
    return [one for one in spans if one.end > one.start]


def _keys(block: str) -> list[FoundSecret]:
    """Find private keys, also without an end marker."""
    found = list[FoundSecret]()
    for match in PRIVATE_KEY.finditer(block):
        end = key_end(block, match.end())
        body = block[match.end() : len(block) if end < 0 else end]
        if _has_key(body):
            start = match.end() + len(body) - len(body.lstrip())
            stop = match.end() + len(body.rstrip())
            found.append(FoundSecret("private key", start, stop, "private key after its begin marker", match.start()))
    return found


def _has_key(body: str) -> bool:
    """Is this a key, and not code after a begin marker?"""
    if compiled(_KEY_START).match(body):
        return True
    # In comments, logs and diffs, each line of a key begins with other signs.
    lines = map(shape, compiled(_KEY_LINE).findall(body[:_KEY_HEAD]))
    return any(line.is_random and line.signs.mixed and line.signs.digits for line in lines)


def _judged(rule: Rule, block: str, match: re.Match[str]) -> FoundSecret | None:
    """Return the secret of a match if it looks like one."""
    if rule.token:
        if compiled(_SAMPLE).search(match[0]) or is_sample(match[0]):
            return None
        kind = token_name(rule.kind, match[0])
        return FoundSecret(kind, *match.span(), f"{kind} by its form", match.start())
    quote = match["quote"] if "quote" in match.re.groupindex else ""
    start, end = trimmed(block, *match.span("value"), bool(quote))
    if rule.need is not None and not _convinces(rule, block[start:end], quote):
        return None
    return FoundSecret(rule.kind, start, end, rule.name(), match.start())


def _convinces(rule: Rule, value: str, quote: str) -> bool:
    assert rule.need is not None
    if rule.kind == "cookie" and "=" in value:  # settings and samples are cookies, too
        return any(looks_secret(part.partition("=")[2], LIKELY, words=False) for part in value.split(";"))
    return looks_secret(value, rule.need, quote, words=rule.words)
