"""The rules by which secrets are found: a pattern for each place where shells and chats have one.

Data only. `kind` is the name for people; `secret_patterns` makes it more exact where it knows the issuer.
"""

from functools import cache
from typing import NamedTuple

from aish.memory.secret_hints import CHOOSING, CHOOSING_STARTS
from aish.memory.secret_values import HARDLY, LIKELY, LOOSE, SURE


class Rule(NamedTuple):
    """A pattern of a secret. Each match contains a needle; the secret is the group `value`, or the whole match.

    `need` is None if the pattern alone is enough. A `folded` rule matches lower-case text. If each match begins with one
    of a few texts, these are the `starts`: to look for them is much faster than to search with the pattern. Other rules
    have a `sign`: a pattern of what each match contains. It begins with a fixed text, so a search with it is fast, too.
    """

    kind: str
    need: int | None
    needles: str
    pattern: str
    folded: bool = False
    starts: str = ""
    sign: str = ""

    @property
    def token(self) -> bool:
        return "(?P<value>" not in self.pattern

    @property
    def option(self) -> bool:
        """Is the secret an argument of a command?"""
        return _GAP in self.pattern

    @property
    def hyphen(self) -> bool:
        """Does the text of a secret have a hyphen?"""
        return self.option and self.pattern.partition(_GAP)[2].startswith(("-", "(?:-"))

    @property
    def program(self) -> str:
        """The pattern of the command that takes the option."""
        return self.pattern.partition(_GAP)[0] + r"\b"

    @property
    def argument(self) -> str:
        """The pattern of the option and its value."""
        return r"\s(?:" + self.pattern.partition(_GAP)[2] + ")"

    @property
    def foreign(self) -> bool:
        """Are all needles words that are not ASCII?"""
        return not any(needle.isascii() for needle in self.needles.split())

    @property
    def words(self) -> bool:
        """May the value be a word with a number? People choose such passwords, programs make no such tokens."""
        return self.kind.startswith("password")

    @cache  # noqa: B019  # there are only the rules of the table below
    def name(self) -> str:
        """Return the rule in words, for `aish redact --explain`."""
        return f"{self.kind} near {' or '.join(f'“{needle}”' for needle in self.needles.split()[:6])}"


_GAP = r"\b(?:[^|;&\n]|\\\n){0,300}?\s"
_ARGUMENT = r"[\"']?(?P<value>[^\s\"'-][^\s\"']{0,500})"
# Not wrapped: a pattern is easier to read on one line.
# fmt: off
RULES = (
    Rule("AWS access key", None, "AKIA ASIA ABIA ACCA", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}"),
    Rule("GitHub token", None, "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_", r"gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{30,}"),
    Rule("GitLab token", None, "gl", r"gl(?:pat|rt|dt|ft|soat|cbt|ptt|agent|oas|imt|ffct)-[\w-]{16,}(?:\.\w{2}\.\w{7,12})?"),
    Rule("model key", None, "sk- gsk hf r8 pplx xai fw", r"sk-[A-Za-z0-9_-]{20,}|(?:gsk|hf|r8|pplx|xai|fw)[_-][A-Za-z0-9]{20,}"),
    Rule("model key", None, "tvly- nvapi- lsv2_ jina_", r"tvly-[\w-]{20,}|nvapi-[\w-]{40,}|lsv2_(?:pt|sk)_[\w]{30,}|jina_[\w-]{40,}"),
    Rule("model key", None, "sk_ fc- csk- e2b_ pcsk_ ABSK api_org_", r"sk_[0-9a-f]{48}|fc-[0-9a-f]{32}|csk-[a-z0-9]{40,}|e2b_[0-9a-f]{40}|pcsk_\w{40,}|(?<![+/])ABSK[A-Za-z0-9+/]{60,}={0,2}|api_org_[A-Za-z]{30,}"),
    Rule("Stripe key", None, "sk_ rk_ pk_ whsec_", r"(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/]{20,}"),
    Rule("Google key", None, "AIza GOCSPX- ya29. 1//0", r"AIza[\w-]{30,}|GOCSPX-[\w-]{20,}|ya29\.[\w-]{20,}|1//0[\w-]{60,}"),
    Rule("Slack token", None, "xox xapp-", r"xox[abcdeoprs]-[\w-]{12,}|xapp-\d-[\w-]{12,}"),
    Rule("Slack webhook", None, "hooks.slack.com/services/", r"(?<=hooks\.slack\.com/services/)[\w/]{20,}", sign=r"hooks\.slack\.com/services/[\w/]{20}"),
    Rule("Discord webhook", None, "/api/webhooks/", r"(?<=/api/webhooks/)\d{10,}/[\w-]{30,}", sign=r"/api/webhooks/\d{10}"),
    Rule("Discord token", None, ".", r"[MNO][\w-]{22,40}\.[\w-]{6}\.[\w-]{20,}", sign=r"\.[\w-]{6}\.[\w-]{20}"),
    Rule("Telegram token", None, ":AA", r"(?:bot)?\d{8,11}:AA[\w-]{30,}", sign=r":AA[\w-]{30}"),
    Rule("SendGrid key", None, "SG.", r"SG\.[\w-]{16,80}\.[\w-]{16,}"),
    Rule("mail service key", None, "-us", r"[0-9a-f]{32}-us\d{1,2}", sign=r"-us\d"),
    Rule("mail service key", None, "key- xkeysib- re_", r"key-[0-9a-f]{32}|xkeysib-[0-9a-f]{40,}[\w-]*|re_[A-Za-z0-9]{8,40}_[A-Za-z0-9]{16,}"),
    Rule("package registry token", None, "pypi- npm_ rubygems_ cio NuGet oy2", r"pypi-[\w-]{40,}|npm_[A-Za-z0-9]{30,}|rubygems_[0-9a-f]{40,}|cio[A-Za-z0-9]{32}|NuGet[\w-]{30,}|oy2[a-z0-9]{43}"),
    Rule("Docker token", None, "dckr_", r"dckr_(?:pat|oat)_[\w-]{20,}"),
    Rule("cloud token", None, "doo_v1_ dop_v1_ dor_v1_ dapi tskey- HRKU- fo1_", r"do[opr]_v1_[0-9a-f]{40,}|dapi[0-9a-f]{32}|tskey-[a-z]{2,12}-[\w-]{16,}|HRKU-[\w-]{30,}|fo1_[\w-]{30,}"),
    Rule("cloud token", None, "LTAI vercel_ rnd_ ops_", r"LTAI[A-Za-z0-9]{16,26}|vercel_\w{20,}|rnd_[A-Za-z0-9]{28,}|ops_eyJ[\w-]{50,}"),
    Rule("shop token", None, "shp sq0 EAAA", r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}|sq0(?:atp|csp|idp)-[\w-]{20,}|EAAA[\w-]{50,}"),
    Rule("payment key", None, "access_token$ rzp_ access- shippo_ duffel_ EZ", r"access_token\$\w{1,12}\$\w{16}\$[0-9a-f]{32}|rzp_(?:live|test)_\w{14,}|access-(?:sandbox|development|production)-[0-9a-f-]{36}|(?:shippo|duffel)_(?:live|test)_[\w-]{40,}|EZ[AT]K[A-Za-z0-9]{54}"),
    Rule("cloud token", None, "sb_ napi_ fm2_ AKID v1.0- AQVN dt0", r"sb_secret_[\w-]{20,}|napi_[a-z0-9]{40,}|fm2_[\w+/=]{60,}|(?<![+/])AKID[A-Za-z0-9]{32}|v1\.0-[0-9a-f]{24}-[0-9a-f]{100,}|AQVN[\w-]{35,}|dt0[a-z]\d\d\.[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    Rule("service token", None, "pat sl. tfp_ oauth: y0_ sdk- pnu_ rdme_ sk.eyJ EAAC", r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}|pat-[a-z]{2}\d-[0-9a-f-]{36}|sl\.(?:u\.)?[\w-]{100,}|tfp_[\w-]{40,}|oauth:[a-z0-9]{30}|y0_[\w-]{50,}|sdk-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|pnu_[A-Za-z0-9]{36}|rdme_[a-z0-9]{60,}|sk\.eyJ[\w-]{20,}\.[\w-]{20,}|(?<![+/])EAAC[A-Za-z0-9]{60,}"),
    Rule("service token", None, "secret_ sq CCIPAT_ AKCp CLOJARS_", r"secret_[A-Za-z0-9]{43}|sq[pua]_[0-9a-f]{40}|CCIPAT_[A-Za-z0-9]{16,}_[0-9a-f]{40}|(?<![+/])AKCp[A-Za-z0-9]{60,}|CLOJARS_[0-9a-f]{60}"),
    Rule("Azure secret", None, "AZDO", r"[A-Za-z0-9]{70,80}AZDO[A-Za-z0-9]{4}", sign=r"AZDO[A-Za-z0-9]{4}"),
    Rule("Vault token", None, ".atlasv1.", r"[A-Za-z0-9]{14}\.atlasv1\.[\w-]{40,}", sign=r"\.atlasv1\.[\w-]{40}"),
    Rule("Vault token", None, "hv dp. pul-", r"hv[sbr]\.[\w-]{24,}|dp\.(?:pt|st|ct)\.[\w.-]{30,}|pul-[0-9a-f]{40}"),
    Rule("service token", None, "gl lin_ ntn_ PMAK-", r"gl(?:sa|c)_[\w=+/-]{20,}|lin_(?:api|oauth)_\w{30,}|ntn_\w{30,}|PMAK-[0-9a-f]{24}-[0-9a-f]{30,}"),
    Rule("service token", None, "ATATT3 ATCTT3 ATBB figd_ sntr NRAK- sbp_", r"AT[AC]TT3[\w=-]{50,}|ATBB\w{28,}|figd_[\w-]{30,}|sntry[su]_[\w=+/-]{30,}|NRAK-[A-Z0-9]{27}|sbp_[0-9a-f]{40}"),
    Rule("service token", None, "pscale_ CFPAT- bkaa_ bkua_ nfp_ phx_", r"pscale_(?:tkn|pw|oauth)_[\w.=-]{30,}|CFPAT-[\w-]{40,}|bk[au]a_[0-9a-f]{40}|nfp_[A-Za-z0-9]{30,}|phx_[A-Za-z0-9]{40,}"),
    Rule("Twilio key", None, "SK", r"SK[0-9a-f]{32}"),
    Rule("Azure secret", None, "8Q~", r"[\w~.-]{3,5}8Q~[\w~.-]{30,}", sign=r"8Q~[\w~.-]{30}"),
    Rule("age key", None, "AGE-SECRET-KEY-", r"AGE-SECRET-KEY-1[A-Z0-9]{50,}"),
    Rule("password hash", None, "$1$ $5$ $6$ $7$ $y$ $gy$ $apr1$", r"\$(?:1|apr1)\$[./A-Za-z0-9]{1,16}\$[./A-Za-z0-9]{20,24}|\$[56]\$(?:rounds=\d{1,9}\$)?[./A-Za-z0-9]{1,24}\$[./A-Za-z0-9]{20,90}|\$g?y\$[./A-Za-z0-9]{1,60}\$[./A-Za-z0-9]{1,90}\$[./A-Za-z0-9]{20,90}|\$7\$[./A-Za-z0-9]{11,80}\$[./A-Za-z0-9]{40,90}"),
    Rule("password hash", None, "$2a$ $2b$ $2x$ $2y$ $argon2 $scrypt$ $pbkdf2 pbkdf2_sha", r"\$2[abxy]\$\d\d\$[./A-Za-z0-9]{40,60}|\$argon2(?:id|i|d)\$(?:v=\d{1,3}\$)?[a-z]=\d{1,9}(?:,[a-z]=\d{1,9}){0,4}\$[\w+/=-]{4,100}\$[\w+/=-]{16,200}|\$(?:scrypt|pbkdf2(?:-sha\d{1,3})?)\$[\w=,.]{1,60}\$[\w./+=-]{4,100}\$[\w./+=-]{16,200}|pbkdf2_sha\d{1,3}\$\d{1,9}\$[\w./+=-]{4,60}\$[\w./+=-]{16,200}"),
    Rule("password hash", None, "{SHA {SSHA", r"\{S?SHA\d{0,3}\}[A-Za-z0-9+/]{20,200}={0,2}"),
    Rule("private key", None, "LS0tLS1CRUdJTi", r"LS0tLS1CRUdJTi(?:BSU0EgUFJJVkFUR|BQUklWQVRF|BFQyBQUklWQVRF|BPUEVOU1NI|BFTkNSWVBURUQ|BEU0EgUFJJ|BQR1AgUFJJ)[A-Za-z0-9+/=]{16,}"),
    Rule("JWT", None, "eyJ", r"eyJ[\w-]{8,5000}\.[\w-]{8,20000}\.[\w-]{8,}(?:\.[\w-]{8,}\.[\w-]{8,})?"),

    Rule("password in a URL", SURE, "://", r"\b[a-z][a-z0-9+.-]{0,40}://(?P<user>[^\s/:@\"']{0,200}):(?!(?P=user)@)(?P<value>[^\s/@\"']{1,500})@", folded=True, sign=r"://[^\s/:@\"']{0,200}:[^\s/@\"']{1,500}@"),
    Rule("password", LIKELY, "@", r"(?<![\w/.%-])(?!(?:[\d.-]{1,80}|mailto|sips?|xmpp|acct):)[\w.-]{1,80}:(?!_Z)(?P<value>[^\s:@/\"'<>]{6,200})@(?!sha256:)(?:[A-Za-z][\w-]|\d{1,3}\.\d)", sign=r":[^\s:@/\"'<>]{6,200}@[A-Za-z\d]"),
    Rule("access token", SURE, "authorization", r"\bauthorization\b(?:[\"']\s{0,4},|[\"']?\s{0,4}[:=])\s{0,4}[\"']?(?:basic|bearer|token|digest|apikey|negotiate)\s{1,4}(?!username=)(?P<value>[^\s\"',]{8,})", folded=True, starts="authorization"),
    Rule("access token", LIKELY, "authorization", r"\bauthorization\b(?:[\"']\s{0,4},|[\"']?\s{0,4}[:=])\s{0,4}(?P<quote>[\"']?)(?P<value>[^\s\"',]{8,})", folded=True, starts="authorization"),
    Rule("access token", HARDLY, "bearer", r"\bbearer\s{1,4}(?P<value>[\w.~+/=-]{16,})", folded=True, starts="bearer"),
    Rule("access token", SURE, "token key secret auth", r"\b(?:x-[\w-]{0,40}|private-|job-|deploy-|circle-|api-)(?:token|secret|auth|key(?=\s{0,4}:\s{0,4}[!-~]{12}))\s{0,4}:\s{0,4}(?P<value>[^\s\"',]{8,})", folded=True, starts="x- private- job- deploy- circle- api-"),
    Rule("cookie", SURE, "cookie:", r"\bcookie:\s{0,4}(?P<value>[\w.%$-]{1,80}=[^\s\"'][^\"'\n]{3,})", folded=True, starts="cookie:"),
    Rule("cookie", LIKELY, "curl wget http", rf"\b(?:curl|wget|https?){_GAP}(?:-b|--cookie)[ =][\"']?[\w.-]{{1,60}}=(?P<value>[^\s\"';]{{8,}})", starts="curl wget http"),
    Rule("key in a URL", LIKELY, "key= sig= signature= code=", r"[?&](?:key|sig|signature|code(?==[^\s&\"'#]{16}))=(?P<value>[^\s&\"'#]{8,})", folded=True, starts="?key= &key= ?sig= &sig= ?signature= &signature= ?code= &code="),
    Rule("signature in a URL", SURE, "signature security-token sig=", r"(?:[?&;]|%26|%3f)(?:x-(?:amz|goog|oss|cos)-(?:signature|security-token)|(?:(?<=[?&])|(?<=&amp;))(?:sig|signature)(?==[\w%+/~-]{20}))(?:=|%3d)(?P<value>[^\s&\"'#<>]{16,})", folded=True, sign=r"s(?:ig(?:nature)?|ecurity-token)(?:=|%3d)[^\s&\"'#<>]{16}"),
    Rule("password", SURE, "pass", r"\b(?:machine|login)\s{1,4}(?=\S{0,99}\w)(?!(?:and|or)\s)\S{1,100}(?:\s{1,4}(?:login|account|port)\s{1,4}\S{1,100}){0,3}\s{1,4}(?:(?:with\s{1,4})?pass|password)\s{1,4}(?P<value>[^\s\"'\\]+)", folded=True, starts="machine login"),
    Rule("password", LOOSE, "pass", r"\b(?:machine|login|user(?:name)?|as|log[ -]?in|sign[ -]?in|benutzer\w{0,6}|utilisateur|usuario|usuário|utente):?\s{1,4}(?:\S{1,100}+[^\n]{0,40}?|\S{1,100})\bpass(?:word|wort)?:?\s{1,4}(?P<quote>[\"'`]?)(?P<value>[^\s\"'`]+)", folded=True, starts="machine login user as log sign benutzer utilisateur usuario usuário utente"),
    Rule("password", SURE, "password", r"\b(?:create|alter)\s{1,4}(?:user|role)\s[^\n;]{1,100}?\bpassword\s{1,4}(?P<quote>[\"'])(?P<value>[^\"'\n]+)", folded=True, starts="create alter"),
    Rule("password", LOOSE, "pass bindpw", r"(?m)^[^\S\n]{0,20}(?:pass(?:word)?|requirepass|bindpw)[^\S\n]{1,4}(?P<value>[^\s\"':=]+)[^\S\n]*$"),
    Rule("password", LIKELY, "cred login", r"\b(?:credentials?|creds|login)(?:\s(?:are|is|with|for)\b|:|=)(?:[^\n/]{1,60}?\s/\s(?:pass\w*:?\s)?|\s{0,2}[\w.@-]{1,40}:)(?P<quote>[\"'`]?)(?P<value>[^\s\"'`]+)", folded=True, starts="cred login"),
    Rule("password", SURE, ":", r"(?m)^(?:[\w.-]{1,200}|\*):(?:\d{1,5}|\*):(?:[\w.-]{1,100}|\*):(?:[\w.@-]{1,100}|\*):(?P<value>[^\s:\"'{}<>,]{4,})$"),
    Rule("secret", LIKELY, "value", r"\bname\b\\?[\"']?\s{0,4}[:=]\s{0,4}\\?[\"']?[\w.-]{0,60}(?:secret|token|credentials?)\\?[\"']?,?\s{1,40}\\?[\"']?value\\?[\"']?\s{0,4}[:=]\s{0,4}\\?(?P<quote>[\"']?)(?P<value>[^\s\"'\\]+)", folded=True, starts="name"),
    Rule("password", LOOSE, "value", r"\b(?:name|key)\b\\?[\"']?\s{0,4}[:=]\s{0,4}\\?[\"']?[\w.-]{0,60}(?:pass(?:word|wd)?|pwd)\\?[\"']?,?\s{1,40}\\?[\"']?value\\?[\"']?\s{0,4}[:=]\s{0,4}\\?(?P<quote>[\"']?)(?P<value>[^\s\"'\\]+)", folded=True, starts="name key"),
    Rule("secret", LIKELY, "value", r"\bname\b\\?[\"']?\s{0,4}[:=]\s{0,4}\\?[\"']?[\w.-]{0,60}key\\?[\"']?,?\s{1,40}\\?[\"']?value\\?[\"']?\s{0,4}[:=]\s{0,4}\\?(?P<quote>[\"']?)(?P<value>(?:(?![\"'\\])[!-~]){12,})", folded=True, starts="name"),
    Rule("secret", HARDLY, "auth", r"(?:\b|_)auth\\?[\"']?\s{0,4}[:=]\s{0,4}\\?(?P<quote>[\"']?)(?P<value>[\w+/=:-]{12,})", folded=True, starts="auth _auth"),
    Rule("password", LOOSE, "identified", r"\bidentified\s{1,4}(?:with\s{1,4}\S{1,40}\s{1,4})?by\s{1,4}(?P<quote>[\"'])(?P<value>[^\"'\n]+)", folded=True, starts="identified"),
    Rule("PIN", None, "pin пин", r"(?<![\w-])(?:sim[- ])?(?:pin|пин)(?:[ -]?(?:code|number|nummer|код))?(?:\s(?:for|of|für|de|du|от|da|do)(?:\s[^\s\d]{1,30}){1,4}?)?\s{0,2}(?:\s(?:is|ist|lautet|est|es|é|è|это)\s|[:=])\s{0,4}(?P<value>[0-9]{4,8})(?![\w-]|\.\d)", folded=True, starts="pin пин sim"),
    Rule("PIN", None, "code", r"\b(?:verification|security|one[- ]time|2fa|mfa|otp|login|door|alarm|unlock|gate|entry)[- ]code(?:\s(?:for|of)(?:\s[^\s\d]{1,30}){1,4}?)?\s{0,2}(?:\sis\s|[:=])\s{0,4}(?P<value>[0-9]{4,8})(?![\w-]|\.\d)", folded=True, starts="verification security one 2fa mfa otp login door alarm unlock gate entry"),
    Rule("PIN", None, "暗証番号 密码 비밀번호 密碼", r"(?:暗証番号|(?:银行卡|支付|锁屏|门锁|手机)密码|비밀번호)\s?(?:是|为|は|는|:|：)\s?(?P<value>[0-9]{4,8})(?![0-9A-Za-z-]|\.\d)", starts="暗証番号 银行卡 支付 锁屏 门锁 手机 비밀번호"),
    Rule("secret", LIKELY, "密钥 密鑰 令牌 トークン 토큰", r"(?:密钥|密鑰|令牌|トークン|토큰)[^\x00-\x7f]{0,8}[^\S\n]{0,4}[:=]?\s{0,4}[\"'`]?(?P<value>[!-~]{6,})", starts="密钥 密鑰 令牌 トークン 토큰"),
    Rule("password", LIKELY, "密码 密碼 口令 パスワード 비밀번호 암호 รหัส पासवर्ड", r"(?:密码|密碼|口令|パスワード|비밀번호|암호|รหัสผ่าน|पासवर्ड)[^\x00-\x7f]{0,8}[^\S\n]{0,4}[:=]?[^\S\n]{0,4}\\?[\"'`]{0,2}(?P<value>[!-~]{6,})", starts="密码 密碼 口令 パスワード 비밀번호 암호 รหัส पासवर्ड"),
    Rule("password", LOOSE, "密 口令 パスワード 비밀번호 암호", r"(?:密码|密碼|口令|パスワード|비밀번호|암호)\s?(?:是|为|為|は|는|은|改成|设为|:|：|=)\s{0,4}\\?[「『“\"'`：:]{0,2}(?P<value>[!-~]{6,})", starts="密码 密碼 口令 パスワード 비밀번호 암호"),

    Rule("password", LOOSE, "/", r"\b(?:log[ -]?(?:in|on)|sign[ -]?in|ssh in|einloggen|anmelden|melde dich|logge dich|connecte-toi|connectez-vous|se connecter|inicia sesión|iniciar sesión|entra|entre|faça login|accedi|entrar|войди|войти|зайди)\s(?:\S{1,30}\s){0,3}?(?:with|as|using|mit|als|avec|con|com|come|с|под|через)\s[\"'`]?[^\s/\"'`]{1,60}[\"'`]?\s{0,2}/\s{0,2}(?P<quote>[\"'`]?)(?P<value>[^\s\"'`/]+)", folded=True, starts="log sign ssh einloggen anmelden melde connecte se inicia entra entre faça accedi войди войти зайди"),
    Rule("password", LOOSE, "pass pw kennw mot contras senha clave парол", rf"{CHOOSING}(?P<value>[^\s\"'`“”«»]{{6,80}})[\"'`“”«»]?\s{{1,3}}(?:as|for|als|comme|como|come|como a|как|в качестве|für)\s{{1,3}}(?:[^\s.,;:=]{{1,20}}\s{{1,2}}){{0,4}}?(?:[\w.-]{{1,20}}-)?(?:pass(?:word|wort|phrase|code)?|pw|kennwort|mot de passe|contraseñ?n?a|senha|clave|парол[ьяе])(?![\w=:/-])", folded=True, starts=CHOOSING_STARTS),
    Rule("password", LOOSE, "密码 密碼 口令", r"(?:用|使用|以|拿|把)\s?[「『“\"'`]?(?P<value>[!-~]{6,80}?)[」』”\"'`]?\s?(?:作为|作為|当作|當作|设为|設為|设成|做|当|當)[^\n!-~]{0,6}\s?(?:[\w.-]{1,20}\s?)?[^\n!-~]{0,6}?(?:密码|密碼|口令)", starts="用 使用 以 拿 把"),
    Rule("password", LOOSE, "パスワードに パスワードと", r"(?P<value>[!-~]{6,80}+)\s?を\s?(?:[\w.-]{1,20}の?)?\s?パスワード(?:に|と)", sign=r"を\s?(?:[\w.-]{1,20}の?)?\s?パスワード"),
    Rule("password", LOOSE, "パスワード", r"パスワード(?:を|は)\s?[「『\"'`]?(?P<value>[!-~]{6,80}?)[」』\"'`]?\s?(?:に|です|だ|と)", starts="パスワード"),
    Rule("password", LOOSE, "密码 密碼 口令", r"(?:密码|密碼|口令)(?:现在)?(?:改为|改成|設為|设为|设成|设置为|就是|变成)\s?[:：]?\s?[「『“\"'`]?(?P<value>[!-~]{6,})", starts="密码 密碼 口令"),
    Rule("PIN", None, "pin", r"(?<![\w-])pin\s?(?:码|碼|コード|番号)?\s?(?:是|为|は|就是)\s?(?P<value>[0-9]{4,8})(?![0-9A-Za-z-]|\.\d)", folded=True, starts="pin"),

    Rule("private key", SURE, "key-data", r"\b(?:client-)?key-data[\"']?\s{0,4}:\s{0,4}[\"']?(?:[|>][+-]?\s{1,40})?(?P<value>[A-Za-z0-9+/=]{16,})", starts="key-data client-key-data"),
    Rule("password", SURE, ":", r"(?m)^[a-z_][\w.-]{0,31}:(?P<value>[./A-Za-z0-9$,=+]{13,200}):\d{4,6}:\d{0,6}:\d{0,6}:\d{0,3}:"),

    Rule("password", SURE, "mysql mariadb 7z rar sshpass", rf"\b(?:mysql\w*|mariadb\w*|7z\w*|unrar|rar|sshpass){_GAP}-h?p[\"']?(?P<value>[^\s\"']+)", starts="mysql mariadb 7z unrar rar sshpass"),
    Rule("password", SURE, "sshpass twine mongo vnc winrm crackmap nxc netexec cqlsh cypher- couchbase psexec doveadm rabbitmqadmin rdesktop hydra ncftp login", r"\b(?:sshpass|twine|mongo\w*|vncviewer|evil-winrm|crackmapexec|nxc|netexec|cqlsh|cypher-shell|couchbase-cli|psexec\w*|doveadm|rabbitmqadmin|rdesktop|hydra|ncftp\w+|(?:docker|podman|nerdctl|az|helm|skopeo|buildah|crane|oras|cf|oc)\s+(?:\w+\s+){0,2}?login)" rf"{_GAP}-[pP]\s+(?!\d{{1,5}}:\d){_ARGUMENT}", starts="sshpass twine mongo vncviewer evil-winrm crackmapexec nxc netexec cqlsh cypher-shell couchbase-cli psexec doveadm rabbitmqadmin rdesktop hydra ncftp docker podman nerdctl az helm skopeo buildah crane oras cf oc"),
    Rule("password", SURE, "zip pdftk sqlcmd mssql-cli bcp tsql isql mosquitto ipmitool", rf"\b(?:zip|unzip|pdftk|sqlcmd|mssql-cli|bcp|tsql|isql|mosquitto_[ps]ub|ipmitool){_GAP}-P\s*{_ARGUMENT}", starts="zip unzip pdftk sqlcmd mssql-cli bcp tsql isql mosquitto_ ipmitool"),
    Rule("password", SURE, "ssh-keygen", rf"\bssh-keygen{_GAP}-[NP]\s+{_ARGUMENT}", starts="ssh-keygen"),
    Rule("password", SURE, "useradd usermod", rf"\b(?:useradd|usermod){_GAP}-p\s+{_ARGUMENT}", starts="useradd usermod"),
    Rule("password", SURE, "passwd", r"\b(?:htpasswd|mosquitto_passwd)\s+-\w*b\w*\s+(?:-\w+\s+)*\S+\s+\S+\s+" + _ARGUMENT, starts="htpasswd mosquitto_passwd"),
    Rule("password", SURE, "openssl", rf"\bopenssl{_GAP}(?:-k\s+|-pass(?:in|out)?\s+pass:){_ARGUMENT}", starts="openssl"),
    Rule("password", SURE, "curl wget http xh", rf"\b(?:curl|wget|http|https|xh){_GAP}(?:-u|-U|-a|--user|--auth|--proxy-user)[ =]?[\"']?(?!\{{\{{)[^\s:\"']{{1,100}}:(?P<value>[^\s\"']+)", starts="curl wget http xh"),
    Rule("password", SURE, "lftp", rf"\blftp{_GAP}-u\s*[\"']?[^\s,]{{1,100}},(?P<value>[^\s\"']+)", starts="lftp"),
    Rule("password", SURE, "redis-cli ldap security", rf"\b(?:redis-cli|ldap\w+|security){_GAP}-[aw]\s+{_ARGUMENT}", starts="redis-cli ldap security"),
    Rule("password", SURE, "smb rpcclient winexe", rf"\b(?:smbclient|smbmap|rpcclient|winexe){_GAP}-U\s*[\"']?[^\s%]{{1,100}}%(?P<value>[^\s\"']+)", starts="smb rpcclient winexe"),
    Rule("password", SURE, "snmp", rf"\bsnmp\w+{_GAP}-[AX]\s*{_ARGUMENT}", starts="snmp"),
    Rule("password", SURE, "keytool jarsigner apksigner", rf"\b(?:keytool|jarsigner|apksigner){_GAP}--?\w{{0,12}}pass(?:wd)?\s+(?:pass:)?{_ARGUMENT}", starts="keytool jarsigner apksigner"),
    Rule("password", SURE, "echo printf", r"\b(?:echo|printf)\s+(?:-\w+\s+)?[\"']?(?P<value>[^\s\"'|\\]{1,200})(?:\\n)?[\"']?\s*\|\s*(?:sudo\s+(?:-\w+\s+){0,4}-\w*S|(?:sudo\s+)?(?:passwd\b|cryptsetup\b|kinit\b|[\w ./-]{1,80}?\s--(?:password-stdin|passphrase-fd|with-token|stdin)))", starts="echo printf"),
    Rule("password", SURE, "chpasswd", r"\b(?:echo|printf)\s+(?:-\w\s+)?[\"']?[\w.-]{1,60}:(?P<value>[^\s\"'|\\]{1,200})(?:\\n)?[\"']?\s*\|\s*(?:sudo\s+)?chpasswd", starts="echo printf"),
    Rule("password", SURE, "<<<", r"\b(?:(?:sudo\s+(?:-\w+\s+){0,4}-\w*S|passwd|kinit|cryptsetup)[^|;&\n]{0,200}?<<<\s*|chpasswd\s*<<<\s*[\"']?[\w.-]{1,60}:)[\"']?(?P<value>[^\s\"']+)", starts="sudo passwd kinit cryptsetup chpasswd"),
    Rule("password", LOOSE, "nmcli wpa_passphrase gpg iwctl smbpasswd kinit xfreerdp", rf"\b(?:nmcli|wpa_passphrase|gpg|iwctl|smbpasswd|kinit|xfreerdp){_GAP}\S{{0,20}}?(?:password|passphrase|psk|/p:)\s{{0,4}}=?\s{{0,4}}(?P<quote>[\"']?)(?P<value>[^\s\"']+)", folded=True, starts="nmcli wpa_passphrase gpg iwctl smbpasswd kinit xfreerdp"),
    Rule("password", SURE, "wpa_passphrase", rf"\bwpa_passphrase[^\S\n]+(?:\"[^\"\n]*\"|\S+)[^\S\n]+{_ARGUMENT}", starts="wpa_passphrase"),
    Rule("password", SURE, "sqlplus", r"\bsqlplus\s+(?:-\w+\s+)*[\"']?[\w.-]{1,60}/(?P<value>[^\s@\"'/]+)", starts="sqlplus"),
    Rule("password", SURE, "oracle:", r"\bjdbc:oracle:\w{1,10}:[\w.-]{1,60}/(?P<value>[^\s@\"'/]+)@", starts="jdbc:oracle:"),
    Rule("password", LOOSE, "password(", r"(?:(?<==)|(?<==\s))password\((?P<quote>[\"'])(?P<value>[^\"'\n]+)", folded=True, starts="password("),
    Rule("password", SURE, "rabbitmqctl", rf"\brabbitmqctl\s+(?:add_user|change_password)\s+\S+\s+{_ARGUMENT}", starts="rabbitmqctl"),
    Rule("password", SURE, "net", r"\bnet use(?:\b[^|;&\n]{0,200}?/user:\S{1,60}\s+|r\s+\S{1,60}\s+(?=\S+\s+/add))(?P<value>[^\s/\"'*][^\s\"']*)", starts="net"),
    Rule("password", LIKELY, "login", r"(?:\bvault\s+login|\+login\s+\S+)\s+(?P<value>[^\s\"'-]\S*)", starts="vault +login"),
    Rule("password", LIKELY, "alias", r"\bmc\s+alias set\s+\S+\s+\S+\s+\S+\s+(?P<value>(?=\S{0,200}[0-9])[^\s\"'-]\S*)", starts="mc"),
    Rule("password", LIKELY, "send", r"\bsend (?:-- )?\"(?P<value>[^\"\s\\]{6,80})(?:\\[rn]|\s\n)\"", starts="send"),
    Rule("password", SURE, "--from-literal", r"--from-literal[= ][\"']?[\w.-]{1,100}=[\"']?(?P<value>[^\s\"']+)", starts="--from-literal"),
)
# fmt: on
