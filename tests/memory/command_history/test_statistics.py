"""Figures about commands."""

import pytest

from aish.memory.command_history.statistics import program, statistics
from aish.values.past_command import PastCommand


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("ls -l", "ls"),
        ("VAR='x y' make -j", "make"),
        ('A=1 B="two words" C=a\\ b env', "env"),
        ("PATH+=:/x ls", "ls"),
        ("X=$(date +%s) Y=`id -u` run", "run"),
        ("VAR='x", ""),
        ("VAR=1", ""),
        ("./a=b", "./a=b"),
        ("   ", ""),
        ("A=" + "a" * 50_000 + "'", ""),
    ],
)
def test_variables_before_a_command_are_no_program(command: str, name: str) -> None:
    assert program(command) == name


def test_a_command_that_only_sets_variables_counts_as_a_run_without_a_program() -> None:
    told = statistics([PastCommand("X=1", 1.0), PastCommand("ls", 2.0)])
    assert told["runs"] == 2 and told["top_programs"] == {"ls": 1}
