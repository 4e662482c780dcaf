"""Generate the pictures in docs/pictures: screens of the real program, driven by keys, in a made-up project.

The models are scripted and the environment is fixed, so that a picture changes only when the program does, except for
the times in memory.svg. New accounts are on a made-up machine (tests/machine_double).
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import pexpect
import pyte
from pictures_svg import Display, picture

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
COLUMNS, ROWS = 84, 32
PATIENCE, QUIET = 30.0, 0.5  # seconds to wait for a text, and seconds without output until a screen counts as finished
ENTER, TAB = "\r", "\t"
DOUBLE = Path(__file__).parents[1] / "tests" / "machine_double"
GB = 1_000_000_000
READY = "\x1b[?2004h"  # the line editor turns on bracketed paste once it reads keys

NOTES = '''\
"""Notes in a file, one a line."""

import sys
from pathlib import Path

for line in Path("notes.md").read_text().splitlines():
    if sys.argv[1] in line:
        print(line)
'''

HISTORY = {  # files by commit message
    "first notes": {"notes.md": "- coffee at the Café\n", "README.md": "# Notes\n\nPages are built into `site`.\n"},
    "find a note": {"notes.py": NOTES},
    "test the search": {"notes_test.py": "import notes\n"},
}

ACCENTS = '''\
## Ignore accents in a search

Take them off on both sides before you compare:

```python
import unicodedata

def plain(text: str) -> str:
    """Lower case, without accents."""
    letters = unicodedata.normalize("NFD", text.casefold())
    return "".join(c for c in letters if not unicodedata.combining(c))
```

| typed | finds | because |
|---|---|---|
| `cafe` | Café, CAFÉ | accents are dropped |
| `strasse` | Straße | `casefold` writes ß as ss |
| `日本` | 日本語 | there are none to drop |

Keep the plain form beside each note: it is **made once**, not at every search.
'''

CLEANING = """\
Probably not: `README.md` says that pages are built into `site` now. Count its files first, then remove it.

CMD: find build-old -type f | wc -l
CMD: rm -rf build-old
"""

LARGE_FILES = """\
`du` counts, `sort` puts the largest first:

```sh
du -ah . | sort -rh | head
```
"""

HEALTH = """\
I ask the server how it is, and look at its log.

CMD: tail -n 2 server.log
CMD: curl -s http://127.0.0.1:8080/health
"""


class Scene(NamedTuple):
    """The steps of a picture: keys, each with the text that shows their effect."""

    name: str
    title: str
    steps: tuple[tuple[str, str], ...]
    answers: tuple[str, ...] = ()
    remembered: tuple[tuple[int, str, str], ...] = ()  # age in days, kind, content
    machine: "Machine | None" = None  # of a new account, without settings
    has_server: bool = False  # a server answers on this machine


class Machine(NamedTuple):
    """What a new account finds: its memory, and a package index or none."""

    memory: int = 16 * GB
    seconds: float | None = None  # until the download ends; None: that is not seen
    has_network: bool = True


SCENES = (
    Scene(
        "first",
        "aish: the first start, with nothing installed",
        (
            ("", "fetches nothing"),
            (f"git log --oneline{ENTER}", "first notes"),
        ),
        machine=Machine(),
    ),
    Scene(
        "waiting",
        "aish: a question that was asked before the model was there",
        ((f"how do I find large files here?{ENTER}", "sort -rh"),),
        machine=Machine(seconds=2),
    ),
    Scene(
        "found",
        "aish: the same with a server on this machine",
        (
            ("", "on this machine answers"),
            (f"how do I find large files here?{ENTER}", "sort -rh"),
        ),
        machine=Machine(),
        has_server=True,
    ),
    Scene(
        "small",
        "aish: the same with 1 GB of memory",
        (
            ("", "fetches nothing"),
            (f"git log --oneline{ENTER}", "first notes"),
        ),
        machine=Machine(memory=GB),
    ),
    Scene(
        "offline",
        "aish: the same without a network",
        (
            ("", "no model could be fetched"),
            (f"git log --oneline{ENTER}", "first notes"),
            (f"? how do I find large files here{ENTER}", "not installed"),
        ),
        machine=Machine(has_network=False),
    ),
    Scene(
        "prompt",
        "aish: commands and questions at one prompt",
        (
            (f"git log --oneline{ENTER}", "first notes"),
            (f"ls todo.txt{ENTER}", "asks why it failed"),
            (f"how do I test notes{TAB}", "notes_test.py"),
            (TAB, "test notes.md"),
            (TAB, "test notes.py"),
        ),
    ),
    Scene(
        "answer",
        "aish: answers, formatted while they stream",
        ((f"how can my search ignore accents?{ENTER}", "not at every search"),),
        answers=(ACCENTS,),
    ),
    Scene(
        "gate",
        "aish: deletions need your confirmation",
        ((f"is build-old still needed?{ENTER}", "anything else"), ("run", "skips it: run")),
        answers=(CLEANING,),
    ),
    Scene(
        "fence",
        "aish: what runs unasked can only look",
        ((f"is the server fine?{ENTER}", "or [s]kip (Enter)"),),
        answers=(HEALTH,),
    ),
    Scene(
        "memory",
        "aish: facts to remember",
        (
            (f":remember notes.md must never be lost{ENTER}", "remembered (id 5)"),
            (f":memory list{ENTER}", "British spelling"),
        ),
        remembered=(
            (120, "pref", "short answers, and British spelling"),
            (45, "fact", "editor = helix"),
            (8, "fact", "the deploy window is Tuesday 14:00"),
            (3, "context", "moving the search to an index"),
        ),
    ),
)


class Terminal:
    """A terminal that runs the shell."""

    def __init__(self, directory: Path, environment: Mapping[str, str]) -> None:
        child: Any = pexpect.spawn(
            sys.executable, ["-m", "aish"], env=dict(environment), cwd=str(directory), dimensions=(ROWS, COLUMNS)
        )
        self._child = child
        self.screen = Display(COLUMNS, ROWS, reply=child.send)
        self._stream = pyte.ByteStream(self.screen)
        self._raw = ""

    @property
    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self.screen.display).rstrip()

    def play(self, scene: Scene) -> None:
        """Type the keys of the scene, wait for each effect, and wait until the screen no longer changes."""
        self._until(READY, lambda: self._raw)
        for keys, effect in scene.steps:
            self._child.send(keys)
            self._until(effect, lambda: self.text)
            while self._take(QUIET):
                pass

    def close(self) -> None:
        self._child.close(force=True)

    def _until(self, wanted: str, seen: Callable[[], str]) -> None:
        deadline = time.monotonic() + PATIENCE
        while wanted not in seen():
            if not self._take(deadline - time.monotonic()):
                raise SystemExit(f"waited for {wanted!r}, the screen has:\n\n{self.text}")

    def _take(self, seconds: float) -> bool:
        """Read the program's output; return whether there was any within that time."""
        try:
            piece = self._child.read_nonblocking(65536, max(seconds, 0.01))
        except (pexpect.TIMEOUT, pexpect.EOF):
            return False
        self._raw += piece.decode("latin-1")
        self._stream.feed(piece)
        return True


def perform(scene: Scene, directory: Path) -> str:
    """Play a scene in an empty directory, and draw the last screen."""
    environment = _environment(directory)
    project = directory / "notes-app"
    _make_project(project, environment)
    if scene.machine:
        environment |= _double(scene.machine, directory)
    else:
        _make_home(Path(environment["AISH_HOME"]), scene, datetime.now(UTC))
    with server() if scene.has_server else nullcontext():
        terminal = Terminal(project, environment)
        try:
            terminal.play(scene)
            return picture(terminal.screen, scene.title)
        finally:
            terminal.close()


def _double(machine: Machine, directory: Path) -> dict[str, str]:
    """Return the environment of a made-up machine."""
    double: dict[str, object] = {"weights": {}, "memory": machine.memory, "disk": 100 * GB, "too_large": []}
    double |= {"shared": str(directory / "shared"), "asked": os.devnull, "real": False}
    double["answers"] = {"qwen2.5-coder-1.5b-instruct-q4_k_m.gguf": LARGE_FILES}
    if machine.has_network:
        double["pull"] = machine.seconds
    else:
        parts = ("qwen2.5-coder-1.5b", "qwen2.5-coder-0.5b", "smollm2-135m")
        double["weights"] = {name: {"address": "http://127.0.0.1:9/model.gguf"} for name in parts}
    return {
        "MACHINE_DOUBLE": json.dumps(double),
        "PYTHONPATH": str(DOUBLE),
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_INDEX_URL": "http://127.0.0.1:9/simple",
        "UV_NO_CONFIG": "1",
    }


class _Ollama(BaseHTTPRequestHandler):
    """Answers as Ollama does, as far as the picture needs it."""

    def do_GET(self) -> None:
        sizes = {"qwen3:8b": 5_200_000_000, "gemma3:4b": 3_300_000_000}
        models = [{"model": name, "size": size, "context_length": 32768} for name, size in sizes.items()]
        self._answer({"data": [{"id": name} for name in sizes], "models": [] if self.path == "/api/ps" else models})

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path == "/api/show":
            self._answer({"capabilities": ["completion", "tools"]})
            return
        words = [{"delta": {"content": LARGE_FILES}}, {"delta": {}, "finish_reason": "stop"}]
        lines = "".join(f"data: {json.dumps({'choices': [word]})}\n\n" for word in words)
        self._answer(lines + "data: [DONE]\n\n", kind="text/event-stream")

    def _answer(self, value: object, kind: str = "application/json") -> None:
        data = (value if isinstance(value, str) else json.dumps(value)).encode()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *words: object) -> None:
        pass


@contextmanager
def server() -> Iterator[None]:
    """Let a server answer at the usual address of Ollama."""
    with ThreadingHTTPServer(("127.0.0.1", 11434), _Ollama) as ollama:
        threading.Thread(target=ollama.serve_forever, daemon=True).start()
        try:
            yield
        finally:
            ollama.shutdown()


def _environment(home: Path) -> dict[str, str]:
    """Return a minimal environment. Commits have a fixed author and time, so that their hashes stay the same."""
    who = {
        f"GIT_{role}_{field}": value
        for role in ("AUTHOR", "COMMITTER")
        for field, value in (("NAME", "Ada"), ("EMAIL", "ada@example.org"), ("DATE", "2026-01-05T09:00:00Z"))
    }
    return who | {
        "AISH_HOME": str(home / ".aish"),
        "COLORTERM": "truecolor",
        "GIT_CONFIG_NOSYSTEM": "1",
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]),
        "SHELL": "/bin/bash",
        "TERM": "xterm-256color",
        "TZ": "UTC",
    }


def _make_project(project: Path, environment: Mapping[str, str]) -> None:
    """Write a small program with a git history, and a directory that can be deleted."""
    old = project / "build-old"
    (old / "css").mkdir(parents=True)
    for page in range(40):
        (old / f"page-{page}.html").write_text("<p>old</p>\n" * 200, encoding="utf-8")
    (old / "css" / "style.css").write_text("p { color: black }\n", encoding="utf-8")
    log = "09:14 listening on port 8080\n09:15 3 pages built\n"
    (project / "server.log").write_text(log, encoding="utf-8")

    def git(*words: str) -> None:
        subprocess.run(["git", *words], cwd=project, env=dict(environment), check=True)

    git("init", "--quiet", "--initial-branch=main")
    for message, files in HISTORY.items():
        for name, text in files.items():
            (project / name).write_text(text, encoding="utf-8")
        git("add", *files)
        git("commit", "--quiet", f"--message={message}")


def _make_home(home: Path, scene: Scene, now: datetime) -> None:
    """Write settings with the scripted model, and the memory from earlier conversations."""
    (home / "config").mkdir(parents=True)
    (home / "data" / "sessions").mkdir(parents=True)  # so that aish does not greet a new user
    settings = f'model = "script"\n[models.script]\nkind = "scripted"\nanswers = {json.dumps(scene.answers)}\n'
    (home / "config" / "config.toml").write_text(settings, encoding="utf-8")
    lines = [
        {"id": id, "ts": f"{now - timedelta(days=days, hours=1):%Y-%m-%dT%H:%M:%SZ}", "kind": kind, "content": content}
        for id, (days, kind, content) in enumerate(scene.remembered, start=1)
    ]
    ledger = "".join(json.dumps(line | {"source": "user"}) + "\n" for line in lines)
    (home / "data" / "memory.jsonl").write_text(ledger, encoding="utf-8")


def main() -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    for scene in SCENES:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
            drawn = perform(scene, Path(directory).resolve())
        path = PICTURES / f"{scene.name}.svg"
        path.write_text(drawn, encoding="utf-8")
        print(f"written: docs/pictures/{path.name}")


if __name__ == "__main__":
    main()
