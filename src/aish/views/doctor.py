"""`aish doctor`: check that everything works, and suggest fixes."""

import argparse
import asyncio
import os
import shlex
import stat
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Literal

from aish import __version__
from aish.action.fence.availability import kind, why
from aish.action.fence.landlock import version
from aish.commands.model_setup import find_models
from aish.memory.command_history.command_store import CommandStore
from aish.memory.goal_records import GoalRecords
from aish.model.cost import CostBook
from aish.model.http import HttpTrouble
from aish.model.streamed_api import StreamedApi
from aish.model.weights import WORDLLAMA, find_here
from aish.model.window import find_window
from aish.places import Places, exposed_directories, model_directories
from aish.program import Program
from aish.settings.options import Preset
from aish.settings.trust import Trust
from aish.storage.files import replace_file
from aish.values.errors import AishError, StoreTrouble
from aish.values.named_tuple import NamedTuple
from aish.values.stores import Health
from aish.values.text import counted, for_terminal, json_text
from aish.views.event_loop import run_loop
from aish.views.exit_codes import NOTHING, OK
from aish.views.screen import Screen

_SECONDS = 2.0


class Diagnosis(NamedTuple):
    """The result of one check, with a fix if it failed."""

    what: str
    state: Literal["ok", "note", "bad"]
    text: str


def run(program: Program, arguments: Sequence[str]) -> int:
    """Check everything; exit code 1 if something is bad."""
    parser = argparse.ArgumentParser(prog="aish doctor", description="Check that everything works, and suggest fixes.")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    findings = run_loop(examine(program))
    if options.json:
        print(json_text([finding._asdict() for finding in findings]))
    else:
        screen = Screen(program.settings.view.color)
        for finding in findings:
            style = {"ok": "dim", "note": "prompt", "bad": "error"}[finding.state]
            print(f"{screen.styled(f'{finding.state:<4}', style)} {finding.what:<14} {for_terminal(finding.text)}")
    return NOTHING if any(finding.state == "bad" for finding in findings) else OK


async def examine(program: Program) -> list[Diagnosis]:
    """Return all findings in the order of printing."""
    try:
        findings = [Diagnosis("aish", "ok", f"version {__version__}"), *_configuration(program)]
        findings += [finding async for finding in _model(program)]
        findings += [*_stores(program), *_notes(program), _search(program), *_permissions(program)]
        findings += [*_writable_by_others(program.places), *_fence(program)]
        findings += [finding async for finding in _servers(program)]
        return findings
    finally:
        await program.close()


def _configuration(program: Program) -> list[Diagnosis]:
    problems = [Diagnosis("configuration", "bad", str(problem)) for problem in program.loaded.problems]
    file = program.places.config_file
    where = str(file) if file.exists() else f"defaults ({file} does not exist; create it with: aish config init)"
    return problems or [Diagnosis("configuration", "ok", where)]


async def _model(program: Program) -> AsyncIterator[Diagnosis]:
    names = [program.settings.model, *program.settings.fallback]
    for name in dict.fromkeys(names):
        try:
            preset = program.presets()[name]
            if preset.kind not in ("embedded", "scripted"):
                yield await _reach(name, preset, program)
            else:
                backend = program.backend(name)
                if backend.server:
                    await backend.server()
                yield Diagnosis("model", "ok", f"{name} is ready")
        except KeyError:
            known = ", ".join(program.presets())
            yield Diagnosis("model", "bad", f"unknown preset {name!r}; use one of: {known}")
            continue
        except AishError as error:
            yield Diagnosis("model", "bad", f"{name}: {error}")
            continue
        yield await _tokenizer(name, program)


async def _reach(name: str, preset: Preset, program: Program) -> Diagnosis:
    backend = program.backend(name)
    if not preset.address:
        return Diagnosis("model", "bad", f"{name} has no endpoint; set models.{name}.endpoint")
    assert isinstance(backend.model, StreamedApi)
    try:
        async with asyncio.timeout(_SECONDS * 2):
            status, known = await backend.model.models()
    except (TimeoutError, HttpTrouble) as error:
        why = str(error) or "no answer"
        return Diagnosis("model", "bad", f"{name}: {why}" if ";" in why else f"{name}: {why}; is the server running?")
    if status in (401, 403):
        return Diagnosis("model", "bad", f"{name}: the server rejected the key ({status})")
    dated = preset.kind == "anthropic"  # a name stands for the newest of those with a date at the end
    if known and not any(one == backend.model_name or (dated and one.startswith(backend.model_name)) for one in known):
        some = ", ".join(known[:5])
        return Diagnosis("model", "bad", f"{name}: the server has no {backend.model_name!r}; it has: {some}")
    return Diagnosis("model", "ok", f"{name} at {backend.endpoint} answers")


async def _tokenizer(name: str, program: Program) -> Diagnosis:
    backend = program.backend(name)
    count = await backend.tokenizer.count("How many tokens is this?")
    window = await find_window(await backend.server(), backend.model_name) if backend.server else None
    size = f"; its window is {window:,} tokens" if window else ""
    how = "counts itself" if backend.tokenizer.ability == "yes" else "does not count; tokens are estimated"
    return Diagnosis("tokenizer", "ok", f"{name} {how} ({count} for a test sentence){size}")


def _stores(program: Program) -> list[Diagnosis]:
    data = program.places.data
    probe = data / ".doctor"
    try:
        replace_file(probe, b"")
        probe.unlink()
    except (OSError, StoreTrouble) as error:
        return [Diagnosis("store", "bad", f"{error}; conversations are not saved until this is fixed")]
    findings = []
    ids, torn = program.conversations.ids(), 0
    places = program.places
    commands = CommandStore(places.commands, str)
    others = (CostBook(places.costs).health, Trust(places.trusted).health, commands.health)
    goals = GoalRecords(program.places.goals).checks()
    for check in (*program.conversations.checks(), *goals, *others):
        try:
            health = check()
        except StoreTrouble as error:
            findings.append(Diagnosis("store", "bad", str(error)))
            continue
        torn += bool(health.set_aside)
        findings += [Diagnosis("store", "bad", _damaged(health))] if health.damaged else []
    aside = f", {torn} with an incomplete last line that was moved to a .torn file" if torn else ""
    return [
        *(findings or [Diagnosis("store", "ok", f"{len(ids)} conversations in {data}{aside}")]),
        *_memory(program),
    ]


def _memory(program: Program) -> list[Diagnosis]:
    """Check memory, and the lines of its files that could not be read."""
    memory = program.memory
    try:
        files = memory.health(), memory.pending_health()
        items, pending = sum(1 for _ in memory.ids()), len(memory.pending_ids())
    except StoreTrouble as error:
        return [Diagnosis("memory", "bad", str(error))]
    waiting = f", {pending} pending (see: aish memory pending)" if pending else ""
    findings = [finding for file in files for finding in _memory_file(file)]
    return findings or [Diagnosis("memory", "ok", f"{items} items in {files[0].place}{waiting}")]


def _memory_file(file: Health) -> Iterator[Diagnosis]:
    place, name = file.place, Path(file.place).name
    for problem in file.problems:
        yield Diagnosis("memory", "bad", f"{place}: {problem}, so it is ignored")
    if file.damaged:
        yield Diagnosis("memory", "bad", _damaged(file))
    if file.torn:
        text = f"{place}: its last line is incomplete and is skipped; the next change moves it to {name}.torn"
        yield Diagnosis("memory", "bad", text)
    if file.set_aside:
        yield Diagnosis("memory", "note", f"an incomplete last line of {name} was moved to {file.set_aside}")


def _notes(program: Program) -> list[Diagnosis]:
    """Check the notes of all channels: files that aish cannot use, and damaged logs."""
    findings = list[Diagnosis]()
    try:
        channels = program.channel_names()
        for channel in channels:
            problems = program.notes(channel).problems()
            findings += [Diagnosis("notes", "bad", f"{channel}: {problem}") for problem in problems]
    except StoreTrouble as error:
        return [Diagnosis("notes", "bad", str(error))]
    return findings or [Diagnosis("notes", "ok", f"{counted(len(channels), 'channel')} in {program.places.workspace}")]


def _search(program: Program) -> Diagnosis:
    """Check whether search by meaning is available. Without its weights, search still finds words."""
    if not program.settings.finding.meaning:
        return Diagnosis("search", "ok", "by words only (finding.meaning is off)")
    if find_here(WORDLLAMA, model_directories(program.places, os.environ)):
        return Diagnosis("search", "ok", f"by words and meaning ({WORDLLAMA.name})")
    text = f"by words only: the weights for meaning are not installed; run: aish models pull {WORDLLAMA.name}"
    return Diagnosis("search", "note", text)


def _damaged(file: Health) -> str:
    return f"{file.place}: {file.damaged} damaged line(s) are skipped; the rest is fine, and the file is not changed"


def _permissions(program: Program) -> list[Diagnosis]:
    open_to_others = [path for path in (program.places.data, program.places.sessions) if _readable_by_others(path)]
    if open_to_others:
        names = shlex.join(str(path) for path in open_to_others)
        return [Diagnosis("permissions", "note", f"other users can read your conversations; run: chmod 700 {names}")]
    return [Diagnosis("permissions", "ok", "only you can read your conversations")]


def _writable_by_others(places: Places) -> list[Diagnosis]:
    """Name directories that others can write to: they could replace the settings, the memory or the index."""
    findings = []
    for path in exposed_directories(places):
        who = "belongs to another user" if path.stat().st_uid not in (0, os.getuid()) else "can be written by others"
        what = "move it, or set AISH_HOME" if who.startswith("belongs") else f"run: chmod go-w {shlex.quote(str(path))}"
        text = f"{path} {who}, who could replace your settings and memory; {what}"
        findings.append(Diagnosis("permissions", "bad", text))
    return findings


def _fence(program: Program) -> list[Diagnosis]:
    """Try which fence commands of the model get."""
    wanted = program.settings.commands.sandbox
    missing, found = why(wanted), kind(wanted)
    if not found:
        return [Diagnosis("fence", "note", missing)]
    by = f"{found.capitalize()} (version {version()}) and seccomp" if found == "landlock" else f"{found} and seccomp"
    text = f"commands that nobody was asked about can only look; enforced by {by}, tried just now"
    return [Diagnosis("fence", "ok", f"{text}{f' ({missing})' if missing else ''}")]


def _readable_by_others(path: Path) -> bool:
    try:
        return bool(path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO))
    except OSError:
        return False


async def _servers(program: Program) -> AsyncIterator[Diagnosis]:
    """Look for servers and files on this machine and for keys, to suggest them. What answers already is left out."""
    for found in await find_models(program.loaded, os.environ):
        if found.name != program.settings.model and not (found.path and found.caution):
            what = "file" if found.path else "server"
            yield Diagnosis(what, "note", f"{found.about}; to use it: aish setup {found.name}")
