"""Which package index is used: the one in the settings of pip or uv, otherwise the public one."""

import os
from pathlib import Path

import pytest

from aish.model.index_settings import PUBLIC_INDEX, IndexSettings, read_index_settings


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def read(home: Path, **env: str) -> IndexSettings:
    """Return the settings for this home and environment, without system-wide settings."""
    return read_index_settings(env, home, home.parent / "etc")


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_the_public_index_is_asked_when_nothing_is_configured(home: Path) -> None:
    """A new machine has no settings of either tool."""
    assert read(home) == IndexSettings(indexes=(PUBLIC_INDEX,))


@pytest.mark.parametrize(
    ("env", "indexes", "find_links"),
    [
        ({"PIP_INDEX_URL": "https://pip"}, ("https://pip",), ()),
        ({"UV_INDEX_URL": "https://uv"}, ("https://uv",), ()),
        ({"UV_DEFAULT_INDEX": "https://new", "UV_INDEX_URL": "https://old"}, ("https://new",), ()),
        ({"UV_DEFAULT_INDEX": "https://uv", "PIP_INDEX_URL": "https://pip"}, ("https://uv",), ()),
        ({"UV_INDEX": "a=https://a https://b/?q=1"}, ("https://a", "https://b/?q=1", PUBLIC_INDEX), ()),
        ({"UV_EXTRA_INDEX_URL": "https://a https://b"}, ("https://a", "https://b", PUBLIC_INDEX), ()),
        ({"PIP_EXTRA_INDEX_URL": "https://a\nhttps://b"}, ("https://a", "https://b", PUBLIC_INDEX), ()),
        ({"PIP_FIND_LINKS": "/a /b", "UV_FIND_LINKS": "/c,/d"}, (PUBLIC_INDEX,), ("/c", "/d", "/a", "/b")),
        ({"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "/a"}, (), ("/a",)),
        ({"PIP_NO_INDEX": "0"}, (PUBLIC_INDEX,), ()),
        ({"UV_NO_INDEX": "true"}, (), ()),
    ],
)
def test_the_environment_of_either_tool_counts(
    home: Path, env: dict[str, str], indexes: tuple[str, ...], find_links: tuple[str, ...]
) -> None:
    """Extra indexes come before the default one, each only once."""
    assert read(home, **env) == IndexSettings(indexes=indexes, find_links=find_links)


@pytest.mark.parametrize(
    "file", ["home/.config/pip/pip.conf", "home/.pip/pip.conf", "etc/pip.conf", "etc/xdg/pip/pip.conf"]
)
def test_files_of_pip_are_read(home: Path, file: str) -> None:
    """The files have everything needed to reach the index."""
    text = """[global]
index-url = https://pip/simple
extra-index-url =
    https://a
    https://b
find-links = /wheels
cert = /etc/bundle.pem
proxy = http://proxy:3128
trusted-host = pip other:8443
"""
    write(home.parent / file, text)
    assert read(home) == IndexSettings(
        indexes=("https://a", "https://b", "https://pip/simple"),
        find_links=("/wheels",),
        cert="/etc/bundle.pem",
        proxy="http://proxy:3128",
        trusted_hosts=frozenset(["pip", "other:8443"]),
    )


def test_the_nearer_setting_of_pip_wins(home: Path) -> None:
    """The environment, then the chosen file, the section of the command, the user's file and the system's."""
    write(home.parent / "etc" / "pip.conf", "[global]\nindex-url = https://machine\n")
    seen = [read(home).indexes]
    user = write(home / ".config" / "pip" / "pip.conf", "[global]\nindex-url = https://user\n")
    seen.append(read(home).indexes)
    write(user, "[global]\nindex-url = https://user\n[install]\nindex-url = https://install\n")
    seen.append(read(home).indexes)
    chosen = str(write(home / "chosen.conf", "[global]\nindex-url = https://chosen\n"))
    seen.append(read(home, PIP_CONFIG_FILE=chosen).indexes)
    seen.append(read(home, PIP_CONFIG_FILE=chosen, PIP_INDEX_URL="https://env").indexes)
    seen.append(read(home, PIP_CONFIG_FILE=os.devnull).indexes)

    assert [index for (index,) in seen] == [
        "https://machine",
        "https://user",
        "https://install",
        "https://chosen",
        "https://env",
        PUBLIC_INDEX,
    ]


@pytest.mark.parametrize("file", ["home/.config/uv/uv.toml", "etc/uv/uv.toml", "etc/xdg/uv/uv.toml"])
def test_files_of_uv_are_read(home: Path, file: str) -> None:
    """An explicit index is only for packages that name it. Ours do not."""
    text = """
find-links = ["/wheels"]
extra-index-url = ["https://extra"]
allow-insecure-host = ["inside"]
[[index]]
name = "other"
url = "https://other"
[[index]]
url = "https://only-for-torch"
explicit = true
[[index]]
url = "https://main"
default = true
"""
    write(home.parent / file, text)
    assert read(home) == IndexSettings(
        indexes=("https://other", "https://extra", "https://main"),
        find_links=("/wheels",),
        trusted_hosts=frozenset(["inside"]),
    )
    assert read(home, UV_NO_CONFIG="1").indexes == (PUBLIC_INDEX,)


def test_a_chosen_file_of_uv_replaces_the_others(home: Path) -> None:
    """UV_CONFIG_FILE replaces the other files. The old name of the index setting still works in it."""
    write(home / ".config" / "uv" / "uv.toml", 'index-url = "https://user"\nextra-index-url = ["https://extra"]\n')
    chosen = write(home / "chosen.toml", 'index-url = "https://chosen"\n')

    assert read(home).indexes == ("https://extra", "https://user")
    assert read(home, UV_CONFIG_FILE=str(chosen)).indexes == ("https://chosen",)


@pytest.mark.parametrize("text", ["index = 7", "index = [7]\nfind-links = 7", "not toml at all", "index-url = "])
def test_a_damaged_file_counts_as_none(home: Path, text: str) -> None:
    """The tool itself reports the damaged file. aish uses the public index."""
    write(home / ".config" / "uv" / "uv.toml", text)
    write(home / ".config" / "pip" / "pip.conf", text)
    assert read(home).indexes == (PUBLIC_INDEX,)


def test_certificates_that_other_tools_are_told_of_are_used_last(home: Path) -> None:
    """A company CA is often set only in these variables of requests and curl."""
    bundles = {"CURL_CA_BUNDLE": "/curl.pem"}
    seen = [read(home, **bundles).cert]
    bundles["REQUESTS_CA_BUNDLE"] = "/requests.pem"
    seen.append(read(home, **bundles).cert)
    seen.append(read(home, **bundles, PIP_CERT="/pip.pem").cert)
    assert seen == ["/curl.pem", "/requests.pem", "/pip.pem"]
