"""The gate: each command that an answer proposes is judged, shown as it is, and run only as far as the user wants.

Safe ones run at once; what changes something asks for a key; what destroys, or cannot be understood, for a word.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from aish.action.command_runner import CommandResult
from aish.action.proposals import proposed
from aish.commands.shell import Shell
from aish.conversation.side_question import ask_side_question
from aish.places import find_project
from aish.values.errors import AishError
from aish.values.events import ChatRequest
from aish.values.person import Person
from aish.values.text import exactly, for_terminal, one_line
from aish.values.verdicts import Verdict
from aish.views.answers import AnswerScreen
from aish.views.user_shell import ctrl_c

WORD = "run"  # what is typed for a command that cannot be taken back
_EXPLAIN = "Explain in at most five short sentences what this shell command does and what could go wrong:\n\n{}"
_DENIED = ("Permission denied", "Operation not permitted", "Read-only file system")
_STOPPED = 130  # by Ctrl-C, so that nobody has to be told
_KEYS = {"r": "run", "e": "edit", "x": "explain", "a": "always", "t": "trash", "s": "skip"}


class Tools(NamedTuple):
    """What the gate works with; loaded when a command is proposed first."""

    judge: Callable[[str], Verdict]
    survey: Callable[[tuple[str, ...], Path], str]
    as_trash: Callable[[str], str | None]
    as_own: Callable[[str], str | None]  # a search of ours, which must read what the fence hides
    allow: Callable[[tuple[tuple[str, ...], ...], Path | None], None]
    run: Callable[..., CommandResult]
    sandbox: str  # what fences commands in; empty if nothing does
    trouble: str = ""  # why it is not fenced in, or not wholly


class Gate:
    """Asks before it runs."""

    def __init__(self, shell: Shell, screen: AnswerScreen, person: Person, load: Callable[[], Tools]) -> None:
        self._shell, self._screen, self._person = shell, screen, person
        self._load = load
        self._tools: Tools | None = None
        self.failed = ("", 0)  # the last command of an answer, if it failed, and its status

    @property
    def tools(self) -> Tools:
        if self._tools is None:
            self._tools = self._load()
            if self._tools.trouble:
                self._screen.note(self._tools.trouble, warning=True)
        return self._tools

    async def offer(self, answer: str) -> None:
        """Offer each command of an answer, one after the other."""
        self.failed = ("", 0)
        for command in proposed(answer):
            while command:
                command = await self._decide(command)

    async def _decide(self, command: str) -> str:
        """Do with one command what the user wants; another text of it is judged anew."""
        verdict = self.tools.judge(command)
        self._show(command, verdict)
        if verdict.verdict == "refuse":
            return ""
        if verdict.verdict == "run" and self._shell.program.settings.commands.ask != "always":
            await self._run(command)
            return ""
        while True:
            match _KEYS[await self._choose(command, verdict)]:
                case "run":
                    await self._run(command)
                case "edit":
                    changed = await self._person.edit(command)
                    if changed.strip() and changed != command:
                        return changed
                    continue
                case "trash":  # the bin lies outside the fence
                    await self._run(self.tools.as_trash(command) or "", fenced=False)
                case "always":
                    if not await self._allow(verdict):
                        continue
                    await self._run(command)
                case "explain":
                    await self._explain(command)
                    continue
                case _:
                    self._screen.note("skipped")
            return ""

    def _show(self, command: str, verdict: Verdict) -> None:
        self._screen.command(exactly(command), verdict.effect)
        if verdict.verdict != "run":
            self._screen.note(f"{verdict.effect}: {verdict.reason}", warning=True)
        if verdict.targets:
            hit = self.tools.survey(verdict.targets, self._directory)
            self._screen.note(f"it would hit: {hit}", warning=True)

    async def _choose(self, command: str, verdict: Verdict) -> str:
        """The key for what is to be done. A command that destroys needs the word, so that no key can slip."""
        if verdict.effect in ("destroy", "unknown"):
            words = {WORD: "r", "edit": "e", "explain": "x"}
            words |= {"trash": "t"} if verdict.effect == "destroy" and self.tools.as_trash(command) else {}
            others = ", ".join(list(words)[1:])
            typed = await self._person.word(f"type {WORD} to run it, or {others}; anything else skips it: ", words)
            return words.get(typed, "s")
        offered = {"r": "[r]un", "e": "[e]dit", "x": "e[x]plain"}
        offered |= {"a": "[a]lways"} if verdict.prefixes else {}
        offered["s"] = "[s]kip"
        return await self._person.key(f"{'  '.join(offered.values())} ", "".join(offered))

    async def _allow(self, verdict: Verdict) -> bool:
        words = exactly(", ".join(" ".join(prefix) for prefix in verdict.prefixes))
        where = await self._person.key(f"always run “{words} …” in this [p]roject, [e]verywhere, or [n]ot ", "pen")
        if where != "n":
            self.tools.allow(verdict.prefixes, find_project(self._directory) if where == "p" else None)
            self._screen.note("allowed; allowed.jsonl in the data directory has the list")
        return where != "n"

    async def _explain(self, command: str) -> None:
        session = self._shell.session
        messages = ({"role": "user", "content": _EXPLAIN.format(command)},)
        try:
            backend = session.backend
            side_answer = await ask_side_question(
                session, backend, ChatRequest(messages=messages, max_tokens=300), "main"
            )
        except AishError as error:
            self._screen.note(str(error), warning=True)
            return
        said = side_answer.text.strip() or side_answer.trouble if side_answer else "that could cost more than the cap"
        self._screen.say(for_terminal(said))

    async def _run(self, command: str, *, fenced: bool = True) -> None:
        own = self.tools.as_own(command)
        done = await self._scratch(own or command, fenced=fenced and not own)
        self._shell.hold(command, done.outcome)
        denied = done.outcome.status and any(words in done.outcome.output for words in _DENIED)
        if fenced and denied and self.tools.sandbox:
            again = await self._person.key("the sandbox may have stopped it: run it [u]nfenced, or [s]kip ", "us")
            if again == "u":
                await self._run(command, fenced=False)
                return
        self.failed = (command, done.outcome.status) if done.outcome.status else ("", 0)
        if done.outcome.status not in (0, _STOPPED):
            self._screen.note(f"exit status {done.outcome.status}; ? asks why")
        if done.keeps_something:
            await self._keep(done)

    async def _scratch(self, command: str, *, fenced: bool) -> CommandResult:
        self._screen.pause()
        with ctrl_c(lambda: None):
            return await asyncio.to_thread(self.tools.run, command, fenced=fenced)

    async def _keep(self, done: CommandResult) -> None:
        moved = [f"the directory is {exactly(done.outcome.directory)}"] if done.outcome.moved else []
        named = [f"{exactly(name)} is “{one_line(exactly(value), 60)}”" for name, value in done.changed.items()]
        named += [f"{name} is gone" for name in done.gone]
        self._screen.note(f"for that command {', '.join(moved + named)}; your own shell is as it was")
        if await self._person.key("[k]eep that for your shell, or [s]kip ", "ks") == "k":
            user_shell: Any = self._shell.user_shell
            with ctrl_c(
                lambda: user_shell.terminal and user_shell.terminal.interrupt()
            ):  # it must end before the next line begins
                await asyncio.to_thread(user_shell.adopt, done.outcome.directory, done.changed, done.gone)
            self._shell.enter(user_shell.directory)

    @property
    def _directory(self) -> Path:
        return Path(self._shell.session.cwd)
