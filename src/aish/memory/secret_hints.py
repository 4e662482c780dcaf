"""A cheap test in front of the masking of secrets, and the places where a text may be cut for it.

Pure: text in, an answer out. Every write asks here first, so nothing may be slow or load anything slow: a few plain
substrings tell what cannot hold a secret. To say yes too often costs time; to say no to a secret would leak it, so
whoever adds a pattern to `redact` adds its sign here.
"""

import functools
import re
from collections.abc import Iterator


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


# Parts of words that stand near a secret, in lower case. Each costs 0.7 µs a kilobyte, so those that need another
# character beside them are asked for only where that is found, which is the cheapest question of all.
_WORDS = (
    *_words("pass pw psk secret token cred kennw contrase senha clave wachtw parola bearer authorization cookie"),
    *("identified", "sqlplus", "rabbitmqctl", "net use", "login "),
)
_BESIDE = {
    "=": ("sig=", "signature=", "code=", "auth", "key=", "login="),
    ":": ("auth", "login:"),
    "|": ("echo", "printf"),
    "/": ("/p:",),
    "<": ("<<<",),
    "-": ("from-literal", "-----begin", "-auth"),
    "\\": ('send "', 'send -- "', "\\\n"),  # a command that goes on in the next line belongs to it
    **dict.fromkeys("0123456789", ("pin", "code", "alias set")),
}
_FOREIGN = _words(
    "contraseñ hasło lösenord şifre парол токен ключ пин 密码 密碼 口令 密钥 密鑰 令牌 パスワード 暗証 "
    "トークン 비밀번호 암호 토큰 mật รหัส पासवर्ड كلمة סיסמ κωδικ"
)
# Programs that can be told a secret by an option.
_COMMANDS = _words(
    "mysql maria 7z rar sshpass twine mongo vnc winrm crackmap nxc netexec cqlsh cypher- couchbase ipmi psexec doveadm "
    "login zip pdftk sql bcp mosquitto ssh-keygen openssl curl wget http xh redis ldap security smb rpcclient winexe "
    "snmp keytool jarsigner apksigner useradd usermod lftp wpa_ nmcli gpg iwctl kinit freerdp"
)
# Parts of tokens that tell their maker; only long words are searched for them.
_MAKERS = _words(
    "AKIA ASIA ABIA ACCA ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- glrt- gldt- glft- glsoat- glcbt- glptt- glagent- "
    "gloas- glimt- glffct- sk- gsk_ gsk- hf_ hf- r8_ r8- pplx_ pplx- xai_ xai- fw_ fw- sk_ rk_ pk_ whsec_ AIza GOCSPX- "
    "ya29. xox xapp- hooks.slack.com/services/ /api/webhooks/ :AA SG. key- -us xkeysib- re_ pypi- npm_ rubygems_ cio "
    "NuGet dckr_ doo_v1_ dop_v1_ dor_v1_ dapi tskey- HRKU- fo1_ shpat_ shpca_ shppa_ shpss_ sq0 EAAA hvs. hvb. hvr. "
    ".atlasv1. dp.pt. dp.st. dp.ct. pul- glsa_ glc_ lin_ ntn_ PMAK- ATATT3 figd_ sntr NRAK- sbp_ pscale_ CFPAT- bkaa_ "
    "bkua_ nfp_ SK 8Q~ AGE-SECRET-KEY- eyJ ATCTT3 ATBB oy2 ops_ LTAI phx_ tvly- nvapi- lsv2_ vercel_ rnd_ jina_ EAAC"
)
# Every token is at least as long a run without a blank as the first, every value of a "key" as the second.
_LONG, _LONGISH = b"x" * 16, b"x" * 12
_RUNS = bytes(ord("x") if 0x21 <= byte <= 0x7E else ord(" ") for byte in range(256))

# Where a text may be cut: at the end of a line, or inside a long line at ever worse places.
_SENTENCE, _BLANK, _MARK, _ANYWHERE, _KEY = 400, 2_000, 4_000, 8_000, 16_000
_BEGIN = "-----BEGIN"


def lowered(text: str) -> str:
    """The text in lower case, each character at its place."""
    return text.replace("İ", "I").lower()  # the one letter whose small form has two characters


def may_hold_secret(text: str) -> bool:
    """Might there be a secret in it? A text with a suspicious part is suspicious."""
    low = lowered(text)
    if not low.isascii():  # blanks as they come along with text from the web
        low = low.replace("\xa0", " ").replace("\u3000", " ")
    for word in _WORDS:
        if word in low:
            return True
    for sign, beside in _BESIDE.items():
        if sign in low and any(word in low for word in beside):
            return True
    if ("key" in low and _LONGISH in _runs(text)) or (has_long_run(text) and _has_token(text.split())):
        return True
    if "@" in low and any(":" in word[: word.rfind("@")] for word in text.split() if "@" in word):
        return True
    if (" -" in low or "\n-" in low or "\t-" in low) and any(command in low for command in _COMMANDS):
        return True
    if low.endswith("\\") or (low.count(":") >= 4 and any(word.count(":") >= 4 for word in text.split())):
        return True  # a command that goes on, a line of .pgpass
    return not low.isascii() and any(word in low for word in _FOREIGN)


def has_long_run(text: str) -> bool:
    """Are there as many characters without a blank in a row as the shortest token has?"""
    return _LONG in _runs(text)


def _runs(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass").translate(_RUNS)


def _has_token(words: list[str]) -> bool:
    """Is one of these words made like a token?"""
    long = [word for word in words if len(word) >= len(_LONG)]
    if any(len(word) > 50 and word.count(".") >= 2 for word in long):
        return True
    joined = "\n".join(long)
    return any(maker in joined for maker in _MAKERS)


def blocks_with_secrets(text: str) -> Iterator[tuple[int, int]]:
    """Where a secret and its sign may stand together; many plain lines are passed over at once."""
    start = looked = 0
    while start < len(text):
        if start >= looked:
            looked = text.rfind("\n", start, start + _BLANK) + 1
            if looked > start and not may_hold_secret(text[start:looked]):
                start = looked
                continue
        end = next_cut(text, start)
        end = len(text) if end < 0 else end
        if may_hold_secret(text[start:end]):
            yield start, end
        start = end


def next_cut(text: str, start: int = 0) -> int:
    """Where the block that begins at `start` ends; -1 as long as more text may be part of it.

    What comes later never moves a cut, so a stream is cut at the same places as the whole text.
    """
    line, base, marked = start, start, False
    while True:
        newline = text.find("\n", line, base + _ANYWHERE + 1)
        limit = min(len(text), base + _ANYWHERE + 1) if newline < 0 else newline
        begin = private_key().search(text, line, limit) if _BEGIN in text[line:limit] else None
        inside = _cut_inside(text, base, line, begin.start() if begin else limit)
        if inside >= 0:
            return inside
        if begin:
            line = base = key_end(text, begin.end())
            if line < 0 or text.startswith(_BEGIN, line):
                return line
            marked = True
            continue
        if newline < 0:
            return -1
        marked = marked or may_hold_secret(text[line:newline])
        if not marked or not _leads_on(text, start, newline):
            return newline + 1
        line = newline + 1


def key_end(text: str, body: int) -> int:
    """Where the private key ends whose marker ends at `body`; -1 as long as it may go on."""
    limit = body + _KEY
    begin = text.find(_BEGIN, body, limit)
    end = text.find("-----END", body, limit if begin < 0 else begin)
    end = begin if end < 0 else end
    window = text[body : limit if end < 0 else end]
    prose = _prose().search(window)
    if prose:
        return body + prose.start()
    return limit if end < 0 and len(window) == _KEY else end


def _cut_inside(text: str, start: int, line: int, limit: int) -> int:
    """The first place where a long line may be cut, or -1."""
    if limit - start <= _SENTENCE:
        return -1
    for match in _stops().finditer(text, max(line, start + _SENTENCE), min(limit, start + _ANYWHERE)):
        place, sign, size = match.end(), match[0], match.start() - start
        good = sign[0] in ".!?。！？" or (size >= _BLANK and sign == " ")
        if size >= _MARK or (good and not _leads_on(text, start, place)):
            return place
    return start + _ANYWHERE if limit - start >= _ANYWHERE else -1


def _leads_on(text: str, start: int, end: int) -> bool:
    """Does the value stand behind `end`, since what is in front of it ends like `password:`?"""
    return text[end - 1 : end] == "\\" or bool(_lead().search(text, max(start, end - 60), end))


# Compiled when first needed: most texts never need them.
@functools.cache
def private_key() -> re.Pattern[str]:
    return re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?(?:-----)?")


@functools.cache
def _prose() -> re.Pattern[str]:
    """A line of plain words where a key should be; armour headers such as `Comment: …` are part of the key."""
    return re.compile(r"(?m)^(?![A-Z][\w-]{0,30}: )[^\n]{0,200}?\b[a-z]{2,12} [a-z]{1,12} [a-z]{2,12} ")


@functools.cache
def _stops() -> re.Pattern[str]:
    return re.compile(r"[.!?] |[ ,;&{}|<>]|[。！？]")


@functools.cache
def _lead() -> re.Pattern[str]:
    return re.compile(
        r"(?:[:=\\：]\**|(?i:pass\w{0,8}|pwd|secret|token|key|cred\w{0,8})[\"'`*,]{0,4}|-----BEGIN[A-Z0-9 ]*)"
        r"[^\S\n]*(?:\n[^\S\n]*(?:`{3}\w*[^\S\n]*)?){0,2}\Z"
    )
