"""Generate the pictures in docs/pictures: screens of the real program, driven by keys, in a made-up project.

The models are scripted and the environment is fixed, so that a picture changes only when the program does, except for
the times in memory.svg.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pexpect
import pyte
from pictures_svg import Display, picture

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
COLUMNS, ROWS = 84, 32
PATIENCE, QUIET = 30.0, 0.5  # seconds to wait for a text, and seconds without output until a screen counts as finished
ENTER, TAB = "\r", "\t"
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


SCENES = (
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
    _make_home(Path(environment["AISH_HOME"]), scene, datetime.now(UTC))
    terminal = Terminal(project, environment)
    try:
        terminal.play(scene)
        return picture(terminal.screen, scene.title)
    finally:
        terminal.close()


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
