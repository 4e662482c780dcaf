"""The weights of embedded models: which of them run commands in a form of their own."""

from pathlib import Path

import pytest

from aish.model.weights import QWEN_SMALL, SMOLLM2, WORDLLAMA, prompt_form


def sparse(path: Path, size: int) -> Path:
    path.touch()
    with path.open("r+b") as file:
        file.truncate(size)
    return path


@pytest.mark.parametrize(
    ("megabytes", "setting", "expected"),
    [
        (90, None, False),  # it would run nonsense
        (90, "commands", True),
        (400, None, True),
        (400, True, False),  # the tools of llama.cpp
        (400, False, False),
        (400, "commands", True),
        (2_400, None, True),
        (5_000, None, False),  # it writes better without a form
        (5_000, "commands", True),
    ],
)
def test_a_small_file_of_the_users_own_runs_commands(
    tmp_path: Path, megabytes: int, setting: bool | str | None, expected: bool
) -> None:
    """By the size of the file, unless a setting decides."""
    file = sparse(tmp_path / "my.gguf", megabytes * 1_000_000)
    assert prompt_form(file, setting) == ("run" if expected else "full")


@pytest.mark.parametrize(
    ("file", "setting", "expected"),
    [
        (QWEN_SMALL.file, None, "run"),
        (QWEN_SMALL.file, True, "run"),
        (SMOLLM2.file, None, "words"),
        (SMOLLM2.file, False, "words"),
        (SMOLLM2.file, True, "full"),  # the user wants to see what it does with tools
        (SMOLLM2.file, "commands", "run"),
        (WORDLLAMA.file, None, "full"),
        ("none.gguf", None, "full"),
    ],
)
def test_weights_of_the_catalogue_are_known_by_their_name(
    tmp_path: Path, file: str, setting: bool | str | None, expected: str
) -> None:
    """Whether they are there or not; a file that is not there has no size."""
    assert prompt_form(tmp_path / file, setting) == expected
