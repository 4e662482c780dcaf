"""Addresses of servers as people write them."""

import pytest

from aish.model.addresses import api_root, model_identity, query_of, server_root


@pytest.mark.parametrize(
    ("endpoint", "api", "root", "query"),
    [
        ("unix:///run/m.sock", "unix:///run/m.sock:/v1", "unix:///run/m.sock:", ""),
        ("unix:/run/m.sock", "unix:///run/m.sock:/v1", "unix:///run/m.sock:", ""),
        ("unix:///run/m.sock:/api/v2/", "unix:///run/m.sock:/api/v2", "unix:///run/m.sock:/api/v2", ""),
        (
            "https://h.example/openai?api-version=1",
            "https://h.example/openai",
            "https://h.example/openai",
            "api-version=1",
        ),
        ("https://h.example?a=b&c=d#x", "https://h.example/v1", "https://h.example", "a=b&c=d"),
    ],
)
def test_sockets_and_queries_are_parts_of_an_endpoint(endpoint: str, api: str, root: str, query: str) -> None:
    """Paths are added to the address, so the query is kept apart; behind a socket the path begins with a colon."""
    assert (api_root(endpoint), server_root(api), query_of(endpoint)) == (api, root, query)


def test_a_login_or_a_key_in_the_address_is_not_part_of_the_name_of_a_model() -> None:
    """It is stored in the cache."""
    assert model_identity("openai", "m", endpoint="https://ann:s3cret@h/v1?key=s3cret") == "https://h/v1 m"
