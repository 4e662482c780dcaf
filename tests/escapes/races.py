"""Change a path, in memory or in the file system, between the check and the use."""

import ctypes
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from escapes.ground import LIBC, Ground, attempt, call, must

_SECONDS = 0.25  # the first attempts already win, if any can


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
    until = time.monotonic() + _SECONDS
    while time.monotonic() < until:
        yield


@attempt()
def flip_path_in_memory(ground: Ground) -> None:
    wrote = False
    with flipping(f"{ground.private}/mine", ground.file) as path:
        for _ in for_a_while():
            fd = LIBC.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
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
            LIBC.truncate(path, ctypes.c_long(5))
    must(theirs.stat().st_size != size, "it never truncated the file of the project")


@attempt()
def flip_path_of_truncating_open(ground: Ground) -> None:
    mine, theirs = Path(ground.private, "mine"), Path(ground.project, "big")
    mine.touch()
    size = theirs.stat().st_size
    with flipping(str(mine), str(theirs)) as path:
        for _ in for_a_while():
            fd = LIBC.open(path, os.O_RDONLY | os.O_TRUNC)
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
            LIBC.chmod(path, 0o777)
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
                os.close(os.open(f"{here}/{Path(ground.new).name}", os.O_WRONLY | os.O_CREAT, 0o600))
            except OSError:
                pass
    must(os.path.lexists(ground.new), "it never wrote in the project")
