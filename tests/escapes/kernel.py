"""Get privileges, change the kernel, load code into programs, and run later."""

import os
import resource
import signal
import struct
from pathlib import Path

from escapes.ground import Ground, attempt, call, must, run


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
        "#include <fcntl.h>\n__attribute__((constructor)) void f(void) {"
        f' open("{ground.new}", O_CREAT | O_WRONLY, 0600); }}\n',
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
            struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(PORT)};
            to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
            _exit(connect(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)&to, sizeof to) ? 1 : 0);
        }
        """.replace("PORT", str(ground.tcp)),
        encoding="ascii",
    )
    run("cc", "-shared", "-fPIC", "-o", str(library), str(source))
    run("bwrap", "--version", env={**os.environ, "LD_PRELOAD": str(library)})


@attempt()
def dump_of_memory(ground: Ground) -> None:
    """A crash would hand the memory to a program of the system; a limit of 1 byte forbids that, 0 does not."""
    must(resource.getrlimit(resource.RLIMIT_CORE)[0] != 1, "there are no dumps")


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
