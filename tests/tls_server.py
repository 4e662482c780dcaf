"""Servers on loopback for the ways to a model: TLS, sockets in the file system, and SOCKS proxies."""

import socket
import ssl
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from fake_server import FakeServer

CERTIFICATES = Path(__file__).parent / "certificates"
CA = str(CERTIFICATES / "ca.pem")


def tls(server: FakeServer, certificate: str = "server", *, wants_client: bool = False) -> FakeServer:
    """Let a server speak TLS with one of the certificates of the tests."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATES / f"{certificate}.pem")
    if wants_client:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(CA)
    server.wrap(context)
    return server


class Speaker:
    """Accepts connections, one after the other, and lets a function speak on each."""

    def __init__(self, speak: Callable[[socket.socket], None], path: str = "") -> None:
        self._speak = speak
        self._socket = socket.socket(socket.AF_UNIX if path else socket.AF_INET)
        self._socket.bind(path or ("127.0.0.1", 0))
        self._socket.listen()
        self._thread = threading.Thread(target=self._serve, daemon=True)

    @property
    def port(self) -> int:
        return int(self._socket.getsockname()[1])

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(10)
                try:
                    self._speak(connection)
                except OSError:
                    continue

    def __enter__(self) -> "Speaker":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(5)
