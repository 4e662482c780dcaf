"""Hostile commands in the looking fence have no effect, whatever the policy thinks of them.

CI runs a part of the commands; `make effects` runs all.
"""

import base64

import pytest
from effect_world import control, own_commands, run_all
from hostile_commands import CONTROL, generate
from scratch import TOKEN, shows_secret

from aish.action.fence.availability import trouble
from aish.action.fence.fence import Kind

KINDS = [
    pytest.param(kind, marks=pytest.mark.skipif(bool(trouble(kind)), reason=trouble(kind) or "there is one"))
    for kind in ("landlock", "bubblewrap")
]
both = pytest.mark.parametrize("kind", KINDS)
SOON = 1.0  # seconds for one command, so that those that never end do not take long


def test_without_a_fence_the_same_test_sees_every_kind_of_effect() -> None:
    """A test that cannot fail proves nothing."""
    seen = {command: {effect.split(":")[0] for effect in done.effects} for command, done in control().items()}

    assert [command for command, kind in CONTROL.items() if kind not in seen[command]] == []
    assert set.union(*seen.values()) == {"file", "outside", "network", "victim", "left", "secret"}


@both
def test_hand_written_attacks_have_no_effect(kind: Kind) -> None:
    """Nobody judges them here: each is let run, as if the policy were wrong about all of them."""
    commands = own_commands()[::2] if kind == "landlock" else own_commands()[1::8]
    done = run_all(kind, commands, seconds=SOON)

    assert [(one.command, one.effects) for one in done.found] == []
    assert sum(done.ran.values()) == len(commands)
    assert done.stopped > len(commands) / 2


@pytest.mark.skipif(bool(trouble("landlock")), reason=trouble("landlock") or "there is one")
def test_generated_commands_have_no_effect() -> None:
    """Programs of the table with random options, operands and surroundings, let run without judging."""
    done = run_all("landlock", generate(80), seconds=SOON)

    assert [(one.command, one.effects) for one in done.found] == []
    assert done.stopped > 10


@pytest.mark.skipif(bool(trouble("landlock")), reason=trouble("landlock") or "there is one")
def test_generated_commands_that_would_run_unasked_have_no_effect() -> None:
    """The same through the policy, with other commands."""
    done = run_all("landlock", generate(150, seed=15), judged=True, seconds=SOON)

    assert [(one.command, one.effects) for one in done.found] == []
    assert done.asked > sum(done.ran.values()) > 0


def test_the_generator_repeats_itself() -> None:
    """A failure can be looked at again."""
    assert list(generate(50)) == list(generate(50))
    assert list(generate(50)) != list(generate(50, seed=1))


@pytest.mark.parametrize("form", ["upper case", "reversed", "base64", "hexadecimal"])
def test_secrets_are_seen_in_other_forms(form: str) -> None:
    """`rev`, `base64` and `xxd` must not hide what a command read."""
    text = {
        "upper case": TOKEN.upper(),
        "reversed": TOKEN[::-1],
        "base64": base64.b64encode(f"{TOKEN}-env".encode()).decode(),
        "hexadecimal": TOKEN.encode().hex(" "),
    }[form]
    assert shows_secret(f"text {text} text".encode())
    assert not shows_secret(b"text canary text")
