"""Variables, users, hosts and jobs that complete in a shell line."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aish.action.shell_names import assigned, hosts, jobs, users
from aish.views.editor import ShellSuggestions

pytestmark = pytest.mark.proves("P12")


def offered(text: str, tmp_path: Path) -> list[str]:
    shell = ShellSuggestions(
        lambda: ["kill", "ssh", "echo"],
        lambda: str(tmp_path),
        variables=lambda: ["HOME", "HOSTNAME", "PATH", "_x"],
        jobs=lambda: [("%1", "Running sleep 5"), ("%2", "Stopped vim")],
    )
    return [word for word, _, _ in shell(text)]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("echo $HO", ["HOME", "HOSTNAME"]),
        ("echo ${PA", ["PATH}"]),
        ('echo "in $HOM', ["HOME"]),
        ("$PA", ["PATH"]),
        ("!echo a/$_", ["_x"]),
        ("echo '$HO", []),
        ("echo \\$HO", []),
        ("kill %", ["%1 ", "%2 "]),
        ("fg %2", ["%2 "]),
        ("cd ~roo", ["~root/"]),
    ],
)
def test_names_complete(tmp_path: Path, text: str, wanted: list[str]) -> None:
    """Where the shell would replace them, and only there."""
    assert offered(text, tmp_path) == wanted


def test_hosts_come_from_the_files_of_ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Patterns and hashed names are no hosts."""
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh/config").write_text("Host web-one web-two *.example\n  HostName x\nHost = db # mine\n")
    (tmp_path / ".ssh/known_hosts").write_text(
        "old.example,10.0.0.9 ssh-rsa A\n[far.example]:2222 ssh-rsa A\n|1|hash|hash ssh-rsa A\n@revoked bad.net x A\n"
    )
    found = hosts(tmp_path)
    assert {"web-one", "web-two", "db", "old.example", "10.0.0.9", "far.example", "localhost"} <= set(found)
    assert not any("*" in host or "|" in host for host in found)

    monkeypatch.setenv("HOME", str(tmp_path))
    assert offered("ssh web", tmp_path) == ["web-one ", "web-two "]
    assert offered("ssh me@far", tmp_path) == ["far.example "]
    assert offered("echo web", tmp_path) == []
    (tmp_path / ".ssh/config").write_text("Host web-three\n")
    assert offered("ssh web-t", tmp_path) == ["web-three "]


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("A=1 B+=2 cmd --c=3", {"A", "B"}),
        ("export ONE TWO=2; read -r three", {"ONE", "TWO", "three"}),
        ("x[1]=2; echo $y=3", {"x"}),
        ("make CC=gcc", {"CC"}),
        ("echo hello", set()),
    ],
)
def test_names_that_a_line_sets_are_known(line: str, names: set[str]) -> None:
    assert assigned(line) == names


def test_jobs_of_both_shells_are_read() -> None:
    text = "[1]-  Running                 sleep 5 &\n[2]+  Stopped                 vim x\n"
    assert jobs(text) == [("%1", "Running sleep 5 &"), ("%2", "Stopped vim x")]
    assert jobs("[1]  + running    sleep 5\n[3]    suspended  cat\n") == [
        ("%1", "running sleep 5"),
        ("%3", "suspended cat"),
    ]


@given(st.text(max_size=60))
def test_any_text_is_read(text: str) -> None:
    jobs(text)
    assigned(text)


def test_there_is_a_user() -> None:
    assert "root" in users()
