"""Stories about the automatic token budget, with a server that tells its window and one that does not."""

import pytest
from fake_server import Answer, FakeServer, reply_json, sse
from world import World

NOTHING: dict[str, Answer] = {
    path: reply_json({}, status=404) for path in ("/props", "/v1/models", "/api/v0/models", "/api/ps", "/tokenize")
}


def configure(world: World, server: FakeServer, more: str = "") -> None:
    world.configure(
        f'model = "srv"\n{more}\n[context]\ntoken_budget = "auto"\nsummarize_evicted = false\n'
        f'[models.srv]\nendpoint = "{server.url}"\nmodel = "mine"\n'
    )


@pytest.mark.proves("T24", "C3")
def test_a_conversation_grows_to_the_window_that_the_server_tells(world: World) -> None:
    """The server is asked when the first question is, once, and its window is used, not 4096 tokens and 40 turns."""
    props = reply_json({"default_generation_settings": {"n_ctx": 32_768}})
    with FakeServer(sse("A", usage=None), paths={**NOTHING, "/props": props}) as server:
        configure(world, server)
        assert world.aish("--lines", given=":context\n").out.splitlines()[-1] == (
            "budget: 24,576 tokens, the window of 32,768 tokens less room for the answer"
        )
        ran = world.aish("--lines", given="".join(f"? {number} {'w ' * 1000}\n" for number in range(25)))

        assert "dropped" not in ran.err + ran.out
        assert len(server.chats()[-1].json["messages"]) == 1 + 2 * 24 + 1  # about 12,500 tokens
        assert [asked.path for asked in server.asked].count("/props") == 2  # once in each run


@pytest.mark.proves("T24")
def test_an_unknown_window_is_said_once_with_what_to_do(world: World) -> None:
    """Once for each model, not in each run: a script would print it each time."""
    with FakeServer(sse("A", usage=None), paths=NOTHING) as server:
        configure(world, server)
        first, second = world.aish("one?"), world.aish("two?")

    assert first.err.splitlines()[0].endswith(
        "the context window of srv (mine) is not known, so prompts have at most 4,096 tokens; "
        "to change that, set models.srv.window to its size in tokens"
    )
    assert "window" not in second.err and second.out == "A\n"


def test_the_window_of_a_preset_needs_no_request(world: World) -> None:
    """It is the remedy that the notice names."""
    with FakeServer(sse("A", usage=None), paths=NOTHING) as server:
        configure(world, server)
        with world.places.config_file.open("a", encoding="utf-8") as file:
            file.write("window = 16384\n")
        ran = world.aish("--lines", given="? hello\n:context\n")

        assert "budget: 12,288 tokens, the window of 16,384 tokens" in ran.out
        assert not {asked.path for asked in server.asked} & {"/props", "/v1/models", "/api/ps"}
