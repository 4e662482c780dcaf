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

from aish.memory.secret_hints import blocks_with_secrets, has_long_run, key_end, lowered, private_key

SURE = 0  # how much a value must look like a secret in its context: from "any value" …
LOOSE, LIKELY, HARDLY = 2, 3, 4  # … to "only random values"


class Rule(NamedTuple):
    """A pattern of a secret. Each match contains a needle; the secret is the group `value`, or the whole match.

    `need` is None if the pattern alone is enough. A `folded` rule matches lower-case text.
    """

    kind: str
    need: int | None
    needles: str
    pattern: str
    folded: bool = False

    @property
    def token(self) -> bool:
        return "(?P<value>" not in self.pattern


_GAP = r"\b(?:[^|;&\n]|\\\n){0,300}?\s"
_ARGUMENT = r"[\"']?(?P<value>[^\s\"'-][^\s\"']{0,500})"
# Not wrapped: a pattern is easier to read on one line.
# fmt: off
RULES = (
    Rule("aws-access-key", None, "AKIA ASIA ABIA ACCA", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}"),
    Rule("github-token", None, "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_", r"gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{30,}"),
    Rule("gitlab-token", None, "gl", r"gl(?:pat|rt|dt|ft|soat|cbt|ptt|agent|oas|imt|ffct)-[\w-]{16,}"),
    Rule("model-key", None, "sk- gsk hf r8 pplx xai fw", r"sk-[A-Za-z0-9_-]{20,}|(?:gsk|hf|r8|pplx|xai|fw)[_-][A-Za-z0-9]{20,}"),
    Rule("model-key", None, "tvly- nvapi- lsv2_ jina_", r"tvly-[\w-]{20,}|nvapi-[\w-]{40,}|lsv2_(?:pt|sk)_[\w]{30,}|jina_\w{40,}"),
    Rule("stripe-key", None, "sk_ rk_ pk_ whsec_", r"(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/]{20,}"),
    Rule("google-key", None, "AIza GOCSPX- ya29.", r"AIza[\w-]{30,}|GOCSPX-[\w-]{20,}|ya29\.[\w-]{20,}"),
    Rule("slack-token", None, "xox xapp-", r"xox[abeoprs]-[\w-]{12,}|xapp-\d-[\w-]{12,}"),
    Rule("slack-webhook", None, "hooks.slack.com/services/", r"(?<=hooks\.slack\.com/services/)[\w/]{20,}"),
    Rule("discord-webhook", None, "/api/webhooks/", r"(?<=/api/webhooks/)\d{10,}/[\w-]{30,}"),
    Rule("discord-token", None, ".", r"[MNO][\w-]{22,40}\.[\w-]{6}\.[\w-]{20,}"),
    Rule("telegram-token", None, ":AA", r"(?:bot)?\d{8,11}:AA[\w-]{30,}"),
    Rule("sendgrid-key", None, "SG.", r"SG\.[\w-]{16,80}\.[\w-]{16,}"),
    Rule("mail-key", None, "key- -us xkeysib- re_", r"key-[0-9a-f]{32}|[0-9a-f]{32}-us\d{1,2}|xkeysib-[0-9a-f]{40,}[\w-]*|re_[A-Za-z0-9]{8,40}_[A-Za-z0-9]{16,}"),
    Rule("package-token", None, "pypi- npm_ rubygems_ cio NuGet oy2", r"pypi-[\w-]{40,}|npm_[A-Za-z0-9]{30,}|rubygems_[0-9a-f]{40,}|cio[A-Za-z0-9]{32}|NuGet[\w-]{30,}|oy2[a-z0-9]{43}"),
    Rule("docker-token", None, "dckr_", r"dckr_(?:pat|oat)_[\w-]{20,}"),
    Rule("cloud-token", None, "_v1_ dapi tskey- HRKU- fo1_", r"do[opr]_v1_[0-9a-f]{40,}|dapi[0-9a-f]{32}|tskey-[a-z]{2,12}-[\w-]{16,}|HRKU-[\w-]{30,}|fo1_[\w-]{30,}"),
    Rule("cloud-token", None, "LTAI vercel_ rnd_ ops_", r"LTAI[A-Za-z0-9]{16,26}|vercel_\w{20,}|rnd_[A-Za-z0-9]{28,}|ops_eyJ[\w-]{50,}"),
    Rule("shop-token", None, "shp sq0 EAAA", r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}|sq0(?:atp|csp|idp)-[\w-]{20,}|EAAA[\w-]{50,}"),
    Rule("vault-token", None, "hv .atlasv1. dp. pul-", r"hv[sbr]\.[\w-]{24,}|[A-Za-z0-9]{14}\.atlasv1\.[\w-]{40,}|dp\.(?:pt|st|ct)\.[\w.-]{30,}|pul-[0-9a-f]{40}"),
    Rule("service-token", None, "gl lin_ ntn_ PMAK-", r"gl(?:sa|c)_[\w=+/-]{20,}|lin_(?:api|oauth)_\w{30,}|ntn_\w{30,}|PMAK-[0-9a-f]{24}-[0-9a-f]{30,}"),
    Rule("service-token", None, "ATATT3 ATCTT3 ATBB figd_ sntr NRAK- sbp_", r"AT[AC]TT3[\w=-]{50,}|ATBB\w{28,}|figd_[\w-]{30,}|sntr[ysu]_[\w=+/-]{30,}|NRAK-[A-Z0-9]{27}|sbp_[0-9a-f]{40}"),
    Rule("service-token", None, "pscale_ CFPAT- bkaa_ bkua_ nfp_ phx_", r"pscale_(?:tkn|pw|oauth)_[\w.=-]{30,}|CFPAT-[\w-]{40,}|bk[au]a_[0-9a-f]{40}|nfp_[A-Za-z0-9]{30,}|phx_[A-Za-z0-9]{40,}"),
    Rule("twilio-key", None, "SK", r"SK[0-9a-f]{32}"),
    Rule("azure-secret", None, "8Q~", r"[\w~.-]{3,5}8Q~[\w~.-]{30,}"),
    Rule("age-key", None, "AGE-SECRET-KEY-", r"AGE-SECRET-KEY-1[A-Z0-9]{50,}"),
    Rule("jwt", None, "eyJ", r"eyJ[\w-]{8,5000}\.[\w-]{8,20000}\.[\w-]{8,}"),

    Rule("url-password", SURE, "://", r"\b[a-z][a-z0-9+.-]{0,40}://[^\s/:@\"']{0,200}:(?P<value>[^\s/@\"']{1,500})@", folded=True),
    Rule("login", LIKELY, "@", r"(?<![\w/.-])[\w.-]{1,80}:(?P<value>[^\s:@/\"']{6,200})@[\w.-]"),
    Rule("header", SURE, "authorization", r"\bauthorization\b[\"']?\s{0,4}[:=,]\s{0,4}[\"']?(?:(?:basic|bearer|token|digest|apikey|negotiate)\s{1,4})?(?P<value>[^\s\"',]{8,})", folded=True),
    Rule("header", HARDLY, "bearer", r"\bbearer\s{1,4}(?P<value>[\w.~+/=-]{16,})", folded=True),
    Rule("header", SURE, "token key secret auth", r"\b(?:x-[\w-]{0,40}|private-|job-|deploy-|circle-|api-?)(?:token|secret|auth|key(?=\s{0,4}:\s{0,4}[!-~]{12}))\s{0,4}:\s{0,4}(?P<value>[^\s\"',]{8,})", folded=True),
    Rule("cookie", SURE, "cookie:", r"\bcookie:\s{0,4}(?P<value>[^\s\"'][^\"'\n]{7,})", folded=True),
    Rule("cookie", LIKELY, "curl wget http", rf"\b(?:curl|wget|https?){_GAP}(?:-b|--cookie)[ =][\"']?[\w.-]{{1,60}}=(?P<value>[^\s\"';]{{8,}})"),
    Rule("query", LIKELY, "key= sig= signature= code=", r"[?&](?:key|sig|signature|code)=(?P<value>[^\s&\"'#]{8,})", folded=True),
    Rule("login", SURE, "pass", r"\b(?:machine|login|user)\s{1,4}\S{1,100}[^\n]{0,40}?\bpass(?:word)?\s{1,4}(?P<value>\S+)", folded=True),
    Rule("login", LOOSE, "pass", r"(?m)^[^\S\n]{0,20}pass(?:word)?[^\S\n]{1,4}(?P<value>[^\s\"':=]+)[^\S\n]*$"),
    Rule("login", LIKELY, "cred login", r"\b(?:credentials?|creds|login)(?:\s(?:are|is|with|for)\b|:|=)[^\n/]{1,60}?\s/\s(?:pass\w*:?\s)?(?P<quote>[\"'`]?)(?P<value>[^\s\"'`]+)", folded=True),
    Rule("pgpass", SURE, ":", r"(?m)^[^\s:/]{1,200}:(?:\d{1,5}|\*):[^\s:]{1,100}:[^\s:]{1,100}:(?P<value>\S+)$"),
    Rule("setting", LIKELY, "value", r"\bname\b\\?[\"']?\s{0,4}[:=]\s{0,4}\\?[\"']?[\w.-]{0,60}(?:pass(?:word|wd)?|secret|token|pwd|credentials?)\\?[\"']?,?\s{1,40}\\?[\"']?value\\?[\"']?\s{0,4}[:=]\s{0,4}\\?(?P<quote>[\"']?)(?P<value>[^\s\"'\\]+)", folded=True),
    Rule("setting", LIKELY, "value", r"\bname\b\\?[\"']?\s{0,4}[:=]\s{0,4}\\?[\"']?[\w.-]{0,60}key\\?[\"']?,?\s{1,40}\\?[\"']?value\\?[\"']?\s{0,4}[:=]\s{0,4}\\?(?P<quote>[\"']?)(?P<value>(?:(?![\"'\\])[!-~]){12,})", folded=True),
    Rule("setting", HARDLY, "auth", r"(?:\b|_)auth\\?[\"']?\s{0,4}[:=]\s{0,4}\\?(?P<quote>[\"']?)(?P<value>[\w+/=:-]{12,})", folded=True),
    Rule("setting", LOOSE, "identified", r"\bidentified\s{1,4}(?:with\s{1,4}\S{1,40}\s{1,4})?by\s{1,4}(?P<quote>[\"'])(?P<value>[^\"'\n]+)", folded=True),
    Rule("pin", None, "pin пин", r"(?<![\w-])(?:sim[- ])?(?:pin|пин)(?:[ -]?(?:code|number|nummer|код))?(?:\s(?:for|of|für|de|du|от|da|do)(?:\s[^\s\d]{1,30}){1,4}?)?\s{0,2}(?:\s(?:is|ist|lautet|est|es|é|è|это)\s|[:=])\s{0,4}(?P<value>[0-9]{4,8})(?![\w-]|\.\d)", folded=True),
    Rule("pin", None, "code", r"\b(?:verification|security|one[- ]time|2fa|mfa|otp|login|door|alarm|unlock|gate|entry)[- ]code(?:\s(?:for|of)(?:\s[^\s\d]{1,30}){1,4}?)?\s{0,2}(?:\sis\s|[:=])\s{0,4}(?P<value>[0-9]{4,8})(?![\w-]|\.\d)", folded=True),
    Rule("pin", None, "暗証番号 密码 비밀번호 密碼", r"(?:暗証番号|(?:银行卡|支付|锁屏|门锁|手机)密码|비밀번호)\s?(?:是|为|は|는|:|：)\s?(?P<value>[0-9]{4,8})(?![0-9A-Za-z-]|\.\d)"),
    Rule("chat", LIKELY, "密码 密碼 口令 密钥 密鑰 令牌 パスワード トークン 비밀번호 암호 토큰 รหัส पासवर्ड", r"(?:密码|密碼|口令|密钥|密鑰|令牌|パスワード|トークン|비밀번호|암호|토큰|รหัสผ่าน|पासवर्ड)[^\x00-\x7f]{0,8}\s{0,4}[:=]?\s{0,4}[\"'`]?(?P<value>[!-~]{6,})"),
    Rule("chat", LOOSE, "密 口令 パスワード 비밀번호 암호", r"(?:密码|密碼|口令|パスワード|비밀번호|암호)\s?(?:是|为|為|は|는|은|改成|设为|:|：|=)\s{0,4}[「『“\"'`：:]?(?P<value>[!-~]{6,})"),

    Rule("command", SURE, "mysql mariadb 7z rar sshpass", rf"\b(?:mysql\w*|mariadb\w*|7z\w*|unrar|rar|sshpass){_GAP}-h?p[\"']?(?P<value>[^\s\"']+)"),
    Rule("command", SURE, "sshpass twine mongo vnc winrm crackmap nxc netexec cqlsh cypher- couchbase psexec doveadm login", r"\b(?:sshpass|twine|mongo\w*|vncviewer|evil-winrm|crackmapexec|nxc|netexec|cqlsh|cypher-shell|couchbase-cli|psexec\w*|doveadm|(?:docker|podman|nerdctl|az|helm|skopeo|buildah|crane|oras|cf|oc)\s+(?:\w+\s+){0,2}?login)" rf"{_GAP}-[pP]\s+{_ARGUMENT}"),
    Rule("command", SURE, "zip pdftk sqlcmd bcp tsql isql mosquitto ipmitool", rf"\b(?:zip|unzip|pdftk|sqlcmd|bcp|tsql|isql|mosquitto_[ps]ub|ipmitool){_GAP}-P\s*{_ARGUMENT}"),
    Rule("command", SURE, "ssh-keygen", rf"\bssh-keygen{_GAP}-[NP]\s+{_ARGUMENT}"),
    Rule("command", SURE, "useradd usermod", rf"\b(?:useradd|usermod){_GAP}-p\s+{_ARGUMENT}"),
    Rule("command", SURE, "passwd", r"\b(?:htpasswd|mosquitto_passwd)\s+-\w*b\w*\s+(?:-\w+\s+)*\S+\s+\S+\s+" + _ARGUMENT),
    Rule("command", SURE, "openssl", rf"\bopenssl{_GAP}(?:-k\s+|-pass(?:in|out)?\s+pass:){_ARGUMENT}"),
    Rule("command", SURE, "curl wget http xh", rf"\b(?:curl|wget|http|https|xh){_GAP}(?:-u|-U|-a|--user|--auth|--proxy-user)[ =]?[\"']?[^\s:\"']{{1,100}}:(?P<value>[^\s\"']+)"),
    Rule("command", SURE, "lftp", rf"\blftp{_GAP}-u\s*[\"']?[^\s,]{{1,100}},(?P<value>[^\s\"']+)"),
    Rule("command", SURE, "redis-cli ldap security", rf"\b(?:redis-cli|ldap\w+|security){_GAP}-[aw]\s+{_ARGUMENT}"),
    Rule("command", SURE, "smb rpcclient winexe", rf"\b(?:smbclient|smbmap|rpcclient|winexe){_GAP}-U\s*[\"']?[^\s%]{{1,100}}%(?P<value>[^\s\"']+)"),
    Rule("command", SURE, "snmp", rf"\bsnmp\w+{_GAP}-[AX]\s*{_ARGUMENT}"),
    Rule("command", SURE, "keytool jarsigner apksigner", rf"\b(?:keytool|jarsigner|apksigner){_GAP}--?\w{{0,12}}pass(?:wd)?\s+(?:pass:)?{_ARGUMENT}"),
    Rule("command", SURE, "echo printf", r"\b(?:echo|printf)\s+(?:-\w+\s+)?[\"']?(?P<value>[^\s\"'|\\]{1,200})(?:\\n)?[\"']?\s*\|\s*(?:sudo\s+(?:-\w+\s+){0,4}-\w*S|(?:sudo\s+)?(?:passwd\b|cryptsetup\b|kinit\b|[\w ./-]{1,80}?\s--(?:password-stdin|passphrase-fd|with-token|stdin)))"),
    Rule("command", SURE, "chpasswd", r"\b(?:echo|printf)\s+(?:-\w\s+)?[\"']?[\w.-]{1,60}:(?P<value>[^\s\"'|\\]{1,200})(?:\\n)?[\"']?\s*\|\s*(?:sudo\s+)?chpasswd"),
    Rule("command", SURE, "<<<", r"\b(?:sudo\s+(?:-\w+\s+){0,4}-\w*S[^|;&\n]{0,200}?<<<\s*|chpasswd\s*<<<\s*[\"']?[\w.-]{1,60}:)[\"']?(?P<value>[^\s\"']+)"),
    Rule("command", LIKELY, "nmcli wpa_passphrase gpg iwctl smbpasswd kinit xfreerdp", r"\b(?:nmcli|wpa_passphrase|gpg|iwctl|smbpasswd|kinit|xfreerdp)\b[^|;&\n]{0,300}?(?:password|passphrase|psk|/p:)\s{0,4}=?\s{0,4}(?P<quote>[\"']?)(?P<value>[^\s\"']+)", folded=True),
    Rule("command", SURE, "wpa_passphrase", rf"\bwpa_passphrase\s+(?:\"[^\"\n]*\"|\S+)\s+{_ARGUMENT}"),
    Rule("command", SURE, "sqlplus", r"\bsqlplus\s+(?:-\w+\s+)*[\"']?[\w.-]{1,60}/(?P<value>[^\s@\"'/]+)"),
    Rule("command", SURE, "rabbitmqctl", rf"\brabbitmqctl\s+(?:add_user|change_password)\s+\S+\s+{_ARGUMENT}"),
    Rule("command", SURE, "net", r"\bnet use(?:\b[^|;&\n]{0,200}?/user:\S{1,60}\s+|r\s+\S{1,60}\s+(?=\S+\s+/add))(?P<value>[^\s/\"'*][^\s\"']*)"),
    Rule("command", LIKELY, "login", r"(?:\bvault\s+login|\+login\s+\S+)\s+(?P<value>[^\s\"'-]\S*)"),
    Rule("command", LIKELY, "alias", r"\bmc\s+alias set\s+\S+\s+\S+\s+\S+\s+(?P<value>(?=\S{0,200}[0-9])[^\s\"'-]\S*)"),
    Rule("command", LIKELY, "send", r"\bsend (?:-- )?\"(?P<value>[^\"\s\\]{6,80})\\[rn]\""),
    Rule("command", SURE, "--from-literal", r"--from-literal[= ][\"']?[\w.-]{1,100}=[\"']?(?P<value>[^\s\"']+)"),
)

# The names of secrets, in lower case, and the text that may be between a name and its value.
_NAME = (
    r"pass(?:word|wd|phrase|code|wort)?|pwd|pw|psk|kennwort|contrase(?:ñ|n)a|mot[ _]de[ _]passe|palavra[- ]passe|senha|clave|wachtwoord|hasło|parola|lösenord|şifre|парол[ьяеюи]|mật khẩu|κωδικός"
    r"|secret(?:[ _-]?(?:access[ _-]?)?(?:key(?:[ _-]?base)?|token|value|id))?|токен|ключ|token|credentials?|creds"
    r"|(?:(?:api|app|access|auth|account|signing|encryption|master|license|private|session|client|storage|subscription|service)[ _-]?)?(?:key(?![ _-]?(?:name|file|path|type|size|word|board))(?:_id)?)"
)
_SUFFIX = r"(?:_?\d{1,2}|[_-](?:prod|dev|test|staging|live|old|new))?(?![^\W_\d])"
_SET = r"\\?[\"'`*\])]{0,3}\s{0,4}(?::=|=>|={1,3}|->|:|：)(?:\s{0,3}[\w&\[\]<>.|? ]{1,30}?\s?=(?=\s?[\"']))?\**\s{0,40}(?:`{3}\w*\s{1,8})?"
_LINK = (
    r"(?P<far>\s+(?:for|of|to|on|in|von|vom|für|zum|pour|de|du|da|do|del|para|от|для|к|per|van|voor)\s+(?:[^\s:=…]{1,40}\s+){0,4}?[^\s:=…]{1,40}?)?"
    r"(?P<copula>\s+(?:is|was|are|will\s+be|ist|lautet|war|wäre|est|sera|es|era|é|è|jest|är|er|это|là|(?:is\s+|been\s+)?(?:re)?set\s+to|changed\s+to|to)(?!\w)(?:\s+(?:now|currently|still|jetzt|maintenant|ahora|agora|теперь)\b)?|\s*[:=：—–]|\s+-)\s{0,20}:?\s{0,20}"
)
_COMPOUND = ("passw", "passp", "secret", "token", "apikey")  # these count inside a word, too: dbpassword, mytoken
_PASS = ("pass", "pwd", "pw", "psk", "kenn", "contr", "mot", "pala", "senha", "clave", "wacht", "has", "paro", "lös", "şif", "парол", "mật", "κωδ")
_OPEN_KEYS = r"(?:public|primary|foreign|cache|sort|partition|object|idempotency|host|map|dict|hot|row|hash|index|etag|commit|trace)[ _-]?$"
# fmt: on
_BARE = r"\s{1,20}(?:[0-9]\s)?"
_QUOTED = r"\\?(?P<quote>[\"'`“„«])(?P<value>[^\"'`“”»\n]{1,2000})"
_PLAIN = r"(?P<value>(?:[^\s\"'`,;&<>]|[,;&](?![\w. -]{0,30}=)(?![\s\"'`]|\Z)){1,300})"
_MASK = r"\[masked [a-z0-9-]{3,20}(?: ….{1,4})? #[0-9a-f]{8}\]"
_HOLDER = (
    r"^\$|\$[{(]|^[<{%\[]|[<{]\w+[>}]|\*{3}|x{4}|\.{3}|…|your|example|placeholder|redacted|masked|dummy|changeme|change[_-]me|_here$"
    r"|^(?:pass(?:word|wd)?|pwd|secret|token|key|user|admin|root|none|null|nil|true|false|str|string|int|bool|bytes|any|object|bearer|basic"
    r"|optional|required|undefined|test|foo|bar|todo|tbd|empty|unset|default|missing|invalid|expired|wrong|correct)\W*$"
    r"|^(?:base(?:64|32|58)(?!:)|sha-?\d|md5|bcrypt|argon2|pbkdf2|scrypt|aes-?\d|rsa-?\d|utf-?\d|ed25519|x509|oauth2?|http/|hs256|rs256|jwt)"
    r"|^\d{1,3}[+-]?(?:char|digit|letter|byte|bit|day|hour|min|sec|week|month|year|h$|m$|s$|d$)|^arn:|^projects/|required\||^(?:my|new|old|db|the)?_?(?:pass(?:word|wd)?|token|secret)_?\d?$"
)
_SAMPLE = r"(?i)x{6}|example|your[_-]|(.)\1{9}|1234567890abcdef|abcdefghijklm"  # sample tokens in documentation
_CODE = r"[()\[\]{}]|^(?:self|this|os|env|process|config|settings|args|options|request|req|ctx|var|local|data)\.|^[a-z_]+(?:\.[a-z_]\w*)+$|^[./~]|^https?:|::|->|^&"

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
    """Return the secrets of one block. Blanks out those found and scans again, as one secret may obscure another."""
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
            yield FoundSecret("private-key", start, match.end() + len(body.rstrip()))


def _places(rule: Rule, block: str, text: str) -> Iterator[FoundSecret]:
    if rule.token:
        for match in _compiled(rf"(?a)(?<![A-Za-z0-9_])(?:{rule.pattern})").finditer(text):
            if not _compiled(_SAMPLE).search(match[0]):
                yield FoundSecret(rule.kind, *match.span())
        return
    pattern = _compiled(rule.pattern)
    for match in pattern.finditer(text):
        quoted = "quote" in pattern.groupindex and bool(match["quote"])
        start, end = _trimmed(block, *match.span("value"), quoted)
        if rule.need is None or _convincing(block[start:end], rule.need, quoted):
            yield FoundSecret(rule.kind, start, end)


def _named(block: str, low: str) -> Iterator[FoundSecret]:
    """Find values after the name of a secret: in settings, options, tags and sentences."""
    for match in _compiled(_NAME).finditer(low):
        start, name = match.start(), match[0]
        inside = start > 0 and low[start - 1].isalpha() and not (block[start].isupper() and block[start - 1].islower())
        suffix = _compiled(_SUFFIX).match(low, match.end())
        if suffix and (not inside or name.startswith(_COMPOUND)):
            yield from _valued(block, low, start, name, suffix.end())


def _valued(block: str, low: str, start: int, name: str, end: int) -> Iterator[FoundSecret]:
    """Find the value for the name from `start` to `end`."""
    before = low[max(0, start - 60) : start]
    prefix = "" if before[-1:].isspace() else (before.split() or [""])[-1]
    for kind, opening, need in _forms(low, name, prefix, before, end):
        value = _compiled(_QUOTED).match(block, opening) or _compiled(_PLAIN).match(block, opening)
        if not value:
            continue
        quoted = "quote" in value.re.groupindex
        first, last = _trimmed(block, *value.span("value"), quoted)
        if not quoted and last - first == _WHOLE and (more := _compiled(r"[^\s\"'`,;&<>]+").match(block, last)):
            last = more.end()
        if kind == "query":
            last = min([last, *(place for sign in "&#" if (place := block.find(sign, first, last)) >= 0)])
        if "key" in name and (
            last - first < 12 or (name in ("key", "key_id") and _plain_hex(block[first:last], before))
        ):
            continue
        if _convincing(block[first:last], need, quoted):
            yield FoundSecret(kind, first, last)
            return


def _forms(low: str, name: str, prefix: str, before: str, end: int) -> Iterator[tuple[str, int, int]]:
    """Yield the ways in which a value may follow the name: kind, start of the value, and `need`."""
    password = name.startswith(_PASS)
    vague = name in ("key", "key_id", "ключ") or (name in ("pass", "pw") and not prefix.endswith(("_", "-")))
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
    if link := _compiled(_LINK).match(low, end):
        copula = link["copula"].strip()
        if vague or copula == "-" or (not copula[0].isalpha() and link["far"] and not password):
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


def _convincing(value: str, need: int, quoted: bool) -> bool:
    """Does the value look enough like a secret? Names, types, variables and code do not."""
    value = value[:_JUDGED]
    if len(value) < 4 or _compiled(_HOLDER).search(lowered(value)):
        return False
    if need == SURE:
        return not value.startswith(("-", "~", "/")) and not (len(value) < 6 and value.isalpha())
    if not quoted and _compiled(_CODE).search(value):
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
