"""Secrets in text: found by what shells and chats really contain, and masked before anything is kept.

Pure: text and a salt in, text out. A mask keeps the kind, the last characters of a long value and a salted hash, so
that one can tell two secrets apart without having either.
"""

import hashlib
import re
from typing import NamedTuple

# Tokens that carry their maker's prefix: kind, pattern.
# fmt: off
_TOKENS = (
    ("aws-access-key", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}"),
    ("github-token", r"gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{30,}"),
    ("gitlab-token", r"gl(?:pat|rt|dt|ft|soat|cbt|ptt|agent|oas|imt|ffct)-[\w-]{16,}"),
    ("model-key", r"sk-(?:[a-z0-9]+-)*[A-Za-z0-9_-]{20,}|(?:gsk|hf|r8|pplx|xai|fw)[_-][A-Za-z0-9]{20,}"),
    ("stripe-key", r"(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/]{20,}"),
    ("google-key", r"AIza[\w-]{30,}|GOCSPX-[\w-]{20,}|ya29\.[\w-]{20,}"),
    ("slack-token", r"xox[abeoprs]-[\w-]{12,}|xapp-\d-[\w-]{12,}"),
    ("slack-webhook", r"(?<=hooks\.slack\.com/services/)[\w/]{20,}"),
    ("discord-webhook", r"(?<=/api/webhooks/)\d{10,}/[\w-]{30,}"),
    ("discord-token", r"[MNO][\w-]{22,}\.[\w-]{6}\.[\w-]{20,}"),
    ("telegram-token", r"(?:bot)?\d{8,11}:AA[\w-]{30,}"),
    ("sendgrid-key", r"SG\.[\w-]{16,}\.[\w-]{16,}"),
    ("mail-key", r"key-[0-9a-f]{32}|[0-9a-f]{32}-us\d{1,2}|xkeysib-[0-9a-f]{40,}[\w-]*|re_[A-Za-z0-9]{8,}_[A-Za-z0-9]{16,}"),
    ("package-token", r"pypi-[\w-]{40,}|npm_[A-Za-z0-9]{30,}|rubygems_[0-9a-f]{40,}|cio[A-Za-z0-9]{32}|NuGet[\w-]{30,}"),
    ("docker-token", r"dckr_(?:pat|oat)_[\w-]{20,}"),
    ("cloud-token", r"do[opr]_v1_[0-9a-f]{40,}|dapi[0-9a-f]{32}|tskey-[a-z]+-[\w-]{16,}|HRKU-[\w-]{30,}|fo1_[\w-]{30,}"),
    ("shop-token", r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}|sq0(?:atp|csp|idp)-[\w-]{20,}|EAAA[\w-]{50,}"),
    ("vault-token", r"hv[sbr]\.[\w-]{24,}|[A-Za-z0-9]{14}\.atlasv1\.[\w-]{40,}|dp\.(?:pt|st|ct)\.[\w.-]{30,}|pul-[0-9a-f]{40}"),
    ("service-token", r"gl(?:sa|c)_[\w=+/-]{20,}|lin_(?:api|oauth)_\w{30,}|ntn_\w{30,}|PMAK-[0-9a-f]{24}-[0-9a-f]{30,}"),
    ("service-token", r"ATATT3[\w=-]{50,}|figd_[\w-]{30,}|sntr[ysu]_[\w=+/-]{30,}|NRAK-[A-Z0-9]{27}|sbp_[0-9a-f]{40}"),
    ("service-token", r"pscale_(?:tkn|pw|oauth)_[\w.=-]{30,}|CFPAT-[\w-]{40,}|bk[au]a_[0-9a-f]{40}|nfp_[A-Za-z0-9]{30,}"),
    ("twilio-key", r"SK[0-9a-f]{32}"),
    ("azure-secret", r"[\w~.-]{3,5}8Q~[\w~.-]{30,}"),
    ("age-key", r"AGE-SECRET-KEY-1[A-Z0-9]{50,}"),
    ("jwt", r"eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}"),
)
# fmt: on
_TOKEN = re.compile(
    r"(?<![A-Za-z0-9_])(?:" + "|".join(f"(?P<t{place}>{pattern})" for place, (_, pattern) in enumerate(_TOKENS)) + ")"
)
_KEY_BLOCK = re.compile(
    r"-----BEGIN (?:[A-Z0-9 ]+ )?PRIVATE KEY(?: BLOCK)?-----(?P<value>.*?)"
    r"(?:-----END (?:[A-Z0-9 ]+ )?PRIVATE KEY(?: BLOCK)?-----|\Z)",
    re.DOTALL,
)

# Places where a secret stands: kind, how sure the place makes us, pattern with the secret as `value`.
_NAME = (
    r"(?:pass(?:word|wd|phrase|code)?|pwd|pw|secret(?:[ _-]?(?:key|id|access[ _-]?key|key[ _-]?base))?|(?:api|access|auth|account"
    r"|shared[ _-]?access|signing|encryption|master|license|private|secret|session|client)[ _-]?(?:key|token|secret)"
    r"(?:[_-]id)?|token|credentials?|passwort|kennwort|contrase(?:ñ|n)a|mot[_ ]de[_ ]passe|senha)"
)
_VALUE = r"""(?P<quote>["'])?(?P<value>(?(quote)[^"'\n]+|[^\s"',;]+))"""
# A pattern on one line can be read, half a pattern cannot.
# fmt: off
_PLACES = tuple((kind, sureness, re.compile(pattern)) for kind, sureness, pattern in (
    ("url-password", "sure", r"(?i)\b[a-z][a-z0-9+.-]*://[^\s/:@\"']*:(?P<value>[^\s/@\"']+)@"),
    ("header", "sure", r"(?i)\bauthorization\s*[:=]\s*[\"']?(?:(?:basic|bearer|token|digest)\s+)?(?P<value>[^\s\"',]{8,})"),
    ("cookie", "sure", r"(?i)\bcookie:\s*(?P<value>[^\s\"'][^\"'\n]{7,})"),
    ("setting", "likely", rf"(?i)<\w*{_NAME}>(?P<value>[^<>\s]+)</"),
    ("login", "likely", r"(?<![\w/])[\w.-]+:(?P<value>[^\s:@/\"']{6,})@[\w.-]+"),
    ("header", "sure", r"(?i)\b(?:x-[\w-]*|private-|job-|deploy-)(?:token|key|secret|auth)\s*:\s*(?P<value>[^\s\"',]{8,})"),
    ("query", "likely", rf"(?i)[?&](?:key|sig|signature|code|{_NAME})=(?P<value>[^\s&\"'#]{{8,}})"),
    ("option", "likely", rf"(?i)(?<!\S)--?(?:[a-z]+-)*{_NAME}(?:=|\s+){_VALUE}"),
    ("setting", "likely", rf"(?i)(?:(?<![A-Za-z])|(?-i:(?<=[a-z0-9])(?=[A-Z]))|(?=passw|passp|secret|token)){_NAME}[\"']?\s*(?::=|=>|=|:)\s*{_VALUE}"),
    ("login", "sure", r"(?i)\b(?:machine|login|user)\s+\S+.{0,40}?\bpass(?:word)?\s+(?P<value>\S+)"),
    ("chat", "likely", rf"(?i)\b{_NAME}\b(?:\s+(?:for|of|von|für|pour|de)\s+(?:\S+\s+){{0,3}}?\S+)?\s+(?:is|was|are|=|ist|lautet|est|es|é)(?!\w)\s*:?\s*" r"(?P<quote>[\"'`]?)(?P<value>[^\s\"'`]+)"),
    ("chat", "likely", r"(?:密码|口令|密鑰|パスワード|비밀번호)\s*(?:是|为|は|는|:|：|=)?\s*(?P<value>[!-~]{6,})"),
    ("chat", "hardly", rf"(?i)\b{_NAME}\s+(?P<quote>[\"'`]?)(?P<value>[^\s\"'`]+)"),
    ("pgpass", "sure", r"(?m)^[^\s:/]+:(?:\d{1,5}|\*):[^\s:]+:[^\s:]+:(?P<value>\S+)$"),
    ("command", "sure", r"\b(?:mysql\w*|mariadb\w*|7z\w*)\b[^|;&\n]*?\s-p(?P<value>[^\s\"']+)"),
    ("command", "sure", r"\b(?:sshpass|twine|mongo\w*|vncviewer|(?:docker|podman|az|helm|skopeo|buildah|cf|oc)\s+(?:\w+\s+)?login)\b" r"[^|;&\n]*?\s-[pP]\s+[\"']?(?P<value>[^\s\"'-][^\s\"']*)"),
    ("command", "sure", r"\b(?:zip|unzip|pdftk|sqlcmd|bcp)\b[^|;&\n]*?\s-P\s*[\"']?(?P<value>[^\s\"'-][^\s\"']*)"),
    ("command", "sure", r"\bhtpasswd\s+-\w*b\w*\s+\S+\s+\S+\s+(?P<value>\S+)"),
    ("command", "sure", r"\bopenssl\b[^|;&\n]*?\s(?:-k\s+|-pass(?:in|out)?\s+pass:)(?P<value>\S+)"),
    ("command", "sure", r"\b(?:curl|wget|http|https|xh)\b[^|;&\n]*?\s(?:-u|-U|-a|--user|--auth|--proxy-user)[ =]?[\"']?[^\s:\"']+:(?P<value>[^\s\"']+)"),
    ("command", "sure", r"\b(?:redis-cli|ldap\w+)\b[^|;&\n]*?\s-[aw]\s+(?P<value>\S+)"),
    ("command", "sure", r"\bsmbclient\b[^|;&\n]*?\s-U\s*[^\s%]+%(?P<value>\S+)"),
    ("command", "sure", r"\becho\s+(?:-n\s+)?[\"']?(?P<value>[^\s\"'|]+)[\"']?\s*\|\s*sudo\s+(?:-\w+\s+)*-\w*S"),
    ("command", "sure", r"\becho\s+(?:-e\s+)?[\"']?[\w.-]+:(?P<value>[^\s\"'|]+)[\"']?\s*\|\s*(?:sudo\s+)?chpasswd"),
    ("command", "likely", r"(?i)\b(?:nmcli|wpa_passphrase|gpg|iwctl|smbpasswd|kinit|xfreerdp)\b[^|;&\n]*?(?:password|passphrase|psk|/p:)\s*=?\s*(?P<value>\S+)"),
    ("command", "sure", r"\bwpa_passphrase\s+\S+\s+(?P<value>\S+)"),
    ("command", "sure", r"--from-literal=[\w.-]+=(?P<value>\S+)"),
))
# fmt: on
_HOLDER = re.compile(
    r"^\$|\$[{(]|^[<{%\[]|[<{]\w+[>}]|\*{3}|x{4}|\.{3}|…|your|example|placeholder|redacted|masked|dummy|changeme|change[_-]me|_here$"
    r"|^(?:pass(?:word|wd)?|pwd|secret|token|key|user|admin|root|none|null|nil|true|false|str|string|int|bool|bytes|any|object"
    r"|optional|required|undefined|test|foo|bar|todo|tbd|empty|unset|default|missing|invalid|expired|wrong|correct)\W*$",
    re.IGNORECASE,
)
_CODE = re.compile(
    r"[()\[\]{}]|^(?:self|this|os|env|process|config|settings|args|options|request|req|ctx|var|local|data)\.|^[a-z_]+(?:\.[a-z_]+)+$|^[./~]|^https?:"
)


class Found(NamedTuple):
    """A secret in a text: what kind, and where."""

    kind: str
    start: int
    end: int


def find(text: str) -> list[Found]:
    """Every secret in the text, in order, none inside another."""
    found = [Found("private-key", *match.span("value")) for match in _KEY_BLOCK.finditer(text)]
    for match in _TOKEN.finditer(text):
        found.append(Found(_TOKENS[int((match.lastgroup or "t0")[1:])][0], *match.span()))
    for kind, sureness, pattern in _PLACES:
        for match in pattern.finditer(text):
            start, end = match.span("value")
            end -= len(match["value"]) - len(match["value"].rstrip(".,;:!?)\"'"))
            quoted = bool(match.groupdict().get("quote"))
            if _convincing(text[start:end], sureness, quoted):
                found.append(Found(kind, start, end))
    result: list[Found] = []
    for item in sorted(found, key=lambda one: (one.start, -one.end)):
        if item.end > item.start and (not result or item.start >= result[-1].end):
            result.append(item)
    return result


def redact(text: str, salt: bytes) -> tuple[str, list[Found]]:
    """The text with every secret masked, and what was found."""
    found = find(text)
    parts, done = [], 0
    for item in found:
        parts += [text[done : item.start], mask(item.kind, text[item.start : item.end], salt)]
        done = item.end
    return "".join([*parts, text[done:]]), found


def mask(kind: str, value: str, salt: bytes) -> str:
    """What stands in the place of a secret."""
    tail = f" …{value.strip()[-4:]}" if len(value) >= 16 and "\n" not in value else ""
    return f"[masked {kind}{tail} #{hashlib.blake2s(value.encode('utf-8', 'replace'), key=salt[:32]).hexdigest()[:8]}]"


def _convincing(value: str, sureness: str, quoted: bool) -> bool:
    """Is this a secret, given where it stands? Names, types, variables and code are not."""
    if len(value) < 4 or _HOLDER.search(value) or value.startswith("[masked"):
        return False
    if sureness == "sure":
        return not value.startswith(("-", "~", "/")) and not (len(value) < 6 and value.isalpha())
    if not quoted and _CODE.search(value):
        return False
    digits = sum(character.isdigit() for character in value)
    letters = sum(character.isalpha() for character in value)
    mixed = value != value.lower() and value[1:] != value[1:].lower() and value != value.upper()
    odd = any(not character.isalnum() and character not in "_-./:" for character in value)
    strength = (digits >= 1) + (letters >= 1) + mixed + odd + (len(value) >= 16) + (digits >= 4)
    if value.isdecimal() and len(value) < 12:
        return False
    return len(value) >= 6 and digits + odd > 0 and letters > 0 and strength >= (4 if sureness == "hardly" else 3)
