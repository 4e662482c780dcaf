"""A cheap test whether a text may contain secrets, and the positions where a text may be cut for masking.

Pure functions. Every write calls them first, so they must be fast and must not load slow modules: they look only for
plain substrings. A false positive costs time, but a false negative leaks a secret. When you add a pattern to
`secret_patterns`, add its hint here.
"""

from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from aish.values.patterns import pattern


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


# Parts of words that occur near a secret, in lower case. Each costs 0.7 µs per kilobyte. Words that need a certain
# character beside them are searched only if the text has this character, which is the cheapest test.
_WORDS = (
    *_words(
        "pass pw psk secret token cred kennw contrase senha clave wachtw parola salasana heslo bearer "
        "authorization cookie"
    ),
    *("identified", "sqlplus", "rabbitmqctl", "net use", "login ", "mdp"),
)
_BESIDE = {
    "=": ("sig=", "signature", "code=", "auth", "key=", "login=", "pat=", "pat =", "pat  "),
    ":": ("auth", "login:", "pat:", "pat :", "pat  ", 'pat"', "pat'"),
    "%": ("signature",),
    "|": ("echo", "printf"),
    "/": (
        *(
            "/p:",
            "jdbc:oracle",
            "log in",
            "log-in",
            "login",
            "log on",
            "log-on",
            "logon",
            "sign in",
            "sign-in",
            "signin",
            "ssh in",
        ),
        *("anmelden", "einloggen", "melde dich", "logge dich", "connecte", "inicia", "entra", "entre", "accedi"),
    ),
    "<": ("<<<",),
    "-": ("from-literal", "-----begin", "-auth", "-pat"),
    '"': ('send "', 'send -- "'),
    "\\": ("\\\n",),  # the command continues on the next line
}
_DIGITS, _BESIDE_DIGITS = tuple("0123456789"), ("pin", "code", "alias set")
_FOREIGN = _words(
    "contraseñ hasło lösenord şifre парол токен ключ пин 密码 密碼 口令 密钥 密鑰 令牌 パスワード 暗証 "
    "トークン 비밀번호 암호 토큰 jelsz parolă mật รหัส पासवर्ड كلمة סיסמ κωδικ войд войти зайди"
)
# Programs that accept a secret as an option.
_COMMANDS = _words(
    "mysql maria 7z rar sshpass twine mongo vnc winrm crackmap nxc netexec cqlsh cypher- couchbase ipmi psexec doveadm "
    "login zip pdftk sql bcp mosquitto ssh-keygen openssl curl wget http xh redis ldap security smb rpcclient winexe "
    "snmp keytool jarsigner apksigner rabbitmqadmin rdesktop hydra ncftp useradd usermod lftp wpa_ nmcli gpg iwctl "
    "kinit freerdp"
)
# Parts of tokens that identify their issuer; searched only in long words.
_MAKERS = _words(
    "AKIA ASIA ABIA ACCA ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- glrt- gldt- glft- glsoat- glcbt- glptt- glagent- "
    "gloas- glimt- glffct- sk- gsk_ gsk- hf_ hf- r8_ r8- pplx_ pplx- xai_ xai- fw_ fw- sk_ rk_ pk_ whsec_ AIza GOCSPX- "
    "ya29. xox xapp- hooks.slack.com/services/ /api/webhooks/ :AA SG. key- -us xkeysib- re_ pypi- npm_ rubygems_ cio "
    "NuGet dckr_ doo_v1_ dop_v1_ dor_v1_ dapi tskey- HRKU- fo1_ shpat_ shpca_ shppa_ shpss_ sq0 EAAA hvs. hvb. hvr. "
    ".atlasv1. dp.pt. dp.st. dp.ct. pul- glsa_ glc_ lin_ ntn_ PMAK- ATATT3 figd_ sntr NRAK- sbp_ pscale_ CFPAT- bkaa_ "
    "bkua_ nfp_ SK 8Q~ AGE-SECRET-KEY- eyJ ATCTT3 ATBB oy2 ops_ LTAI phx_ tvly- nvapi- lsv2_ vercel_ rnd_ jina_ EAAC "
    "fc- pcsk_ e2b_ ABSK api_org_ 1//0 access_token$ rzp_ access- shippo_ duffel_ EZAK EZTK sb_secret_ napi_ fm2_ AKID "
    "v1.0- AQVN dt0 pat sl. tfp_ oauth: y0_ sdk- pnu_ rdme_ secret_ sqp_ squ_ sqa_ CCIPAT_ AKCp CLOJARS_ AZDO "
    "$1$ $5$ $6$ $7$ $y$ $gy$ $apr1$ $2a$ $2b$ $2x$ $2y$ $argon2 $scrypt$ $pbkdf2 pbkdf2_sha {SHA {SSHA LS0tLS1CRUdJTi"
)
# "Use X as the password": the value comes first, so a stream holds it back. `stream_redaction` needs these words, too.
CHOOSING = (
    r"\b(?:us(?:e|es|ed|ing)|set|take|try|enter|type|choose|pick|nimm|nehme|verwende|benutze|nutze|setze|utilise[rz]?|prends|mets"
    r"|usa|usar|usi|utiliza|utilizar|utilizza|imposta|используй|используйте|возьми|поставь|задай)\s{1,3}[\"'`“„«]?"
)
CHOOSING_STARTS = (  # how its words begin
    "us set take try enter type choose pick nimm nehme verwende benutze nutze utilis prends mets utiliz imposta "
    "используй возьми поставь задай"
)
SHORTEST = 8  # characters of a text with a secret, such as `pin:1234`
# Minimum lengths without a blank: of a token, and of the value of a "key".
SHORTEST_TOKEN = 16
_LONG, _LONGISH = b"x" * SHORTEST_TOKEN, b"x" * 12
_AFTER_KEY = " \t\r\n:=*`\"'"  # the key may be in the next line
_RUNS = bytes(ord("x") if 0x21 <= byte <= 0x7E else ord(" ") for byte in range(256))

# A text is cut at line ends. The longer a line is, the less suitable places for a cut are accepted.
_SENTENCE, _BLANK, _MARK, _ANYWHERE, _KEY = 400, 2_000, 4_000, 8_000, 16_000
_MANY_LINES = 16  # so many that it takes less time to find out first which hints they have
_TRIES = 40  # places for a cut that are tested in one line, as each test takes time
_BEGIN, _KEY_LINE = "-----BEGIN", 40  # how a private key begins, and the least length of a line of it

# Compiled on first use: most texts never need them.
# Colours, also with a picture for the escape, and characters without width.
_NOISE = pattern(
    "[\x1b␛]\\[[0-9;:?]{0,20}[A-Za-z]|[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]"
)
PRIVATE_KEY = pattern(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?(?:-----)?")
# The middle of a line of .pgpass or /etc/shadow.
_COLONS = pattern(
    r":(?:(?<=[\w.*-]:)(?:\d{1,5}|\*):[^\s:]{1,100}:[^\s:]{1,100}:[^\s:]{4}|(?<=[\w.-]:)[^\s:]{13,200}:\d{4,6}:\d{0,6}:)"
)
# A line of ordinary words, which ends a key. Armour headers such as `Comment: …` are part of the key.
_PROSE = pattern(r"(?m)^(?![A-Z][\w-]{0,30}: )[^\n]{0,200}?\b[a-z]{2,12} [a-z]{1,12} [a-z]{2,12} ")
_SENTENCE_END, _STOP = pattern(r"[.!?] |[。！？]"), pattern(r"[.!?] |[ ,;&{}|<>]|[。！？]")
_LEAD = pattern(
    r"(?=[:=\\：pstkcPSTKCſ\u212a-])"  # all first characters, because most places have none of them
    r"(?:[:=\\：]\**(?:[\x1b␛]\[[0-9;]{0,9}m|[^\S\n]{0,4}[|>][+-]?\d?)?"
    r"|(?i:pass\w{0,8}|pwd|secret|token|key|cred\w{0,8})[\"'`*,]{0,4}|-----BEGIN[A-Z0-9 ]*)"
    r"[^\S\n]*(?:\n[^\S\n]*(?:`{3}\w*[^\S\n]*)?){0,2}\Z"
)
# An indented line of key data, as in a YAML block, up to the indentation of the next line.
_KEY_DATA = pattern(r"\n[^\S\n]{1,40}[A-Za-z0-9+/=_-]{40,100}\r?(?:\n[^\S\n]{0,40})?\Z")


class _Hints(NamedTuple):
    """Hints to look for. A line can only have those that the lines around it have."""

    words: tuple[str, ...] = _WORDS
    beside: tuple[tuple[str, tuple[str, ...]], ...] = tuple(_BESIDE.items())
    beside_digits: tuple[str, ...] = _BESIDE_DIGITS
    makers: tuple[str, ...] = _MAKERS
    commands: tuple[str, ...] = _COMMANDS
    foreign: tuple[str, ...] = _FOREIGN
    colons: bool = True
    keys: bool = True
    dots: bool = True  # of tokens with three parts
    addresses: bool = True


_ALL = _Hints()


def without_noise(text: str) -> str:
    """Return the text without colours and zero-width characters, which may be inside the name of a secret."""
    if text.isascii() and "\x1b" not in text:
        return text
    return _NOISE.sub("", text)


def noiseless_places(text: str) -> list[int]:
    """Return where each character of the text without noise is in the text."""
    places, done = list[int](), 0
    for match in _NOISE.finditer(text):
        places += range(done, match.start())
        done = match.end()
    return [*places, *range(done, len(text))]


def lowered(text: str) -> str:
    """Return the text in lower case, with all positions unchanged."""
    return text.replace("İ", "I").lower()  # the only letter whose lower case has two characters


def may_hold_secret(text: str) -> bool:
    """May the text contain a secret? True for a text if it is true for a part of it."""
    return _has_hint(text, _ALL)


def _has_hint(text: str, hints: _Hints) -> bool:
    """Does the text have one of these hints?"""
    text = without_noise(text)
    low = _folded(text)
    if _has_any(hints.words, low):
        return True
    if hints.colons and _has_colons(low):
        return True
    if _has_any(hints.beside_digits, low) and _has_any(_DIGITS, low):
        return True
    for sign, beside in hints.beside:
        if sign in low and _has_any(beside, low):
            return True
    if hints.keys and "key" in low and (_LONGISH in _runs(text) or low.rstrip(_AFTER_KEY).endswith("key")):
        return True
    if (hints.makers or hints.dots) and has_long_run(text):
        long = _long_words(text)
        if _has_dots(long) or _has_any(hints.makers, "\n".join(long)):
            return True
    if hints.addresses and _has_address(text):
        return True
    if hints.commands and _has_option(low) and _has_any(hints.commands, low):
        return True
    if low.endswith("\\"):
        return True  # a command that continues
    return not low.isascii() and _has_any(hints.foreign, low)


def _hints_of(text: str) -> _Hints:
    """Return the hints that are in a text of whole lines."""
    text = without_noise(text)
    low = _folded(text)
    beside = [(sign, _those_in(low, words)) for sign, words in _BESIDE.items() if sign in low]
    long = _long_words(text) if has_long_run(text) else []
    return _Hints(
        words=_those_in(low, _WORDS),
        beside=tuple([(sign, words) for sign, words in beside if words]),
        beside_digits=_those_in(low, _BESIDE_DIGITS) if _has_any(_DIGITS, low) else (),
        makers=_those_in("\n".join(long), _MAKERS) if long else (),
        commands=_those_in(low, _COMMANDS) if _has_option(low) else (),
        foreign=() if low.isascii() else _those_in(low, _FOREIGN),
        colons=_has_colons(low),
        keys="key" in low,
        dots=_has_dots(long),
        addresses=_has_address(text),
    )


def _has_colons(low: str) -> bool:
    return low.count(":") >= 4 and _COLONS.search(low) is not None


def _has_address(text: str) -> bool:
    """Is there a word such as user:password@host?"""
    return "@" in text and any(":" in word[: word.rfind("@")] for word in text.split() if "@" in word)


def _has_option(low: str) -> bool:
    return " -" in low or "\n-" in low or "\t-" in low


def _long_words(text: str) -> list[str]:
    return [word for word in text.split() if len(word) >= SHORTEST_TOKEN]


def _has_dots(words: list[str]) -> bool:
    """Is one of the words long enough for a token with three parts?"""
    return any(len(word) > 50 and word.count(".") >= 2 for word in words)


def _folded(text: str) -> str:
    """Return the text in lower case, with usual blanks for the special ones in text from the web."""
    low = lowered(text)
    return low if low.isascii() else low.replace("\xa0", " ").replace("\u3000", " ")


def _those_in(text: str, words: tuple[str, ...]) -> tuple[str, ...]:
    return tuple([word for word in words if word in text])


def _has_any(words: tuple[str, ...], text: str) -> bool:
    """Is one of these in the text?"""
    for word in words:  # noqa: SIM110  # twice as fast as `any`
        if word in text:
            return True
    return False


def has_long_run(text: str) -> bool:
    """Is there a run without blanks that is as long as the shortest token?"""
    return len(text) >= SHORTEST_TOKEN and _LONG in _runs(text)


def _runs(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass").translate(_RUNS)


def blocks_with_secrets(text: str) -> Iterator[tuple[int, int]]:
    """Yield the blocks that may contain a secret. Skips ordinary lines, many at once where it can."""
    start = looked = 0
    hints = _ALL
    while start < len(text):
        if start >= looked:
            looked = text.rfind("\n", start, start + _BLANK) + 1
            if looked > start:
                lines = text[start:looked]
                hints = _hints_of(lines) if lines.count("\n") >= _MANY_LINES else _ALL
                if not (may_hold_secret(lines) if hints is _ALL else any(hints)):
                    start = looked
                    continue
        marked = start < looked
        if marked:
            newline = text.index("\n", start)
            if not _has_hint(text[start:newline], hints):
                start = newline + 1
                continue
        end, known = _next_cut(text, start, marked)
        end = len(text) if end < 0 else end
        if known or may_hold_secret(text[start:end]):
            yield start, end
        start = end


def next_cut(text: str, start: int = 0) -> int:
    """Return the end of the block that begins at `start`; -1 if more text may belong to it.

    Later text never moves a cut, so a stream is cut at the same positions as the whole text.
    """
    return _next_cut(text, start)[0]


def _next_cut(text: str, start: int, marked: bool = False) -> tuple[int, bool]:
    """Return the end of the block, and whether it is known to have a hint, as its first line is if it is `marked`."""
    line = base = start
    while True:
        newline = text.find("\n", line, base + _ANYWHERE + 1)
        limit = min(len(text), base + _ANYWHERE + 1) if newline < 0 else newline
        begin = PRIVATE_KEY.search(text, line, limit) if _BEGIN in text[line:limit] else None
        last = begin.start() if begin else limit
        inside = _cut_inside(text, base, line, last) if last - base > _SENTENCE else -1
        if inside >= 0:
            return inside, False
        if begin:
            line = base = key_end(text, begin.end())
            if line < 0 or text.startswith(_BEGIN, line):
                return line, False
            marked = True
            continue
        if newline < 0:
            return -1, False
        marked = marked or may_hold_secret(text[line:newline])
        if not marked or not _value_follows(text, start, newline):
            return newline + 1, marked
        line = newline + 1


def key_end(text: str, body: int) -> int:
    """Return the end of the private key whose begin marker ends at `body`; -1 if it may continue."""
    limit = body + _KEY
    begin = text.find(_BEGIN, body, limit)
    end = text.find("-----END", body, limit if begin < 0 else begin)
    end = begin if end < 0 else end
    window = text[body : limit if end < 0 else end]
    prose = _PROSE.search(window)
    if prose:
        return body + prose.start()
    return limit if end < 0 and len(window) == _KEY else end


def _cut_inside(text: str, start: int, line: int, limit: int) -> int:
    """Return the first position where a long line may be cut, or -1."""
    tries, first, blank, end = _TRIES, max(line, start + _SENTENCE), start + _BLANK, min(limit, start + _ANYWHERE)
    stops = _STOP.finditer(text, max(first, blank), end)
    if first < blank:  # shorter blocks end with a sentence only
        stops = chain(_SENTENCE_END.finditer(text, first, min(blank, end)), stops)
    for match in stops:
        place, sign, size = match.end(), match[0], match.start() - start
        if size >= _MARK:
            return place
        if tries and (sign[0] in ".!?。！？" or sign == " "):
            tries -= 1
            if not _value_follows(text, start, place):
                return place
    return start + _ANYWHERE if limit - start >= _ANYWHERE else -1


def _value_follows(text: str, start: int, end: int) -> bool:
    """Does the text before `end` end like `password:` or in the middle of a long key, so that a value follows?"""
    tail = text[max(start, end - 60) : end]
    said = tail.rstrip()
    if said[-1:] in (":", "=", "：", "\\") and tail.count("\n", len(said)) <= 2:
        return True  # the usual case, much faster than the pattern
    if _LEAD.search(text, max(start, end - 60), end):
        return True
    return end - start > _KEY_LINE and bool(_KEY_DATA.search(text, max(start, end - 160), end))
