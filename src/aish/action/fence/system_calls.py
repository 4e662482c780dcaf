"""The numbers of system calls, by architecture.

Pure: data. A call that an architecture does not have is missing from its table.
"""

import platform
from collections.abc import Mapping
from functools import cache

# Audit identifiers of the architectures, as seccomp reports them.
AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
X32 = 0x40000000  # set in the numbers of calls of the x32 ABI of x86_64
NEWEST = 470  # calls with this number or a higher one are unknown here

# name: x86_64, aarch64 (0: it has none)
_NUMBERS = """
open 2 0  creat 85 0  openat 257 56  openat2 437 437  mkdir 83 0  mkdirat 258 34  rmdir 84 0  unlink 87 0
unlinkat 263 35  rename 82 0  renameat 264 38  renameat2 316 276  link 86 0  linkat 265 37  symlink 88 0
symlinkat 266 36  mknod 133 0  mknodat 259 33  truncate 76 45
chmod 90 0  fchmod 91 52  fchmodat 268 53  fchmodat2 452 452  chown 92 0  lchown 94 0  fchown 93 55  fchownat 260 54
utime 132 0  utimes 235 0  futimesat 261 0  utimensat 280 88  setxattr 188 5  lsetxattr 189 6  fsetxattr 190 7
removexattr 197 14  lremovexattr 198 15  fremovexattr 199 16  setxattrat 463 463  removexattrat 466 466
file_setattr 469 469
socket 41 198  connect 42 203  bind 49 200  setsockopt 54 208  socketpair 53 199
kill 62 129  tkill 200 130  tgkill 234 131  rt_sigqueueinfo 129 138  rt_tgsigqueueinfo 297 240
pidfd_send_signal 424 424  clone 56 220  clone3 435 435  fork 57 0  vfork 58 0
ptrace 101 117  process_vm_readv 310 270  process_vm_writev 311 271  pidfd_getfd 438 438  kcmp 312 272
add_key 248 217  request_key 249 218  keyctl 250 219  bpf 321 280  perf_event_open 298 241
io_uring_setup 425 425  io_uring_enter 426 426  io_uring_register 427 427
mount 165 40  umount2 166 39  pivot_root 155 41  chroot 161 51  unshare 272 97  setns 308 268  open_tree 428 428
move_mount 429 429  fsopen 430 430  fsconfig 431 431  fsmount 432 432  fspick 433 433  mount_setattr 442 442
open_tree_attr 467 467
init_module 175 105  finit_module 313 273  delete_module 176 106  kexec_load 246 104  kexec_file_load 320 294
reboot 169 142  swapon 167 224  swapoff 168 225  sethostname 170 161  setdomainname 171 162
settimeofday 164 170  clock_settime 227 112  adjtimex 159 171  clock_adjtime 305 266
quotactl 179 60  quotactl_fd 443 443  acct 163 89  open_by_handle_at 304 265  userfaultfd 323 282
fanotify_init 300 262  fanotify_mark 301 263
shmget 29 194  shmat 30 196  shmctl 31 195  semget 64 190  semop 65 193  semctl 66 191  semtimedop 220 192
msgget 68 186  msgsnd 69 189  msgrcv 70 188  msgctl 71 187  mq_open 240 180  mq_unlink 241 181
process_madvise 440 440  process_mrelease 448 448  migrate_pages 256 238  move_pages 279 239  prlimit64 302 261
setpriority 141 140  ioprio_set 251 30  sched_setscheduler 144 119  sched_setparam 142 118  sched_setattr 314 274
sched_setaffinity 203 122  ioctl 16 29  fcntl 72 25  iopl 172 0  ioperm 173 0  vhangup 153 58
seccomp 317 277  capset 126 91  setpgid 109 154
"""


@cache
def numbers(machine: str | None = None) -> Mapping[str, int]:
    """Return the number of each call on this machine; empty for an architecture that is not supported."""
    machine = machine or platform.machine()
    if machine not in AUDIT:
        return {}
    words = _NUMBERS.split()
    column = 1 + list(AUDIT).index(machine)
    rows = zip(words[::3], *(map(int, words[at::3]) for at in (1, 2)), strict=True)
    return {str(row[0]): int(row[column]) for row in rows if row[column]}
