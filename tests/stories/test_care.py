"""A person in crisis gets a supportive answer on every path, and memory keeps nothing of it."""

import pytest
from fake_server import FakeServer, sse
from world import World

WORDS = "i do not want to live any more"


def serve(world: World, server: FakeServer, extra: str = "") -> None:
    world.configure(
        f'model = "srv"\n{extra}\n[tokenize]\nuse_endpoint = "false"\n[models.srv]\nendpoint = "{server.url}"\n'
    )


def prompts(server: FakeServer) -> list[str]:
    return [asked.json["messages"][0]["content"] for asked in server.chats()]


@pytest.mark.proves("N22b")
@pytest.mark.parametrize("path", ["one shot", "shell", "piped"])
def test_the_prompt_of_that_turn_asks_for_care(world: World, path: str) -> None:
    """In the shell, in a script and with piped text."""
    with FakeServer(sse("I am here."), sse("Fine.")) as server:
        serve(world, server)
        match path:
            case "one shot":
                world.aish(WORDS)
            case "shell":
                world.aish("--lines", given=f"{WORDS}\nhow do I list files?\n")
            case _:
                world.aish(f"{WORDS}, see", given="a letter\n")
        asked = prompts(server)

    assert "person in crisis" in asked[0]
    assert "tools" not in server.chats()[0].json
    if path == "shell":
        assert "person in crisis" not in asked[1]


@pytest.mark.proves("N22b")
def test_it_can_be_switched_off(world: World) -> None:
    """Some users do not want the directive."""
    with FakeServer(sse("Yes.")) as server:
        serve(world, server, "[safety]\ncrisis_support = false")
        world.aish(WORDS)
        asked = prompts(server)
    assert "person in crisis" not in asked[0]


@pytest.mark.proves("N22b")
def test_nothing_of_it_is_proposed_for_memory(world: World) -> None:
    """The summarizer does not see such a turn at all."""
    with FakeServer(sse("I am here."), sse("Noted."), sse("- (fact) They use vim")) as server:
        serve(world, server)
        world.aish("--lines", given=f"{WORDS}\nmy editor is vim\n")
        world.aish("memory", "summarize")
        shown = server.chats()[-1].json["messages"][0]["content"]
    assert "my editor is vim" in shown
    assert "live any more" not in shown and "I am here." not in shown
