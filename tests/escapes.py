"""Ways out of a fence, each a function that returns if it got out and raises if it was stopped.

Run inside a fence as a program: `escapes.py GROUND NAME…`, with the ground as JSON. It prints a line for each attempt:
its name, `out` or `stopped`, and the reason. Each attempt is a process of its own.
"""

import array
import ctypes
import errno
import fcntl
import json
import mmap
import os
import resource
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

_LIBC = ctypes.CDLL(None, use_errno=True)
_X86 = os.uname().machine == "x86_64"
_SECONDS_OF_RACES = 1.0
_REPORT = 1000  # the descriptors of this program itself are at least this


class Ground(NamedTuple):
    """What an attempt aims at. `terminal` is that of the person, `keeper` the keeper of the fence."""

    project: str
    secret: str  # a file that must not be read
    token: str  # what is in it
    victim: int
    parent: int
    tcp: int
    udp: int
    unix: str
    unix_packets: str
    abstract: str
    terminal: str

    @property
    def file(self) -> str:
        return f"{self.project}/README.md"

    @property
    def new(self) -> str:
        return f"{self.project}/new"

    @property
    def private(self) -> str:
        """A directory of one attempt in the private directory of the fence."""
        path = f"{os.environ['TMPDIR']}/{os.getpid()}"
        os.makedirs(path, exist_ok=True)
        return path


class Stopped(Exception):
    """The attempt did not work, without an error of the system."""


Attempt = Callable[[Ground], object]
ATTEMPTS: dict[str, Attempt] = {}
FENCED_ONLY: set[str] = set()  # would do harm outside a fence


def attempt(*, fenced_only: bool = False) -> Callable[[Attempt], Attempt]:
    def add(function: Attempt) -> Attempt:
        name = function.__name__
        ATTEMPTS[name] = function
        if fenced_only:
            FENCED_ONLY.add(name)
        return function

    return add


def call(number: tuple[int, int], *arguments: object) -> int:
    """Make a system call, given by its numbers on x86_64 and aarch64. Raises `OSError`."""
    which = number[0] if _X86 else number[1]
    if which < 0:
        raise OSError(errno.ENOSYS, "this machine has no such call")
    given = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    result = int(_LIBC.syscall(ctypes.c_long(which), *given))
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def must(worked: object, why: str) -> None:
    if not worked:
        raise Stopped(why)


def run(*words: str, env: dict[str, str] | None = None) -> str:
    """Run a program. Raises `Stopped` if it is not there or fails."""
    try:
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20, check=False, env=env
        )
    except FileNotFoundError as error:
        raise Stopped(f"no {words[0]}") from error
    must(done.returncode == 0, done.stderr.strip()[-200:] or f"status {done.returncode}")
    return done.stdout


# Files


@attempt()
def create(ground: Ground) -> None:
    os.close(os.open(ground.new, os.O_CREAT | os.O_WRONLY))


@attempt()
def append(ground: Ground) -> None:
    os.write(os.open(ground.file, os.O_WRONLY | os.O_APPEND), b"x")


@attempt()
def truncate_by_path(ground: Ground) -> None:
    os.truncate(ground.file, 1)


@attempt()
def truncate_while_reading(ground: Ground) -> None:
    os.open(ground.file, os.O_RDONLY | os.O_TRUNC)


@attempt()
def truncate_by_descriptor(ground: Ground) -> None:
    os.ftruncate(os.open(ground.file, os.O_RDONLY), 1)


@attempt()
def change_mode(ground: Ground) -> None:
    os.chmod(ground.file, 0o777)


@attempt()
def change_mode_by_descriptor(ground: Ground) -> None:
    os.fchmod(os.open(ground.file, os.O_RDONLY), 0o777)


@attempt()
def change_mode_by_path_descriptor(ground: Ground) -> None:
    os.chmod(f"/proc/self/fd/{os.open(ground.file, os.O_PATH)}", 0o777)


@attempt()
def change_mode_newer_call(ground: Ground) -> None:
    call((452, 452), os.open(ground.file, os.O_PATH), b"", 0o777, 0x1000)


@attempt()
def change_owner(ground: Ground) -> None:
    os.chown(ground.file, os.getuid(), os.getgid())


@attempt()
def change_times(ground: Ground) -> None:
    os.utime(ground.file, (1, 1))


@attempt()
def change_times_by_descriptor(ground: Ground) -> None:
    os.utime(os.open(ground.file, os.O_RDONLY), (1, 1))


@attempt()
def set_attribute(ground: Ground) -> None:
    os.setxattr(ground.file, "user.canary", b"x")


@attempt()
def set_attribute_by_descriptor(ground: Ground) -> None:
    os.setxattr(os.open(ground.file, os.O_RDONLY), "user.canary", b"x")


@attempt()
def set_flags_of_inode(ground: Ground) -> None:
    """`chattr` needs only a descriptor for reading."""
    fd = os.open(ground.file, os.O_RDONLY)
    flags = array.array("l", [0])
    fcntl.ioctl(fd, 0x80086601, flags)
    fcntl.ioctl(fd, 0x40086602, array.array("l", [flags[0] ^ 0x80]))  # whether the time of reading is kept


@attempt()
def set_project_of_inode(ground: Ground) -> None:
    fd = os.open(ground.file, os.O_RDONLY)
    state = bytearray(28)
    fcntl.ioctl(fd, 0x801C581F, state)
    state[0] ^= 0x40
    fcntl.ioctl(fd, 0x401C5820, state)


@attempt()
def seal_file_with_sums(ground: Ground) -> None:
    """`fsverity enable` makes a file read-only for good."""
    wanted = struct.pack("=IIIIQIIQ11Q", 1, 1, 4096, 0, 0, 0, 0, 0, *[0] * 11)
    fcntl.ioctl(os.open(ground.file, os.O_RDONLY), 0x40806685, bytearray(wanted))


@attempt()
def take_lease(ground: Ground) -> None:
    """A lease makes the editor of the person wait."""
    fcntl.fcntl(os.open(ground.file, os.O_RDONLY), 1024, fcntl.F_RDLCK)


@attempt()
def make_directory(ground: Ground) -> None:
    os.mkdir(ground.new)


@attempt()
def delete(ground: Ground) -> None:
    os.unlink(f"{ground.project}/delete-me")


@attempt()
def rename_within(ground: Ground) -> None:
    os.rename(ground.file, ground.new)


@attempt()
def rename_into_private(ground: Ground) -> None:
    os.rename(ground.file, f"{ground.private}/taken")


@attempt()
def exchange_with_private(ground: Ground) -> None:
    mine = f"{ground.private}/mine"
    Path(mine).touch()
    call((316, 276), -100, mine.encode(), -100, ground.file.encode(), 2)


@attempt()
def make_symbolic_link(ground: Ground) -> None:
    os.symlink("/etc/passwd", ground.new)


@attempt()
def hard_link_out(ground: Ground) -> None:
    Path(ground.private, "mine").touch()
    os.link(f"{ground.private}/mine", ground.new)


@attempt()
def hard_link_in_and_write(ground: Ground) -> None:
    os.link(ground.file, f"{ground.private}/theirs")
    Path(ground.private, "theirs").write_bytes(b"x")


@attempt()
def symbolic_link_in_and_write(ground: Ground) -> None:
    link = Path(ground.private, "link")
    link.symlink_to(ground.file)
    link.write_bytes(b"x")


@attempt()
def symbolic_link_to_directory_and_write(ground: Ground) -> None:
    link = Path(ground.private, "way")
    link.symlink_to(ground.project)
    (link / "new").write_bytes(b"x")


@attempt()
def unnamed_file_linked_out(ground: Ground) -> None:
    fd = os.open(ground.private, os.O_TMPFILE | os.O_RDWR)
    os.link(f"/proc/self/fd/{fd}", ground.new, follow_symlinks=True)


@attempt()
def open_with_newer_call(ground: Ground) -> None:
    how = struct.pack("=QQQ", os.O_WRONLY | os.O_CREAT, 0o644, 0)
    call((437, 437), -100, ground.new.encode(), how, len(how))


@attempt()
def open_by_handle(ground: Ground) -> None:
    handle = ctypes.create_string_buffer(struct.pack("=Ii", 128, 0) + b"\0" * 128)
    mount = ctypes.c_int()
    call((303, 264), -100, ground.file.encode(), handle, ctypes.byref(mount), 0)
    call((304, 265), os.open(ground.project, os.O_RDONLY), handle, os.O_WRONLY)


@attempt()
def open_by_other_root(ground: Ground) -> None:
    Path(f"/proc/self/root{ground.new}").write_bytes(b"x")


@attempt()
def open_by_current_directory(ground: Ground) -> None:
    os.chdir(ground.project)
    Path("/proc/self/cwd/new").write_bytes(b"x")


@attempt()
def map_for_writing(ground: Ground) -> None:
    fd = os.open(ground.file, os.O_RDONLY)
    mmap.mmap(fd, 1, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)


@attempt()
def reopen_for_writing(ground: Ground) -> None:
    os.open(f"/proc/self/fd/{os.open(ground.file, os.O_RDONLY)}", os.O_WRONLY)


@attempt()
def write_by_kernel_queue(ground: Ground) -> None:
    call((425, 425), 4, ctypes.create_string_buffer(120))


@attempt()
def make_device(ground: Ground) -> None:
    os.mknod(f"{ground.private}/disk", 0o600 | 0o060000, os.makedev(8, 0))


@attempt()
def make_fifo(ground: Ground) -> None:
    os.mkfifo(ground.new)


@attempt()
def write_to_fifo(ground: Ground) -> None:
    os.open(f"{ground.project}/fifo", os.O_RDWR | os.O_NONBLOCK)


@attempt()
def make_shared_memory_file(ground: Ground) -> None:
    path = Path(f"/dev/shm/aish-canary-{os.getpid()}")
    path.write_bytes(b"x")
    must(os.path.ismount("/dev/shm") or path.stat().st_dev != os.stat("/").st_dev, "it is private")
    path.unlink()


@attempt()
def settings_of_git_that_run_later(ground: Ground) -> None:
    run("git", "-C", ground.project, "config", "core.fsmonitor", "touch canary")


@attempt()
def settings_of_git_of_the_home(ground: Ground) -> None:
    run("git", "config", "--global", "core.fsmonitor", "touch canary")


@attempt()
def start_files(ground: Ground) -> None:
    with open(os.path.expanduser("~/.bashrc"), "a", encoding="utf-8") as file:
        file.write("touch canary\n")


# Races: the path in memory or in the file system changes between check and use


@contextmanager
def repeating(action: Callable[[], object]) -> Iterator[None]:
    """Do something again and again in another thread."""
    over = threading.Event()

    def repeat() -> None:
        while not over.is_set():
            action()

    thread = threading.Thread(target=repeat)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@contextmanager
def flipping(mine: str, theirs: str) -> Iterator[ctypes.Array[ctypes.c_char]]:
    """Yield memory that holds one path and then the other, again and again."""
    length = max(len(mine), len(theirs)) + 1
    paths = [path.encode().ljust(length, b"\0") for path in (mine, theirs)]
    memory = ctypes.create_string_buffer(length)

    def flip() -> None:
        for path in paths * 50:
            ctypes.memmove(memory, path, length)

    flip()
    with repeating(flip):
        yield memory


def for_a_while() -> Iterator[None]:
    until = time.monotonic() + _SECONDS_OF_RACES
    while time.monotonic() < until:
        yield


@attempt()
def flip_path_in_memory(ground: Ground) -> None:
    wrote = False
    with flipping(f"{ground.private}/mine", ground.file) as path:
        for _ in for_a_while():
            fd = _LIBC.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            if fd >= 0:
                wrote |= not os.readlink(f"/proc/self/fd/{fd}").startswith(ground.private)
                os.close(fd)
    must(wrote, "it never opened the file of the project")


@attempt()
def flip_path_of_truncation(ground: Ground) -> None:
    mine, theirs = Path(ground.private, "mine"), Path(ground.project, "big")
    mine.touch()
    size = theirs.stat().st_size
    with flipping(str(mine), str(theirs)) as path:
        for _ in for_a_while():
            _LIBC.truncate(path, ctypes.c_long(5))
    must(theirs.stat().st_size != size, "it never truncated the file of the project")


@attempt()
def flip_path_of_truncating_open(ground: Ground) -> None:
    mine, theirs = Path(ground.private, "mine"), Path(ground.project, "big")
    mine.touch()
    size = theirs.stat().st_size
    with flipping(str(mine), str(theirs)) as path:
        for _ in for_a_while():
            fd = _LIBC.open(path, os.O_RDONLY | os.O_TRUNC)
            if fd >= 0:
                os.close(fd)
    must(theirs.stat().st_size != size, "it never truncated the file of the project")


@attempt()
def flip_mode_change(ground: Ground) -> None:
    """The same with a call that the kernel's file rules do not know."""
    mine = Path(ground.private, "mine")
    mine.touch()
    with flipping(str(mine), ground.file) as path:
        for _ in for_a_while():
            _LIBC.chmod(path, 0o777)
    must(Path(ground.file).stat().st_mode & 0o777 == 0o777, "it never changed the mode of the file of the project")


def exchange(one: str, other: str) -> None:
    try:
        call((316, 276), -100, one.encode(), -100, other.encode(), 2)
    except OSError:
        pass


@attempt()
def swap_symbolic_link(ground: Ground) -> None:
    link, other = f"{ground.private}/link", f"{ground.private}/other"
    Path(ground.private, "mine").touch()
    os.symlink(f"{ground.private}/mine", link)
    os.symlink(ground.file, other)
    wrote = False
    with repeating(lambda: exchange(link, other)):
        for _ in for_a_while():
            try:
                fd = os.open(link, os.O_WRONLY | os.O_APPEND)
            except OSError:
                continue
            wrote |= not os.readlink(f"/proc/self/fd/{fd}").startswith(ground.private)
            os.close(fd)
    must(wrote, "it never opened the file of the project")


@attempt()
def swap_directory(ground: Ground) -> None:
    """A directory becomes a link to the project while a file in it is made."""
    here, there = f"{ground.private}/a", f"{ground.private}/b"
    os.mkdir(here)
    os.symlink(ground.project, there)
    with repeating(lambda: exchange(here, there)):
        for _ in for_a_while():
            try:
                os.close(os.open(f"{here}/new", os.O_WRONLY | os.O_CREAT, 0o600))
            except OSError:
                pass
    must(os.path.lexists(ground.new), "it never wrote in the project")


# Secrets and other processes


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
    found = [fd for fd in range(3, _REPORT) if _is_open(fd)]
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
    _LIBC.ptrace.restype = ctypes.c_long
    call((101, 117), 0x4206, ground.victim, 0, 0)
    call((101, 117), 17, ground.victim, 0, 0)


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


# Sockets


@attempt()
def connect_tcp(ground: Ground) -> None:
    socket.create_connection(("127.0.0.1", ground.tcp), timeout=2)


@attempt()
def connect_tcp_by_fast_open(ground: Ground) -> None:
    with socket.socket() as sender:
        sender.sendto(b"x", 0x20000000, ("127.0.0.1", ground.tcp))


@attempt()
def send_udp(ground: Ground) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"x", ("127.0.0.1", ground.udp))
        must(_is_datagram(sender), "it went to a stand-in")


@attempt()
def connect_udp_and_send(ground: Ground) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.connect(("127.0.0.1", ground.udp))
        sender.send(b"x")


@attempt()
def listen_tcp(ground: Ground) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        must(server.family == socket.AF_INET and server.getsockname()[1], "it has no port")


@attempt()
def connect_unix(ground: Ground) -> None:
    """As tmux, ssh-agent, docker, dbus and X11 use it."""
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(ground.unix)


@attempt()
def send_unix_packet(ground: Ground) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as client:
        client.sendto(b"x", ground.unix_packets)
        must(_is_datagram(client), "it went to a stand-in")


@attempt()
def connect_abstract(ground: Ground) -> None:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(f"\0{ground.abstract}")


@attempt()
def pair_sends_to_others(ground: Ground) -> None:
    one, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    one.sendto(b"x", ground.unix_packets)


@attempt()
def raw_pair_sends_to_others(ground: Ground) -> None:
    """For unix sockets a raw one is a datagram socket."""
    one, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_RAW)
    one.sendto(b"x", ground.unix_packets)


@attempt()
def raw_pair_sends_to_abstract(ground: Ground) -> None:
    one, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_RAW)
    one.sendto(b"x", f"\0{ground.abstract}-packets")


@attempt()
def stand_in_sends_to_others(ground: Ground) -> None:
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
        with socket.socket(socket.AF_UNIX, kind) as client:
            try:
                client.sendto(b"x", ground.unix_packets)
                must(_is_datagram(client), "it went to a stand-in")
            except (OSError, Stopped):
                continue
            return
    raise Stopped("none could send")


def _is_datagram(one: socket.socket) -> bool:
    return one.getsockopt(socket.SOL_SOCKET, socket.SO_TYPE) == socket.SOCK_DGRAM


@attempt()
def listen_abstract(ground: Ground) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"\0canary-{os.getpid()}")
        server.listen()


@attempt()
def raw_packets(ground: Ground) -> None:
    socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)


@attempt()
def packets_of_interfaces(ground: Ground) -> None:
    socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)


@attempt(fenced_only=True)
def change_routes(ground: Ground) -> None:
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as kernel:
        kernel.bind((0, 0))
        route = struct.pack("=BBBBBBBBI", socket.AF_INET, 32, 0, 0, 254, 4, 0, 6, 0)  # a route that drops packets
        route += struct.pack("=HH4s", 8, 1, socket.inet_aton("192.0.2.1"))
        kernel.send(struct.pack("=IHHII", 16 + len(route), 24, 0x405, 1, 0) + route)
        error = struct.unpack_from("=i", kernel.recv(4096), 16)[0]
        if error:
            raise OSError(-error, os.strerror(-error))


@attempt()
def kernel_messages_of_other_kinds(ground: Ground) -> None:
    socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 9)  # audit


@attempt()
def virtual_machine_sockets(ground: Ground) -> None:
    socket.socket(40, socket.SOCK_STREAM)


@attempt()
def receive_descriptor_from_outside(ground: Ground) -> None:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(ground.unix)
        socket.recv_fds(client, 1, 1)


# The terminal


@attempt()
def type_for_the_person(ground: Ground) -> None:
    fd = os.open(ground.terminal, os.O_RDWR | os.O_NOCTTY)
    fcntl.ioctl(fd, 0x5412, b"x")


@attempt()
def type_at_own_terminal(ground: Ground) -> None:
    for fd in (0, 1, 2):
        if os.isatty(fd):
            fcntl.ioctl(fd, 0x5412, b"x")
            return
    raise Stopped("it has no terminal")


@attempt()
def write_to_terminal_of_person(ground: Ground) -> None:
    os.write(os.open(ground.terminal, os.O_WRONLY | os.O_NOCTTY), b"x")


@attempt()
def read_terminal_of_person(ground: Ground) -> None:
    os.open(ground.terminal, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK)


@attempt()
def write_to_controlling_terminal(ground: Ground) -> None:
    os.open("/dev/tty", os.O_RDWR)


@attempt()
def new_terminal(ground: Ground) -> None:
    """Only a private one may be opened."""
    before = set(os.listdir("/dev/pts"))
    os.openpty()
    must(ground.terminal.rpartition("/")[2] in before, "it has terminals of its own")


# Privileges and the kernel


@attempt()
def become_another_user(ground: Ground) -> None:
    os.setuid(12345)


@attempt()
def new_privileges(ground: Ground) -> None:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    must("NoNewPrivs:\t1" not in status, "programs gain no privileges")


@attempt()
def kept_powers_of_root(ground: Ground) -> None:
    status = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    powers = int(next(line for line in status if line.startswith("CapEff")).split()[1], 16)
    must(powers & ~0b100, "it may read files, at most")


@attempt()
def user_namespace(ground: Ground) -> None:
    call((272, 97), 0x10000000)


@attempt()
def user_namespace_by_program(ground: Ground) -> None:
    run("unshare", "--user", "--map-root-user", "true")


@attempt()
def user_namespace_by_clone(ground: Ground) -> None:
    pid = call((56, 220), 0x10000000 | signal.SIGCHLD, 0, 0, 0, 0)
    if pid == 0:
        os._exit(0)


@attempt()
def user_namespace_by_newer_clone(ground: Ground) -> None:
    wanted = struct.pack("=QQQQQQQQ", 0x10000000, 0, 0, 0, signal.SIGCHLD, 0, 0, 0)
    pid = call((435, 435), wanted, len(wanted))
    if pid == 0:
        os._exit(0)


@attempt(fenced_only=True)
def mount(ground: Ground) -> None:
    call((165, 40), b"none", ground.private.encode(), b"tmpfs", 0, None)


@attempt(fenced_only=True)
def newer_mount(ground: Ground) -> None:
    call((430, 430), b"tmpfs", 0)


@attempt()
def change_root(ground: Ground) -> None:
    os.chroot(ground.private)


@attempt()
def keyring(ground: Ground) -> None:
    call((248, 217), b"user", b"canary", b"x", 1, -2)


@attempt()
def shared_memory_segment(ground: Ground) -> None:
    found = call((29, 194), 0, 4096, 0o600)
    call((31, 195), found, 0, None)


@attempt()
def semaphores(ground: Ground) -> None:
    call((66, 191), call((64, 190), 0, 1, 0o600), 0, 0)


@attempt()
def message_queue(ground: Ground) -> None:
    call((71, 187), call((68, 186), 0, 0o600), 0, None)


@attempt()
def named_message_queue(ground: Ground) -> None:
    call((240, 180), b"aish-canary", os.O_CREAT | os.O_RDWR, 0o600, None)
    call((241, 181), b"aish-canary")


@attempt()
def kernel_programs(ground: Ground) -> None:
    call((321, 280), 0, struct.pack("=IIII", 2, 4, 4, 1).ljust(128, b"\0"), 128)


@attempt()
def measure_processes(ground: Ground) -> None:
    wanted = struct.pack("=IIQ", 1, 128, 0).ljust(128, b"\0")
    call((298, 241), wanted, ground.victim, -1, -1, 0)


@attempt(fenced_only=True)
def host_name(ground: Ground) -> None:
    call((170, 161), b"canary", 6)


@attempt(fenced_only=True)
def settings_of_kernel(ground: Ground) -> None:
    path = Path("/proc/sys/kernel/printk_ratelimit")
    path.write_bytes(path.read_bytes())


@attempt(fenced_only=True)
def kernel_log(ground: Ground) -> None:
    Path("/dev/kmsg").write_bytes(b"canary")


@attempt(fenced_only=True)
def clock(ground: Ground) -> None:
    call((227, 112), 0, struct.pack("=qq", 1, 0))


@attempt(fenced_only=True)
def load_module(ground: Ground) -> None:
    call((313, 273), os.open(ground.file, os.O_RDONLY), b"", 0)


@attempt()
def program_in_memory_writes(ground: Ground) -> None:
    """A program without a file is fenced like any other."""
    fd = os.memfd_create("program", 0)
    os.write(fd, f"#!/bin/sh\n: > '{ground.new}'\n".encode())
    run("/bin/sh", f"/proc/{os.getpid()}/fd/{fd}")
    must(os.path.exists(ground.new), "it wrote nothing")


@attempt()
def library_loaded_first(ground: Ground) -> None:
    """LD_PRELOAD adds code to a program, which is as fenced as the program."""
    source, library = Path(ground.private, "a.c"), Path(ground.private, "a.so")
    source.write_text(
        '#include <fcntl.h>\n__attribute__((constructor)) void f(void) { open("%s", O_CREAT | O_WRONLY, 0600); }\n'
        % ground.new,
        encoding="ascii",
    )
    run("cc", "-shared", "-fPIC", "-o", str(library), str(source))
    run("true", env={**os.environ, "LD_PRELOAD": str(library)})
    must(os.path.exists(ground.new), "it wrote nothing")


@attempt()
def library_loaded_into_bubblewrap(ground: Ground) -> None:
    """The calls of bubblewrap are let through while it makes the fence, so a command must not pass for it."""
    source, library = Path(ground.private, "b.c"), Path(ground.private, "b.so")
    source.write_text(
        """
        #include <arpa/inet.h>
        #include <stdlib.h>
        #include <sys/socket.h>
        #include <unistd.h>
        __attribute__((constructor)) void f(void) {
            struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(%d)};
            to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
            _exit(connect(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)&to, sizeof to) ? 1 : 0);
        }
        """
        % ground.tcp,
        encoding="ascii",
    )
    run("cc", "-shared", "-fPIC", "-o", str(library), str(source))
    run("bwrap", "--version", env={**os.environ, "LD_PRELOAD": str(library)})


@attempt()
def dump_of_memory(ground: Ground) -> None:
    """A crash would hand the memory to a program of the system; a limit of 1 byte forbids that, 0 does not."""
    must(resource.getrlimit(resource.RLIMIT_CORE)[0] != 1, "there are no dumps")


# Later


@attempt(fenced_only=True)
def table_of_cron(ground: Ground) -> None:
    Path("/var/spool/cron/crontabs/canary").write_bytes(b"")


@attempt(fenced_only=True)
def job_of_at(ground: Ground) -> None:
    Path("/var/spool/cron/atjobs/canary").write_bytes(b"")


@attempt(fenced_only=True)
def unit_of_systemd(ground: Ground) -> None:
    directory = Path("~/.config/systemd/user").expanduser()
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "canary.service").write_bytes(b"")


@attempt(fenced_only=True)
def unit_by_systemd_run(ground: Ground) -> None:
    run("systemd-run", "--user", "true")


@attempt(fenced_only=True)
def root_by_su(ground: Ground) -> None:
    must(os.getuid() != 0, "it is root without powers")
    run("su", "-c", "true")


@attempt(fenced_only=True)
def root_by_sudo(ground: Ground) -> None:
    run("sudo", "-n", "true")


def main() -> None:
    ground, names = Ground(**json.loads(sys.argv[1])), sys.argv[2:]
    for name in names:
        read, write = (_moved(fd) for fd in os.pipe())
        pid = os.fork()
        if pid == 0:
            os.close(read)
            os.write(write, _try(ATTEMPTS[name], ground).replace("\n", " ").encode("utf-8", "replace"))
            os._exit(0)
        os.close(write)
        with os.fdopen(read, "rb") as file:
            said = file.read().decode()
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        print(f"{name}\t{said or f'stopped: ended by {status}'}", flush=True)


def _try(function: Attempt, ground: Ground) -> str:
    try:
        function(ground)
    except (OSError, Stopped, ValueError, subprocess.SubprocessError) as error:
        return f"stopped: {error}"
    return "out"


def _moved(fd: int) -> int:
    moved = fcntl.fcntl(fd, fcntl.F_DUPFD, _REPORT)
    os.close(fd)
    return moved


if __name__ == "__main__":
    main()
