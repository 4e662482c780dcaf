"""Read the package index settings of pip and uv: indexes, proxies and certificates.

Both tools are read, since either may have installed aish: first the environment, then their files. The default is the
public index.
"""

import configparser
import os
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from aish.values.named_tuple import NamedTuple

PUBLIC_INDEX = "https://pypi.org/simple"
_PIP_SECTIONS = ("download", "install", "global")  # the more specific one wins


class IndexSettings(NamedTuple):
    """The settings for requests to package indexes. An unset value is empty."""

    indexes: tuple[str, ...] = ()  # simple APIs (PEP 503); the project name is appended
    find_links: tuple[str, ...] = ()  # directories or pages that list files
    cert: str = ""  # a bundle of certificate authorities
    proxy: str = ""  # for all requests; without it the environment decides
    trusted_hosts: frozenset[str] = frozenset()  # hosts whose certificate is not checked


class _Source(NamedTuple):
    """The settings of one source: the environment of a tool, or one of its files."""

    default: str = ""
    extra: tuple[str, ...] = ()
    find_links: tuple[str, ...] = ()
    no_index: bool = False
    cert: str = ""
    proxy: str = ""
    trusted_hosts: tuple[str, ...] = ()


def read_index_settings(env: Mapping[str, str], home: Path, etc: Path = Path("/etc")) -> IndexSettings:
    """Read everything that pip and uv would read for an installation outside a project."""
    files = [*_uv_files(env, home, etc), *_pip_files(env, home, etc)]
    sources = [_uv_environment(env), _pip_environment(env), *files]
    default = next((source.default for source in sources if source.default), PUBLIC_INDEX)
    indexes = [*(url for source in sources for url in source.extra), default]
    links = [link for source in sources for link in source.find_links]
    bundles = [*(source.cert for source in sources), env.get("REQUESTS_CA_BUNDLE", ""), env.get("CURL_CA_BUNDLE", "")]
    return IndexSettings(
        indexes=() if any(source.no_index for source in sources) else tuple(dict.fromkeys(indexes)),
        find_links=tuple(dict.fromkeys(links)),
        cert=next(filter(None, bundles), ""),
        proxy=next((source.proxy for source in sources if source.proxy), ""),
        trusted_hosts=frozenset(host for source in sources for host in source.trusted_hosts),
    )


def _uv_environment(env: Mapping[str, str]) -> _Source:
    named = [entry.split("=", 1)[-1] if _is_named(entry) else entry for entry in env.get("UV_INDEX", "").split()]
    return _Source(
        default=env.get("UV_DEFAULT_INDEX") or env.get("UV_INDEX_URL", ""),
        extra=(*named, *env.get("UV_EXTRA_INDEX_URL", "").split()),
        find_links=tuple(filter(None, env.get("UV_FIND_LINKS", "").split(","))),
        no_index=_is_true(env.get("UV_NO_INDEX", "")),
        trusted_hosts=tuple(env.get("UV_INSECURE_HOST", "").split()),
    )


def _is_named(entry: str) -> bool:
    """Is an entry of UV_INDEX of the form `name=url`? A URL may contain `=` too."""
    name, separator, _ = entry.partition("=")
    return bool(separator) and "/" not in name


def _pip_environment(env: Mapping[str, str]) -> _Source:
    prefix = "PIP_"
    return _pip_source(
        {
            name.removeprefix(prefix).lower().replace("_", "-"): value
            for name, value in env.items()
            if name.startswith(prefix)
        }
    )


def _pip_source(options: Mapping[str, str]) -> _Source:
    return _Source(
        default=options.get("index-url", ""),
        extra=tuple(options.get("extra-index-url", "").split()),
        find_links=tuple(options.get("find-links", "").split()),
        no_index=_is_true(options.get("no-index", "")),
        cert=options.get("cert", ""),
        proxy=options.get("proxy", ""),
        trusted_hosts=tuple(options.get("trusted-host", "").split()),
    )


def _pip_files(env: Mapping[str, str], home: Path, etc: Path) -> Iterator[_Source]:
    """Yield the settings of pip's files, highest priority first. PIP_CONFIG_FILE=/dev/null means none."""
    chosen = env.get("PIP_CONFIG_FILE", "")
    if chosen == os.devnull:
        return
    user = [_config_home(env, home) / "pip" / "pip.conf", home / ".pip" / "pip.conf"]
    if sys.platform == "darwin":
        user.insert(0, home / "Library" / "Application Support" / "pip" / "pip.conf")
    paths = [Path(chosen)] if chosen and Path(chosen).exists() else user
    paths.append(Path(sys.prefix) / "pip.conf")
    paths += [directory / "pip" / "pip.conf" for directory in _config_directories(env, etc)]
    for path in [*paths, etc / "pip.conf"]:
        parser = configparser.RawConfigParser()
        try:
            parser.read_string(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, configparser.Error):
            continue  # missing or invalid; pip itself reports it
        yield from (_pip_source(parser[section]) for section in _PIP_SECTIONS if parser.has_section(section))


def _uv_files(env: Mapping[str, str], home: Path, etc: Path) -> Iterator[_Source]:
    """Yield the settings of uv's user and system files, highest priority first."""
    if _is_true(env.get("UV_NO_CONFIG", "")):
        return
    paths = [_config_home(env, home) / "uv" / "uv.toml"]
    paths += [directory / "uv" / "uv.toml" for directory in _config_directories(env, etc)]
    chosen = env.get("UV_CONFIG_FILE", "")
    for path in [Path(chosen)] if chosen else [*paths, etc / "uv" / "uv.toml"]:
        try:
            options = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
            continue  # missing or invalid; uv itself reports it
        yield _uv_source(options)


def _uv_source(options: Mapping[str, Any]) -> _Source:
    listed = options.get("index", [])
    tables = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    urls = [(str(each.get("url", "")), bool(each.get("default"))) for each in tables if not each.get("explicit")]
    default = next((url for url, is_default in urls if is_default), "")
    return _Source(
        default=default or str(options.get("index-url", "")),
        extra=(*(url for url, is_default in urls if url and not is_default), *_texts(options.get("extra-index-url"))),
        find_links=_texts(options.get("find-links")),
        no_index=options.get("no-index") is True,
        trusted_hosts=_texts(options.get("allow-insecure-host")),
    )


def _texts(value: object) -> tuple[str, ...]:
    return tuple(each for each in value if isinstance(each, str)) if isinstance(value, list) else ()


def _config_home(env: Mapping[str, str], home: Path) -> Path:
    return Path(env.get("XDG_CONFIG_HOME") or home / ".config")


def _config_directories(env: Mapping[str, str], etc: Path) -> list[Path]:
    return [Path(path) for path in (env.get("XDG_CONFIG_DIRS") or str(etc / "xdg")).split(":") if path]


def _is_true(value: str) -> bool:
    return value.strip().lower() in ("1", "true", "yes", "on", "y", "t")
