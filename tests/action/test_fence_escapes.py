"""Ways out of the looking fence, tried one by one on the real kernel, in every kind of fence."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from escapes import ATTEMPTS, FENCED_ONLY, Ground
from scratch import TOKEN, Scratch, end_children, scratch, secret

from aish.action.fence.availability import trouble
from aish.action.fence.bounds import looking
from aish.action.fence.fence import Fence, Kind, fenced
from aish.action.fence.landlock import version

PROGRAM = Path(__file__).parent.parent / "escapes.py"
KINDS: list[tuple[Kind, int | None]] = [("landlock", abi) for abi in range(1, version() + 1)]
FENCES = [
    *(pytest.param("landlock", abi, id=f"landlock-{abi}") for abi in range(1, version() + 1)),
    pytest.param(
        "bubblewrap",
        None,
        id="bubblewrap",
        marks=pytest.mark.skipif(bool(trouble("bubblewrap")), reason=trouble("bubblewrap") or "there is bubblewrap"),
    ),
]
every_fence = pytest.mark.parametrize(("kind", "abi"), FENCES)


def fill(made: Scratch) -> None:
    made.write("project/README.md", "a project\n")
    made.write("project/delete-me", "text\n")
    made.write("project/big", "text\n" * 1000)
    made.write("project/.git/config", "[core]\n\trepositoryformatversion = 0\n\tbare = false\n")
    made.write("project/.git/HEAD", "ref: refs/heads/main\n")
    made.write("home/.bashrc", "# start-up\n")
    made.write("own/memory.jsonl", secret("memory"))
    for name in ("objects", "refs"):
        (made.project / ".git" / name).mkdir()
    os.mkfifo(made.project / "fifo")


class Tried(NamedTuple):
    """What became of all attempts in one fence: the answer of each, and what changed outside."""

    answers: dict[str, str]
    effects: list[str]


def try_all(names: Sequence[str], kind: Kind | None, abi: int | None = None) -> Tried:
    with scratch(fill) as made:
        master, slave = os.openpty()
        parent = subprocess.Popen(  # its environment has a secret
            ["sleep", "10000"], env={**os.environ, "AWS_SECRET_ACCESS_KEY": secret("environment")}
        )
        ground = Ground(
            str(made.project), str(made.own / "memory.jsonl"), TOKEN, made.victim.pid, parent.pid,
            made.listeners.tcp, made.listeners.udp, made.listeners.unix, made.listeners.unix_packets,
            made.listeners.abstract, os.ttyname(slave),
        )  # fmt: skip
        before = made.look()
        words = [sys.executable, str(PROGRAM), json.dumps(ground._asdict()), *names]
        try:
            if kind is None:
                done = start(words, made, None, made.top / "private")
            else:
                with fenced(looking([made.own], seconds=60), kind, abi=abi) as fence:
                    done = start(words, made, fence, fence.private)
            effects = made.effects(before)
        finally:
            parent.kill()
            parent.wait()
            os.close(master)
            os.close(slave)
        end_children(iter(made.look().children - before.children))
    assert not done.stderr, done.stderr
    answers = dict(line.split("\t", 1) for line in done.stdout.splitlines())
    return Tried(answers, effects)


def start(words: list[str], made: Scratch, fence: Fence | None, private: Path) -> subprocess.CompletedProcess[str]:
    private.mkdir(exist_ok=True)
    return subprocess.run(
        fence.wrap(words, str(made.project)) if fence else words,
        cwd=made.project,
        env={"PATH": os.environ["PATH"], "HOME": str(made.home), "TMPDIR": str(private)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        preexec_fn=fence.step if fence else None,
        pass_fds=fence.pass_fds if fence else (),
        start_new_session=True,
        timeout=90,
        check=False,
    )


@cache
def in_fence(kind: Kind, abi: int | None) -> Tried:
    return try_all(list(ATTEMPTS), kind, abi)


@every_fence
@pytest.mark.parametrize("name", ATTEMPTS)
def test_no_way_leads_out(kind: Kind, abi: int | None, name: str) -> None:
    """Whatever a command was judged to be, the kernel stops it."""
    assert in_fence(kind, abi).answers[name].startswith("stopped: ")


@every_fence
def test_the_attempts_changed_nothing(kind: Kind, abi: int | None) -> None:
    """Seen from outside: no file, no packet, no signal, no process."""
    assert in_fence(kind, abi).effects == []
