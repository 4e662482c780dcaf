"""The model that answers as long as nobody has chosen one: a server of this machine, or weights that are fetched.

It is looked for after the prompt is on the screen. Commands can be typed meanwhile; a question waits.
"""

import asyncio
import os
from collections.abc import Callable

from aish.commands.model_setup import MachineRecord, SetupRecord, find_server, has_chosen
from aish.commands.shell import Shell
from aish.jobs.warm_up import warm_up
from aish.model.discovery import FoundModel
from aish.model.fetching import Fetch, announcement
from aish.model.machine import default_weights, installed, look
from aish.model.weights import CATALOGUE, SMOLLM2, PullFailed, Weights
from aish.places import model_directories
from aish.settings.options import EMBEDDED, Preset
from aish.values.text import byte_size
from aish.views.answers import AnswerScreen
from aish.views.editor import Editor

_WAITS = "the question waits: "
_SPEED_SECONDS = 3.0  # until the announcement can say how long a download takes
SMALLER_KEY = "f2"


class DefaultModel:
    """Finds the model, and fetches its weights if need be.

    1. A model that the user has chosen is never replaced.
    2. `ready` returns when a question can be asked; until then the smaller one never answers in between.
    """

    def __init__(self, shell: Shell, editor: Editor, screen: AnswerScreen, tell: Callable[[str], None]) -> None:
        self._shell, self._editor, self._screen, self._tell = shell, editor, screen, tell
        self._task: asyncio.Task[None] | None = None
        self._fetch: Fetch | None = None
        self._wanted: list[Weights] = []  # in the order in which they are tried
        self._step = "looking for a model"
        self.is_awaited = False  # a question waits, and the terminal has its status line

    def begin(self) -> None:
        """Look for the model in the background."""
        if not has_chosen(self._shell.program.loaded.origins):
            self._editor.on_key(SMALLER_KEY, self.take_smaller)
            self._task = asyncio.get_running_loop().create_task(self._find())

    @property
    def is_fetching(self) -> bool:
        return self._fetch is not None and self._fetch.is_running

    async def ready(self) -> None:
        """Wait until the model is there, or is not to be had. Ctrl-C ends the wait, not the download."""
        if self._task is None or self._task.done() or self._shell.session.model not in self._own_names():
            return
        status = self._screen.status
        status.begin(self._progress())
        self.is_awaited = True
        try:
            while not self._task.done():
                await asyncio.wait([self._task], timeout=0.5)
                status.update(self._progress())
        finally:
            self.is_awaited = False
            status.stop()

    def _own_names(self) -> set[str]:
        """The presets that answer because nobody has chosen."""
        record = MachineRecord(self._shell.program.places.machine_record).read()
        return {EMBEDDED, *([record.name] if record else [])}

    def _progress(self) -> str:
        room = self._screen.width - len(_WAITS) - 12
        return f"{_WAITS}{self._fetch.status(room)}" if self._fetch else self._step

    def take_smaller(self) -> None:
        """Fetch the smaller weights instead."""
        if self.is_fetching and len(self._wanted) > 1:
            self._wanted = self._wanted[1:]
            self._stop_fetch()

    def refuse(self) -> bool:
        """Fetch nothing, now and at the next starts. Returns whether something was being fetched."""
        if not self.is_fetching:
            return False
        self._wanted = []
        SetupRecord(self._shell.program.places.setup_record).decline_weights()
        self._stop_fetch()
        return True

    def _stop_fetch(self) -> None:
        if self._fetch:
            self._stopping = asyncio.ensure_future(self._fetch.stop())

    async def close(self) -> None:
        """End the download; what has arrived stays, and the next shell goes on."""
        if self._fetch:
            await self._fetch.stop()
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _find(self) -> None:
        program = self._shell.program
        record = MachineRecord(program.places.machine_record)
        before = record.read()
        found = await find_server(program.settings, program.loaded.origins, os.environ)
        record.write(found)
        if found:
            if before is None or (found.name, found.model) != (before.name, before.model):
                await self._use_server(found)
            return
        if before:
            await self._use(EMBEDDED)
            self._tell(f"{before.title} does not answer any more; the embedded model does")
        await self._fetch_weights()

    async def _use_server(self, found: FoundModel) -> None:
        settings = self._shell.program.settings
        settings.models[found.name] = Preset(kind=found.kind, endpoint=found.endpoint, model=found.model)
        settings.fallback = [EMBEDDED]
        await self._use(found.name)
        others = f", the largest of {len(found.models)} that fits" if len(found.models) > 1 else ""
        self._tell(
            f"{found.title} on this machine answers: {found.model}{others}; :setup lets you choose another model"
        )

    async def _use(self, name: str) -> None:
        """Let this preset answer from the next question on, unless the user has switched to another one."""
        program, session = self._shell.program, self._shell.session
        before, program.settings.model = program.settings.model, name
        if session.model == before:
            session.model = name
        await program.close_backend(before)

    async def _fetch_weights(self) -> None:
        program = self._shell.program
        settings, places = program.settings.embedded, program.places
        present = installed(model_directories(places, os.environ))
        is_set = settings.path or EMBEDDED in program.settings.models or not settings.fetch
        if is_set or any(one is not SMOLLM2 for one in present) or SetupRecord(places.setup_record).declined_weights:
            return
        machine = look(places.models, os.environ)
        best = default_weights(machine)
        if best in present or machine.is_ci:
            return
        chats = sorted((one for one in CATALOGUE.values() if one.chats), key=lambda one: one.size, reverse=True)
        self._wanted = [one for one in chats[chats.index(best) :] if one not in present]
        while self._wanted:
            weights = self._wanted[0]
            if await self._fetch_one(weights):
                return
            if self._wanted and self._wanted[0] is weights:  # it is not to be had, so the next one is tried
                self._wanted = self._wanted[1:]

    async def _fetch_one(self, weights: Weights) -> bool:
        """Fetch weights, and let them answer. Returns whether they are there."""
        fetch = self._fetch = Fetch(weights, self._shell.program.places.models)
        fetch.on_change = lambda: self._editor.show_below(fetch.status(self._screen.width - 1))
        try:
            await fetch.start()
            arriving = asyncio.ensure_future(fetch.wait())
            await asyncio.wait([arriving], timeout=_SPEED_SECONDS)
            if not arriving.done():
                self._tell(self._announcement(weights, fetch.seconds))
            await arriving
        except PullFailed as error:
            if self._wanted and self._wanted[0] is weights:
                self._tell(f"{weights.label}: {error}")
            elif not self._wanted:
                self._tell("nothing is fetched; aish models pull fetches a model, and :setup lists others")
            return False
        finally:
            self._fetch = None
            self._editor.show_below("")
        await self._shell.program.close_backend(EMBEDDED)
        caution = f" ({weights.caution})" if weights.caution else ""
        self._tell(f"{weights.label} is here and answers from now on{caution}")
        self._step = "the model reads its instructions, once on this machine"
        await warm_up(self._shell.session)
        return True

    def _announcement(self, weights: Weights, seconds: float | None) -> str:
        smaller = f"F2: {self._wanted[1].label}, {byte_size(self._wanted[1].size)}; " if len(self._wanted) > 1 else ""
        return f"{announcement(weights, seconds)}. {smaller}Ctrl-C on an empty line: none"
