"""The way to a server, told by settings and environment, from outside."""

import pytest
from fake_server import FakeServer, Say, sse
from tls_server import CA, CERTIFICATES, tls
from world import World

pytestmark = pytest.mark.anyio


async def test_what_the_preset_says_goes_with_every_request(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Certificates, login, query and headers count for the question and for what is asked about the server."""
    monkeypatch.setenv("TEAM", "blue")
    with tls(FakeServer(sse("Yes.")), wants_client=True) as server:
        preset = {
            "endpoint": f"{server.url.replace('//', '//ann:secret@')}/v1?api-version=7",
            "headers": {"X-Team": "$TEAM"},
            "client_cert": str(CERTIFICATES / "client.pem"),
        }
        settings = {
            "model": "m",
            "models": {"m": preset},
            "network": {"ca_file": CA},
            "context": {"token_budget": "auto"},
        }
        answer = await world.ask(world.program(settings).session(), "Hello?")

    assert answer.text == "Yes."
    assert "/v1/chat/completions?api-version=7" in {asked.path for asked in server.asked}
    for asked in server.asked:
        assert asked.path.endswith("?api-version=7")
        assert (asked.headers["x-team"], asked.headers["authorization"]) == ("blue", "Basic YW5uOnNlY3JldA==")


async def test_a_certificate_that_is_not_right_fails_at_once_with_one_line(world: World) -> None:
    """Trying again would not help, and the line says what would."""
    with tls(FakeServer(sse("never")), "expired") as server:
        settings = {"model": "m", "models": {"m": {"endpoint": server.url}}, "network": {"ca_file": CA}}
        answer = await world.ask(world.program(settings).session(), "Hello?")

    assert answer.done.trouble
    assert "has expired; it must be renewed there" in answer.done.trouble.reason
    assert server.asked == []


@pytest.mark.parametrize("kind", ["openai", "anthropic", "google", "responses"])
async def test_a_query_in_the_endpoint_goes_with_the_questions_of_every_api(world: World, kind: str) -> None:
    """Gateways that version their API this way stand in front of all of them."""
    with FakeServer(Say(status=418)) as server:
        preset = {"kind": kind, "endpoint": f"{server.url}/v1?api-version=7", "model": "m"}
        await world.ask(world.program({"model": "m", "models": {"m": preset}}).session(), "Hello?")

    asked = server.asked[-1]
    assert asked.method == "POST" and "/v1/" in asked.path
    assert asked.path.count("?") == 1 and asked.path.endswith("api-version=7")
