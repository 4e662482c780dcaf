"""Whose program listens on a port."""

import os
import socket
from pathlib import Path

import pytest

from aish.storage import port_owner
from aish.storage.port_owner import is_trusted_port

ROW = "   0: 0100007F:2CAA 00000000:0000 {state} 00000000:00000000 00:00000000 00000000  {uid}        0 1234 1\n"


def table(path: Path, uid: int, state: str = "0A") -> None:
    path.write_text(f"  sl  local_address rem_address   st …\n{ROW.format(uid=uid, state=state)}", encoding="utf-8")


@pytest.mark.parametrize(
    ("uid", "state", "trusted"),
    [(0, "0A", True), (999, "0A", True), (54321, "0A", False), (54321, "01", True)],
)
def test_a_server_of_another_person_is_not_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, uid: int, state: str, *, trusted: bool
) -> None:
    """On a shared machine, anybody can listen where Ollama usually does, and would get the questions."""
    table(tmp_path / "tcp", uid, state)
    monkeypatch.setattr(port_owner, "_TABLES", (str(tmp_path / "tcp"), str(tmp_path / "none")))
    assert is_trusted_port(0x2CAA) is trusted
    assert is_trusted_port(1)  # nobody listens there


def test_ones_own_server_is_trusted() -> None:
    """Also by the real table."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert os.getuid() >= 0 and is_trusted_port(server.getsockname()[1])
