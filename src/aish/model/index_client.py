"""HTTP client for package indexes: logins, proxies and certificates as in pip and uv, and resumable downloads.

`aish.model.http` is for streamed answers. Indexes need redirects, logins and proxies, which urllib supports.

A host that has answered once is asked again after a break: a laptop that wakes up has no network for some seconds. A
host that was never reached is trouble at once.
"""

import base64
import http.client
import netrc
import os
import re
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from email.message import Message
from pathlib import Path
from typing import IO, Any, TypeVar
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit

from aish import __version__
from aish.model.http import is_this_machine
from aish.model.index_settings import IndexSettings
from aish.model.proxies import proxy_for
from aish.values.named_tuple import NamedTuple

Progress = Callable[[int, int], None]  # bytes done, bytes in total (0: unknown)
Done = TypeVar("Done")
_SILENCE_SECONDS = 30.0
_PAUSES = (1.0, 2.0, 5.0, 10.0, 15.0)  # seconds between tries without progress
_BUSY = (408, 425, 429)  # statuses that pass, as those from 500 do
_CHUNK = 1 << 18
_MAX_PAGE = 32 << 20
_NETWORK = (OSError, http.client.HTTPException, ValueError)  # ValueError: an invalid address or response


class IndexTrouble(Exception):
    """A package index cannot be used; the message is one line. Trouble that is `passing` may end by itself."""

    def __init__(self, message: str, *, passing: bool = False) -> None:
        super().__init__(message)
        self.passing = passing


class Page(NamedTuple):
    """A page of an index: its final URL, content type and text."""

    url: str
    kind: str
    text: str


class IndexClient:
    """Sends requests to package indexes. A login in the URL of an index applies to all files on the same host."""

    def __init__(
        self,
        settings: IndexSettings,
        env: Mapping[str, str],
        *,
        sleep: Callable[[float], object] = time.sleep,
        silence: float = _SILENCE_SECONDS,
    ) -> None:
        self._settings = settings
        self._env = env
        self._sleep = sleep
        self._silence = silence
        self._logins: dict[str, str] = {}
        self._reached = set[str]()  # hosts that have answered

    def page(self, url: str, accept: str) -> Page | None:
        """Fetch a page; None if the index does not have it. Raises `IndexTrouble`."""
        return self._persist(url, lambda: self._page(url, accept), lambda: 0)

    def _page(self, url: str, accept: str) -> Page | None:
        found = self._open(url, {"Accept": accept})
        if found is None:
            return None
        with found.body:
            text = self._read(found, _MAX_PAGE).decode("utf-8", "replace")
        return Page(found.url, found.headers.get_content_type(), text)

    def download(self, url: str, target: IO[bytes], progress: Progress) -> None:
        """Fetch a file. Resumes after the bytes already in `target`, and keeps them after a failure.

        Raises:
            IndexTrouble: the rest could not be fetched.
            OSError: `target` could not be written.
        """
        self._persist(url, lambda: self._download_rest(url, target, progress), lambda: target.seek(0, os.SEEK_END))

    def _persist(self, url: str, attempt: Callable[[], Done], have: Callable[[], int]) -> Done:
        """Try as long as each try makes progress, and a few times more after a break. Raises `IndexTrouble`."""
        pauses = iter(_PAUSES)
        while True:
            before = have()
            try:
                done = attempt()
                self._reached.add(_host(url))
                return done
            except IndexTrouble as error:
                if have() > before:
                    self._reached.add(_host(url))
                    pauses = iter(_PAUSES)
                    continue
                pause = next(pauses, None)
                if pause is None or not error.passing or _host(url) not in self._reached:
                    raise
            self._sleep(pause)

    def _download_rest(self, url: str, target: IO[bytes], progress: Progress) -> None:
        have = target.seek(0, os.SEEK_END)
        found = self._open(url, {"Range": f"bytes={have}-"} if have else {})
        if found is None:
            raise IndexTrouble(f"{_host(url)} lists it but does not have it")
        with found.body:
            span = found.headers.get("Content-Range", "")
            if have and found.status == 416 and span == f"bytes */{have}":
                return  # the file is already complete
            if have and not (found.status == 206 and span.startswith(f"bytes {have}-")):
                target.truncate(target.seek(0))  # the server cannot resume, or the file has changed
                if found.status != 200:
                    self._download_rest(url, target, progress)
                    return
                have, span = 0, ""
            size = _whole(span, found.headers.get("Content-Length", ""), have)
            while piece := self._read_some(found):
                target.write(piece)
                have += len(piece)
                progress(have, size)
            target.flush()
            if have < size:
                raise IndexTrouble(f"{_host(url)} closed the connection too early", passing=True)

    def _open(self, url: str, headers: Mapping[str, str]) -> "_Found | None":
        try:
            request = self._request(url, headers)
            body = self._opener(urlsplit(request.full_url)).open(request, timeout=self._silence)
            return _Found(body.url, body.status, body.headers, body)
        except urllib.error.HTTPError as error:
            if error.code in (404, 410):
                error.close()
                return None
            if error.code == 416 and "Range" in headers:
                return _Found(url, error.code, error.headers, error)
            error.close()
            hint = "; check the login in the index URL or in ~/.netrc" if error.code in (401, 403) else ""
            passing = error.code >= 500 or error.code in _BUSY
            raise IndexTrouble(f"{_host(url)} answered {error.code}{hint}", passing=passing) from None
        except _NETWORK as error:
            raise self._trouble(url, error) from None

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

    def _read(self, found: "_Found", size: int) -> bytes:
        try:
            return bytes(found.body.read(size))
        except _NETWORK as error:
            raise self._trouble(found.url, error) from None

    def _read_some(self, found: "_Found") -> bytes:
        """Return what has arrived: `read` would wait for a full chunk, and lose the part of it before a break."""
        try:
            return bytes(found.body.read1(_CHUNK))
        except _NETWORK as error:
            raise self._trouble(found.url, error) from None

    def _trouble(self, url: str, error: Exception) -> IndexTrouble:
        """Return a network error as one line, whichever layer raised it."""
        cause = (
            error.reason if isinstance(error, urllib.error.URLError) and isinstance(error.reason, OSError) else error
        )
        passing = not isinstance(cause, (ValueError, http.client.InvalidURL, ssl.SSLCertVerificationError))
        if isinstance(cause, TimeoutError):
            reason = f"sent nothing for {self._silence:g} s"
        elif isinstance(cause, ssl.SSLError):
            reason = f"TLS connection failed: {getattr(cause, 'verify_message', '') or cause.reason or cause}"
        elif isinstance(cause, (ValueError, http.client.InvalidURL)):  # their texts may quote a login
            reason = "invalid index URL, proxy setting or answer"
        else:
            reason = getattr(cause, "strerror", "") or str(cause) or type(cause).__name__
        return IndexTrouble(f"{_host(url)}: {' '.join(reason.split())}", passing=passing)


class _Found(NamedTuple):
    url: str
    status: int
    headers: Message
    body: Any  # an HTTPResponse, or the HTTPError that has it


def _whole(span: str, length: str, have: int) -> int:
    """Return the size of a file from the headers of an answer with its rest, 0 if they do not tell.

    `Content-Range` counts more: a proxy that cuts answers adapts their `Content-Length`.
    """
    total = span.rpartition("/")[2]
    if total.isdecimal():
        return int(total)
    return have + int(length) if length.isdecimal() else 0


def _host(url: str) -> str:
    """Return the host of an address, without its login. An `@` in the path means that the login has a `/`."""
    place, _, path = re.sub(r"^\w+://", "", url).partition("/")
    host = place.rpartition("@")[2]
    return host if host and "@" not in path else "the package index"
