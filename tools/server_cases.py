"""What is tried on the way to a server: the preset, the variables, and what aish should say."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import server_liar
from server_programs import ANSWER, LOGIN, MODEL

_NOTHING: Mapping[str, Any] = MappingProxyType({})
USER, PASSWORD = LOGIN


class Case(NamedTuple):
    """One way to a server. `named` is a pattern of the message; empty: it should answer."""

    server: str
    tried: str
    endpoint: str
    named: str = ""
    preset: Mapping[str, Any] = _NOTHING
    env: Mapping[str, str] = _NOTHING
    network: Mapping[str, Any] = _NOTHING
    answer: str = ANSWER


def cases(work: Path) -> Iterator[Case]:
    """All single questions. `work` has certificates and sockets."""
    yield from _straight(work)
    yield from _nginx(work)
    yield from _tinyproxy(work)
    yield from _microsocks(work)
    yield from _pproxy(work)
    yield from _no_proxy()
    for name, lie in server_liar.LIES.items():
        yield Case("a scripted liar", lie.tried, f"{server_liar.URL}/{name}/v1", lie.named)
    for port, lie in server_liar.PROXY_LIES.items():
        for variable, endpoint in (("http_proxy", PLAIN), ("HTTPS_PROXY", TLS)):
            env = {variable: f"http://proxy.test:{port}"}
            yield Case(
                "a lying proxy", f"{lie.tried} (`{variable}`)", endpoint, lie.named, {"ca_file": f"{work}/ca.pem"}, env
            )
        env = {"ALL_PROXY": f"socks5h://proxy.test:{port}"}
        yield Case("a lying proxy", f"{lie.tried} (`socks5h`)", PLAIN, f"proxy.test:{port}", _NOTHING, env)


PLAIN, TLS = "http://model.test:8080/v1", "https://model.test:8443/v1"


def _straight(work: Path) -> Iterator[Case]:
    yield Case("aimock", "straight", "http://127.0.0.1:4010/v1")
    yield Case("aimock", "straight, on an address that is not loopback", f"http://{MODEL}:4010/v1")
    yield Case(
        "none",
        "nobody listens",
        f"http://{MODEL}:9/v1",
        f"cannot connect to {MODEL}:9: Connection refused; is the server running",
    )
    yield Case(
        "none",
        "unknown name of a host",
        "http://nobody.test/v1",
        "cannot connect to nobody.test:80: Name .*; check the endpoint",
    )
    socket = f"unix://{work}/nobody.sock"
    yield Case("none", "a socket that is not there", socket, "cannot connect to the socket .*; is the server running")
    ca = {"ca_file": f"{work}/ca.pem"}
    yield Case(
        "openssl s_server", "ALPN with h2 only", "https://model.test:8450/v1", "speaks HTTP/2 only; .*HTTP/1.1", ca
    )


def _nginx(work: Path) -> Iterator[Case]:
    def case(tried: str, endpoint: str, named: str = "", **more: Any) -> Case:
        return Case("nginx", tried, endpoint, named, **more)

    ca = {"ca_file": f"{work}/ca.pem"}
    yield case("plain", PLAIN)
    yield case("TLS with an own authority: `ca_file`", TLS, preset=ca)
    yield case("`network.ca_file`", TLS, network=ca)
    for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        yield case(f"`{name}`", TLS, env={name: f"{work}/ca.pem"})
    yield case("unknown authority", TLS, "authority that this machine does not know; set ca_file")
    yield case("expired certificate", "https://model.test:8444/v1", "has expired; it must be renewed", preset=ca)
    yield case("self-signed certificate", "https://model.test:8445/v1", "is self-signed; if it is yours, set ca_file")
    own = {"ca_file": f"{work}/self.pem"}
    yield case("self-signed, with `ca_file`", "https://model.test:8445/v1", preset=own)
    yield case("certificate for another host", "https://model.test:8446/v1", "is for another host, not for", preset=ca)
    client = ca | {"client_cert": f"{work}/client.pem", "client_key": f"{work}/client.key"}
    yield case("client certificate", "https://model.test:8447/v1", preset=client)
    yield case("client certificate missing", "https://model.test:8447/v1", "set client_cert", preset=ca)
    yield case("unix socket", f"unix://{work}/model.sock")
    gzip = {"headers": {"Accept-Encoding": "gzip"}}
    yield case("gzip, asked for with `headers`", "http://model.test:8086/v1", preset=gzip)
    yield case("308 from http to https on the same host", "http://model.test:8081/v1", preset=ca)
    yield case(
        "302 to another host", "http://model.test:8082/v1", "redirects to another host, http://other.test:8080/v1"
    )
    yield case("307 to another port", "http://model.test:8084/v1", "redirects to another port, http://model.test:8080/")
    yield case("307 from https to http", "https://model.test:8448/v1", "without TLS; if that is right, set", preset=ca)
    yield case("a redirect loop", "http://model.test:8083/v1", "redirects again and again; set the endpoint")
    yield case("Basic login in the endpoint", f"http://{USER}:{PASSWORD}@model.test:8085/v1")
    wrong = f"http://{USER}:{PASSWORD}x@model.test:8085/v1"
    yield case("wrong login in the endpoint", wrong, f"refused the login of '{USER}' .*correct it in the endpoint")
    yield case("login missing", "http://model.test:8085/v1", "refused the key .401.*check")
    yield case("HTTP/2 without TLS only", "http://model.test:8087/v1", "speaks HTTP/2 only; aish speaks HTTP/1.1")
    yield case("http on the port of https", "http://model.test:8443/v1", "wants TLS .*write https://")
    yield case("https on the port of http", "https://model.test:8080/v1", "does not speak TLS.*http://", preset=ca)
    yield case(
        "502, because nothing is behind it",
        "http://model.test:8088/v1",
        "answered 502: 502 Bad Gateway; try again later",
    )
    yield case(
        "504, because what is behind it is silent",
        "http://model.test:8093/silent/v1",
        "answered 504: 504 Gateway.*; try again later",
    )
    yield case("429 with Retry-After", "http://model.test:8094/v1", "rate limit is reached .*; wait")
    yield case("413", "http://model.test:8092/v1", "prompt is too long .*413")
    yield case("a web page with 200", "http://model.test:8089/v1", "web page instead of an answer; check the endpoint")


def _tinyproxy(work: Path) -> Iterator[Case]:
    def case(tried: str, endpoint: str, env: Mapping[str, str], named: str = "") -> Case:
        return Case("tinyproxy", tried, endpoint, named, {"ca_file": f"{work}/ca.pem"}, env)

    plain, login = "http://proxy.test:3128", f"http://{USER}:{PASSWORD}@proxy.test:3129"
    for variable, endpoint in (("http_proxy", PLAIN), ("HTTPS_PROXY", TLS), ("ALL_PROXY", PLAIN), ("ALL_PROXY", TLS)):
        scheme = endpoint.partition(":")[0]
        yield case(f"`{variable}` for {scheme}", endpoint, {variable: plain})
        yield case(f"`{variable}` for {scheme}, with login", endpoint, {variable: login})
    yield case("`HTTP_PROXY`, which does not count", PLAIN, {"HTTP_PROXY": "http://proxy.test:9"})
    for variable, endpoint in (("http_proxy", PLAIN), ("HTTPS_PROXY", TLS)):
        scheme = endpoint.partition(":")[0]
        env = {variable: "http://proxy.test:3129"}
        yield case(
            f"login missing, {scheme}", endpoint, env, rf"\(from {variable}\) wants a login .*{variable}=http://NAME"
        )
        env = {variable: f"http://{USER}:{PASSWORD}x@proxy.test:3129"}
        yield case(f"wrong login, {scheme}", endpoint, env, f"proxy.test:3129 .*{USER}")
        away = endpoint.replace("8080", "9").replace("8443", "9")
        yield case(f"server away, {scheme}", away, {variable: plain}, "proxy.test:3128")
    env = {"HTTPS_PROXY": "http://proxy.test:3130"}
    yield case("port not allowed", TLS, env, r"\(from HTTPS_PROXY\) refused to connect to model.test:8443: 403")
    env = {"ALL_PROXY": "socks5h://proxy.test:3128"}
    yield case("asked as a SOCKS proxy", PLAIN, env, "proxy.test:3128 .from ALL_PROXY.")
    env = {"HTTPS_PROXY": "https://proxy.test:3128"}
    # It answers only if a line end is among the random bytes of the handshake.
    told = "did not connect|does not speak TLS"
    yield case("asked as an https:// proxy", TLS, env, f"proxy.test:3128 .from HTTPS_PROXY. ({told})")


def _microsocks(work: Path) -> Iterator[Case]:
    def case(tried: str, endpoint: str, proxy: str, named: str = "") -> Case:
        return Case("microsocks", tried, endpoint, named, {"ca_file": f"{work}/ca.pem"}, {"ALL_PROXY": proxy})

    for scheme in ("socks5", "socks5h"):
        for endpoint in (PLAIN, TLS):
            what = f"`{scheme}`, {endpoint.partition(':')[0]}"
            yield case(what, endpoint, f"{scheme}://proxy.test:1080")
            yield case(f"{what}, with login", endpoint, f"{scheme}://{USER}:{PASSWORD}@proxy.test:1081")
    yield case(
        "login missing", PLAIN, "socks5h://proxy.test:1081", r"\(from ALL_PROXY\) wants a login; write it as ALL_PROXY"
    )
    wrong = f"socks5h://{USER}:{PASSWORD}x@proxy.test:1081"
    yield case("wrong login", PLAIN, wrong, f"refused the login of '{USER}'; correct it in ALL_PROXY")
    yield case("server away", "http://model.test:9/v1", "socks5h://proxy.test:1080", "cannot reach model.test:9: ")
    yield case("unknown name", "http://nobody.test/v1", "socks5h://proxy.test:1080", "cannot reach nobody.test:80: ")
    yield case(
        "unknown name, looked up here",
        "http://nobody.test/v1",
        "socks5://proxy.test:1080",
        "cannot look up nobody.test",
    )
    yield case("asked as SOCKS 4", PLAIN, "socks4://proxy.test:1080", "proxy.test:1080 .from ALL_PROXY. .*socks4")
    yield case(
        "asked as an HTTP proxy", PLAIN, "http://proxy.test:1080", "not HTTP .by way of the proxy proxy.test:1080"
    )
    yield case(
        "asked for a tunnel as an HTTP proxy",
        TLS,
        "http://proxy.test:1080",
        "not an HTTP proxy; if it is a SOCKS proxy, write socks5h://",
    )


def _pproxy(work: Path) -> Iterator[Case]:
    ca = {"ca_file": f"{work}/ca.pem"}
    for scheme in ("socks4", "socks4a", "socks5h"):
        for endpoint in (PLAIN, TLS):
            what = f"`{scheme}`, {endpoint.partition(':')[0]}"
            if scheme == "socks4a" and endpoint == TLS:  # it reads a name as the address 0.0.0.1
                broken = "model.test:8443 by way of the proxy proxy.test:1084 .from ALL_PROXY."
                env = {"ALL_PROXY": "socks4a://proxy.test:1084"}
                yield Case("pproxy", "`socks4a` with a name, which it does not know", TLS, broken, ca, env)
                continue
            endpoint = endpoint.replace("model.test", MODEL) if scheme == "socks4a" else endpoint
            yield Case("pproxy", what, endpoint, "", ca, {"ALL_PROXY": f"{scheme}://proxy.test:1084"})
    for endpoint in (PLAIN, TLS):
        what = f"an `https://` proxy, {endpoint.partition(':')[0]}"
        yield Case("pproxy", what, endpoint, "", ca, {"ALL_PROXY": "https://proxy.test:1443"})
    unknown = "certificate of the proxy proxy.test:1443 .from ALL_PROXY. is signed by an authority"
    env = {"ALL_PROXY": "https://proxy.test:1443"}
    yield Case("pproxy", "an `https://` proxy with an unknown authority", PLAIN, unknown, _NOTHING, env)


def _no_proxy() -> Iterator[Case]:
    away = f"http://{USER}:{PASSWORD}@proxy.test:{server_liar.REFUSED_PORT}"
    for value in ("model.test", ".test", "model.test:8080", "*"):
        yield Case("none", f"`NO_PROXY={value}`", PLAIN, env={"http_proxy": away, "NO_PROXY": value})
    network = {"http_proxy": away, "NO_PROXY": "10.77.0.0/24"}
    yield Case("none", "`NO_PROXY` with a network", f"http://{MODEL}:8080/v1", env=network)
    yield Case("none", "loopback with a proxy that is away", "http://127.0.0.1:4010/v1", env={"http_proxy": away})
    refused = "proxy.test:3299 .from http_proxy.: Connection refused; correct http_proxy, or add model.test to NO_PROXY"
    yield Case("none", "a proxy that refuses connections", PLAIN, refused, env={"http_proxy": away})
    env = {"ALL_PROXY": f"ftp://{USER}:{PASSWORD}@proxy.test"}
    yield Case("none", "a proxy of an unknown kind", PLAIN, "ALL_PROXY names a proxy of the kind 'ftp'", env=env)
    env = {"http_proxy": f"http://{USER}:{PASSWORD}@proxy.test:x"}
    yield Case("none", "a proxy whose port is no number", PLAIN, "http_proxy is not the address of a proxy", env=env)
