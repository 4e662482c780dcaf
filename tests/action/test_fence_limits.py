"""The limits of a looking fence: whatever a command does, it ends, and nothing of it is left."""

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from scratch import Scratch, scratch

from aish.action.command_runner import MOST_PRINTED, Captured, run_captured
from aish.action.fence.availability import trouble
from aish.action.fence.bounds import looking
from aish.action.fence.fence import Kind, fenced
from aish.action.fence.keeper import TIMED_OUT, ResourceLimits

KINDS = [
    pytest.param(kind, marks=pytest.mark.skipif(bool(trouble(kind)), reason=trouble(kind) or "there is one"))
    for kind in ("landlock", "bubblewrap")
]
both = pytest.mark.parametrize("kind", KINDS)
pytestmark = pytest.mark.usefixtures("in_time")
FEW = ResourceLimits(
    seconds=10, processor_seconds=10, memory=1 << 30, file_size=1 << 20, open_files=64, private_size=4 << 20
)


@pytest.fixture
def made() -> Iterator[Scratch]:
    with scratch() as made:
        yield made


def run(made: Scratch, kind: Kind, command: str, limits: ResourceLimits = FEW, processes: int = 100) -> Captured:
    """Run a command, and check that nothing of it is left."""
    before = made.look()
    with fenced(looking([made.own])._replace(limits=limits, processes=processes), kind) as fence:
        env = {"PATH": os.environ["PATH"], "HOME": str(made.home), "TMPDIR": str(fence.private)}
        done = run_captured(command, env=env, directory=str(made.project), fence=fence)
    assert not fence.private.exists()
    assert made.effects(before) == []
    return done


def wait_for(happened: Callable[[], bool]) -> None:
    """Wait until something happened; the fixture `in_time` fails a test that waits too long."""
    while not happened():
        time.sleep(0.01)


def python(script: str) -> str:
    return shlex.join([sys.executable, "-c", script])


def told(done: Captured) -> str:
    return ", ".join(want.what for want in done.wants)


@both
@pytest.mark.parametrize(
    "command",
    [
        "setsid -f sleep 1000",
        "(setsid sleep 1000 & setsid sleep 1000 &) & sleep 0.1",
        "trap '' HUP TERM INT; setsid -f sh -c 'trap \"\" HUP TERM INT; while :; do sleep 1; done'; sleep 0.1",
        "nohup sleep 1000 > /dev/null 2>&1 & disown; exit 3",
        "sleep 1000 & kill -STOP $!",
        "exec 0<&- 1>&- 2>&-; setsid -f sleep 1000",
    ],
)
def test_what_a_command_left_running_ends_with_it(made: Scratch, kind: Kind, command: str) -> None:
    """A process that goes on could wait for a better moment."""
    began = time.monotonic()

    run(made, kind, command)

    assert time.monotonic() - began < FEW.seconds


@both
def test_a_fork_bomb_runs_out_of_processes_and_ends(made: Scratch, kind: Kind) -> None:
    """Also one whose processes detach themselves."""
    done = run(made, kind, "bomb() { bomb & bomb & setsid -f true; sleep 100; }; bomb", FEW._replace(seconds=2))

    assert done.status != 0
    assert "run more than 100 processes at once" in told(done)


@both
def test_a_command_ends_after_its_time(made: Scratch, kind: Kind) -> None:
    """Also if it ignores every signal that it can."""
    done = run(made, kind, "trap '' HUP TERM INT; sleep 100; sleep 100", FEW._replace(seconds=0.3))

    assert done.status == TIMED_OUT
    assert told(done) == "run longer than 0.3 seconds"


@both
def test_a_command_ends_after_its_processor_time(made: Scratch, kind: Kind) -> None:
    """A command that computes for ever makes the machine slow."""
    done = run(made, kind, "while :; do :; done", FEW._replace(processor_seconds=1))

    assert done.status == 128 + signal.SIGKILL


@both
def test_a_command_that_prints_for_ever_is_ended(made: Scratch, kind: Kind) -> None:
    """What it prints is kept in memory."""
    done = run(made, kind, "yes")

    assert len(done.stdout) < 2 * MOST_PRINTED
    assert told(done) == f"print more than {MOST_PRINTED >> 20} MB"


@both
def test_a_command_gets_no_more_memory_than_it_may(made: Scratch, kind: Kind) -> None:
    """Otherwise the system would end other programs."""
    done = run(made, kind, f"{sys.executable} -c 'bytearray(2 << 30)'")

    assert b"MemoryError" in done.stderr


@both
def test_if_memory_runs_out_a_looking_command_ends_first(made: Scratch, kind: Kind) -> None:
    """Many processes, or memory that is shared, can use up more than the limit of each."""
    assert run(made, kind, "cat /proc/self/oom_score_adj", FEW).stdout == b"1000\n"


@both
def test_a_full_private_directory_ends_the_command(made: Scratch, kind: Kind) -> None:
    """It is on a disk that others need."""
    done = run(made, kind, "i=0; while :; do i=$((i+1)); head -c 500000 /dev/zero > $TMPDIR/$i; done")

    assert told(done) == "fill its temporary directory"


@both
def test_too_many_empty_files_end_the_command(made: Scratch, kind: Kind) -> None:
    """A file system has room for a limited number of files, whatever their size."""
    done = run(made, kind, "i=0; while :; do i=$((i+1)); : > $TMPDIR/$i; done")

    assert told(done) == "fill its temporary directory"


@both
def test_a_file_grows_no_larger_than_it_may(made: Scratch, kind: Kind) -> None:
    """Between two checks of the directory a single file could fill the disk."""
    done = run(made, kind, "head -c 3000000 /dev/zero > $TMPDIR/a; wc -c < $TMPDIR/a")

    assert done.stdout.split() == [b"1048576"]


@both
def test_ten_thousand_files_are_deleted(made: Scratch, kind: Kind) -> None:
    """Together with directories that nobody may enter, and links that lead elsewhere."""
    target = made.write("project/kept", "text")
    script = f"""
import os
os.chdir(os.environ["TMPDIR"])
for number in range(10_000):
    os.symlink({str(target)!r}, f"{{number}}")
os.mkdir("closed", 0)
os.symlink({str(made.project)!r}, "way")
"""
    done = run(made, kind, python(script), FEW._replace(private_size=1 << 30))

    assert (done.status, done.stderr) == (0, b"")
    assert target.read_text(encoding="utf-8") == "text"


@both
def test_a_directory_that_is_too_deep_for_a_path_ends_the_command_and_is_deleted(made: Scratch, kind: Kind) -> None:
    """Its size cannot be found out, and functions that call themselves or use whole paths cannot delete it."""
    script = """
import os
os.chdir(os.environ["TMPDIR"])
for _ in range(3000):
    os.mkdir("deep")
    os.chdir("deep")
import time
time.sleep(100)
"""
    done = run(made, kind, python(script), FEW._replace(private_size=1 << 30))

    if kind == "landlock":
        assert told(done) == "fill its temporary directory"
    else:  # the keeper makes the directories, and knows no longer path
        assert b"Operation not permitted" in done.stderr


@both
def test_descriptors_run_out_for_the_command_only(made: Scratch, kind: Kind) -> None:
    """The keeper has its own."""
    script = "import os, socket\nwhile True: os.dup(0)"
    done = run(made, kind, python(script))

    assert b"Too many open files" in done.stderr


@both
def test_many_sockets_run_out_for_the_command_only(made: Scratch, kind: Kind) -> None:
    """The keeper holds the other end of each."""
    script = "import socket\nkept = []\nwhile True: kept.append(socket.socket())"
    done = run(made, kind, python(script), FEW._replace(open_files=4000))

    assert b"Permission denied" in done.stderr


@both
def test_a_long_report_does_not_block_the_keeper(made: Scratch, kind: Kind) -> None:
    """It is read only after the keeper has ended."""
    done = run(made, kind, "for i in {1..60}; do : > /etc/$(printf '%03000d' $i); done 2> /dev/null; echo end")

    assert done.stdout == b"end\n"


@both
def test_many_threads_end_with_the_command(made: Scratch, kind: Kind) -> None:
    """They are not processes, so their number is not limited, but they end in time."""
    script = "import threading, time\nwhile True: threading.Thread(target=time.sleep, args=(99,)).start()"
    done = run(made, kind, python(script), FEW._replace(seconds=2))

    assert done.status != 0


@both
def test_a_command_ends_when_aish_is_killed(made: Scratch, kind: Kind) -> None:
    """Nobody would see what it does any more."""
    before = made.look()
    script = f"""
import os, sys
from pathlib import Path
from aish.action.command_runner import run_captured
from aish.action.fence.bounds import looking
from aish.action.fence.fence import fenced
with fenced(looking([]), {kind!r}) as fence:
    print(fence.private, flush=True)
    env = dict(os.environ, TMPDIR=str(fence.private))
    run_captured("setsid -f sleep 1000; : > $TMPDIR/begun; sleep 1000", env=env, directory="/", fence=fence)
"""
    aish = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert aish.stdout
    private = Path(aish.stdout.readline().strip())
    wait_for(lambda: (private / "begun").exists())
    aish.kill()
    aish.wait()
    aish.stdout.close()

    wait_for(lambda: made.look().children <= before.children)
    subprocess.run(["rm", "-r", str(private)], check=True)
