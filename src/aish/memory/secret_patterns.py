"""Finds and masks secrets in text, with patterns for the usual content of shells and chats.

Pure functions. A mask keeps the kind, the last characters of a long value and a salted hash, so that different secrets
have different masks.

This runs before every write, so it must be fast for any text. It scans only blocks that `secret_hints` selects,
compiles a pattern when its needle is first found, and limits repetitions in patterns.
"""

import functools
import hashlib
import re
from collections.abc import Iterator
from typing import NamedTuple

from aish.memory.secret_hints import (
    blocks_with_secrets,
    has_long_run,
    key_end,
    lowered,
    noiseless_places,
    private_key,
    without_noise,
)
from aish.memory.secret_names import token_name, value_name
from aish.memory.secret_rules import HARDLY, LIKELY, LOOSE, RULES, SURE, Rule

# The names of secrets, in lower case, and the text that may be between a name and its value.
# fmt: off
_NAME = (
    r"pass(?:word|wd|phrase|code|wort)?|pwd|pw|psk|mdp|kennwort|contrase(?:ñ|n)a|mot[ _]de[ _]passe|palavra[- ]passe|senha|clave|wachtwoord|hasło|parola(?: d'ordine)?|lösenord|şifre|парол[ьяеюи]|mật khẩu|κωδικός"
    r"|secret(?:[ _-]?(?:access[ _-]?)?(?:key(?:[ _-]?base)?|token|value|id))?|токен|ключ|token|credentials?|creds|pat"
    r"|(?:(?:api|app|access|auth|account|signing|encryption|master|licen[sc]e|private|session|client|storage|subscription|service)[ _-]?)?(?:key(?![ _-]?(?:name|file|path|type|size|word|board))(?:_id)?)"
)
_SUFFIX = r"(?:_?\d{1,2}|[_-](?:prod|dev|test|staging|live|old|new))?(?![^\W_\d])"
_SET = r"\\?[\"'`*\])]{0,3}\s{0,4}(?::=|=>|={1,3}|->|:|：)(?:\s{0,3}[\w&\[\]<>.|? ]{1,30}?\s?=(?=\s?[\"']))?\**\s{0,40}(?:`{3}\w*\s{1,8})?"
_LINK = (
    r"(?:\s+(?:root|sudo|admin|ssh|wifi|wi-fi|mysql|postgres|db)(?=\s))?(?P<far>\s+(?:for|of|to|on|in|von|vom|für|zum|pour|de|du|da|do|del|para|от|для|к|per|van|voor)\s+(?:[^\s:=…]{1,40}\s+){0,4}?[^\s:=…]{1,40}?)?"
    r"(?P<copula>\s+(?:is|was|are|will\s+be|ist|lautet|war|wäre|est|sera|es|era|é|è|jest|är|er|это|là|(?:is\s+|been\s+)?(?:re)?set\s+to|changed\s+to|to|auf|a|en|para|in|na|на)(?!\w)(?:\s+(?:now|currently|still|jetzt|maintenant|ahora|agora|теперь)\b)?|['’]s(?!\w)|\s*[:=：—–]|\s+-)\s{0,20}:?\s{0,20}"
)
_WEAK_LINKS = ("-", "auf", "a", "en", "para", "in", "na", "на", "'s", "’s")  # "cambia la clave a …", but also "password in …"
_COMPOUND = ("passw", "passp", "secret", "token", "apikey")  # these count inside a word, too: dbpassword, mytoken
_PASS = ("pass", "pwd", "pw", "psk", "kenn", "contr", "mot", "pala", "senha", "clave", "wacht", "has", "paro", "lös", "mdp", "şif", "парол", "mật", "κωδ")
_OPEN_KEYS = r"(?:public|primary|foreign|cache|sort|partition|object|idempotency|host|map|dict|hot|row|hash|index|etag|commit|trace)[ _-]?$"
# fmt: on
_BARE = r"\s{1,20}(?:[0-9]\s)?"
_QUOTED = r"\\?(?P<quote>[\"'`“„«])(?P<value>[^\"'`“”»\n]{1,2000})"
_PLAIN = r"(?P<value>(?:[^\s\"'`,;&<>]|[,;&](?![\w. -]{0,30}=)(?![\s\"'`]|\Z)){1,300})"
_MASK = r"\[masked [A-Za-z0-9][A-Za-z0-9 .-]{1,30}?(?: ….{1,4})? #[0-9a-f]{8}\]"
_HOLDER = (
    r"^\$|\$[{(]|^[<{%\[]|[<{]\w+[>}]|\*{3}|x{4}|\.{3}|…|your|example|placeholder|redacted|masked|dummy|changeme|change[_-]me|_here$"
    r"|^(?:pass(?:word|wd)?|pwd|secret|token|key|user|admin|root|none|null|nil|true|false|str|string|int|bool|bytes|any|object|bearer|basic"
    r"|optional|required|undefined|test|foo|bar|todo|tbd|empty|unset|default|missing|invalid|expired|wrong|correct)\W*$"
    r"|^(?:base(?:64|32|58)(?!:)|sha-?\d|md5|bcrypt|argon2|pbkdf2|scrypt|aes-?\d|rsa-?\d|utf-?\d|ed25519|x509|oauth2?|http/|hs256|rs256|jwt)"
    r"|^\d{1,3}[+-]?(?:char|digit|letter|byte|bit|day|hour|min|sec|week|month|year|h$|m$|s$|d$)|^arn:|^projects/|\{\{|&[lr]dquo|^, |^ % |required\||^(?:my|new|old|db|the)?_?(?:pass(?:word|wd)?|token|secret)_?\d?$"
)
_SAMPLE = r"(?i)x{6}|example|your[_-]|(.)\1{9}|1234567890abcdef|abcdefghijklm"  # sample tokens in documentation
_CODE = r"[()\[\]{}]|^(?:self|this|os|env|process|config|settings|args|options|request|req|ctx|var|local|data)\.|^[a-z_]+(?:\.[a-z_]\w*)+$|^[a-z_]+\d{0,2}(?:\.[A-Za-z_]+)+$|^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*_(?=[A-Z]{4})[A-Z0-9]+$|^0x[0-9A-Fa-f]{1,8}$|@\^\d|^[./~]|^https?:|::|->|^&|^[A-Za-z_][\w.]*=(?!=*$)|^-{1,2}[A-Za-z]|\\\w+\\|%s"

_TOKENS = [(rule.needles.split(), rule) for rule in RULES if rule.token]
_PLACES = [(rule.needles.split(), rule) for rule in RULES if not rule.token]
_PASSES = 4
_WHOLE, _JUDGED = 300, 80  # a value is judged by its start, and masked to its end


class FoundSecret(NamedTuple):
    """The kind and position of a secret in a text."""

    kind: str
    start: int
    end: int


def find(text: str) -> list[FoundSecret]:
    """Return all secrets in the text, in order, without overlaps."""
    return [
        FoundSecret(found.kind, start + found.start, start + found.end)
        for start, end in blocks_with_secrets(text)
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
        FoundSecret(kind, places[start], places[end - 1] + 1)
        for kind, start, end in _find_in_clean(clean)
        if end > start
    ]


def _find_in_clean(block: str) -> list[FoundSecret]:
    """Return the secrets of a block. Blanks out those found and scans again, as one secret may obscure another."""
    if "[masked " in block:
        block = _compiled(_MASK).sub(lambda match: "…" * len(match[0]), block)
    everything: list[FoundSecret] = []
    for _ in range(_PASSES):
        fresh = [found for found in _spans(block, lowered(block)) if found.end > found.start]
        if not fresh:
            break
        everything += fresh
        for _, start, end in fresh:
            block = block[:start] + "…" * (end - start) + block[end:]
    result: list[FoundSecret] = []
    for item in sorted(everything, key=lambda one: (one.start, -one.end)):
        if not result or item.start >= result[-1].end:
            result.append(item)
        elif item.end > result[-1].end:
            result[-1] = result[-1]._replace(end=item.end)
    return result


def _spans(block: str, low: str) -> Iterator[FoundSecret]:
    if "-----BEGIN" in block:
        yield from _keys(block)
    for needles, rule in [*_TOKENS, *_PLACES] if has_long_run(block) else _PLACES:
        text = low if rule.folded else block
        for needle in needles:
            if needle in text:
                yield from _places(rule, block, text)
                break
    yield from _named(block, low)


def _keys(block: str) -> Iterator[FoundSecret]:
    """Find private keys, also without an end marker."""
    for match in private_key().finditer(block):
        end = key_end(block, match.end())
        body = block[match.end() : len(block) if end < 0 else end]
        if _compiled(r"[A-Za-z0-9+/]{16}").search(body):
            start = match.end() + len(body) - len(body.lstrip())
            yield FoundSecret("private key", start, match.end() + len(body.rstrip()))


def _places(rule: Rule, block: str, text: str) -> Iterator[FoundSecret]:
    if rule.token:
        for match in _compiled(rf"(?a)(?<![A-Za-z0-9_])(?:{rule.pattern})").finditer(text):
            if not _compiled(_SAMPLE).search(match[0]):
                yield FoundSecret(token_name(rule.kind, match[0]), *match.span())
        return
    pattern = _compiled(rule.pattern)
    for match in pattern.finditer(text):
        quote = match["quote"] if "quote" in pattern.groupindex else ""
        start, end = _trimmed(block, *match.span("value"), bool(quote))
        if rule.need is None or _convincing(block[start:end], rule.need, quote):
            yield FoundSecret(rule.kind, start, end)


def _named(block: str, low: str) -> Iterator[FoundSecret]:
    """Find values after the name of a secret: in settings, options, tags and sentences."""
    for match in _compiled(_NAME).finditer(low):
        start, name = match.start(), match[0]
        inside = start > 0 and low[start - 1].isalpha() and not (block[start].isupper() and block[start - 1].islower())
        suffix = _compiled(_SUFFIX).match(low, match.end())
        plain_pat = name == "pat" and block[start : match.end()] != "PAT" and low[start - 1 : start] not in ("_", "-")
        if suffix and not plain_pat and (not inside or name.startswith(_COMPOUND)):
            yield from _valued(block, low, start, name, suffix.end())


def _valued(block: str, low: str, start: int, name: str, end: int) -> Iterator[FoundSecret]:
    """Find the value for the name from `start` to `end`."""
    before = low[max(0, start - 60) : start]
    prefix = "" if before[-1:].isspace() else (before.split() or [""])[-1]
    password = name.startswith(_PASS)
    label = value_name(prefix + name, name, password=password)
    if scalar := _block_scalar(block, end, LOOSE if password else LIKELY):
        yield FoundSecret(label, *scalar)
        return
    for kind, opening, need in _forms(low, name, prefix, before, end):
        value = _compiled(_QUOTED).match(block, opening) or _compiled(_PLAIN).match(block, opening)
        if not value:
            continue
        quote = value["quote"] if "quote" in value.re.groupindex else ""
        first, last = _trimmed(block, *value.span("value"), bool(quote))
        if not quote and last - first == _WHOLE and (more := _compiled(r"[^\s\"'`,;&<>]+").match(block, last)):
            last = more.end()
        if kind == "query":
            last = min([last, *(place for sign in "&#" if (place := block.find(sign, first, last)) >= 0)])
        if "key" in name and (
            last - first < 12 or (name in ("key", "key_id") and _plain_hex(block[first:last], before))
        ):
            continue
        if _convincing(block[first:last], need, quote):
            yield FoundSecret(label, first, last)
            return


def _block_scalar(block: str, end: int, need: int) -> tuple[int, int] | None:
    """Return the position of the lines of a YAML block (`key: |`) if they are a password or a key."""
    opening = _compiled(r"[\"']?\s{0,4}:[^\S\n]{0,4}[|>][+-]?\d?[^\S\n]{0,4}\n([^\S\n]{1,40})").match(block, end)
    if not opening:
        return None
    lines = _compiled(rf"\S{{6,2000}}(?:[^\S\n]{{0,4}}\n{opening[1]}\S{{1,2000}}(?=\s|\Z)){{0,200}}").match(
        block, opening.end()
    )
    if not lines or not _convincing(lines[0].partition("\n")[0].strip(), need, ""):
        return None
    return lines.span()


def _forms(low: str, name: str, prefix: str, before: str, end: int) -> Iterator[tuple[str, int, int]]:
    """Yield the ways in which a value may follow the name: kind, start of the value, and `need`."""
    password = name.startswith(_PASS)
    vague = name in ("key", "key_id", "ключ") or (name in ("pass", "pw") and not prefix.endswith(("_", "-")))
    told = not vague or name == "pw"  # "pw is …" is clear, "pw …" is not
    if vague and _compiled(_OPEN_KEYS).search(before):
        return
    usual = HARDLY if vague else LIKELY
    if prefix.startswith(("-", "/")) and (option := _compiled(r"=|\s{1,20}").match(low, end)):
        yield "option", option.end(), (SURE if option[0] == "=" else LOOSE) if password else usual
    if "<" in prefix and (tag := _compiled(r"(?: [^<>\n]{0,80})?>(?=[^<>\s]{1,500}</)").match(low, end)):
        yield "setting", tag.end(), usual
    if setting := _compiled(_SET).match(low, end):
        spaced = setting[0].endswith("= ") and low[setting.end() : setting.end() + 1] not in "\"'`"
        kind = "query" if "?" in prefix or "&" in prefix else "setting"
        yield kind, setting.end(), LOOSE if password and not vague and not spaced else usual
    if name == "pat":
        return  # a first name in a sentence
    if link := _compiled(_LINK).match(low, end):
        copula = link["copula"].strip()
        if not told or copula in _WEAK_LINKS or (not copula[0].isalpha() and link["far"] and not password):
            yield "chat", link.end(), HARDLY
        elif password or not copula.endswith("to"):
            yield "chat", link.end(), LOOSE if password and not copula.endswith("to") else LIKELY
    setter = r"\(|" if before.endswith(("set", "set_", "with", ".")) else ""
    if password and (call := _compiled(setter + r"[\"']\s?,\s?(?=[\"'])").match(low, end)):
        yield "setting", call.end(), LIKELY
    if bare := _compiled(_BARE).match(low, end):
        quoted = low[bare.end() : bare.end() + 1] in ("'", '"', "`")
        yield "chat", bare.end(), (LOOSE if password else LIKELY) if quoted and not vague else HARDLY


def _trimmed(block: str, start: int, end: int, quoted: bool) -> tuple[int, int]:
    """Return the position of the value without trailing punctuation."""
    value = block[start:end]
    kept = value.rstrip("\\") if quoted else value.rstrip(".,;:!?)\"'*`\\")
    return start, start + len(kept)


def _plain_hex(value: str, before: str) -> bool:
    """Is this just a hash or an id? After "key" it is not a secret, but after "my key" it is."""
    if _compiled(r"(?:this|my|our|following|new)\s$|[_-]$").search(before):
        return False
    return bool(_compiled(r"[0-9a-fA-F-]+").fullmatch(value))


def _convincing(value: str, need: int, quote: str) -> bool:
    """Does the value look enough like a secret? Names, types, variables and code do not."""
    value, quoted = value[:_JUDGED], bool(quote)
    if len(value) < 4 or _compiled(_HOLDER).search(lowered(value)):
        return False
    if need == SURE:
        return not value.startswith(("-", "~", "/")) and not (len(value) < 6 and value.isalpha())
    if quote in ("", "`") and (" " in value or _compiled(_CODE).search(value)):  # backticks often have code in them
        return False
    digits = sum(character.isdigit() for character in value)
    letters = sum(character.isalpha() for character in value)
    mixed = value != value.lower() and value[1:] != value[1:].lower() and value != value.upper()
    odd = any(not character.isalnum() and character not in "_-./:" for character in value)
    if len(value) < 6 or letters == 0 or (quoted and " " in value and need != LOOSE):
        return False
    if need == LOOSE and digits == 0:
        passphrase = len(value) >= 16 and sum(value.count(sign) for sign in "-_.") >= 3
        return passphrase or (odd and mixed)
    strength = (digits >= 1) + (letters >= 1) + mixed + odd + (len(value) >= 16) + (digits >= 4)
    return digits + odd > 0 and strength >= need


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern on first use. Compiling all of them takes longer than starting Python."""
    return re.compile(pattern)
