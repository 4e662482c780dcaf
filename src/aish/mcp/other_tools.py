"""MCP servers in the settings of other tools: where these are, and what is in them.

Pure: takes the text of a file, returns values. Secrets are not copied, but replaced by names of variables.
"""

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from aish.values.errors import BadUsage
from aish.values.named_tuple import NamedTuple

# Relative to the home directory, and to the project.
HOME_FILES = (
    ".claude.json",
    ".claude/settings.json",
    ".config/Claude/claude_desktop_config.json",
    "Library/Application Support/Claude/claude_desktop_config.json",
    ".cursor/mcp.json",
    ".config/Code/User/mcp.json",
    ".config/Code/User/settings.json",
    ".codex/config.toml",
    ".gemini/settings.json",
    ".config/opencode/opencode.json",
    ".config/opencode/opencode.jsonc",
    ".codeium/windsurf/mcp_config.json",
)
PROJECT_FILES = (
    ".mcp.json",
    ".cursor/mcp.json",
    ".vscode/mcp.json",
    ".vscode/settings.json",
    ".codex/config.toml",
    ".gemini/settings.json",
    "opencode.json",
    "opencode.jsonc",
)
_SECRET_NAME = re.compile(r"(?i)(key|token|secret|passw|credential|auth|bearer|cookie|session|(^|_)pat($|_))")
_PLACEHOLDER = re.compile(r"\$\{(?:env:)?[A-Za-z_][A-Za-z0-9_]*(?::-[^}]*)?\}")
_INPUT = re.compile(r"\$\{input:([^}]*)\}|\$?\{env:([A-Za-z_][A-Za-z0-9_]*)\}|\$([A-Za-z_][A-Za-z0-9_]*)")
_PROJECT = re.compile(r"\$\{workspaceFolder(?::[^}]*)?\}")
_HOME = re.compile(r"\$\{userHome\}")
_FLAG = re.compile(r"--?[\w-]+")
_LOGIN = re.compile(r"//[^/@\s]*:[^/@\s$]+@")  # user:password@host


class FoundServer(NamedTuple):
    """A server as our settings would have it, and what the user must know about it."""

    name: str
    values: dict[str, Any]
    notes: tuple[str, ...] = ()


def read_servers(text: str, file: str, has_secret: Callable[[str], bool]) -> list[FoundServer]:
    """Return the servers in the settings of another tool. Raises `BadUsage` if the file cannot be parsed."""
    values = _parse(text, file)
    found: dict[str, FoundServer] = {}
    for name, given in _tables(values):
        server = _Converted(name, has_secret).convert(given)
        if server and name not in found:
            found[name] = server
    return list(found.values())


def _parse(text: str, file: str) -> Mapping[str, Any]:
    try:
        values: Any = tomllib.loads(text) if file.endswith(".toml") else json.loads(_without_comments(text) or "{}")
        # half of a surrogate pair is valid JSON, but cannot be stored
        values = json.loads(json.dumps(values, ensure_ascii=False, default=str).encode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise BadUsage(f"{file} cannot be read: {error}") from None
    if not isinstance(values, Mapping):
        raise BadUsage(f"{file} holds no settings")
    return values


def _without_comments(text: str) -> str:
    """Return JSON without the comments and trailing commas that some tools allow."""
    strings = r'"(?:\\.|[^"\\])*"'
    text = re.sub(
        rf"({strings})|//[^\n]*|/\*.*?\*/", lambda found: found[1] or "", text.lstrip("\ufeff"), flags=re.DOTALL
    )
    return re.sub(rf"({strings})|,(?=\s*[}}\]])", lambda found: found[1] or "", text)


def _tables(values: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield each server with its settings, in whichever place a tool keeps them."""
    mcp = _table(values.get("mcp"))
    places = [values.get("mcpServers"), values.get("mcp_servers"), values.get("servers"), mcp.get("servers")]
    places += [_table(one).get("mcpServers") for one in _table(values.get("projects")).values()]
    places.append({name: one for name, one in mcp.items() if _table(one).get("type") in ("local", "remote")})
    for place in places:
        for name, given in _table(place).items():
            if isinstance(given, Mapping) and str(name).strip():
                yield str(name), given


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _strings(value: object) -> dict[str, str]:
    return {str(name): str(item) for name, item in _table(value).items() if isinstance(item, str | int | float)}


class _Converted:
    """Converts one server."""

    def __init__(self, name: str, has_secret: Callable[[str], bool]) -> None:
        self._name, self._has_secret = name, has_secret
        self._notes: list[str] = []
        self._values: dict[str, Any] = {}
        self._variables = 0

    def convert(self, given: Mapping[str, Any]) -> FoundServer | None:
        command, url = given.get("command"), given.get("url") or given.get("httpUrl") or given.get("serverUrl")
        if isinstance(command, str | list) and command:
            self._take_program(command, given)
        elif isinstance(url, str) and url:
            self._take_address(url, given)
        else:
            return None
        if given.get("disabled") is True or given.get("enabled") is False:
            self._values["enabled"] = False
        return FoundServer(self._name, self._values, tuple(dict.fromkeys(self._notes)))

    def _take_program(self, command: str | Sequence[Any], given: Mapping[str, Any]) -> None:
        words = [command] if isinstance(command, str) else [str(word) for word in command]
        args = given.get("args")
        words += [str(word) for word in args] if isinstance(args, list) else []
        self._values["command"] = self._filled(words[0])
        if words[1:]:
            flags = [word if _FLAG.fullmatch(word) else "" for word in words]
            args = zip(words[1:], flags, strict=False)
            self._values["args"] = [self._safe(word, "ARGUMENT", flag) for word, flag in args]
        if isinstance(given.get("cwd"), str):
            self._values["cwd"] = self._filled(given["cwd"]) or "."
        elif any(_PROJECT.search(word) for word in words):
            self._values["cwd"] = "."  # the project
        env, passed_on = dict[str, str](), list[str]()
        for name, value in {**_strings(given.get("environment")), **_strings(given.get("env"))}.items():
            value = self._filled(value)
            if value == f"${{{name}}}" or self._is_secret(name, value):
                passed_on.append(name)
                if value != f"${{{name}}}":
                    self._notes.append(f"set {name} before you start aish; its value was not copied")
            else:
                env[name] = value
        names = given.get("env_vars")
        passed_on += [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
        self._values |= {"env": env} if env else {}
        self._values |= {"env_from": list(dict.fromkeys(passed_on))} if passed_on else {}

    def _take_address(self, url: str, given: Mapping[str, Any]) -> None:
        self._values["url"] = self._safe(url, "URL")
        if given.get("type") == "sse":
            self._notes.append(
                "it uses the older SSE transport, which aish does not speak; it works only if the server has both"
            )
        headers, from_variables = dict[str, str](), _strings(given.get("env_http_headers"))
        for name, value in {**_strings(given.get("http_headers")), **_strings(given.get("headers"))}.items():
            value = self._filled(value)
            if self._is_secret(name, value):
                scheme = re.match(r"(?i)(bearer|basic|token)\s+", value)
                headers[name] = f"{scheme[0] if scheme else ''}${{{self._variable(name)}}}"
            else:
                headers[name] = value
        if isinstance(given.get("bearer_token_env_var"), str):
            headers["Authorization"] = f"Bearer ${{{given['bearer_token_env_var']}}}"
        self._values |= {"headers": headers} if headers else {}
        self._values |= {"headers_env": from_variables} if from_variables else {}

    def _filled(self, text: str) -> str:
        """Return the text with the placeholders of other tools in our form."""

        def ours(found: re.Match[str]) -> str:
            if found[1] is None:
                return f"${{{found[2] or found[3]}}}"
            name = re.sub(r"[^A-Za-z0-9]+", "_", found[1]).strip("_").upper() or "INPUT"
            self._notes.append(f"set {name} before you start aish; the other tool asks for it")
            return f"${{{name}}}"

        text = _PROJECT.sub(".", _HOME.sub("${HOME}", text))
        return _INPUT.sub(ours, text)

    def _is_secret(self, name: str, value: str) -> bool:
        """A value that is more than placeholders, and by its name or its form a secret."""
        literal = re.sub(r"(?i)^(bearer|basic|token)\s+", "", _PLACEHOLDER.sub("", value)).strip()
        return bool(literal) and (_SECRET_NAME.search(name) is not None or self._has_secret(f"{name}={value}"))

    def _safe(self, text: str, what: str, flag: str = "") -> str:
        """Return the text, or a variable in its place if it holds a secret. `flag` is the word before it."""
        text = self._filled(text)
        if flag and not text.startswith("-") and self._is_secret(flag, text):
            return f"${{{self._variable(flag)}}}"
        option = re.match(r"(--?[\w-]+=|[A-Z_][A-Z0-9_]*=)", text)
        named = bool(option and _SECRET_NAME.search(option[0]) and self._is_secret("key", text[option.end() :]))
        in_query = re.search(r"(?i)[?&][\w-]*(key|token|secret|sig)[\w-]*=[^$&]", text) is not None
        if not (named or in_query or _LOGIN.search(text) or self._has_secret(text)):
            return text
        start = option[0] if option else ""
        return f"{start}${{{self._variable(what)}}}"

    def _variable(self, what: str) -> str:
        self._variables += 1
        name = re.sub(r"[^A-Za-z0-9]+", "_", f"{self._name}_{what}").strip("_").upper()
        name = f"{name}_{self._variables}" if self._variables > 1 else name
        name = f"MCP_{name}" if name[:1].isdigit() else name
        self._notes.append(f"set {name} before you start aish; its value was not copied")
        return name
