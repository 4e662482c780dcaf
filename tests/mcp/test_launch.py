"""What a server gets from us, and how it is recognised."""

import pytest

from aish.mcp.launch import digest_of, filled, server_environment, server_headers
from aish.values.tool_servers import ServerTrouble

MINE = {"PATH": "/bin", "HOME": "/home/a", "LC_ALL": "C", "SSH_AUTH_SOCK": "/s", "AWS_SECRET": "no", "TOKEN": "t"}


def test_variables_are_replaced_and_a_missing_one_is_named() -> None:
    """A server with half of its settings would fail in unclear ways."""
    assert filled("a ${TOKEN} ${env:TOKEN} ${NONE:-b} $TOKEN", MINE) == "a t t b $TOKEN"
    with pytest.raises(ServerTrouble, match="needs the environment variable NONE, which is not set"):
        filled("${NONE}", MINE)


def test_the_environment_is_short_and_has_no_secrets_but_those_of_the_settings() -> None:
    """Keys of other programs and agents are not for it."""
    kept = {"PATH": "/bin", "HOME": "/home/a", "LC_ALL": "C"}

    assert server_environment({}, [], MINE) == kept
    assert server_environment({"X": "is ${TOKEN}"}, ["TOKEN"], MINE) == {**kept, "X": "is t", "TOKEN": "t"}


def test_headers_come_from_values_and_variables_and_cannot_smuggle_others() -> None:
    """A line break in a variable would end the header."""
    assert server_headers({"A": "b ${TOKEN}"}, {"C": "TOKEN"}, MINE) == {"A": "b t", "C": "t"}
    with pytest.raises(ServerTrouble, match="cannot be sent"):
        server_headers({}, {"C": "EVIL"}, {"EVIL": "x\r\nHost: y"})


def test_a_digest_tells_any_two_descriptions_apart() -> None:
    """Also those that Python holds for equal, or that differ only in where they are cut."""
    texts = [("a", {"b": 1}), ("a", {"b": True}), ("a", {"b": "1"}), ("a" * 5000 + "b",), ("a" * 5000 + "c",)]

    assert len({digest_of(*one) for one in texts}) == len(texts)
