"""The model that answers as long as nobody has chosen one: a server of this machine, or weights that are fetched.

It is looked for after the prompt is on the screen. Commands can be typed meanwhile; a question waits.
"""

import asyncio
import os
from collections.abc import Callable

from aish.commands.model_setup import MachineRecord, SetupRecord, find_server
from aish.commands.shell import Shell
from aish.jobs.warm_up import is_due, warm_up
from aish.model.discovery import FoundModel
from aish.model.fetching import Fetch, announcement
from aish.model.machine import default_weights, installed, look
from aish.model.weights import PullFailed, Weights, arrived_bytes, chat_weights
from aish.places import model_directories
from aish.settings.layers import FOUND_HERE, has_chosen
from aish.settings.options import EMBEDDED, Preset
from aish.values.text import byte_size
from aish.views.answers import AnswerScreen
from aish.views.editor import Editor, PlainEditor

_WAITS = "the question waits: "
_SPEED_SECONDS = 3.0  # until the announcement can say how long a download takes
_SMALLER_KEY = "f2"
_SMALLER_SEQUENCES = ("OQ", "[12~", "[[B")  # what terminals send for it
_NOTHING = "commands work as always, the next start tries again, and :setup lists other models"


class DefaultModel:
    """Finds the model, and fetches its weights if need be.

    1. A model that the user has chosen is never replaced.
    2. `ready` returns when a question can be asked; no smaller model answers meanwhile.
    """

    def __init__(self, shell: Shell, editor: Editor, screen: AnswerScreen, tell: Callable[[str], None]) -> None:
        self._shell, self._editor, self._screen, self._tell = shell, editor, screen, tell
        self._task: asyncio.Task[None] | None = None
        self._fetch: Fetch | None = None
        self._stopping: asyncio.Task[None] | None = None  # kept, because the loop does not keep its tasks
        self._wanted: list[Weights] = []  # in the order in which they are tried
        self._trouble = ""  # why the first ones cannot be fetched
        self._step = "looking for a model"
        self.is_awaited = False  # a question waits, and the terminal has its status line
        self._is_announced = False  # the user knows what Ctrl-C does
        self._waits = False  # for the first question

    def begin(self) -> None:
        """Look for the model in the background."""
        if not has_chosen(self._shell.program.loaded.origins):
            self._editor.on_key(_SMALLER_KEY, self._take_smaller)
            self._waits = True
            if not isinstance(self._editor, PlainEditor):  # while it reads a line, no loop runs
                self._start()

    def _start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._find())
        self._waits = False

    @property
    def is_fetching(self) -> bool:
        return self._fetch is not None and self._fetch.is_running

    async def ready(self) -> None:
        """Wait until the model is there, or cannot be fetched. Ctrl-C ends the wait, not the download."""
        if self._waits:
            self._start()
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

    def press(self, sequence: str) -> None:
        """Take a function key that is pressed while the question waits, as the terminal sends it."""
        if self.is_awaited and sequence in _SMALLER_SEQUENCES:
            self._take_smaller()

    @property
    def _smaller(self) -> Weights | None:
        """The weights that the user can take instead. A toy is none of them."""
        return next((one for one in self._wanted[1:] if not one.is_toy), None)

    def _take_smaller(self) -> None:
        """Fetch the smaller weights instead."""
        if self.is_fetching and (smaller := self._smaller):
            self._wanted = self._wanted[self._wanted.index(smaller) :]
            self._stop_fetch()

    def refuse(self) -> bool:
        """Fetch nothing, now and at the next starts. Returns whether something was being fetched."""
        if not (self.is_fetching and self._is_announced):
            return False
        self._wanted = []
        SetupRecord(self._shell.program.places.setup_record).decline_weights()
        self._stop_fetch()
        return True

    def _stop_fetch(self) -> None:
        if self._fetch and self._task:
            self._stopping = self._task.get_loop().create_task(self._fetch.stop())  # no loop runs between two lines

    async def close(self) -> None:
        """End the download; what has arrived stays, and the next shell goes on."""
        fetch = self._fetch
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if fetch:
            await fetch.stop()

    async def _find(self) -> None:
        program = self._shell.program
        record = MachineRecord(program.places.machine_record)
        before = record.read()
        found = await find_server(program.settings, program.loaded.origins, os.environ)
        if has_chosen(program.loaded.origins):  # meanwhile
            return
        record.write(found)
        if found and not self._is_used(found):
            await self._use_server(found)
        elif before and not found:
            await self._use(EMBEDDED)
            self._tell(f"{before.title} does not answer any more, so the embedded model is used from now on")
        if not found or (self._shell.model_was_switched and self._shell.session.model == EMBEDDED):
            await self._fetch_weights()

    def _is_used(self, found: FoundModel) -> bool:
        """Does this shell use it already? Another one may have written the record a moment ago."""
        settings = self._shell.program.settings
        preset = settings.models.get(settings.model)
        return settings.model == found.name and preset is not None and preset.model == found.model

    async def _use_server(self, found: FoundModel) -> None:
        settings = self._shell.program.settings
        settings.models[found.name] = Preset(kind=found.kind, endpoint=found.endpoint, model=found.model)
        others = f", the largest of {len(found.models)} that fits" if len(found.models) > 1 else ""
        what = f"{found.title} on this machine answers: {found.model}{others}"
        if await self._use(found.name):
            if self._shell.program.loaded.origins.get("fallback", FOUND_HERE) == FOUND_HERE:
                settings.fallback = [EMBEDDED]
            self._tell(f"{what}; :setup lets you choose another model")

    async def _use(self, name: str) -> bool:
        """Let this preset answer from the next question on, unless the user has chosen one. Returns whether it does."""
        program, session = self._shell.program, self._shell.session
        before, program.settings.model = program.settings.model, name
        if self._shell.model_was_switched or session.model != before:
            return False
        session.model = name
        await program.close_backend(before)
        return True

    async def _fetch_weights(self) -> None:
        program = self._shell.program
        settings, places = program.settings.embedded, program.places
        present = installed(model_directories(places, os.environ))
        is_set = settings.path or EMBEDDED in program.settings.models or not settings.fetch
        if is_set or not all(one.is_toy for one in present) or SetupRecord(places.setup_record).declined_weights:
            return
        machine = look(places.models, os.environ)
        machine = machine._replace(disk=machine.disk + arrived_bytes(places.models))  # of a download that goes on
        best = default_weights(machine)
        if best in present or machine.is_ci:
            return
        chats = chat_weights()
        self._wanted = [one for one in chats[chats.index(best) :] if one not in present]
        while self._wanted:
            weights = self._wanted[0]
            if await self._fetch_one(weights):
                return
            if self._wanted and self._wanted[0] is weights:  # it cannot be fetched, so the next one is tried
                self._wanted = self._wanted[1:]
                if not self._wanted:
                    self._tell(f"no model could be fetched: {self._trouble}; {_NOTHING}")
            elif not self._wanted:
                self._tell("nothing is fetched; aish models pull fetches a model, and :setup lists others")

    async def _fetch_one(self, weights: Weights) -> bool:
        """Fetch weights, and let them answer. Returns whether they are there."""
        fetch = self._fetch = Fetch(weights, self._shell.program.places.models)
        fetch.on_change = lambda: self._editor.show_below(fetch.status(self._screen.width - 1))
        announcing = asyncio.get_running_loop().call_later(_SPEED_SECONDS, lambda: self._announce(weights, fetch))
        try:
            await fetch.wait()
        except PullFailed as error:
            if self._wanted and self._wanted[0] is weights:
                self._trouble = self._trouble or error.reason
            return False
        finally:
            announcing.cancel()
            self._fetch = None
            self._editor.show_below("")
        await self._shell.program.close_backend(EMBEDDED)
        self._tell_trouble()
        session = self._shell.session
        caution = f" ({weights.caution})" if weights.caution and not weights.is_toy else ""  # its answers say it
        use = " and answers from now on" if session.model == EMBEDDED else "; to use it: :model embedded"
        self._tell(f"{weights.label}{caution} is installed{use}")
        self._step = "the model reads its instructions, once on this machine"
        if is_due(session):
            await warm_up(session)
        return True

    def _announce(self, weights: Weights, fetch: Fetch) -> None:
        self._tell_trouble()
        self._tell(f"{announcement(weights, fetch.seconds)}. {self._keys()}")
        self._is_announced = True

    def _keys(self) -> str:
        """Say what the user can do about the download."""
        if isinstance(self._editor, PlainEditor):
            return "To fetch nothing: aish config set embedded.fetch false"
        smaller = self._smaller
        instead = f"F2 fetches {smaller.label} instead ({byte_size(smaller.size)}), " if smaller else ""
        return f"{instead}Ctrl-C on an empty line fetches nothing"

    def _tell_trouble(self) -> None:
        """Say why it is not the best model for this machine."""
        if self._trouble:
            self._tell(f"{self._trouble}; a smaller model is fetched instead")
        self._trouble = ""
