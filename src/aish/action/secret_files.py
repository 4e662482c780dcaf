"""Recognise files with credentials by name, and directories that are too large to search.

Pure: paths in, answers out. A path may be a pattern, and may contain unknown parts.
"""

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache

_DATA = r"(\.(txt|json|ya?ml|toml|ini|cfg|conf|xml|csv|properties|enc|env|bak|old|gpg|db))*"
_NAMES = rf"""
    \.ssh | \.aws | \.gnupg | \.azure | \.kube | \.docker/config\.json | \.password-store | \.mozilla
    | \.config/(gcloud|google-chrome|chromium|gh|hub|rclone|op)
    | keyrings? | keychains? | \.vault-token | \.terraformrc | \.netrc | _netrc | \.pgpass | \.my\.cnf
    | \.git-credentials    | \.npmrc | \.yarnrc\.yml | \.pypirc | \.s3cfg | \.boto | \.dockercfg | \.htpasswd | \.envrc
    | \.fetchmailrc | \.msmtprc    | \.smbcredentials | \.cargo/credentials(\.toml)? | \.gem/credentials
    | \.m2/settings\.xml | \.databrickscfg | \.snowsql | \.mylogin\.cnf | \.sops | \.claude\.json
    | \.codex | \.age | \.bitcoin
    | \.\w*history | \.lesshst | \.viminfo
    | \.env(\.(?!(example|sample|template|dist|tmpl|defaults?)$)[\w.-]+)? | [\w-]+\.env
    | id_(rsa|dsa|ecdsa|ed25519)(_\w+)? | \w+_(rsa|ed25519|ecdsa)
    | [\w.-]*\.(pem|key|p12|pfx|jks|keystore|kdbx?|ppk|ovpn|agekey|keytab|pkcs12|mobileprovision)
    | g?shadow-? | sudoers(\.d)? | ssh_host_\w+_key | private | htpasswd | master\.key | wallet\.dat
    | logins\.json | key[34]\.db
    | environ | kcore | kmem | mem | (sd|hd|vd|xvd|nvme|mmcblk|dm-|loop)[a-z0-9]+ | mapper
    | cookies(\.sqlite)? | login\ data
    | ([\w-]*[_-])?(credentials?|secrets?|tokens?|passwords?|passwd|apikeys?|api[_-]keys?)({_DATA})
    | (client_secret|service[_-]?account|firebase-adminsdk)[\w-]*\.json
"""
# Exceptions: public keys, world-readable files, examples and documentation.
_PUBLIC = r"(\.pub|/known_hosts|\.ssh/config|\.kube/cache|/etc/passwd|\.(md|rst|html|example|sample|template))$"
# These common words are secrets only in these places.
_PLACED = {
    "environ": "/proc/", "kcore": "/proc/", "mem": "/", "kmem": "/dev/", "mapper": "/dev/", "private": "/etc/ssl/",
}  # fmt: skip
_SAMPLES = (
    "~/.ssh/id_rsa ~/.ssh/id_ed25519 ~/.aws/credentials ~/.gnupg/secring.gpg ~/.kube/config ~/.netrc .env "
    ".env.local .envrc ~/.pgpass ~/.git-credentials ~/.docker/config.json ~/.npmrc ~/.pypirc /etc/shadow "
    "/etc/gshadow /etc/sudoers /proc/1/environ /proc/self/environ /dev/sda /dev/mem ~/.bash_history "
    "~/.config/gh/hosts.yml credentials.json secrets.yaml server.key server.pem ~/.my.cnf /run/secrets/db"
).split()


@cache
def _secret() -> re.Pattern[str]:
    return re.compile(rf"(?:^|[/=:@,\s])({_NAMES})(?=$|[/:,\s])", re.VERBOSE | re.IGNORECASE)


def is_secret(path: str) -> bool:
    """Could reading this file show a credential?"""
    path = re.sub(r"/(\./)+|//+", "/", path).rstrip("/")
    if any(mark in path for mark in "*?["):
        return any(_fits(path, sample) for sample in _SAMPLES) or _names_secret(re.sub(r"[*?]|\[[^]]*\]", "x", path))
    return _names_secret(path)


def _names_secret(path: str) -> bool:
    if not path or re.search(_PUBLIC, path, re.IGNORECASE):
        return False
    for found in _secret().finditer(path):
        name = found[1].lower()
        where = "/dev/" if re.match("(sd|hd|vd|xvd|nvme|mmcblk|dm-|loop)", name) else _PLACED.get(name, "")
        if not where or path[: found.start() + 1].lower().startswith(where):
            return True
    return False


def _fits(pattern: str, sample: str) -> bool:
    """Could the pattern match the sample, or the end of its path?"""
    typed, real = pattern.split("/"), sample.split("/")
    if len(typed) == len(real) and pattern[:1] in "/~":
        return all(_matches(*pair) for pair in zip(typed, real, strict=True))
    length = min(len(typed), len(real))
    tail = list(zip(typed[-length:], real[-length:], strict=True))
    stem = (
        typed[-1] if real[-1].startswith(".") else typed[-1].rpartition(".")[0] or typed[-1]
    )  # an extension alone, as in *.json, is no match
    letters = max(len(re.sub(r"[*?\[\]!^\0-]", "", stem)) - (real[-1][0] == "."), 0)
    enough = 0 if real[-1].startswith(".") else 2  # a lone * does not match hidden files
    shared = [pair for pair in tail if pair[1] not in ("~", "")]
    if _matches(typed[-1], real[-1]) and letters >= enough:
        return True
    return len(shared) > 1 and all(_matches(*pair) for pair in shared) and shared[0][0] != "*"


def _matches(pattern: str, name: str) -> bool:
    if name.startswith(".") and not pattern.startswith((".", "[.", "\0")):
        return False
    return fnmatchcase(name, pattern.replace("\0", "*").replace("[^", "[!")) or pattern == name


def secrets_in(text: str) -> Iterator[str]:
    """Yield the names of credential files in a text such as an awk script."""
    return (piece for piece in re.split(r"[\s'\"(){};]+", text) if piece and is_secret(piece))


def is_wide(path: str) -> bool:
    """Is this a home directory or a whole disk, where a search would read every credential?"""
    path = path.rstrip("/") or "/"
    return bool(
        re.fullmatch(r"/|/\*|~\w*|/home(/[^/]+)?|/root|/Users(/[^/]+)?|/proc(/[^/]+)?|/mnt|/media|(\.\./)*\.\.", path)
    )
