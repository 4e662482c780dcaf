"""The pure parts of a fence: filters, name queries, what was wanted, and the environment."""

import errno
import os
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aish.action.fence.call_rules import denied_rules, watched_rules
from aish.action.fence.environment import looking_environment, says_nothing
from aish.action.fence.hidden_files import KnownSecrets, SecretFiles
from aish.action.fence.seccomp import ALLOW, WATCH, CallRule, Condition, fails, program
from aish.action.fence.stand_in import StandIns, queried_name
from aish.action.fence.system_calls import AUDIT, numbers
from aish.action.fence.wants import Want, shown_from, stopped, wants_to_write
from aish.action.secret_files import is_secret_name, is_secret_variable

HERE = AUDIT[os.uname().machine]
NUMBERS = numbers()


def decide(code: bytes, call: int, *arguments: int, audit: int = HERE) -> int:
    """Run a filter as the kernel does; return its answer."""
    data = struct.pack("=iIQ6Q", call, audit, 0, *arguments, *[0] * (6 - len(arguments)))
    steps = list(struct.iter_unpack("=HBBI", code))
    at = loaded = 0
    while True:
        operation, if_true, if_false, value = steps[at]
        at += 1
        match operation:
            case 0x20:
                loaded = struct.unpack_from("=I", data, value)[0]
            case 0x54:
                loaded &= value
            case 0x15:
                at += if_true if loaded == value else if_false
            case 0x35:
                at += if_true if loaded >= value else if_false
            case 0x45:
                at += if_true if loaded & value else if_false
            case 0x06:
                return int(value)
            case other:
                raise AssertionError(f"unknown operation {other:#x}")


def test_the_first_rule_that_fits_decides() -> None:
    """A rule for one case comes before the rule for all others."""
    code = program(
        [
            CallRule("ioctl", fails(), (Condition(1, value=7), Condition(0, 0xF0, 0x30))),
            CallRule("ioctl", WATCH, (Condition(2, 0b110, any_bit=True),)),
            CallRule("kill", fails(errno.EACCES)),
        ],
        NUMBERS,
    )

    assert decide(code, NUMBERS["ioctl"], 0x35, 7, 0) == fails()
    assert decide(code, NUMBERS["ioctl"], 0x45, 7, 0) == ALLOW
    assert decide(code, NUMBERS["ioctl"], 0x45, 7, 0b1010) == WATCH
    assert decide(code, NUMBERS["kill"]) == fails(errno.EACCES)
    assert decide(code, NUMBERS["openat"]) == ALLOW


def test_unknown_calls_and_other_architectures_do_not_exist() -> None:
    """A number has another meaning there, and a new call may do anything."""
    code = program(denied_rules(network=False), NUMBERS)

    assert decide(code, NUMBERS["openat"], audit=HERE ^ 1) == fails(errno.ENOSYS)
    assert decide(code, 0x40000000 | NUMBERS["openat"]) == fails(errno.ENOSYS)
    assert decide(code, 9999) == fails(errno.ENOSYS)


@given(st.lists(st.integers(0, 2**64 - 1), min_size=6, max_size=6), st.integers(0, 600), st.booleans())
def test_a_filter_always_answers(arguments: list[int], call: int, network: bool) -> None:
    """A jump to the wrong place would let a call through, or make the kernel refuse the filter."""
    for rules in (watched_rules(network=network), denied_rules(network=network)):
        answer = decide(program(rules, NUMBERS), call, *arguments)
        assert answer in (ALLOW, WATCH) or answer & 0xFFFF0000 == fails(0)


@pytest.mark.parametrize(
    ("call", "arguments", "allowed"),
    [
        ("socketpair", (1, 1), True),
        ("socketpair", (1, 2), False),
        ("socketpair", (1, 3 | os.O_CLOEXEC), False),
        ("ioctl", (0, 0x5401), True),  # ask for the state of a terminal
        ("ioctl", (0, 0x5412), False),  # type at it
        ("ioctl", (0, 0x80086601), True),  # lsattr
        ("ioctl", (0, 0x40086602), False),  # chattr
        ("ioctl", (0, 0x5000940E), False),  # make a subvolume
        ("setpriority", (0, 0), True),
        ("setpriority", (2, 0), False),
        ("fcntl", (0, 2), True),
        ("fcntl", (0, 8), False),
        ("clone", (0x10000000,), False),
        ("ptrace", (), False),
    ],
)
def test_calls_that_reach_beyond_the_fence_fail(call: str, arguments: tuple[int, ...], allowed: bool) -> None:
    """And those that programs need do not."""
    code = program(denied_rules(network=False), NUMBERS)

    assert (decide(code, NUMBERS[call], *arguments) == ALLOW) is allowed


def test_both_architectures_know_the_same_calls() -> None:
    """Except for the old ones that were replaced by others."""
    old = set(numbers("x86_64")) - set(numbers("aarch64"))

    assert set(numbers("aarch64")) < set(numbers("x86_64"))
    assert {"openat", "kill", "socket", "setpgid", "clone"}.isdisjoint(old)
    assert numbers("riscv64") == {}


def query(name: str) -> bytes:
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    return struct.pack("!HHHHHH", 7, 0x100, 1, 0, 0, 0) + labels + b"\0" + struct.pack("!HH", 1, 1)


@given(st.lists(st.from_regex(r"[a-z0-9-]{1,20}", fullmatch=True), min_size=1, max_size=5).map(".".join))
def test_a_name_query_tells_the_host(name: str) -> None:
    """So a person learns where a command wanted to go."""
    assert queried_name(query(name)) == name


@given(st.binary(max_size=600))
def test_no_data_breaks_the_reader_of_name_queries(data: bytes) -> None:
    """The command chooses what it sends."""
    assert isinstance(queried_name(data), str)


@given(st.integers(0, 50), st.binary(max_size=128), st.booleans())
def test_no_address_breaks_the_stand_ins(family: int, data: bytes, listens: bool) -> None:
    """Likewise for addresses."""
    noted: list[Want] = []
    StandIns(noted.append).address(family, data, listens=listens)

    assert all(want.text for want in noted)


def test_wants_are_told_as_a_person_would_write_them() -> None:
    """A path in the project or in the home is short."""
    wants = [
        wants_to_write("/work/src/a.py"),
        wants_to_write("/home/me/x", "delete"),
        wants_to_write("/workshop/x", "change the mode of"),
        Want("reach", "reach api.example.com"),
    ]

    assert [want.text for want in shown_from(wants, "/work", "/home/me")] == [
        "wanted to write src/a.py",
        "wanted to delete ~/x",
        "wanted to change the mode of /workshop/x",
        "wanted to reach api.example.com",
    ]
    assert [want.path for want in wants] == ["/work/src/a.py", "/home/me/x", "/workshop/x", ""]


def test_a_want_shows_what_cannot_be_seen() -> None:
    """The name of a file could otherwise forge a line of aish."""
    text = wants_to_write("/work/a\n\x1b[2Jb\u202e").text

    assert text.isprintable()


def test_a_cache_that_could_not_be_written_stops_nothing() -> None:
    """The program goes on without."""
    cache, file = wants_to_write("/home/me/.cache/x"), wants_to_write("/work/x")

    assert (cache.minor, file.minor) == (True, False)
    assert not stopped([cache], status=0)
    assert stopped([cache], status=1)
    assert stopped([cache, file], status=0)
    assert not stopped([], status=1)


def test_an_index_that_git_diff_could_not_refresh_stops_nothing() -> None:
    """The difference is complete; `git add` in the same place fails, and then the user is asked."""
    index = wants_to_write("/work/.git/index.lock")

    assert not stopped([index], status=0)
    assert stopped([index], status=128)
    assert stopped([wants_to_write("/work/.git/config.lock")], status=0)


def environment(extra: tuple[str, ...] = (), **env: str) -> dict[str, str]:
    return looking_environment(
        env, "/private", extra=extra, is_secret_name=is_secret_variable, has_secret=lambda text: "hunter2" in text
    )


def test_the_environment_is_reduced_to_a_list_without_secrets() -> None:
    """A variable of another program may hold anything."""
    found = environment(PATH="/bin", LC_ALL="C", AWS_SECRET_ACCESS_KEY="x", LD_PRELOAD="x", BASH_ENV="x", EDITOR="vi")

    assert (found["PATH"], found["LC_ALL"], found["EDITOR"]) == ("/bin", "C", "vi")
    assert found["TMPDIR"] == "/private"
    assert not {"AWS_SECRET_ACCESS_KEY", "LD_PRELOAD", "BASH_ENV"} & found.keys()


def test_variables_that_the_user_adds_are_passed_on_unless_they_hold_a_secret() -> None:
    """Also a harmless name may have a secret as its value."""
    found = environment(("MINE", "OTHER", "MY_TOKEN"), MINE="fine", OTHER="hunter2", MY_TOKEN="x", LANG="hunter2")

    assert found["MINE"] == "fine"
    assert not {"OTHER", "MY_TOKEN", "LANG"} & found.keys()


def test_settings_of_git_that_run_programs_are_switched_off() -> None:
    """They override those of the repository, and are not taken for changes of the user."""
    found = environment()
    count = int(found["GIT_CONFIG_COUNT"])
    keys = {found[f"GIT_CONFIG_KEY_{number}"] for number in range(count)}

    assert {"core.fsmonitor", "core.hooksPath", "core.pager", "core.sshCommand"} <= keys
    assert all(says_nothing(name) for name in found if name.startswith("GIT_CONFIG"))
    assert f"GIT_CONFIG_KEY_{count}" not in found


def test_secrets_of_a_project_are_found_again_only_after_a_change(tmp_path: Path) -> None:
    """This happens before each command."""
    asked: list[str] = []

    def is_secret(name: str) -> bool:
        asked.append(name)
        return is_secret_name(name)

    files = SecretFiles(is_secret)
    (tmp_path / "deep/deeper").mkdir(parents=True)
    (tmp_path / "node_modules").mkdir()
    for name in (".env", "deep/deeper/id_rsa", "note", "node_modules/.env"):
        (tmp_path / name).touch()

    assert files.below(tmp_path) == [tmp_path / ".env", tmp_path / "deep/deeper/id_rsa"]
    asked.clear()
    assert files.below(tmp_path) == [tmp_path / ".env", tmp_path / "deep/deeper/id_rsa"]
    assert asked == []
    (tmp_path / "deep/.env").touch()
    os.utime(tmp_path / "deep", ns=(1, 1))  # the clock of some file systems is coarse
    assert tmp_path / "deep/.env" in files.below(tmp_path)
    assert files.below(tmp_path, depth=1) == [tmp_path / ".env"]
    assert files.below(tmp_path, most=2) == [tmp_path / ".env", tmp_path / "deep/.env"]


def test_known_secrets_are_found_where_they_are(tmp_path: Path) -> None:
    """Also by patterns, and also those that appear later."""
    (tmp_path / ".ssh").mkdir()
    known = KnownSecrets(tmp_path, [".netrc", ".ssh/id_*", ".gone/x"])

    assert known.existing() == []
    for name in (".netrc", ".ssh/id_rsa", ".ssh/config"):
        (tmp_path / name).touch()
    for directory in (tmp_path, tmp_path / ".ssh"):
        os.utime(directory, ns=(1, 1))
    assert known.existing() == [tmp_path / ".netrc", tmp_path / ".ssh/id_rsa"]
