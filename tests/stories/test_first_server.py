"""A model server on this machine answers unasked, before any model is fetched, as long as nobody has chosen one."""

import threading

import pytest
from fake_server import FakeServer, host
from first_start import GB, LARGE, FirstStart, Source
from model_servers import ollama_server
from world import World

MODELS = {"tiny:1b": {"size": 1 * GB}, "good:4b": {"size": 3 * GB}, "huge:70b": {"size": 40 * GB}}
SAID = "Ollama on this machine answers: good:4b, the largest of 3 that fits; :setup lets you choose another model"
GONE = "Ollama does not answer any more, so the embedded model is used from now on"


@pytest.fixture
def first(world: World) -> FirstStart:
    return FirstStart(world)


def asked(server: FakeServer) -> list[str]:
    """Return the models that were asked a question."""
    return [one.json["model"] for one in server.chats()]


def test_it_answers_unasked_with_the_largest_model_that_fits(first: FirstStart) -> None:
    """One line says so. Nothing is fetched, and the next start uses it from its first prompt on."""
    source = Source(first.whole)
    with source.server, ollama_server(MODELS) as server:
        with first.terminal(source, OLLAMA_HOST=host(server), AISH_SET_VIEW__PROMPT="{model}> ") as terminal:
            terminal.wait_ready()
            terminal.wait_said(SAID)
            terminal.enter("? hello")
            terminal.wait_for("Hello from it.")
            terminal.wait("ollama>")
        server.paths["/v1/models"] = server.paths["/api/tags"] = lambda one: pytest.fail("it is known already")
        with first.terminal(source, OLLAMA_HOST=host(server), AISH_SET_VIEW__PROMPT="{model}> ") as terminal:
            terminal.wait_for("ollama>")  # before anything is looked for
            assert "embedded>" not in terminal.said
    assert asked(server) == ["good:4b"]
    assert source.server.asked == []


def test_a_question_that_is_typed_at_once_goes_to_it(first: FirstStart) -> None:
    """It waits until the server is found, which takes a moment."""
    with ollama_server(MODELS) as server, first.terminal(OLLAMA_HOST=host(server)) as terminal:
        terminal.type("? hello\r")
        terminal.wait("Hello from it.", "aish>")
        assert terminal.said.count(SAID) == 1
    assert asked(server) == ["good:4b"]


def test_later_starts_say_nothing_and_one_without_it_says_so(first: FirstStart) -> None:
    """Then the embedded model answers, as if the server had never been there."""
    first.install(LARGE)
    with ollama_server(MODELS) as server:
        for is_news in (True, False):
            with first.terminal(OLLAMA_HOST=host(server)) as terminal:
                terminal.wait_ready()
                terminal.enter("? hello")
                terminal.wait("Hello from it.", "aish>")
                assert (SAID in terminal.said) == is_news
    for is_news in (True, False):
        with first.terminal(OLLAMA_HOST=host(server)) as terminal:
            terminal.wait_ready()
            terminal.enter("? hello")
            terminal.wait(f"Hello from {LARGE}.", "aish>")
            assert (GONE in terminal.said) == is_news


def test_a_server_that_leaves_while_the_shell_runs_is_replaced(first: FirstStart) -> None:
    """As with any model that cannot be reached: the next one takes over, and it is said."""
    first.install(LARGE)
    server = ollama_server(MODELS)
    with first.terminal(OLLAMA_HOST=host(server)) as terminal:
        with server:
            terminal.wait_ready()
            terminal.wait_said(SAID)
        terminal.enter("? hello")
        terminal.wait(f"Hello from {LARGE}.", "aish>")
        assert "continuing with embedded" in terminal.said


def test_the_model_that_the_user_chose_is_left_alone(first: FirstStart) -> None:
    """And no port is asked."""
    first.world.script("A1")
    with ollama_server(MODELS) as server, first.terminal(OLLAMA_HOST=host(server)) as terminal:
        terminal.wait_ready()
        terminal.enter("? hello")
        terminal.wait("A1", "aish>")
    assert server.asked == []
    assert not first.world.places.machine_record.exists()


def test_a_choice_that_is_made_meanwhile_counts(first: FirstStart) -> None:
    """`:model embedded` names what answers anyway, but from then on it is a choice."""
    first.install(LARGE)
    with ollama_server(MODELS) as server:
        waits = server.paths["/api/tags"]
        assert not callable(waits)
        go = waits.hold = threading.Event()
        with first.terminal(OLLAMA_HOST=host(server)) as terminal:
            terminal.wait_ready()
            terminal.enter(":model embedded")
            terminal.wait_for("now using embedded")
            go.set()
            terminal.enter("? hello")
            terminal.wait(f"Hello from {LARGE}.", "aish>")
            assert SAID not in terminal.said
    assert asked(server) == []
