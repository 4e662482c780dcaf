"""The first start of an account says where you are, which model answers, and what to try; later starts are short."""

import pytest
from fake_server import FakeServer, host, ollama
from terminal import FreshTerminal
from world import World

from aish.settings.options import Preset
from aish.views.welcome import FirstFacts, first_screen

FACTS = FirstFacts("1.0", "~/shop", "main", "zsh", "embedded", Preset(kind="embedded"))
FOUND = "found Ollama on this machine: m1. :setup uses it"


@pytest.mark.parametrize("width", [20, 40, 60, 80, 200])
def test_the_first_screen_fits_the_window(width: int) -> None:
    """No line is broken by the terminal, and all of it is seen above the prompt."""
    text = first_screen(FACTS, width)
    words = " ".join(text.split())

    assert max(len(line) for line in text.splitlines()) < max(width, 32)
    assert width < 40 or len(text.splitlines()) <= 22
    for told in (
        "~/shop (git branch main), with zsh",
        "the best one for this machine: a server that runs here",
        "Three things",
    ):
        assert told in words
    assert ":remember I like short answers" in words and "`help` shows all commands and keys" in words


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        (FACTS._replace(installed=False), "a server that runs here, or one that is fetched while you work"),
        (FACTS._replace(weights="Qwen2.5-Coder-1.5B"), "Model Qwen2.5-Coder-1.5B, which runs inside aish"),
        (
            FACTS._replace(installed=False, preset=Preset(kind="embedded", model="qwen2.5-coder-0.5b")),
            "none yet. `aish models pull qwen2.5-coder-0.5b` fetches it",
        ),
        (
            FACTS._replace(model="cloud", preset=Preset(endpoint="https://x.test/v1", model="m1")),
            "cloud (m1 at https://x.test/v1)",
        ),
        (FACTS._replace(model="s", preset=Preset(kind="scripted")), "s, which plays a script"),
    ],
)
def test_the_first_screen_names_the_model_that_answers(facts: FirstFacts, told: str) -> None:
    assert told in " ".join(first_screen(facts, 80).split())


def test_a_new_account_sees_it_once(world: World) -> None:
    """Also if nothing was asked and no conversation was kept."""
    world.script("A1")
    with FreshTerminal(world) as terminal:
        terminal.wait_ready()
        terminal.wait_for("Three things to try:")
        terminal.wait_for("You are in  ~, with bash")
        terminal.enter("exit")
        assert terminal.code() == 0
    with FreshTerminal(world) as terminal:
        terminal.wait_ready()
        terminal.wait("aish>")
        assert terminal.lines == ["aish>"]
    assert not world.places.sessions.exists()


def test_a_found_server_is_offered_once_and_used_with_one_command(world: World) -> None:
    """The offer comes above the line that is being typed, and takes none of its keys."""
    with ollama("m1") as server:
        with FreshTerminal(world, OLLAMA_HOST=host(server), AISH_SET_EMBEDDED__WARM="false") as terminal:
            terminal.wait_ready()
            terminal.type("echo y n")
            terminal.wait_for(FOUND)
            terminal.wait("aish> echo y n")
            terminal.enter("")
            terminal.wait("y n", "aish>")
            terminal.enter(":setup")
            terminal.wait_for("which one shall answer?")
            terminal.enter("1")
            terminal.wait_for("it answers from now on")
            terminal.enter("? hello")
            terminal.wait("Hello from it.", "aish>")
        with FreshTerminal(world, OLLAMA_HOST=host(server)) as terminal:
            terminal.wait_ready()
            terminal.wait("aish>")
            terminal.enter(":model")
            terminal.wait_for("* ollama")
            assert FOUND not in "\n".join(terminal.lines)


def test_an_offer_that_was_not_taken_is_not_repeated(world: World) -> None:
    with ollama("m1") as server:
        for offered in (True, False):
            with FreshTerminal(world, OLLAMA_HOST=host(server), AISH_SET_EMBEDDED__WARM="false") as terminal:
                terminal.wait_ready()
                if offered:
                    terminal.wait_for(FOUND)
                terminal.enter("echo done")
                terminal.wait("done", "aish>")
                assert (FOUND in "\n".join(terminal.lines)) == offered


def test_who_has_chosen_a_model_is_offered_nothing(world: World) -> None:
    """And no port is asked."""
    world.script("A1")
    with FakeServer() as server, FreshTerminal(world, OLLAMA_HOST=host(server)) as terminal:
        terminal.wait_ready()
        terminal.enter("? one")
        terminal.wait("A1", "aish>")
        assert server.asked == []
