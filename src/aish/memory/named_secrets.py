"""Finds the values after the name of a secret: in settings, options, tags and sentences.

Pure functions. A name alone proves little: "token" is a word of parsers, "key" one of dictionaries. So the text between
the name and the value has to be a known form, and the value must look like a secret as far as the form asks for it.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from aish.memory.rule_search import positions
from aish.memory.secret_names import ISSUERS, value_name
from aish.memory.secret_values import HARDLY, JUDGED, LIKELY, LOOSE, SURE, count_signs, is_id, looks_secret, trimmed
from aish.values.patterns import compiled, pattern

# The names of secrets, in lower case, and the text that may be between a name and its value.
# fmt: off
_OWNERS = r"(?:api|app|access|auth|account|signing|encryption|master|licen[sc]e|private|session|client|storage|subscription|service)"
_OWNER, _OWNER_ROOM = pattern(_OWNERS + r"[ _-]?\Z"), len("subscription-")
_NAME = pattern(
    r"(?:pass(?:word|wd|phrase|code|wort)?|pwd|pw|psk|mdp|kennwort|contrase(?:ñ|n)a|mot[ _]de[ _]passe|palavra[- ]passe|senha|clave|wachtwoord|hasło|parola(?: d'ordine)?|parolă|lösenord(?:et)?|passord(?:et)?|salasana|heslo|jelszó|كلمة (?:المرور|السر)|סיסמ[הא]|şifre|парол[ьяеюи]|mật khẩu|κωδικός"
    r"|secret(?:[ _-]?(?:access[ _-]?)?(?:key(?:[ _-]?base)?|token|value|id))?|токен|ключ|token|credentials?|creds|pat"
    rf"|(?:{_OWNERS}[ _-]?)?(?:key(?![ _-]?(?:name|file|path|type|size|word|board))(?:_id)?))"
    r"(?P<suffix>(?:_?\d{1,2}|[_-](?:prod|dev|test|staging|live|old|new))?)(?![^\W_\d])(?=[\s\\\"'`*\])=:：>\-—–’(]|\?=)(?![=:]{1,2}[?&]?(?:pw|pass|key|token|secret)[=:])(?![=:\s\"'`]{0,6}…)"
)
# The words with which a name begins, or the word after its owner.
_BEGINNINGS = (*"pass pw psk mdp kennwort contrase palavra senha clave wachtwoord parola salasana heslo secret token cred pat key".split(), "mot de", "mot_de")
_ALL_BEGINNINGS = (*_BEGINNINGS, *"hasło lösenord jelszó parolă كلمة סיסמ şifre парол mật κωδικός токен ключ".split())
_TYPE = r"(?:\s{0,3}[\w&\[\]<>.|? ]{1,30}?\s?=(?=\s?[\"']))?"  # in a declaration
_SET = pattern(rf"\\{{0,3}}[\"'`*\])]{{0,3}}[^\S\n]{{0,4}}(?:\([^()\n]{{1,20}}\)(?=:)|string\s{{1,4}}(?==))?(?:[:?]=|=>|={{1,3}}|->|：|:{_TYPE})\**\s{{0,40}}(?:`{{3}}\w*\s{{1,8}})?")
_LINK = pattern(
    r"(?:\s+(?:root|sudo|admin|ssh|wifi|wi-fi|mysql|postgres|db)(?=\s))?(?P<far>\s+(?:for|of|to|on|in|at|von|vom|für|zum|pour|de|du|da|do|del|para|от|для|к|per|van|voor)\s+(?:[^\s:=…\"{}<>,;()]{1,40}\s+){0,4}?[^\s:=…\"{}<>,;()]{1,40}?)?"
    r"(?P<copula>\s+(?:is|was|are|(?:will|should|must)\s+be|ist|lautet|war|wäre|est|sera|es|era|é|è|jest|är|er|это|là|(?:is\s+|been\s+)?(?:re)?set\s+to|changed\s+to|to|auf|a|en|para|in|na|на)(?!\w)(?:\s+(?:now|currently|still|jetzt|maintenant|ahora|agora|теперь)\b)?|['’]s(?!\w)|[^\S\n]*[:=：—–→]|[^\S\n]+-)\s{0,20}:?\s{0,20}"
)
_WEAK_LINKS = ("-", "auf", "a", "en", "para", "in", "na", "на", "'s", "’s")  # "cambia la clave a …", but also "password in …"
_COMPOUND = ("passw", "passp", "secret", "token", "apikey")  # these count inside a word, too: dbpassword, mytoken
_BEFORE_PASS = ("db", "user", "root", "smtp", "sql")  # dbpass, but not bypass
_PASS = ("pass", "pwd", "pw", "psk", "kenn", "contr", "mot", "pala", "senha", "clave", "wacht", "has", "paro", "sala", "hes", "jel", "كلمة", "סיסמ", "lös", "mdp", "şif", "парол", "mật", "κωδ")
_KEY_WORDS = tuple(f"{noun}{plural} " for noun in "palabra pregunta idea punto concepto elemento aspecto dato paso tema diferencia mensaje momento detalle término".split() for plural in ("", "s"))
_NO_NAMES = {"psk": (":",), "key": ("did:",), "password": (" 1", ".1", "/1"), "passwd": ("/etc/",), "token": ("publickey", "page", "page_"), "clave": _KEY_WORDS}  # ciphers, public keys, programs, files, assemblies, pages of a list, "key words"
_OPEN_KEYS = pattern(r"(?:public(?:[_-]?key\.)?|encrypted|primary|foreign|cache|sort|partition|object|idempotency|host|map|dict|hot|row|hash|index|etag|commit|trace|tenant|group|file|image|run|routing|dedupe|unique|query|storage|lookup|registry|item|node|message|event|record)[ _-]?$")
_OPEN_ROOM = len("idempotency-\n")
_KEY_OWNERS = frozenset((*ISSUERS, *"account admin anon aws bot client cloud consumer crypto decrypt deploy device dsn encrypt encryption hmac ingest jwt license mail map maps master payment payments preshared project read root rsa secret server service sftp shared sign signature signing sms ssh tls vpn webhook weather write".split()))
# fmt: on
_BARE = pattern(r"\s{1,20}(?:[0-9]\s)?")
_QUOTED = pattern(r"\\{0,3}(?P<quote>[\"'`“„«])(?P<value>[^\"'`“”»\n]{1,2000})")
# A value without quotes ends where Chinese, Japanese or Korean text begins, which has no blanks between words.
_IN_PLAIN = r"[^\s\"'`,;&<>\u3000-\u9fff\uac00-\ud7af\uff00-\uffef]"
_PLAIN = pattern(  # the first part is faster, and most often enough
    rf"(?P<value>{_IN_PLAIN}{{1,120}}+(?![,;&])|(?:{_IN_PLAIN}|[,;&](?![\w. -]{{0,30}}=)(?![\s\"'`]|\Z)){{1,120}})"
)
_ALONE = pattern(r"\\{0,3}[\"'`*.,;:!?)]{0,4}[^\S\n]*(?:\n|\Z)")
_BASE64_BEFORE = pattern(r"[A-Za-z0-9+/]{0,24}\Z")
_ASSIGNED = pattern(r"[A-Za-z_][\w.]*[=:]")
_FINGERPRINT = pattern(r"(?:[0-9A-F]{16}|[0-9A-F]{40})\Z")
_KEY_OWNER = pattern(r"([a-z0-9]+)[_-]\Z")
_THIS = pattern(r"(?:this|my|our|following|new)\s$")
_BLOCK = pattern(r"[\"']?\s{0,4}:[^\S\n]{0,4}[|>][+-]?\d?[^\S\n]{0,4}\n([^\S\n]{1,40})")
_OPTION = pattern(r"=|\s{1,20}")
_ELEMENT = pattern(r"(?: [^<>\n]{0,80})?>(?=[^<>\s]{1,500}</)")
_CELL = pattern(r"[`*]{0,3}[^\S\n]{0,40}\|[^\S\n]{0,40}(?=[^|\n]{6,300}\|)")  # the next one of a table
_QUERY_ENDS = {"query": ("&", "#", "\\u0026", "\\u003e"), "form": ("&",)}
_WHOLE = 120
# A text with more names than this, such as the words of a parser, is searched with one simple pattern, as the time for
# each name would add up: a name each so many characters, and some more for a short line.
_DENSE, _MORE = 64, 8
_ANY = pattern(
    r"(?i:pass(?:word|wd|phrase)?|pwd|pw)[\"']{0,2}[^\S\n]{0,2}[:=][^\S\n]{0,2}[\"'`]?(?P<password>(?=[^\s\"'`,;&]{0,20}\d)[^\s\"'`,;&…]{6,200})"
    r"|(?i:secret|token|key|credentials?)[\"']{0,2}[^\S\n]{0,2}[:=][^\S\n]{0,2}[\"'`]?(?P<value>(?=[\w+/-]{0,20}\d)(?=[\w+/-]{0,20}[a-z])(?:(?=[\w+/-]{0,20}[A-Z])[\w+/=.-]{16,500}|[0-9a-f]{24,500}(?!\w)))"
)


class NamedValue(NamedTuple):
    """A secret, the rule that found it, and where the name of it starts."""

    kind: str
    start: int
    end: int
    rule: str
    context: int


class _Form(NamedTuple):
    """A way in which a value may follow the name: where it starts, and what it must look like."""

    kind: str
    opening: int
    need: int
    words: bool


def named_values(block: str, low: str) -> list[NamedValue]:
    """Find values after the name of a secret. `low` is the block in lower case."""
    found = list[NamedValue]()
    left = len(block) // _DENSE + _MORE
    for match in _names(low):
        start, end = match.start(), match.start("suffix")
        name = low[start:end]
        if not _is_name(block, low, start, name):
            continue
        if left == 0:
            return found + _dense_values(block, start)
        left -= 1
        if value := _value(block, low, start, name, match.end()):
            found.append(value)
    return found


def _names(low: str) -> Iterator[re.Match[str]]:
    """Find the names of secrets, as a search with the pattern does, but at the words with which they begin only."""
    done = 0
    for place in positions(_BEGINNINGS if low.isascii() else _ALL_BEGINNINGS, low):
        if place < done:
            continue
        match = None
        if low[place] == "k" and (owner := _OWNER.search(low, max(done, place - _OWNER_ROOM), place)):
            match = _NAME.match(low, owner.start())
        match = match or _NAME.match(low, place)
        if match:
            yield match
            done = match.end()


def _dense_values(block: str, start: int) -> list[NamedValue]:
    """Find values of names that follow each other closely, from `start` on."""
    found = list[NamedValue]()
    for match in _ANY.finditer(block, start):
        kind = "value" if match["value"] else "password"
        label = "secret" if kind == "value" else kind
        found.append(NamedValue(label, *match.span(kind), "one of many names of secrets", match.start()))
    return found


def _is_name(block: str, low: str, start: int, name: str) -> bool:
    """Is the name a word of its own, or at the end of an identifier?"""
    if name == "pat" and block[start : start + 3] != "PAT" and low[start - 1 : start] not in ("_", "-"):
        return False
    if low.endswith(_NO_NAMES.get(name, ()), 0, start):
        return False
    if start == 0 or not low[start - 1].isalnum():
        return block[start + len(name) :][:1] == "=" or not low.endswith("wpa_", 0, start)  # a command has a rule
    if low[start - 1].isdigit():
        return len(name) > 4
    if name.startswith(_COMPOUND) or (name == "pass" and low.endswith(_BEFORE_PASS, 0, start)):
        return True
    if not (block[start].isupper() and block[start - 1].islower()):
        return False
    run = _BASE64_BEFORE.search(block, max(0, start - 24), start)
    return run is not None and len(run[0]) < 24 and run[0].isalpha()  # not in the middle of base64


def _value(block: str, low: str, start: int, name: str, end: int) -> NamedValue | None:
    """Return the value for the name from `start` to `end`."""
    before = low[max(0, start - 60) : start]
    prefix = "" if not before or before[-1].isspace() else before.rsplit(None, 1)[-1]
    password = name.startswith(_PASS)
    kind, span = "block after", _block_scalar(block, end, password=password)
    tried = set[tuple[int, bool]]()
    for form in () if span else _forms(low, name, prefix, before, end, password=password):
        if (form.opening, form.words) in tried and form.need > LOOSE:
            continue
        tried.add((form.opening, form.words))
        if span := _convincing_span(block, name, before, end, form, start - len(prefix)):
            kind = form.kind
            break
    if not span:
        return None
    label = value_name(prefix + name, name, password=password)
    return NamedValue(label, *span, f"{kind} “{name}”", start - len(prefix))


def _convincing_span(block: str, name: str, before: str, end: int, form: _Form, context: int) -> tuple[int, int] | None:
    """Return the position of the value of this form if it looks like a secret."""
    value, quote = None, ""
    if block[form.opening : form.opening + 1] in "\"'`“„«\\" and (value := _QUOTED.match(block, form.opening)):
        quote = value["quote"]
    value = value or _PLAIN.match(block, form.opening)
    if not value:
        return None
    first, last = trimmed(block, *value.span("value"), bool(quote))
    if form.kind in _QUERY_ENDS:
        ends = [block.find(sign, first, last) for sign in _QUERY_ENDS[form.kind]]
        last = min([last, *(place for place in ends if place >= 0)])
    shown = block[first:last]
    words = form.words or (
        name.startswith("secret")
        and form.kind == "setting"
        and (bool(quote) or not block.endswith("= ", 0, form.opening))
    )
    if "key" in name and (len(shown) < 12 or not _is_key(block, name, before, shown, context)):
        return None
    phrase, chosen = name in ("passphrase", "psk"), _is_chosen(block, name, end, form, quote)
    if not looks_secret(shown, form.need, quote, words=words, phrase=phrase, name=chosen):
        return None
    next_line = "\n" in block[end:first] and form.kind != "sentence"  # a value has it for itself
    if next_line and (_ASSIGNED.match(shown) or not _ALONE.match(block, last)):
        return None
    while not quote and value.end() - value.start() == _WHOLE and (value := _PLAIN.match(block, value.end())):
        last = trimmed(block, first, value.end(), quoted=False)[1]
    return first, last


def _is_chosen(block: str, name: str, end: int, form: _Form, quote: str) -> bool:
    """Is the value what a person chose, and not the name of a variable? In code, names have no quotes."""
    if form.need != LOOSE or not name.startswith(_PASS):
        return False
    if form.kind == "sentence":
        return any(letter.isalpha() for letter in block[end : form.opening])  # "is", and not only ":"
    return form.kind == "setting" and (quote in ("'", '"') or block[end - len(name) : end].isupper())


def _is_key(block: str, name: str, before: str, value: str, context: int) -> bool:
    """May this be the value of a secret key? Most keys of programs only identify something."""
    if "sign" in name and _FINGERPRINT.match(value):
        return False  # the fingerprint of a GPG key
    if name not in ("key", "key_id"):
        return True
    owner = _KEY_OWNER.search(before) if before.endswith(("_", "-")) else None
    if not owner:
        return not is_id(value) or bool(_THIS.search(before))
    if owner[1] in _KEY_OWNERS:
        return True
    signs = count_signs(value[:JUDGED])
    setting = block[context : context + 3].isupper()
    return (signs.mixed and signs.digits >= 2 and signs.length >= 20) or (setting and signs.length >= 16)


def _block_scalar(block: str, end: int, *, password: bool) -> tuple[int, int] | None:
    """Return the position of the lines of a YAML block (`key: |`) if they are a password or a key."""
    near = block[end : end + 12]
    if "|" not in near and ">" not in near:
        return None
    opening = _BLOCK.match(block, end)
    if not opening:
        return None
    lines = compiled(rf"\S{{6,2000}}(?:[^\S\n]{{0,4}}\n{opening[1]}\S{{1,2000}}(?=\s|\Z)){{0,200}}").match(
        block, opening.end()
    )
    need = LOOSE if password else LIKELY
    if not lines or not looks_secret(lines[0].partition("\n")[0].strip(), need, words=password):
        return None
    return lines.span()


def _forms(low: str, name: str, prefix: str, before: str, end: int, *, password: bool) -> Iterator[_Form]:
    """Yield the ways in which a value may follow the name."""
    vague = name in ("key", "key_id", "ключ") or (name in ("pass", "pw") and not prefix.endswith(("_", "-")))
    told = not vague or name == "pw"  # "pw is …" is clear, "pw …" is not
    if vague and _OPEN_KEYS.search(before, max(0, len(before) - _OPEN_ROOM)):
        return
    usual = HARDLY if vague and not low.endswith("pass", 0, end) else LIKELY
    words = password and (not vague or bool(prefix))
    sign = low[end : end + 1]
    if sign in " \t=" and prefix.startswith(("-", "/")) and (option := _OPTION.match(low, end)):
        yield _Form("option", option.end(), (SURE if option[0] == "=" else LOOSE) if password else usual, words)
    if "<" in prefix and (tag := _ELEMENT.match(low, end)):
        yield _Form("setting", tag.end(), LOOSE if password and not vague else usual, words)
    if "|" in low[end : end + 45] and (cell := _CELL.match(low, end)):
        yield _Form("cell", cell.end(), usual, words)
    if setting := _SET.match(low, end):
        spaced = setting[0].endswith("= ") and low[setting.end() : setting.end() + 1] not in "\"'`"
        kind = "query" if "?" in prefix else "form" if "&" in prefix else "setting"
        yield _Form(kind, setting.end(), LOOSE if password and not vague and not spaced else usual, words)
        if password and not words:
            yield _Form(kind, setting.end(), HARDLY, words=True)  # "pass: Otter-4031!", but not "PASS: TestLogin2"
    if name == "pat":
        return  # a first name in a sentence
    if (sign.isspace() or sign in "'’:=：—–→") and (link := _LINK.match(low, end)):
        copula = link["copula"].strip()
        if not told or copula in _WEAK_LINKS or (not copula[0].isalpha() and link["far"] and not password):
            yield _Form("sentence", link.end(), LIKELY if password and told else HARDLY, password and told)
        elif password or not copula.endswith("to"):
            need = LOOSE if password and not copula.endswith("to") else LIKELY
            yield _Form("sentence", link.end(), need, password)
    setter = r"\(|" if before.endswith(("set", "set_", "with", ".")) else ""
    if sign in "('\"" and "=" not in prefix and (call := compiled(setter + r"[\"']\s?,\s?(?=[\"'])").match(low, end)):
        yield _Form("setting", call.end(), usual, words)
    if sign.isspace() and (bare := _BARE.match(low, end)):
        quoted = low[bare.end() : bare.end() + 1] in ("'", '"', "`")
        clear = quoted and not vague and name != "clave"
        in_quotes, bare_word = (LOOSE, LIKELY) if password else (LIKELY, HARDLY)
        need = in_quotes if clear else HARDLY if "\n" in bare[0] else bare_word
        yield _Form("words after", bare.end(), need, password and not vague)
