"""`aish policy`, as scripts and users call it."""

import json

import pytest
from world import World


@pytest.mark.proves("X5", "N22")
def test_lines_of_commands_become_lines_of_verdicts(world: World) -> None:
    """One process for many commands, in order, each with its command."""
    commands = ["ls -l", "rm -r build", "", "echo \u200b"]
    given = "".join(json.dumps({"command": command}) + "\n" for command in commands)
    ran = world.aish("policy", "--jsonl", given=given)
    answers = [json.loads(line) for line in ran.out.splitlines()]
    assert ran.code == 0
    assert [answer["command"] for answer in answers] == commands
    assert [answer["verdict"] for answer in answers] == ["run", "ask", "refuse", "ask"]
    assert [answer["effect"] for answer in answers] == ["read", "destroy", "unknown", "unknown"]
    assert all(set(answer) == {"command", "verdict", "effect", "reason"} for answer in answers)


def test_one_command_is_told_to_a_person_and_to_a_script(world: World) -> None:
    """The exit code says the same as the text."""
    ran = world.aish("policy", "git", "log", "--oneline")
    assert (ran.code, ran.out) == (0, "run (read): it only reads\n")
    ran = world.aish("policy", "rm -r old")
    assert (ran.code, ran.out) == (1, "ask (destroy): rm deletes files\n")
    ran = world.aish("policy", "--json", "rm -r old")
    assert ran.code == 1
    assert json.loads(ran.out)["verdict"] == "ask"


def test_a_command_can_be_piped_in(world: World) -> None:
    """With newlines and quotes unchanged."""
    ran = world.aish("policy", given="ls\nrm x\n")
    assert (ran.code, ran.out.split(":")[0]) == (1, "ask (destroy)")


@pytest.mark.parametrize("line", ["ls", "[]", '{"line": "ls"}', '{"command": 1}', "\xff"])
def test_a_line_that_is_no_command_is_a_mistake_of_the_caller(world: World, line: str) -> None:
    """The message names the line, and nothing is guessed."""
    ran = world.aish("policy", "--jsonl", given='{"command": "ls"}\n' + line + "\n")
    assert ran.code == 2
    assert "line 2 is not" in ran.err


def test_the_users_own_entries_count_and_a_mistake_in_them_is_told(world: World) -> None:
    """The shell uses the same entries."""
    world.places.config.mkdir(parents=True)
    own = world.places.config / "policy.toml"
    own.write_text('[mytool]\noperands = "any"\n', encoding="utf-8")
    assert world.aish("policy", "mytool x").code == 0
    own.write_text('[mytool]\noperands = "all"\n', encoding="utf-8")
    ran = world.aish("policy", "mytool x")
    assert ran.code == 2
    assert "mytool: operands must be one of" in ran.err


@pytest.mark.proves("X5")
def test_nothing_is_executed(world: World) -> None:
    """Judging a command does not run it."""
    world.aish("policy", "--jsonl", given='{"command": "touch made; ls $(touch made)"}\n')
    world.aish("policy", "touch made")
    assert not (world.directory / "made").exists()


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["sh", "-c", "find . -delete"], 1),
        (['sh -c "find . -delete"'], 1),
        (["echo", "hi; rm -rf x"], 0),
        (["echo hi; rm -rf x"], 1),
        (["cat", "a>b"], 0),
        (["echo", "--js"], 0),
    ],
)
def test_several_words_are_judged_as_the_arguments_that_they_are(world: World, words: list[str], code: int) -> None:
    """Joined by blanks, `sh -c "find . -delete"` would be a `find` that only reads."""
    assert world.aish("policy", *words).code == code


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (["llm", "--model", "fast", "hello"], "llm --model fast hello"),
        (["git", "log", "--set", "a=b"], "git log --set a=b"),
        (["--", "npm", "ls", "--json"], "npm ls --json"),
        (["--", "--", "x"], "-- x"),
    ],
)
def test_no_option_of_a_judged_command_is_taken_for_ours(world: World, words: list[str], command: str) -> None:
    """What is judged must be what would run: without its options it is another command."""
    before = world.aish("policy", "--json", *words)
    first = world.aish("--json", "policy", *words)

    assert json.loads(before.out)["command"] == json.loads(first.out)["command"] == command
