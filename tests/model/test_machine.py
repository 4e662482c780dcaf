"""What a machine has room for, and which weights follow from it."""

from pathlib import Path

import pytest

from aish.model.machine import Machine, available_memory, best_present, default_weights, fits, look
from aish.model.weights import CATALOGUE, QWEN_LARGE, QWEN_SMALL, SMOLLM2, Weights

GB = 1_000_000_000


@pytest.mark.parametrize(
    ("machine", "expected"),
    [
        (Machine(3 * GB, 3 * GB), QWEN_LARGE),
        (Machine(3 * GB - 1, 3 * GB), QWEN_SMALL),
        (Machine(16 * GB, 3 * GB - 1), QWEN_SMALL),
        (Machine(GB, 9 * GB), QWEN_SMALL),
        (Machine(GB - 1, 9 * GB), SMOLLM2),
        (Machine(16 * GB, GB), SMOLLM2),
        (Machine(0, 0), SMOLLM2),
        (Machine(16 * GB, 16 * GB, is_ci=True), SMOLLM2),
    ],
)
def test_the_largest_weights_with_room_are_the_default(machine: Machine, expected: Weights) -> None:
    """Room in memory and on the disk."""
    assert default_weights(machine) is expected


def test_of_installed_weights_the_largest_that_fits_answers() -> None:
    """Where none fits, the smallest has the best chance. Room on the disk does not matter any more."""
    here = [QWEN_LARGE, SMOLLM2]

    assert best_present(Machine(3 * GB, 0), here) is QWEN_LARGE
    assert best_present(Machine(2 * GB, 0), here) is SMOLLM2
    assert best_present(Machine(9 * GB, 9 * GB, is_ci=True), here) is SMOLLM2
    assert best_present(Machine(0, 0), [QWEN_LARGE, QWEN_SMALL]) is QWEN_SMALL
    assert best_present(Machine(9 * GB, 9 * GB), []) is None


def test_weights_need_more_memory_than_their_size() -> None:
    assert fits(2 * GB, 3 * GB) and not fits(2 * GB, 2_890_000_000)
    assert all(one.memory > one.size and one.disk > 2 * one.size for one in CATALOGUE.values() if one.chats)


@pytest.mark.parametrize(
    ("value", "expected"), [("true", True), ("1", True), ("", False), ("0", False), ("False", False)]
)
def test_a_build_server_is_known_by_its_variable(value: str, expected: bool, tmp_path: Path) -> None:
    machine = look(tmp_path / "not" / "there", {"CI": value})

    assert machine.is_ci is expected and machine.memory > 0 and machine.disk > 0
    assert not look(tmp_path, {}).is_ci


def system(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


MEMINFO = "MemTotal:       16000000 kB\nMemFree:          500000 kB\nMemAvailable:    8000000 kB\n"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"proc/meminfo": MEMINFO}, 8_192_000_000),
        ({"proc/meminfo": "MemTotal: 4000000 kB\n"}, 4_096_000_000),
        (  # version 2: the group above leaves less than its own
            {
                "proc/meminfo": MEMINFO,
                "proc/self/cgroup": "0::/user/shell\n",
                "sys/fs/cgroup/user/shell/memory.max": "max\n",
                "sys/fs/cgroup/user/shell/memory.current": "5\n",
                "sys/fs/cgroup/user/memory.max": "2000000000\n",
                "sys/fs/cgroup/user/memory.current": "1500000000\n",
                "sys/fs/cgroup/user/memory.stat": "anon 1\ninactive_file 300000000\nactive_file 200000000\n",
            },
            1_000_000_000,
        ),
        (  # in a container, the name of the group is not in its file system
            {
                "proc/meminfo": MEMINFO,
                "proc/self/cgroup": "0::/docker/../../outside\n",
                "sys/fs/cgroup/memory.max": "700000000\n",
                "sys/fs/cgroup/memory.current": "600000000\n",
            },
            100_000_000,
        ),
        (  # version 1, and a group that is over its limit
            {
                "proc/meminfo": MEMINFO,
                "proc/self/cgroup": "5:cpu,cpuacct:/a\n4:memory:/a\n",
                "sys/fs/cgroup/memory/a/memory.limit_in_bytes": "1000\n",
                "sys/fs/cgroup/memory/a/memory.usage_in_bytes": "9000\n",
                "sys/fs/cgroup/memory/a/memory.stat": "total_inactive_file 500\ninactive_file 8999\n",
                "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
                "sys/fs/cgroup/memory/memory.usage_in_bytes": "1\n",
            },
            0,
        ),
        ({"proc/meminfo": MEMINFO, "proc/self/cgroup": "0\n::\nx:memory\n\0"}, 8_192_000_000),
    ],
)
def test_available_memory_is_what_the_system_and_all_groups_leave(
    files: dict[str, str], expected: int, tmp_path: Path
) -> None:
    """A container has the memory of its host in /proc/meminfo, and much less of its own."""
    assert available_memory(system(tmp_path, files)) == expected
