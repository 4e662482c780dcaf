"""Find a wheel in the user's package sources: simple indexes (PEP 503, PEP 691), pages and directories."""

import json
import re
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import IO
from urllib.parse import quote, unquote, urljoin, urlsplit

from aish.model.index_client import IndexClient, IndexTrouble, Progress
from aish.model.index_settings import IndexSettings
from aish.values.named_tuple import NamedTuple

_JSON = "application/vnd.pypi.simple.v1+json"
_ACCEPT = f"{_JSON}, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"


class WheelLink(NamedTuple):
    """A wheel that an index offers: at an http(s) address, or a file on this machine."""

    name: str
    url: str
    sha256: str = ""  # empty if the index does not give it

    @property
    def path(self) -> Path | None:
        """The file, if it is on this machine."""
        address = urlsplit(self.url)
        return Path(urllib.request.url2pathname(address.path)) if address.scheme == "file" else None


class PackageIndex:
    """Searches the locations from the settings, one by one."""

    def __init__(self, settings: IndexSettings, env: Mapping[str, str], client: IndexClient | None = None) -> None:
        self._settings = settings
        self._client = client or IndexClient(settings, env)

    def locations(self, project: str) -> list[str]:
        """Return the addresses that may list wheels of the project, local ones first."""
        pages = [f"{_address(index).rstrip('/')}/{_normal(project)}/" for index in self._settings.indexes]
        both = [*map(_address, self._settings.find_links), *pages]
        return sorted(both, key=lambda location: not location.startswith("file:"))

    def find_wheel(self, location: str, project: str, version: str, preferred: str = "") -> WheelLink | None:
        """Return the wheel of this version that a location lists; prefers one with `preferred` in its name.

        Raises:
            IndexTrouble: the location cannot be read.
        """
        if location.startswith("file:"):
            links: Iterable[WheelLink] = _local_links(location, location.removesuffix(f"{_normal(project)}/"))
        else:
            links = _remote_links(location, self._client)
        fitting = (link for link in links if is_wheel_of(link.name, project, version))
        return min(fitting, key=lambda link: (preferred not in link.name, link.name), default=None)

    def download(self, link: WheelLink, target: IO[bytes], progress: Progress) -> None:
        """Download a wheel that is not on this machine; see `IndexClient.download`."""
        self._client.download(link.url, target, progress)


def _address(place: str) -> str:
    """Return a URL; a path becomes a file URL."""
    if re.match(r"[a-z+]{2,}://", place, re.IGNORECASE):
        return place
    path = place.removeprefix("file:")
    return Path(path).expanduser().absolute().as_uri()


def is_wheel_of(name: str, project: str, version: str) -> bool:
    """Return whether a file name is that of a wheel of this project and version."""
    parts = name.removesuffix(".whl").split("-")
    fits = bool(re.fullmatch(r"[\w.!+-]+\.whl", name)) and len(parts) >= 5
    return fits and _normal(parts[0]) == _normal(project) and parts[1] == version


def _normal(project: str) -> str:
    return re.sub(r"[-_.]+", "-", project).lower()


def _local_links(location: str, above: str) -> Iterator[WheelLink]:
    """Yield the wheels of a location. `above` is what messages call it: without the name of the project."""
    path = Path(urllib.request.url2pathname(urlsplit(location).path))
    try:
        if path.is_dir():
            yield from (WheelLink(file.name, file.as_uri()) for file in path.absolute().glob("*.whl"))
            path = path / "index.html"
        if path.suffix == ".whl" and path.is_file():
            yield WheelLink(path.name, path.absolute().as_uri())
        elif path.is_file():
            yield from _links_of_html(path.absolute().as_uri(), path.read_text(encoding="utf-8", errors="replace"))
    except OSError as error:
        place = urllib.request.url2pathname(urlsplit(above).path)
        raise IndexTrouble(f"cannot read {place}: {error.strerror or error}") from None


def _remote_links(location: str, client: IndexClient) -> Iterable[WheelLink]:
    page = client.page(location, _ACCEPT)
    if page is None:
        return []
    found = _links_of_json(page.url, page.text) if page.kind == _JSON else _links_of_html(page.url, page.text)
    return (
        link for link in found if link.url.startswith(("http://", "https://"))
    )  # a remote page must not link to local files


def _links_of_json(base: str, text: str) -> Iterator[WheelLink]:
    try:
        for file in json.loads(text)["files"]:
            yield WheelLink(str(file["filename"]), urljoin(base, file["url"]), str(file["hashes"].get("sha256", "")))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise IndexTrouble(f"{urlsplit(base).hostname} is not a package index") from None


def _links_of_html(base: str, text: str) -> Iterator[WheelLink]:
    parser = _Anchors(base)
    try:
        parser.feed(text)
    except (ValueError, AssertionError):  # an invalid base URL, or a declaration that the parser cannot read
        raise IndexTrouble(f"{urlsplit(base).hostname or 'a file of it'} is not a package index") from None
    for href in parser.hrefs:
        try:
            url, _, fragment = urljoin(parser.base, href).partition("#")
            name = unquote(urlsplit(url).path).rpartition("/")[2]
        except ValueError:  # not an address
            continue
        digest = re.search(r"(?:^|&)sha256=([0-9a-f]{64})", fragment)
        yield WheelLink(name, quote(url, safe="%/:=&?~#+!$,;'@()*[]"), digest[1] if digest else "")


class _Anchors(HTMLParser):
    """Collects the links of a page, and the base URL for relative links."""

    def __init__(self, base: str) -> None:
        super().__init__()
        self.base = base
        self.hrefs: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        href = dict(attrs).get("href")
        if tag == "a" and href:
            self.hrefs.append(href)
        elif tag == "base" and href:
            self.base = urljoin(self.base, href)
