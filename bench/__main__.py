"""Run all measurements, print the ratios, and write bench/out/figures.json and docs/bench.svg.

python -m bench --scale   also searches 1,000,000 turns (generated once, takes minutes) and writes docs/search.svg
"""

import json
import os
import platform
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from bench import (
    embedded,
    fence,
    finding,
    first_word,
    history,
    importing,
    ledger,
    masking,
    mcp,
    notes,
    recall_speed,
    routing,
    shell,
    tools,
)
from bench.picture import bars
from bench.streaming import StreamServer
from bench.timing import Figure, interleaved, until_asked, until_shown, whole_run
from bench.turns import overhead

ROUNDS = 15
SCALE = "--scale" in sys.argv[1:]
HERE = Path(__file__).parent
PYTHON = sys.executable
AISH = str(Path(sys.executable).with_name("aish"))
SMALL_VERBS = (  # they talk to no model and search nothing; `list` needs the item of `add`
    "config path",
    "config show",
    "redact",
    "route ls -l",
    "cost",
    "models list",
    "memory add the kettle is blue",
    "memory list",
    "policy ls -l",
    "trash --help",
)
BARE_PROMPT = "from prompt_toolkit import PromptSession; PromptSession().prompt('bare> ')"


def peer() -> str | None:
    """Return the path of `llm`, installed from the registry in its own environment; None if that fails."""
    home = HERE / "out" / "peers"
    if not (home / "bin" / "llm").exists():
        subprocess.run([PYTHON, "-m", "venv", home], check=True)
        pip = [str(home / "bin" / "python"), *["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "llm"]]
        if subprocess.run(pip, check=False).returncode:
            return None
    return str(home / "bin" / "llm")


def measure(directory: Path) -> tuple[list[Figure], dict[str, float], list[str]]:
    """Return the figures, the measured seconds, and the names of the start-up measurements."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("AISH")} | {
        "AISH_HOME": str(directory / "home"),
        "TERM": "xterm-256color",
        "AISH_SET_EMBEDDED__WARM": "false",
    }

    def request(port: int) -> list[str]:
        return [AISH, "--set", f"models.bench.endpoint=http://127.0.0.1:{port}", "--model", "bench", "hello"]

    with socket.create_server(("127.0.0.1", 0)) as free:
        known = free.getsockname()[1]  # the first round makes the server known, as in daily use
    llm = peer()
    env_llm = env | {"LLM_USER_PATH": str(directory / "llm")}
    measures = {
        "python -c pass": lambda: whole_run([PYTHON, "-c", "pass"], env),
        "aish --version": lambda: whole_run([AISH, "--version"], env),
        "bare prompt_toolkit prompt": lambda: until_shown([PYTHON, "-c", BARE_PROMPT], env, b"bare>"),
        "aish, first prompt": lambda: until_shown([AISH], env, b"aish>"),
        "aish, editor completes": lambda: until_shown(
            [AISH], env | {"AISH_SET_VIEW__PROMPT": "go> "}, b"go>", b":hel\t", b"p"
        ),
        "aish, request on the wire": lambda: until_asked(request, env, known),
        "aish, request to a new server": lambda: until_asked(request, env),
    }
    if llm:
        measures["llm --version"] = lambda: whole_run([llm, "--version"], env_llm)
    starts = list(measures)
    verbs = {f"aish {line}": partial(whole_run, [AISH, *line.split()], env) for line in SMALL_VERBS}
    sizes = finding.SIZES if SCALE else list(finding.SIZES)[:-1]
    parts: dict[str, Callable[[], dict[str, float]]] = {
        "start-up": lambda: interleaved(ROUNDS, measures | verbs),
        "fences": lambda: fence.measure(directory),
        "streaming": _streaming,
        "a turn": lambda: {"aish, turn without the model": overhead(directory / "turns")},
        "memory": lambda: ledger.measure(directory / "ledger", AISH, env),
        "the shell": lambda: shell.measure(directory / "shell"),
        "the history": lambda: history.measure(directory / "history", AISH, env),
        "tools": lambda: tools.measure(directory / "tools"),
        "MCP": lambda: mcp.measure(directory),
        "notes": lambda: notes.measure(directory / "notes"),
        "recall": recall_speed.measure,
        "masking": masking.measure,
        "routing": lambda: routing.measure(directory / "programs"),
        "the embedded model": lambda: embedded.measure(directory),
        "first words": lambda: first_word.measure(directory),
        "imports": lambda: importing.measure(directory / "importing"),
        "search": lambda: finding.measure(sizes, AISH, env),
    }
    times: dict[str, float] = {}
    for number, (name, part) in enumerate(parts.items(), 1):
        print(f"measuring {name} ({number} of {len(parts)})", file=sys.stderr, flush=True)
        times |= part()

    bare = times["python -c pass"]
    prompt = times["bare prompt_toolkit prompt"]
    figures = [
        Figure(name="--version", value=times["aish --version"] / bare, unit="× python -c pass", limit=2.5),
        Figure(
            name="first prompt", value=times["aish, first prompt"] / prompt, unit="× bare prompt_toolkit", limit=1.2
        ),
        Figure(
            name="slowest small verb",
            value=max(times[name] for name in verbs) / bare,
            unit="× python -c pass",
            limit=5,
        ),
        Figure(
            name="request on the wire",
            value=times["aish, request on the wire"] / bare,
            unit="× python -c pass",
            limit=10,
        ),
        Figure(
            name="request to a new server",
            value=times["aish, request to a new server"] / bare,
            unit="× python -c pass",
            limit=10,
        ),
        Figure(
            name="streaming throughput",
            value=times["bare socket"] / times["aish, streaming client"],
            unit="× bare socket",
            limit=0.95,
            at_least=True,
        ),
        Figure(
            name="turn without the model",
            value=times["aish, turn without the model"] * 1000,
            unit="ms at 200 turns",
            limit=10,
        ),
        *ledger.figures(times),
        *shell.figures(times),
        *history.figures(times),
        *fence.figures(times),
        *tools.figures(times),
        *mcp.figures(times),
        *recall_speed.figures(times),
        *masking.figures(times),
        *routing.figures(times),
        *embedded.figures(times),
        *first_word.figures(times),
        *importing.figures(times),
        *finding.figures(times),
        *notes.figures(times),
    ]
    return figures, times, starts


def _streaming() -> dict[str, float]:
    server = StreamServer()
    try:
        return interleaved(10, {"bare socket": server.bare, "aish, streaming client": server.ours})
    finally:
        server.close()


def main() -> int:
    with tempfile.TemporaryDirectory() as directory:
        figures, times, starts = measure(Path(directory))
    machine = f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}, Python {platform.python_version()}"
    when = datetime.now(UTC).strftime("%Y-%m-%d")
    print(f"{when}, {machine}, medians of {ROUNDS} interleaved rounds\n")
    for figure in figures:
        sign = "≥" if figure.at_least else "≤"
        verdict = "ok" if figure.holds else "MISSED"
        print(f"{figure.name:<26} {figure.value:8.2f} {figure.unit:<22} (limit {sign} {figure.limit:g})  {verdict}")
    print()
    bare = times["python -c pass"]
    for name, seconds in times.items():
        if not name.startswith("bytes"):
            print(f"{name:<42} {1000 * seconds:9.2f} ms   {seconds / bare:6.1f} × python -c pass")
    out = HERE / "out"
    out.mkdir(exist_ok=True)
    record = {
        "date": when,
        "machine": machine,
        "figures": {
            f.name: {"value": round(f.value, 3), "unit": f.unit, "limit": f.limit, "holds": f.holds} for f in figures
        },
        "seconds": {name: round(seconds, 5) for name, seconds in times.items()},
    }
    (out / "figures.json").write_text(json.dumps(record, indent=1), encoding="utf-8")
    rows = [(name, times[name], f"{1000 * times[name]:.0f} ms") for name in starts]
    Path("docs/bench.svg").write_text(bars(f"Start-up, {when} ({machine})", rows), encoding="utf-8")
    if SCALE:
        title = f"Search time by number of turns, {when} ({machine})"
        Path("docs/search.svg").write_text(finding.picture(times, title), encoding="utf-8")
    shutil.rmtree(out / "peers" / "cache", ignore_errors=True)
    return 0 if all(figure.holds for figure in figures) else 1


sys.exit(main())
