"""Proxies of the environment: which one counts for a server, by the rules of curl, and what is said about it."""

from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aish.model.proxies import BadProxy, Proxy, choose_proxy, is_excepted, parse_proxy, proxy_for, refused_login

P = "http://proxy.example:3128"


@pytest.mark.parametrize(
    ("target", "env", "variable"),
    [
        ("http://models.example", {}, None),
        ("http://models.example", {"http_proxy": P}, "http_proxy"),
        ("http://models.example", {"HTTP_PROXY": P}, None),
        ("http://models.example", {"HTTP_PROXY": P, "ALL_PROXY": P}, "ALL_PROXY"),
        ("http://models.example", {"https_proxy": P}, None),
        ("https://models.example", {"https_proxy": P, "HTTPS_PROXY": P}, "https_proxy"),
        ("https://models.example", {"https_proxy": "", "HTTPS_PROXY": P}, "HTTPS_PROXY"),
        ("https://models.example", {"all_proxy": P, "ALL_PROXY": P}, "all_proxy"),
        ("https://models.example", {"HTTPS_PROXY": P, "all_proxy": P}, "HTTPS_PROXY"),
        ("https://models.example", {"https_proxy": P, "no_proxy": "other", "NO_PROXY": "*"}, "https_proxy"),
        ("https://models.example", {"https_proxy": P, "NO_PROXY": "*"}, None),
        ("https://models.example:8443", {"https_proxy": P, "NO_PROXY": "models.example:8443"}, None),
        ("https://models.example", {"https_proxy": P, "NO_PROXY": "models.example:8443"}, "https_proxy"),
        ("https://models.example", {"https_proxy": P, "NO_PROXY": "models.example:443"}, None),
        ("http://127.0.0.1:8080", {"all_proxy": P}, None),
        ("http://localhost:8080", {"all_proxy": P}, None),
        ("http://[::1]:8080", {"all_proxy": P}, None),
        ("http://127.0.0.1.evil.example", {"all_proxy": P}, "all_proxy"),
    ],
)
def test_the_environment_chooses_the_proxy_as_for_curl(target: str, env: dict[str, str], variable: str | None) -> None:
    """Lower case comes first, HTTP_PROXY does not count, and loopback never uses one."""
    assert choose_proxy(urlsplit(target), env)[0] == variable


@pytest.mark.parametrize(
    ("host", "no_proxy", "expected"),
    [
        ("models.example", "models.example", True),
        ("a.models.example", "models.example", True),
        ("a.models.example", ".models.example", True),
        ("models.example", "other.example, .Example", True),
        ("models.example", "other.example example", True),
        ("models.example.", "models.example", True),
        ("notmodels.example", "models.example", False),
        ("models.example", ",", False),
        ("10.1.2.3", "10.0.0.0/8", True),
        ("11.1.2.3", "10.0.0.0/8", False),
        ("10.1.2.3", "10.1.2.3", True),
        ("10.1.2.3", "2.3", False),
        ("192.168.7.9", "192.168.7.1/24:443", True),
        ("fd00::7", "fd00::/8", True),
        ("fd00::7", "[fd00::7]", True),
        ("fd00::7", "[fd00::7]:443", True),
        ("fd00::7", "[fd00::7]:8443", False),
        ("fd00::7", "fd00:0:0::7", True),
        ("10.1.2.3", "fd00::/8", False),
        ("10.example", "10.0.0.0/8", False),
        ("10.1.2.3", "10.0.0.0/99", False),
    ],
)
def test_no_proxy_names_hosts_domains_networks_and_ports(host: str, no_proxy: str, expected: bool) -> None:
    """A company lists its networks there; a name is never taken for a part of another."""
    assert is_excepted(host, 443, no_proxy) is expected


@given(st.text(max_size=20), st.text(max_size=40), st.integers(0, 65535))
def test_no_value_of_no_proxy_makes_it_stumble(host: str, no_proxy: str, port: int) -> None:
    """The variable is written by hand."""
    assert is_excepted(host, port, no_proxy) in (True, False)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("proxy.example:3128", Proxy("http", "proxy.example", 3128)),
        ("http://proxy.example", Proxy("http", "proxy.example", 1080)),
        ("https://proxy.example", Proxy("https", "proxy.example", 443)),
        ("socks5h://ann:p%40ss@[fd00::7]:1081", Proxy("socks5h", "fd00::7", 1081, "ann", "p@ss")),
        ("socks://proxy.example", Proxy("socks4", "proxy.example", 1080)),
    ],
)
def test_a_proxy_is_written_as_for_curl(value: str, expected: Proxy) -> None:
    """Without a scheme it is an HTTP proxy, without a port 1080."""
    assert parse_proxy(value) == expected


@pytest.mark.parametrize(
    "value", ["ftp://ann:s3cret@proxy.example", "http://", "http://ann:s3cret@h:port", "http://[::1"]
)
def test_a_proxy_that_is_none_is_said_without_its_password(value: str) -> None:
    """Messages are shown and stored in the journal."""
    with pytest.raises(
        BadProxy, match=r"^HTTPS_PROXY .*HOST:PORT|^HTTPS_PROXY names a proxy of the kind 'ftp'"
    ) as raised:
        parse_proxy(value, "HTTPS_PROXY")
    assert "s3cret" not in str(raised.value)


@pytest.mark.parametrize(
    ("proxy", "offered", "message"),
    [
        (P, 'Basic realm="x"', "the proxy proxy.example:3128 (from V) wants a login (407); write it as V=http://NAME:"),
        (P, "", "wants a login (407)"),
        ("http://ann:s3cret@h:1", "Basic", "the proxy h:1 (from V) refused the login of 'ann'; correct it in V"),
        (P, "Negotiate, NTLM", "wants a login by Negotiate, NTLM, which aish does not speak; use a local proxy that"),
    ],
)
def test_a_refused_login_names_variable_proxy_and_login(proxy: str, offered: str, message: str) -> None:
    """Otherwise the user would suspect the key of the model."""
    said = refused_login(parse_proxy(proxy, "V"), offered)

    assert message in said
    assert "s3cret" not in said


def test_other_clients_get_the_url_of_the_proxy() -> None:
    """pip and its like read HTTP_PROXY too."""
    assert proxy_for(urlsplit("http://files.example"), {"HTTP_PROXY": "proxy.example:3128"}) == P
    assert proxy_for(urlsplit("http://files.example"), {}) == ""
