"""Which system calls a fenced command may make, which are watched, and which fail.

Data and lists of rules. Landlock or the mounts of bubblewrap protect the contents of files; these rules protect
what those cannot: modes and times, sockets, other processes, the terminal and the kernel.
"""

import errno
import os
import socket

from aish.action.fence.seccomp import ALLOW, WATCH, CallRule, Condition, fails

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_THREAD = 0x00010000  # clone makes a thread
_NAMESPACES = 0x7E020080  # clone makes namespaces: mount, cgroup, uts, ipc, user, pid, network, time
_ROUTE, _DIAGNOSIS = 0, 4  # netlink families that `ip` and `ss` read
_STREAM, _PACKETS = 1, 5  # kinds of sockets that stay with the socket they are connected to
_OF_NETLINK = 270  # the level of its socket options

CHANGES_NAMES = """
    mkdir mkdirat rmdir unlink unlinkat rename renameat renameat2 link linkat symlink symlinkat mknod mknodat truncate
""".split()
CHANGES_MODES = """
    chmod fchmod fchmodat fchmodat2 chown lchown fchown fchownat utime utimes futimesat utimensat
    setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr setxattrat removexattrat file_setattr
""".split()
SIGNALS = "kill tkill tgkill rt_sigqueueinfo rt_tgsigqueueinfo".split()
STARTS = "fork vfork clone".split()

_NEVER = """
    ptrace process_vm_readv process_vm_writev pidfd_getfd kcmp pidfd_send_signal
    add_key request_key keyctl bpf perf_event_open userfaultfd
    mount umount2 pivot_root chroot unshare setns open_tree move_mount fsopen fsconfig fsmount fspick mount_setattr
    open_tree_attr init_module finit_module delete_module kexec_load kexec_file_load reboot swapon swapoff
    sethostname setdomainname settimeofday clock_settime adjtimex clock_adjtime quotactl quotactl_fd acct
    open_by_handle_at fanotify_init fanotify_mark process_madvise process_mrelease migrate_pages move_pages
    iopl ioperm vhangup
    shmget shmat shmctl semget semop semctl semtimedop msgget msgsnd msgrcv msgctl mq_open mq_unlink
""".split()
# Terminal requests that type for the person, take over the console, paste the selection, or load a line discipline.
_TERMINAL = (0x5412, 0x541C, 0x541D, 0x5423)
# Make the kernel send signals to another process when a file or a socket becomes readable.
_OWNER, _OWNER_OF_SOCKET = (8, 10, 15), (0x8901, 0x8902)
_LEASE = 1024  # others have to wait when they open the file
# Requests to file systems, by their group. Many change a file that is open for reading only, such as those of chattr
# and fsverity, or make subvolumes. The first list are those that only ask.
_ASKS_FILE_SYSTEM = (0x80086601, 0x80046601, 0x80087601, 0x801C581F, 0xC020660B)
_OF_FILE_SYSTEMS = (0x66, 0x58, 0x76, 0x94, 0x72, 0xF5)


def watched_rules(*, network: bool) -> list[CallRule]:
    """Return the calls that wait for the keeper. With `network`, only sockets of this machine wait.

    Other programs of the user listen on those, and many run what they are told: tmux, Docker, D-Bus.
    """
    rules = [
        CallRule("openat", WATCH, (Condition(2, _WRITES, any_bit=True),)),
        CallRule("open", WATCH, (Condition(1, _WRITES, any_bit=True),)),
        CallRule("creat", WATCH),
        CallRule("openat2", WATCH),
        *(CallRule(call, WATCH) for call in (*CHANGES_NAMES, *CHANGES_MODES, *SIGNALS, "setpgid", "fork", "vfork")),
        CallRule("clone", ALLOW, (Condition(0, _THREAD, _THREAD),)),
        CallRule("clone", WATCH),
    ]
    rules += [CallRule(call, WATCH) for call in ("connect", "bind")]
    if network:
        rules.append(CallRule("socket", WATCH, (Condition(0, value=int(socket.AF_UNIX)),)))
    else:
        rules += [
            *(
                CallRule("socket", ALLOW, (Condition(0, value=int(socket.AF_NETLINK)), Condition(2, value=family)))
                for family in (_ROUTE, _DIAGNOSIS)
            ),
            CallRule("socket", WATCH),
        ]
    return rules


def denied_rules(*, network: bool) -> list[CallRule]:
    """Return the calls that fail. They are added last, because bubblewrap itself needs some of them."""
    rules = [
        *(CallRule(call, fails()) for call in _NEVER),
        *(CallRule(f"io_uring_{name}", fails(errno.ENOSYS)) for name in ("setup", "enter", "register")),
        CallRule("clone3", fails(errno.ENOSYS)),  # its flags are in memory; the C library then uses clone
        CallRule("clone", fails(), (Condition(0, _NAMESPACES, any_bit=True),)),
        *(CallRule("ioctl", fails(), (Condition(1, value=request),)) for request in (*_TERMINAL, *_OWNER_OF_SOCKET)),
        *(CallRule("ioctl", ALLOW, (Condition(1, value=request),)) for request in _ASKS_FILE_SYSTEM),
        *(CallRule("ioctl", fails(errno.ENOTTY), (Condition(1, 0xFF00, group << 8),)) for group in _OF_FILE_SYSTEMS),
        *(CallRule("fcntl", fails(), (Condition(1, value=request),)) for request in (*_OWNER, _LEASE)),
        # Only the own process: 0. The first argument of setpriority and ioprio_set says what the second one is.
        *_own_only("prlimit64 sched_setscheduler sched_setparam sched_setattr sched_setaffinity", Condition(0)),
        *_own_only("setpriority", Condition(0, value=0), Condition(1)),
        *_own_only("ioprio_set", Condition(0, value=1), Condition(1)),
        # A datagram socket could send to any named socket, whatever it was paired with; so could a raw one.
        *(
            CallRule("socketpair", ALLOW, (Condition(0, value=int(socket.AF_UNIX)), Condition(1, 0xF, kind)))
            for kind in (_STREAM, _PACKETS)
        ),
        CallRule("socketpair", fails(errno.EACCES)),
    ]
    if not network:
        rules += [
            # Options of the network are meaningless for the stand-ins that the keeper hands out.
            *(
                CallRule("setsockopt", ALLOW, (Condition(1, value=level),))
                for level in (socket.SOL_SOCKET, _OF_NETLINK)
            ),
            CallRule("setsockopt", fails(0)),
        ]
    return rules


def _own_only(calls: str, *conditions: Condition) -> list[CallRule]:
    return [rule for call in calls.split() for rule in (CallRule(call, ALLOW, conditions), CallRule(call, fails()))]
