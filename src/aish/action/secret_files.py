"""Recognise files and variables with credentials by name, and directories that are too large to search.

Pure: paths in, answers out. A path may be a pattern, and may contain unknown parts. The policy asks before it shows
what is listed here, and the fences hide it.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase, translate
from functools import cache, lru_cache

from aish.action.secret_places import HOME_SECRETS as HOME_SECRETS
from aish.action.secret_places import SYSTEM_SECRETS as SYSTEM_SECRETS
from aish.values.patterns import pattern

_BACKUP = (
    r"[._-]?(?:bak|backup|old|orig|saved?|sw[op]|copy|prev|rpmsave|dpkg-\w{1,9})\d{0,8}"
    r"|[.-]\d{2,14}|[.-]\d$|\.?~(?:\d{1,3}~)?|\#"
)
_PACKED = r"\.(?:gz|xz|bz2|zst|zip|tar|tgz|7z|gpg|asc|age|enc)"
_MORE = rf"(?:{_BACKUP}|{_PACKED})"  # at most three times: the time to match must stay linear
_EXAMPLE = r"example|sample|template|dist|tmpl|defaults?|schema|md|rst|html|tpl|j2|erb"
_WORD = (
    r"(?:credentials?|creds|secrets?|tokens?|passwords?|passwd|passphrases?|apikeys?|api[_-]keys?|private[_-]?keys?"
    r"|(?:recovery|backup)[_-]?codes|seed[_-]?phrase|mnemonic)"
)
_DATA = r"(?:\.(?:txt|json|ya?ml|toml|ini|cfg|conf|xml|csv|properties|env|db|local|pickle|prod\w*|dev|staging|tfvars))"
_PUBLIC_PEM = (
    r"(?:[\w-]*(?:certs?|certificates?|chain|bundle|pub(?:lic(?:[_-]?(?:key|cert))?)?|roots?|dhparams?)|(?:[\w-]*[_-])?ca)"
    r"\d{0,4}\.pem$"
)
_KEY_FILE = (
    r"(?:pem|key|p12|p8|pfx|jks|jceks|keystore|kdbx?|ppk|ovpn|agekey|keytab|pkcs12|mobileprovision|nmconnection|kwl"
    r"|keychain(?:-db)?|wallet|tfvars|tfvars\.json|tfstate|jwk|psafe3|opvault|htpasswd)"
)
_PLAIN = "|".join(re.escape(path[1:].lower()) for path in HOME_SECRETS if path[0] == "." and "/" not in path)
_NAMES = rf"""
    \.env(?:rc)?(?:[._-](?!(?:{_EXAMPLE})$)[\w.-]+)? | [\w-]+\.env
    | (?:\.|\#)?(?:{_WORD}{_DATA}{{0,3}} | \.(?:{_PLAIN}))
    | (?!design)[\w.-]*[._-]{_WORD}{_DATA}{{0,3}}
    | id_(?:rsa|dsa|ecdsa|ed25519|ed448)(?:[_-]\w+)? | \w+_(?:rsa|ed25519|ecdsa)
    | (?!{_PUBLIC_PEM})[\w.-]*\.{_KEY_FILE} | terraform\.tfstate\.[\w.-]+
    | environ | [._]?netrc | npmrc | pypirc | access_?keys\.csv | rootkey\.csv | keyfile\.json
    | (?:gcp|gcloud|google|sa|deploy)(?:[_-][\w-]{{1,40}})?[_-]key\.json
    | \.htpasswd | htpasswd | \.\w*history | fish_history | \.?vault[_-]?pass(?:word)?(?:\.txt)?
    | g?shadow-? | sudoers | ssh_host_\w+_key | wallet\.dat | krb5cc_\w+ | k3s\.yaml
    | [\w-]{{0,40}}kubeconfig(?:[_-][\w-]{{1,40}})?(?:\.(?:ya?ml|json|conf))?
    | logins\.json | signons\.sqlite | key[34]\.db | cookies(?:\.(?:sqlite|txt|db|json))? | login\ data | web\ data
    | keyrings? | keychains? | oauth_creds\.json | rclone\.conf | pgpass\.conf | wp-config\.php
    | sftp-config\.json | local\.settings\.json
    | (?:client_secret|service[_-]?account|application_default_credentials)[\w.-]*\.json
    | [\w-]+-firebase-adminsdk[\w-]*\.json
"""
_ENDINGS = pattern(rf"(?<=[^/]){_MORE}{{1,3}}$", re.VERBOSE | re.ASCII)
# Exceptions: public keys, world-readable files, examples and documentation.
_PUBLIC = pattern(
    rf"(?:\.pub|/known_hosts|/authorized_keys|\.ssh/config|/etc/passwd|\.(?:{_EXAMPLE}))$|\.kube/cache|/etc/ssl/certs/"
)
_SOURCES = tuple(
    """.py .pyi .pyc .js .ts .jsx .tsx .mjs .cjs .map .go .rs .java .kt .rb .c .h .cc .cpp .hpp .o .so .cs
    .swift .ex .exs .css .scss .vue .svelte .sql .test .lock .md .rst .html .svg .png .jpg .gif .woff2 .sh""".split()
)
_HOME = pattern(r"(?:~[\w.+-]*|/root|(?:/var|/usr|/export)?/(?:home|users)/[^/]+)(?=/|$)")
_LINKS = pattern(r"proc/[^/]+(?:/task/[^/]+)?/(root|cwd)")
_KERNEL = pattern(
    r"(?:^|/)proc/(?:[^/]+/)?(?:[^/]+/task/[^/]+/|[^/]+/)?(?:environ|mem|fd|kcore|map_files|auxv|syscall|stack)(?:/|$)"
    r"|^(?:/|(?:\.\./)+)dev/(?:mem|kmem|port|mapper|disk|(?:sd|hd|vd|xvd|nvme|mmcblk|dm-|loop|md|sr|nbd|zram)[a-z0-9]*)(?:/|$)"
)
_BETWEEN = pattern(r"[=:@,\s]+")
_WILD = pattern(r"[*?\[\0]")
_NO_LETTERS = pattern(r"[*?\[\]!^\0-]")
_LONGEST_NAME, _MOST_PARTS = 255, 64
_SAMPLES = (
    ".ssh/id_rsa .ssh/id_ed25519 .aws/credentials .kube/config .netrc .env .env.local .envrc .pgpass .git-credentials "
    ".docker/config.json .npmrc .pypirc etc/shadow etc/gshadow etc/sudoers proc/1/environ proc/self/environ dev/sda "
    "dev/mem .bash_history .zsh_history credentials.json secrets.yaml secrets.json server.key server.pem .my.cnf "
    "run/secrets/db terraform.tfstate master.key id_rsa id_ed25519 kubeconfig"
).split()
_WIDE = frozenset("/ /home /users /var/home /mnt /media /proc /run /run/user /dev /volumes /var/lib".split())
_SECRET_WORDS = frozenset(
    "TOKEN TOKENS PASS PASSWD PASSPHRASE PWD PAT CRED CREDS AUTH KEY KEYS APIKEY JWT COOKIE DSN PIN OTP BEARER".split()
)
_SECRET_PARTS = ("SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "CONNECTION_STRING", "ACCESS_KEY", "API_KEY", "_TOKEN")
_STORES = ("DATABASE", "DB", "REDIS", "MONGO", "AMQP", "POSTGRES", "MYSQL", "BROKER", "SMTP")
_NO_SECRETS = frozenset("PWD OLDPWD SSH_AUTH_SOCK KEY KEYS PASS MAX_TOKENS NUM_TOKENS".split())


# Each name above has a dot, an underscore or one of these in it. Compiling it all takes longer than judging a command.
_HINTS = tuple(
    """. _ cred secret token pass apikey api-key private codes seed mnemonic environ netrc npmrc pypirc shadow sudoers
    kubeconfig cookies data keyring keychain""".split()
)


@cache
def _name() -> re.Pattern[str]:
    return re.compile(rf"(?:{_NAMES}){_MORE}{{0,3}}", re.VERBOSE | re.ASCII)


def is_secret_name(name: str) -> bool:
    """Is this the name of a file with credentials? For names without a directory. Test files and hidden
    directories with it: a plain word such as `secrets` is also a usual name for a package."""
    if name.endswith(_SOURCES) and name[0] != ".":  # the fast path for most files of a project
        return False
    name = name.lower()
    if len(name) > _LONGEST_NAME or not any(hint in name for hint in _HINTS):
        return False
    return _name().fullmatch(name) is not None


def is_secret_variable(name: str) -> bool:
    """Does a variable of this name usually hold a credential?"""
    name = name.upper()
    if name in _NO_SECRETS:
        return False
    words = name.split("_")
    if words[-1] in ("COUNT", "LIMIT", "TTL", "TYPE", "NAME", "LENGTH"):
        return False
    if words[-1] in ("URL", "URI"):
        return any(word.startswith(_STORES) or word == "WEBHOOK" for word in words)
    return not _SECRET_WORDS.isdisjoint(words) or any(part in name for part in _SECRET_PARTS)


def normalise(path: str) -> str:
    """Return the path without `.`, `..`, `//` and the links of /proc to the root and the current directory."""
    if "/" not in path:
        return path
    start = "/" if path.startswith("/") else ""
    parts: list[str] = []
    for part in path.split("/"):
        if part in ("", "."):
            continue
        if part != "..":
            parts.append(part)
        elif parts and parts[-1] != "..":
            if parts.pop().startswith("~") and not parts and not start:
                start, parts = "/", ["home"]
        elif not start:
            parts.append("..")
        if part in ("root", "cwd") and start and (found := _LINKS.fullmatch("/".join(parts[:6]))):
            start, parts = "/" if found[1] == "root" else "", []
    if start and parts[:2] == ["var", "run"]:
        parts = parts[1:]
    if start and parts[:1] == ["private"]:  # macOS
        parts = parts[1:]
    return start + "/".join(parts) or "."


def is_secret(path: str) -> bool:
    """Could reading this file show a credential?"""
    return any(_is_secret(piece) for piece in _pieces(path.lower()))


def _pieces(text: str) -> Iterator[str]:
    """Yield the text, and the parts of it that could be paths, as in `--file=x`, `HEAD:x` and `@x`."""
    yield text
    if len(found := _BETWEEN.split(text)) > 1:
        yield from filter(None, dict.fromkeys(found))


def _is_secret(path: str) -> bool:
    path = normalise(path)
    if _PUBLIC.search(path):
        return False
    if any(mark in path for mark in "*?["):
        return _could_match(path) or _names_secret(re.sub(r"[*?]|\[[^]/]*\]", "x", path))
    return _names_secret(path)


def _names_secret(path: str) -> bool:
    *above, last = path.split("/")
    if is_secret_name(last) or _KERNEL.search(path):
        return True
    if not above:
        return False
    is_source = last.endswith(_SOURCES)  # src/secrets/vault.py is a module
    if any(is_secret_name(part) for part in above if part.startswith(".") or not is_source):
        return True
    return any(_is_listed([*above, name]) for name in {last, _ENDINGS.sub("", last)})


def _is_listed(parts: Sequence[str]) -> bool:
    homes = _home_secrets()
    starts = [at for at, part in enumerate(parts) if part in homes]
    if any("/".join(parts[at : at + length]) in homes[parts[at]] for at in starts for length in (2, 3, 4, 5)):
        return True
    if parts[0] not in ("", ".."):
        return False
    parts = [part for part in parts if part not in ("", "..")]
    parts = parts[1:] if parts[:1] == ["home"] else parts  # from `~/..`
    return any(len(parts) >= len(one) and all(map(fnmatchcase, parts, one)) for one in _system_secrets())


@cache
def _home_secrets() -> dict[str, set[str]]:
    """The places below a home directory by the first part of their paths."""
    found: dict[str, set[str]] = {}
    for path in HOME_SECRETS:
        found.setdefault(path.lower().partition("/")[0], set()).add(path.lower())
    return found


@cache
def _home_paths() -> list[list[str]]:
    return [path.lower().split("/") for path in HOME_SECRETS]


@cache
def _system_secrets() -> list[tuple[str, ...]]:
    return [tuple(path.lower().split("/")[1:]) for path in SYSTEM_SECRETS]


@cache
def _home_holders() -> frozenset[tuple[str, ...]]:
    """Directories below a home directory that contain credentials, such as `.config`."""
    paths = [tuple(path.lower().split("/")) for path in HOME_SECRETS]
    return frozenset(path[:length] for path in paths for length in range(1, len(path)))


def _could_match(pattern: str) -> bool:
    """Could the pattern match a file with credentials?"""
    parts = pattern.split("/")
    if len(parts) > _MOST_PARTS or any(len(part) > _LONGEST_NAME for part in parts):
        return True
    found = _HOME.match(pattern)
    if found or parts[0].startswith((".", "[.")):
        rest = pattern[found.end() + 1 :].split("/") if found else parts
        if _matches_one(rest, _home_paths()):
            return True
    if parts[0] in ("", "..") and _matches_one(parts[1:], _system_secrets()):
        return not pattern.endswith((".conf", ".cfg"))  # /etc/*.conf is mostly harmless
    return _fits_sample(parts)


def _matches_one(patterns: Sequence[str], paths: Iterable[Sequence[str]]) -> bool:
    """Could the patterns match one of the paths, or something below it?"""
    tests = [_matcher(pattern) for pattern in patterns]
    return any(len(tests) >= len(path) and all(map(_call, tests, path)) for path in paths)


def _fits_sample(typed: Sequence[str]) -> bool:
    """Could the patterns match the end of the path of a sample?"""
    tests = [_matcher(pattern) for pattern in typed]
    # An extension alone, as in *.json, is no match, and a lone * does not match hidden files.
    letters = len(_NO_LETTERS.sub("", typed[-1]))
    stem_letters = len(_NO_LETTERS.sub("", typed[-1].rpartition(".")[0] or typed[-1]))
    for real in _samples():
        hidden = real[-1].startswith(".")
        if (letters >= 1 if hidden else stem_letters >= 2) and tests[-1](real[-1]):
            return True
        length = min(len(tests), len(real))
        if length > 1 and typed[-length] != "*" and all(map(_call, tests[-length:], real[-length:])):
            return True
    return False


@cache
def _samples() -> list[list[str]]:
    return [sample.split("/") for sample in _SAMPLES]


@lru_cache(maxsize=64)
def _matcher(pattern: str) -> Callable[[str], bool]:
    """Return a test whether the pattern matches a name."""
    if not _WILD.search(pattern):
        return pattern.__eq__
    found = re.compile(translate(pattern.replace("\0", "*").replace("[^", "[!"))).match
    shows_hidden = pattern.startswith((".", "[", "\0"))
    return lambda name: (shows_hidden or name[0] != ".") and found(name) is not None


def _call(test: Callable[[str], bool], name: str) -> bool:
    return test(name)


def is_wide(path: str) -> bool:
    """Would a search through this directory read credentials: a home directory, a whole disk, `~/.config`?"""
    path = normalise(path.lower())
    if path in _WIDE or re.fullmatch(r"/\*|/proc/[^/]+|(?:\.\./)*\.\.|/(?:home|users)/[*?]+", path):
        return True
    found = _HOME.match(path)
    rest = path[found.end() + 1 :] if found else path
    if found and rest in ("", "*", ".*"):
        return True
    return bool(found or rest.startswith(".")) and tuple(rest.split("/")) in _home_holders()
