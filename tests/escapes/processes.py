"""Read what is secret, and disturb other processes."""

import ctypes
import fcntl
import os
import signal
import socket
import struct
from pathlib import Path

from escapes.ground import REPORT, Ground, Stopped, attempt, call, must


@attempt()
def read_secret(ground: Ground) -> None:
    must(ground.token in Path(ground.secret).read_text(encoding="utf-8"), "not in it")


@attempt()
def read_secret_by_link(ground: Ground) -> None:
    link = Path(ground.private, "to-secret")
    link.symlink_to(ground.secret)
    must(ground.token in link.read_text(encoding="utf-8"), "not in it")


@attempt()
def read_secret_by_hard_link(ground: Ground) -> None:
    os.link(ground.secret, f"{ground.private}/hard")
    must(ground.token in Path(ground.private, "hard").read_text(encoding="utf-8"), "not in it")


@attempt()
def read_secret_by_other_root(ground: Ground) -> None:
    for pid in ("self", "thread-self", str(ground.victim), "1"):
        try:
            text = Path(f"/proc/{pid}/root{ground.secret}").read_text(encoding="utf-8")
        except OSError:
            continue
        must(ground.token in text, "not in it")
        return
    raise Stopped("no root leads to it")


@attempt()
def read_environment_of_parent(ground: Ground) -> None:
    must(ground.token.encode() in Path(f"/proc/{ground.parent}/environ").read_bytes(), "not in it")


@attempt()
def read_memory_of_parent(ground: Ground) -> None:
    os.open(f"/proc/{ground.parent}/mem", os.O_RDONLY)


@attempt()
def read_descriptors_of_parent(ground: Ground) -> None:
    os.open(f"/proc/{ground.parent}/fd/1", os.O_WRONLY | os.O_NONBLOCK)


@attempt()
def read_own_environment(ground: Ground) -> None:
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if ground.token.encode() in path.read_bytes():
                return
        except OSError:
            continue
    raise Stopped("no environment that can be read has the secret")


@attempt()
def inherited_descriptors(ground: Ground) -> None:
    found = [fd for fd in range(3, REPORT) if _is_open(fd)]
    must(found, "nothing but the standard three")


def _is_open(fd: int) -> bool:
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True


@attempt()
def read_disk(ground: Ground) -> None:
    disks = [path for path in Path("/dev").glob("*") if path.is_block_device()]
    must(disks, "there is no disk")
    os.open(disks[0], os.O_RDONLY)


@attempt()
def signal_victim(ground: Ground) -> None:
    os.kill(ground.victim, signal.SIGURG)


@attempt()
def signal_thread(ground: Ground) -> None:
    call((200, 130), ground.victim, signal.SIGURG)


@attempt()
def signal_thread_of_group(ground: Ground) -> None:
    call((234, 131), ground.victim, ground.victim, signal.SIGURG)


@attempt()
def signal_group(ground: Ground) -> None:
    os.killpg(ground.victim, signal.SIGURG)


@attempt()
def signal_with_value(ground: Ground) -> None:
    info = ctypes.create_string_buffer(struct.pack("=iii", signal.SIGURG, 0, -1).ljust(128, b"\0"))
    call((129, 138), ground.victim, signal.SIGURG, info)


@attempt()
def signal_by_descriptor(ground: Ground) -> None:
    call((424, 424), os.pidfd_open(ground.victim), signal.SIGURG, None, 0)


@attempt()
def signal_aish(ground: Ground) -> None:
    os.kill(ground.parent, signal.SIGURG)


@attempt(fenced_only=True)
def signal_everybody(ground: Ground) -> None:
    """It may end the processes of the fence, and nothing else."""
    os.kill(-1, signal.SIGURG)
    must(_sees(ground.victim), "it sees no other processes")


@attempt(fenced_only=True)
def signal_keeper(ground: Ground) -> None:
    os.kill(_ancestor(), signal.SIGURG)


@attempt(fenced_only=True)
def signal_keeper_by_group(ground: Ground) -> None:
    """Join the process group of the keeper, then signal the own group."""
    os.setpgid(0, os.getpgid(_ancestor()))
    os.kill(0, signal.SIGURG)


def _ancestor() -> int:
    """Return the process above the fence: the first one in another session or group than this program's parent."""
    pid = os.getppid()
    for _ in range(10):
        above = int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[1])
        must(above > 0, "nobody above can be seen")
        if b"bwrap" not in Path(f"/proc/{above}/cmdline").read_bytes() and _group(above) != _group(pid):
            return above
        pid = above
    raise Stopped("nobody above can be seen")


def _group(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[2])


def _sees(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


@attempt()
def signal_by_owner_of_descriptor(ground: Ground) -> None:
    one, other = socket.socketpair()
    fcntl.fcntl(one, fcntl.F_SETOWN, ground.victim)
    other.send(b"x")


@attempt()
def signal_by_owner_of_socket(ground: Ground) -> None:
    """The same by a request to the socket."""
    one, _ = socket.socketpair()
    fcntl.ioctl(one, 0x8901, struct.pack("=i", ground.victim))


@attempt()
def trace(ground: Ground) -> None:
    call((101, 117), 0x4206, ground.victim, 0, 0)


@attempt()
def write_memory_of_victim(ground: Ground) -> None:
    call((311, 271), ground.victim, None, 0, None, 0, 0)


@attempt()
def read_memory_of_victim(ground: Ground) -> None:
    call((310, 270), ground.victim, None, 0, None, 0, 0)


@attempt()
def take_descriptor(ground: Ground) -> None:
    call((438, 438), os.pidfd_open(ground.victim), 0, 0)


@attempt()
def limit_victim(ground: Ground) -> None:
    call((302, 261), ground.victim, 7, struct.pack("=QQ", 64, 64), None)


@attempt()
def nice_victim(ground: Ground) -> None:
    os.setpriority(os.PRIO_PROCESS, ground.victim, 5)


@attempt(fenced_only=True)
def nice_user(ground: Ground) -> None:
    """All processes of the user: 0 means the own user."""
    call((141, 140), os.PRIO_USER, 0, 1)


@attempt()
def place_victim(ground: Ground) -> None:
    os.sched_setaffinity(ground.victim, {0})


@attempt(fenced_only=True)
def order_input_of_user(ground: Ground) -> None:
    call((251, 30), 3, 0, (3 << 13) | 0)


@attempt(fenced_only=True)
def spare_from_memory_shortage(ground: Ground) -> None:
    Path(f"/proc/{ground.victim}/oom_score_adj").write_text("500", encoding="ascii")
