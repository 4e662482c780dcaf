"""HTTP client for package indexes: logins, proxies and certificates as in pip and uv, and resumable downloads.

`aish.model.http` is for streamed answers. Indexes need redirects, logins and proxies, which urllib supports.
"""

import base64
import http.client
import netrc
import os
import re
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from email.message import Message
from pathlib import Path
from typing import IO
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit

from aish import __version__
from aish.model.http import is_this_machine
from aish.model.index_settings import IndexSettings
from aish.model.proxies import proxy_for
from aish.values.named_tuple import NamedTuple

Progress = Callable[[int, int], None]  # bytes done, bytes in total
_SILENCE_SECONDS = 30.0
_CHUNK = 1 << 18
_MAX_PAGE = 32 << 20
_NETWORK = (OSError, http.client.HTTPException, ValueError)  # ValueError: an invalid address or response


class IndexTrouble(Exception):
    """A package index cannot be used; the message is one line."""


class Page(NamedTuple):
    """A page of an index: its final URL, content type and text."""

    url: str
    kind: str
    text: str


class IndexClient:
    """Sends requests to package indexes. A login in the URL of an index applies to all files on the same host."""

    def __init__(self, settings: IndexSettings, env: Mapping[str, str]) -> None:
        self._settings = settings
        self._env = env
        self._logins: dict[str, str] = {}

    def page(self, url: str, accept: str) -> Page | None:
        """Fetch a page; None if the index does not have it. Raises `IndexTrouble`."""
        found = self._open(url, {"Accept": accept})
        if found is None:
            return None
        with found.body:
            text = _read(found, _MAX_PAGE).decode("utf-8", "replace")
        return Page(found.url, found.headers.get_content_type(), text)

    def download(self, url: str, target: IO[bytes], progress: Progress) -> None:
        """Fetch a file. Resumes after the bytes already in `target`, and keeps them after a failure.

        Raises:
            IndexTrouble: the rest could not be fetched.
            OSError: `target` could not be written.
        """
        while True:
            before = target.seek(0, os.SEEK_END)
            try:
                self._download_rest(url, target, before, progress)
                return
            except IndexTrouble:
                if target.seek(0, os.SEEK_END) <= before:
                    raise  # no progress, so another try is pointless

    def _download_rest(self, url: str, target: IO[bytes], have: int, progress: Progress) -> None:
        found = self._open(url, {"Range": f"bytes={have}-"} if have else {})
        if found is None:
            raise IndexTrouble(f"{_host(url)} lists {_file_name(url)} but does not have it")
        with found.body:
            span = found.headers.get("Content-Range", "")
            if have and found.status == 416 and span == f"bytes */{have}":
                return  # the file is already complete
            if have and not (found.status == 206 and span.startswith(f"bytes {have}-")):
                target.truncate(0)  # the server cannot resume, or the file has changed
                if found.status != 200:
                    self._download_rest(url, target, 0, progress)
                    return
                have = 0
            rest = found.headers.get("Content-Length", "")
            size = have + int(rest) if rest.isdecimal() else 0
            while piece := _read(found, _CHUNK):
                target.write(piece)
                have += len(piece)
                if size:
                    progress(have, size)
            target.flush()
            if have < size:
                raise IndexTrouble(f"{_host(url)} closed the connection too early")

    def _open(self, url: str, headers: Mapping[str, str]) -> "_Found | None":
        try:
            request = self._request(url, headers)
            body = self._opener(urlsplit(request.full_url)).open(request, timeout=_SILENCE_SECONDS)
            return _Found(body.url, body.status, body.headers, body)
        except urllib.error.HTTPError as error:
            if error.code in (404, 410):
                error.close()
                return None
            if error.code == 416 and "Range" in headers:
                return _Found(url, error.code, error.headers, error)
            error.close()
            hint = "; check the login in the index URL or in ~/.netrc" if error.code in (401, 403) else ""
            raise IndexTrouble(f"{_host(url)} answered {error.code}{hint}") from None
        except _NETWORK as error:
            raise _trouble(url, error) from None

    def _request(self, url: str, headers: Mapping[str, str]) -> urllib.request.Request:
        address = urlsplit(url)
        if address.scheme not in ("http", "https") or not address.hostname:
            raise IndexTrouble(f"{_host(url)}: not an http(s) address")
        login, _, host = address.netloc.rpartition("@")
        if login:
            name, _, password = login.partition(":")
            self._logins[host] = f"{unquote(name)}:{unquote(password)}"
        request = urllib.request.Request(
            urlunsplit(address._replace(netloc=host)), headers={"User-Agent": f"aish/{__version__}", **headers}
        )
        if login := self._logins.get(host) or self._netrc(address.hostname):
            # Unredirected: the login must not go to the host of a redirect.
            request.add_unredirected_header("Authorization", f"Basic {base64.b64encode(login.encode()).decode()}")
        return request

    def _netrc(self, host: str) -> str:
        try:
            found = netrc.netrc(self._env.get("NETRC") or None).authenticators(host)
        except (OSError, RuntimeError, netrc.NetrcParseError):  # missing or invalid
            return ""
        return f"{found[0]}:{found[2]}" if found else ""

    def _opener(self, address: SplitResult) -> urllib.request.OpenerDirector:
        proxies = {}
        if not is_this_machine(address.hostname or ""):
            for scheme in ("http", "https"):
                proxies[scheme] = self._settings.proxy or proxy_for(address._replace(scheme=scheme), self._env)
        used = {scheme: proxy for scheme, proxy in proxies.items() if proxy}
        return urllib.request.build_opener(
            urllib.request.ProxyHandler(used), urllib.request.HTTPSHandler(context=self._context(address))
        )

    def _context(self, address: SplitResult) -> ssl.SSLContext:
        bundle = self._settings.cert
        directory = bundle if bundle and Path(bundle).is_dir() else None
        try:
            context = ssl.create_default_context(cafile=None if directory else bundle or None, capath=directory)
        except OSError as error:
            raise IndexTrouble(f"cannot read the certificates in {bundle}: {error.strerror or error}") from None
        if self._settings.trusted_hosts.intersection([address.hostname, address.netloc]):
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context


class _Found(NamedTuple):
    url: str
    status: int
    headers: Message
    body: IO[bytes]


def _read(found: _Found, size: int) -> bytes:
    try:
        return found.body.read(size)
    except _NETWORK as error:
        raise _trouble(found.url, error) from None


def _trouble(url: str, error: Exception) -> IndexTrouble:
    """Return a network error as one line, whichever layer raised it."""
    cause = error.reason if isinstance(error, urllib.error.URLError) and isinstance(error.reason, OSError) else error
    if isinstance(cause, TimeoutError):
        reason = f"sent nothing for {_SILENCE_SECONDS:g} s"
    elif isinstance(cause, ssl.SSLError):
        reason = f"TLS connection failed: {getattr(cause, 'verify_message', '') or cause.reason or cause}"
    elif isinstance(cause, (ValueError, http.client.InvalidURL)):  # their texts may quote a login
        reason = "invalid index URL, proxy setting or answer"
    else:
        reason = getattr(cause, "strerror", "") or str(cause) or type(cause).__name__
    return IndexTrouble(f"{_host(url)}: {' '.join(reason.split())}")


def _host(url: str) -> str:
    """Return the host of an address, without its login. An `@` in the path means that the login has a `/`."""
    place, _, path = re.sub(r"^\w+://", "", url).partition("/")
    host = place.rpartition("@")[2]
    return host if host and "@" not in path else "the package index"


def _file_name(url: str) -> str:
    return unquote(urlsplit(url).path).rpartition("/")[2]
