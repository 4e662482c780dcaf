"""`aish recall` as programs use it: fields, exit codes, and any input."""

import json
from typing import Any

import pytest
from world import Ran, World

MEMORIES = [
    {"id": "new", "layer": "memory", "kind": "fact", "text": "Kiln code is 4711 since May.", "age_days": 3},
    {"id": "old", "layer": "memory", "kind": "fact", "text": "Kiln code is 0815.", "age_days": 300.5},
    {"id": "glaze", "layer": "history", "kind": "Errors", "text": "The glaze cracked because it cooled too fast."},
]


def asked(world: World, *lines: dict[str, Any], options: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    given = "".join(json.dumps(line) + "\n\n" for line in lines)
    ran = world.aish("recall", "--jsonl", *options, given=given)
    assert (ran.code, ran.err) == (0, "")
    return [json.loads(line) for line in ran.out.splitlines()]


def test_one_process_answers_many_lines_with_their_own_memories(world: World) -> None:
    """Documented fields, and nothing of one line in another."""
    code, glaze, nothing, none = asked(
        world,
        {"query": "what is our kiln code?", "memories": MEMORIES},
        {"query": "the glaze cracked again, why?", "memories": MEMORIES},
        {"query": "how tall is Mount Etna?", "memories": MEMORIES},
        {"query": "what is our kiln code?", "memories": []},
    )

    assert code["shown"] == ["new"] and code["tokens"] == 7 and code["considered"] == 3
    assert code["reasons"] == {"new": ["kiln", "code"]} and code["notes"] == {"new": "replaces: Kiln code is 0815."}
    assert {"id": "old", "outcome": "superseded"}.items() <= code["left_out"][0].items()
    assert glaze["shown"] == ["glaze"] and "trouble" in glaze["intents"]
    assert nothing["shown"] == none["shown"] == [] and nothing["tokens"] == 0


def test_without_memories_the_ledger_is_used(world: World) -> None:
    """What was imported and not confirmed stays out."""
    world.aish("memory", "add", "Kiln code is 4711.")
    question = "what is our kiln code?"

    [answer] = asked(world, {"query": question})
    assert answer["shown"] == ["ledger:1"]
    shown = world.aish("recall", *question.split())
    assert shown.code == 0 and "Kiln code is 4711." in shown.out and "kiln, code" in shown.out
    assert world.aish("recall", "who", "wrote", "Hamlet").code == 1
    assert json.loads(world.aish("recall", "--json", question).out) == answer
    assert json.loads(world.aish("recall", "--json", given=question).out)["shown"] == ["ledger:1"]


def test_the_budget_is_an_option(world: World) -> None:
    """A caller with a small window asks for less."""
    [answer] = asked(world, {"query": "what is our kiln code?", "memories": MEMORIES}, options=("--limit-tokens", "3"))

    assert answer["shown"] == [] and answer["left_out"][0]["outcome"] == "budget"


BAD = {"id": "a", "layer": "memory", "kind": "fact", "text": "x", "age_days": 1}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("no json", 'line 1 is not {"query": …}'),
        ('{"query": 1}', 'line 1 is not {"query": …}'),
        ('{"query": "x", "memories": {}}', "line 1: memories must be a list"),
        (json.dumps({"query": "x", "memories": [1]}), "line 1: a memory needs id, kind and text"),
        (json.dumps({"query": "x", "memories": [BAD | {"text": None}]}), "line 1: a memory needs id, kind and text"),
        (
            json.dumps({"query": "x", "memories": [BAD | {"layer": "moon"}]}),
            "line 1: layer must be one of session, memory, workspace, history, ledger",
        ),
        (
            json.dumps({"query": "x", "memories": [BAD | {"age_days": "old"}]}),
            "line 1: age_days must be a number of days",
        ),
        (
            json.dumps({"query": "x", "memories": [BAD | {"age_days": float("nan")}]}),
            "line 1: age_days must be a number of days",
        ),
        (json.dumps({"query": "x", "memories": [BAD, BAD]}), "line 1: two memories have the same id"),
    ],
)
def test_a_bad_line_is_named(world: World, line: str, message: str) -> None:
    """Exit code 2, one line that says what is wrong, and nothing on standard output."""
    assert world.aish("recall", "--jsonl", given=line + "\n") == Ran(2, "", f"[aish] {message}\n")
