"""Finds and masks secrets in text, with patterns for the usual content of shells and chats.

Pure functions. A mask keeps the kind, the last characters of a long value and a salted hash, so that different secrets
have different masks.

This runs before every write, so it must be fast for any text. It scans only blocks that `secret_hints` selects,
compiles a pattern when its needle is first found, and limits repetitions in patterns.
"""

import hashlib
import re
from collections.abc import Iterator
from typing import NamedTuple

from aish.memory.named_secrets import named_values
from aish.memory.secret_hints import (
    blocks_with_secrets,
    has_long_run,
    key_end,
    lowered,
    noiseless_places,
    private_key,
    without_noise,
)
from aish.memory.secret_names import token_name
from aish.memory.secret_rules import RULES, Rule
from aish.memory.secret_values import LIKELY, is_sample, looks_secret, trimmed
from aish.values.patterns import compiled

_MASK = r"\[masked [A-Za-z0-9][A-Za-z0-9 .-]{1,30}?(?: ….{1,4})? #[0-9a-f]{8}\]"
_SAMPLE = r"(?i)x{6}|example|your[_-]|(.)\1{9}|1234567890abcdef|abcdefghijklm"  # sample tokens in documentation
_ESCAPE = r"\\{1,4}[nrt]"
_ESCAPED = rf'\\"|{_ESCAPE}(?=[\s"\'\\]|\Z)|{_ESCAPE}.{{0,2000}}?{_ESCAPE}'

_TOKENS = [(rule.needles.split(), rule) for rule in RULES if rule.token]
_PLACES = [(rule.needles.split(), rule) for rule in RULES if not rule.token and not rule.hyphen and not rule.foreign]
_OPTIONS = [(rule.needles.split(), rule) for rule in RULES if rule.hyphen]
_FOREIGN = [(rule.needles.split(), rule) for rule in RULES if rule.foreign]
_PASSES = 4
_FAR, _ROOM = 300, 500  # characters from a program to its option, and for the value of that
_SHORTEST = 8  # characters of a text with a secret, such as `pin:1234`


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
        found._replace(start=start + found.start, end=start + found.end, context=start + found.context)
        for start, end in blocks_with_secrets(text)
        if end - start >= _SHORTEST
        for found in _find_in_block(text[start:end])
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
    """Return the secrets of a block. Blanks out those found and scans again, as one secret may obscure another."""
    if "[masked " in block:
        block = compiled(_MASK).sub(lambda match: "…" * len(match[0]), block)
    block = _without_escapes(block)
    everything: list[FoundSecret] = []
    for _ in range(_PASSES):
        fresh = [found for found in _spans(block, lowered(block)) if found.end > found.start]
        if not fresh:
            break
        everything += fresh
        block = _blanked(block, fresh)
    result: list[FoundSecret] = []
    for item in sorted(everything, key=lambda one: (one.start, -one.end)):
        if not result or item.start >= result[-1].end:
            result.append(item)
        elif item.end > result[-1].end:
            result[-1] = result[-1]._replace(end=item.end)
    return result


def _blanked(block: str, found: list[FoundSecret]) -> str:
    """Return the block with an ellipsis for each character of the secrets found."""
    parts, done = [], 0
    for one in sorted(found, key=lambda one: (one.start, one.end)):
        if one.end > done:
            start = max(done, one.start)
            parts += [block[done:start], "…" * (one.end - start)]
            done = one.end
    return "".join([*parts, block[done:]])


def _without_escapes(block: str) -> str:
    """Return the block with blanks for escaped line ends, as in JSON: a value ends there. Keeps all positions."""
    if "\\" not in block or not compiled(_ESCAPED).search(block):
        return block
    return compiled(_ESCAPE).sub(
        lambda match: " " * (len(match[0]) - 1) + (" " if match[0][-1] == "t" else "\n"), block
    )


def _spans(block: str, low: str) -> Iterator[FoundSecret]:
    if "-----BEGIN" in block:
        yield from _keys(block)
    rules = _PLACES
    if has_long_run(block):
        rules = [*_TOKENS, *rules]
    if "-" in block:
        rules = [*rules, *_OPTIONS]
    if not block.isascii():
        rules = [*rules, *_FOREIGN]
    for needles, rule in rules:
        text = low if rule.folded else block
        for needle in needles:
            if needle in text:
                yield from _places(rule, block, text)
                break
    for one in named_values(block, low):
        yield FoundSecret(one.kind, one.start, one.end, one.rule, one.context)


def _keys(block: str) -> Iterator[FoundSecret]:
    """Find private keys, also without an end marker."""
    for match in private_key().finditer(block):
        end = key_end(block, match.end())
        body = block[match.end() : len(block) if end < 0 else end]
        if compiled(r"[A-Za-z0-9+/]{16}").search(body):
            start = match.end() + len(body) - len(body.lstrip())
            stop = match.end() + len(body.rstrip())
            yield FoundSecret("private key", start, stop, "private key after its begin marker", match.start())


def _places(rule: Rule, block: str, text: str) -> Iterator[FoundSecret]:
    if rule.token:
        for match in _tokens(rule, text):
            if not compiled(_SAMPLE).search(match[0]) and not is_sample(match[0]):
                kind = token_name(rule.kind, match[0])
                yield FoundSecret(kind, *match.span(), f"{kind} by its form", match.start())
        return
    pattern = compiled(rule.pattern if not rule.option else rule.argument)
    for match in pattern.finditer(text) if not rule.option else _options(rule, text):
        quote = match["quote"] if "quote" in pattern.groupindex else ""
        start, end = trimmed(block, *match.span("value"), bool(quote))
        if rule.need is None or _convinces(rule, block[start:end], quote):
            yield FoundSecret(rule.kind, start, end, rule.name, match.start())


def _tokens(rule: Rule, text: str) -> Iterator[re.Match[str]]:
    """Find what has the form of a token."""
    pattern = compiled(rf"(?a)(?<![A-Za-z0-9_])(?<![\w-]{{24}})(?:{rule.pattern})")
    if not rule.prefixed:
        yield from pattern.finditer(text)
        return
    for needle in rule.needles.split():
        place = text.find(needle)
        while place >= 0:  # much faster than a search with the pattern
            match = pattern.match(text, place)
            if match:
                yield match
            place = text.find(needle, match.end() if match else place + 1)


def _options(rule: Rule, text: str) -> Iterator[re.Match[str]]:
    """Find the option of a rule in each command that has its program; once, however often the program is named."""
    done = 0
    for program in compiled(rule.program).finditer(text):
        if program.start() < done:
            continue
        done = end = compiled(r"(?:[^|;&\n\\]|\\\n|\\)*").match(text, program.end()).end()  # type: ignore[union-attr]  # matches nothing, too
        option = compiled(rule.argument).search(text, program.end(), min(end, program.end() + _FAR) + _ROOM)
        if option and option.start("value") <= end:
            yield option


def _convinces(rule: Rule, value: str, quote: str) -> bool:
    assert rule.need is not None
    if rule.kind == "cookie" and "=" in value:  # settings and samples are cookies, too
        return any(looks_secret(part.partition("=")[2], LIKELY, words=False) for part in value.split(";"))
    return looks_secret(value, rule.need, quote, words=rule.words)
