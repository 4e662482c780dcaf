"""Seccomp: a process irrevocably gives up system calls, or lets another process answer them.

`Rule` lists become programs for the kernel's filter. A rule that watches makes the call wait until the keeper of the
fence answers it (`keeper.py`).
"""

import ctypes
import errno
import fcntl
import os
import platform
import struct
from collections.abc import Iterable, Mapping

from aish.action.fence import libc
from aish.action.fence.system_calls import AUDIT, NEWEST, X32
from aish.values.named_tuple import NamedTuple

_SET_MODE_FILTER = 1
_NEW_LISTENER = 1 << 3
ALLOW = 0x7FFF0000
WATCH = 0x7FC00000
_ERRNO = 0x00050000

_RECEIVE, _ANSWER, _IS_VALID, _ADD_FD = 0xC0502100, 0xC0182101, 0x40082102, 0x40182103
_CONTINUE = 1
_AT_NUMBER, _SEND_WITH_FD = 1, 2
_CALL = struct.Struct("=QIIiIQ6Q")
_REPLY = struct.Struct("=QqiI")
_NEW_FD = struct.Struct("=QIIII")

# Instructions of the kernel's filter language.
_LOAD, _AND, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x45, 0x06
_INSTRUCTION = struct.Struct("=HBBI")


class Condition(NamedTuple):
    """The low half of one argument must equal `value` after masking; with `any_bit`, share a bit with `mask`."""

    argument: int
    mask: int = 0xFFFFFFFF
    value: int = 0
    any_bit: bool = False


class CallRule(NamedTuple):
    """What happens to a call whose arguments fit all conditions. The first rule that fits decides."""

    call: str
    action: int
    conditions: tuple[Condition, ...] = ()


def fails(number: int = errno.EPERM) -> int:
    """Return the action that makes a call fail with this error, or succeed without effect for 0."""
    return _ERRNO | number


def program(rules: Iterable[CallRule], numbers: Mapping[str, int]) -> bytes:
    """Return the filter for these rules. Calls without a rule are allowed, unknown new calls do not exist."""
    code = [
        _step(_LOAD, 4),
        _step(_EQUAL, AUDIT[platform.machine()], 1, 0),
        _step(_RETURN, fails(errno.ENOSYS)),  # a call of another architecture could have another meaning
        _step(_LOAD, 0),
        _step(_AT_LEAST, NEWEST, 0, 1),  # also the calls of x32
        _step(_RETURN, fails(errno.ENOSYS)),
    ]
    assert NEWEST < X32
    for rule in rules:
        if rule.call not in numbers:
            continue
        body: list[bytes] = []
        for condition in reversed(rule.conditions):
            body = [*_test(condition, len(body) + 1), *body]
        body.append(_step(_RETURN, rule.action))
        code += [_step(_LOAD, 0), _step(_EQUAL, numbers[rule.call], 0, len(body)), *body]
    return b"".join([*code, _step(_RETURN, ALLOW)])


def _step(operation: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return _INSTRUCTION.pack(operation, if_true, if_false, value)


def _test(condition: Condition, rest: int) -> list[bytes]:
    """Load an argument and skip the `rest` of the rule if it does not fit."""
    load = _step(_LOAD, 16 + 8 * condition.argument)  # the low half on little-endian machines
    if condition.any_bit:
        return [load, _step(_ANY_BIT, condition.mask, 0, rest)]
    mask = [] if condition.mask == 0xFFFFFFFF else [_step(_AND, condition.mask)]
    return [load, *mask, _step(_EQUAL, condition.value, 0, rest)]


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_char_p))


def install(code: bytes, numbers: Mapping[str, int], *, listen: bool = False) -> int:
    """Filter all later calls of this process and its children; return the descriptor of a listener, or 0.

    Raises:
        OSError: the kernel refuses.
    """
    filled = _Program(len(code) // _INSTRUCTION.size, code)
    flags = _NEW_LISTENER if listen else 0
    return libc.call("syscall", numbers["seccomp"], _SET_MODE_FILTER, flags, ctypes.byref(filled))


class WatchedCall(NamedTuple):
    """A call that waits for an answer: who makes it, its number and its arguments."""

    id: int
    pid: int
    number: int
    arguments: tuple[int, ...]


def receive(listener: int) -> WatchedCall | None:
    """Return the next watched call; None if its process has died in the meantime."""
    data = bytearray(_CALL.size)
    try:
        fcntl.ioctl(listener, _RECEIVE, data)
    except OSError:
        return None
    call, pid, _, number, _, _, *arguments = _CALL.unpack(data)
    return WatchedCall(call, pid, number, tuple(arguments))


def let_go(listener: int, call: WatchedCall) -> None:
    """Let the kernel carry out the call, with the rights that the process has."""
    _reply(listener, _REPLY.pack(call.id, 0, 0, _CONTINUE))


def answer(listener: int, call: WatchedCall, error: int = 0) -> None:
    """Answer the call instead of the kernel: with an error, or with 0 for success without effect."""
    _reply(listener, _REPLY.pack(call.id, 0, -error, 0))


def answer_with_fd(listener: int, call: WatchedCall, fd: int, *, close_on_exec: bool) -> None:
    """Give the process a copy of a descriptor as the result of its call."""
    flags = os.O_CLOEXEC if close_on_exec else 0
    try:
        fcntl.ioctl(listener, _ADD_FD, _NEW_FD.pack(call.id, _SEND_WITH_FD, fd, 0, flags))
    except OSError as error:
        if error.errno != errno.EINVAL:  # its descriptors are used up, or it has died
            answer(listener, call, error.errno or errno.EIO)
            return
        try:  # before Linux 5.14 these are two steps
            number = fcntl.ioctl(listener, _ADD_FD, bytearray(_NEW_FD.pack(call.id, 0, fd, 0, flags)))
        except OSError:
            answer(listener, call, errno.EACCES)
        else:
            _reply(listener, _REPLY.pack(call.id, number, 0, 0))


def replace_fd(listener: int, call: WatchedCall, fd: int, number: int) -> None:
    """Put a copy of a descriptor in the place of one of the process, and let its call succeed."""
    try:
        fcntl.ioctl(listener, _ADD_FD, _NEW_FD.pack(call.id, _AT_NUMBER, fd, number, os.O_CLOEXEC))
    except OSError as error:
        answer(listener, call, error.errno or errno.EIO)
    else:
        answer(listener, call)


def still_waits(listener: int, call: WatchedCall) -> bool:
    """Does the process still wait? If not, what was read from its memory may be that of another process."""
    try:
        fcntl.ioctl(listener, _IS_VALID, struct.pack("=Q", call.id))
    except OSError:
        return False
    return True


def _reply(listener: int, data: bytes) -> None:
    try:
        fcntl.ioctl(listener, _ANSWER, bytearray(data))
    except OSError:  # the process has died
        pass
