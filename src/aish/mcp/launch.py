"""What a server gets from us: its environment, its headers, and an identity of its settings.

Pure: settings and variables in, values out.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from aish.values.tool_servers import ServerTrouble

# Enough to find programs, the home directory, the language and certificates. No keys, tokens or agents.
_KEPT = frozenset(
    """
    PATH HOME USER LOGNAME SHELL LANG LANGUAGE TZ TERM TMPDIR NO_COLOR XDG_CONFIG_HOME XDG_DATA_HOME XDG_CACHE_HOME
    XDG_STATE_HOME XDG_RUNTIME_DIR VIRTUAL_ENV CONDA_PREFIX PYENV_ROOT NVM_DIR NVM_BIN NODE_PATH GOPATH CARGO_HOME
    RUSTUP_HOME JAVA_HOME ASDF_DIR MISE_DATA_DIR SSL_CERT_FILE SSL_CERT_DIR NODE_EXTRA_CA_CERTS REQUESTS_CA_BUNDLE
    """.split()
)


def filled(text: str, variables: Mapping[str, str]) -> str:
    """Replace `${NAME}` by the user's variables. Raises `ServerTrouble` if there is no such variable."""

    def value(found: re.Match[str]) -> str:
        if found[1] in variables:
            return variables[found[1]]
        if found[2] is not None:
            return found[2]
        raise ServerTrouble(f"needs the environment variable {found[1]}, which is not set")

    return re.sub(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}", value, text)


def server_environment(given: Mapping[str, str], passed_on: list[str], variables: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a server: a short list of variables, and those that the settings give it."""
    kept = {name: value for name, value in variables.items() if name in _KEPT or name.startswith("LC_")}
    missing = [name for name in passed_on if name not in variables]
    if missing:
        raise ServerTrouble(f"needs the environment variable {', '.join(missing)}, which is not set")
    kept |= {name: variables[name] for name in passed_on}
    return kept | {name: filled(value, variables) for name, value in given.items()}


def server_headers(
    given: Mapping[str, str], from_variables: Mapping[str, str], variables: Mapping[str, str]
) -> dict[str, str]:
    """Return the headers for a server."""
    headers = {name: filled(value, variables) for name, value in given.items()}
    headers |= {name: filled(f"${{{variable}}}", variables) for name, variable in from_variables.items()}
    wrong = [name for name, value in headers.items() if not value.isprintable() or not name.isprintable()]
    if wrong:
        raise ServerTrouble(f"the header {wrong[0]!r} has characters that cannot be sent")
    return headers


def digest_of(*parts: Any) -> str:
    """Return a checksum of values, which differs if any of them does."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()
