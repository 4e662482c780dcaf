"""Change files: by every call that changes them, their names, or what is known about them."""

import array
import ctypes
import fcntl
import mmap
import os
import struct
from pathlib import Path

from escapes.ground import Ground, attempt, call, must, run


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
    os.rename(f"{ground.project}/rename-me", ground.new)


@attempt()
def rename_into_private(ground: Ground) -> None:
    os.rename(f"{ground.project}/take-me", f"{ground.private}/taken")


@attempt()
def exchange_with_private(ground: Ground) -> None:
    mine = f"{ground.private}/mine"
    Path(mine).touch()
    call((316, 276), -100, mine.encode(), -100, f"{ground.project}/exchange-me".encode(), 2)


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
    (link / Path(ground.new).name).write_bytes(b"x")


@attempt()
def unnamed_file_linked_out(ground: Ground) -> None:
    fd = os.open(ground.private, os.O_TMPFILE | os.O_RDWR)
    call((265, 37), -100, f"/proc/self/fd/{fd}".encode(), -100, ground.new.encode(), 0x400)


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
    Path(f"/proc/self/cwd/new-{os.getpid()}").write_bytes(b"x")


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
def write_to_fifo_that_is_open_for_reading(ground: Ground) -> None:
    reading = os.open(f"{ground.project}/fifo", os.O_RDONLY | os.O_NONBLOCK)
    os.write(os.open(f"/proc/self/fd/{reading}", os.O_WRONLY | os.O_NONBLOCK), b"x")


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
