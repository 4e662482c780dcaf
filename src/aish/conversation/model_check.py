"""Try what a model can do: call a tool, answer in JSON, propose a command, and how large and fast it is.

A few short requests, each limited in time and tokens. What could not be tried is a result like any other.
"""

import asyncio
import re
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from aish.action.proposals import proposals
from aish.agent.calls import UNREADABLE
from aish.agent.loop import AskEvent, StepDone, run_loop
from aish.agent.permission import AllowReading
from aish.agent.tool import read_arguments, schema
from aish.agent.written_call import written_call
from aish.conversation.session import Session
from aish.conversation.spending import affordable, enter
from aish.model.backend import Backend
from aish.model.model_cards import Finding, ModelCard
from aish.model.window import find_window
from aish.values.errors import AishError
from aish.values.events import ChatRequest, Failed, ReasoningPiece, TextPiece, Usage
from aish.values.named_tuple import NamedTuple
from aish.values.text import one_line
from aish.values.turns import Message, ToolCall

_FIRST_SECONDS = 75.0  # the embedded model is loaded, and a server may have to load its model too
_SECONDS = 45.0  # of one request
_LARGE_SECONDS = 60.0
_ALL_SECONDS = 150.0
_MOST_TOKENS = 200  # of one answer
_SENTENCE = 30  # tokens
_TELLING = 50  # tokens of a prompt that tell how fast it was read
_LARGE = 5_000  # tokens of a large prompt; some servers silently cut at 2,048 or 4,096
_LEAST, _FEW, _TIMES = 5, 40, 3  # lines of the short prompt, and how often the long one has at least as many
_LINE = "The quick brown fox number {} jumps over the lazy dog.\n"
_LINE_TOKENS = 20  # about so many, for most models

_TEMPERATURE = schema(
    "get_temperature",
    "Return the temperature in a city at this moment.",
    {"city": {"type": "string"}},
    ["city"],
)
_CITIES = ("Paris", "Oslo")
_LANGUAGES = {  # questions, and what a right answer in the same language has to match
    "German": (
        "Wie heißt die Hauptstadt von Frankreich? Antworte in einem Satz.",
        r"(?s)(?=.*Paris)(?=.*\b(?:ist|heißt|lautet)\b)",
    ),
    "Spanish": ("¿Cuál es la capital de Italia? Responde con una frase.", r"(?s)(?=.*Roma)(?=.*\b(?:es|la)\b)"),
    "Chinese": ("日本的首都是哪里？请用一句话回答。", "东京|東京"),
}
_RUN = schema("run_command", "Run a shell command.", {"command": {"type": "string"}}, ["command"])
_RUNS = (  # questions, and what the command has to contain; empty: none is wanted
    ("How much space is free on the disks?", r"\bdf\b"),
    ("Which version of the kernel is this?", r"\buname\b|/proc/version"),
    ("What is the capital of France?", ""),
)


class Trial(NamedTuple):
    """The answer to one request, and its times in seconds. `failure` says why there is none."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    usage: Usage | None = None
    failure: Failed | None = None
    first: float = 0.0
    whole: float = 0.0


class ModelCheck:
    """One check of one model."""

    def __init__(self, session: Session, backend: Backend, instructions: str) -> None:
        self._session, self._backend, self._instructions = session, backend, instructions
        self._ends = time.monotonic() + _ALL_SECONDS
        self._writes = self._reads = 0.0  # tokens a second of the model, as far as it is known

    async def run(self) -> ModelCard | Failed:
        """Return the card; a failure if the model cannot be reached at all."""
        hello = await self._ask("Say hello.", most=8, seconds=_FIRST_SECONDS)
        if hello.failure:
            return hello.failure
        speed = await self._ask("Write the numbers from one to fifty in words.", most=min(self._written_in(10), 100))
        window = await self._window()
        return ModelCard(
            commands=self._dated(await self._commands()),  # its prompt is also the beginning of the next one
            tools=self._dated(await self._tools()),
            json=self._dated(await self._json()),
            window=self._dated(await self._whole(window, hello)),
            languages=self._dated(await self._languages()),
            window_tokens=window,
            tokens_per_second=_rate(speed, self._backend),
            first_token_seconds=round(speed.first, 3),
        )

    def _dated(self, found: Finding) -> Finding:
        when = int(self._session.services.now().timestamp())
        return found._replace(time=when, tried=found.able is not None)

    async def _tools(self) -> Finding:
        """Two calls, because one may be luck."""
        if self._backend.prompt_form == "run":
            return await self._only_commands()
        for city in _CITIES:
            question = f"What is the temperature in {city} now? Call the tool get_temperature."
            wrong = _judge_call(await self._ask(question, tools=(_TEMPERATURE,)), city)
            if wrong:
                return wrong
        return Finding(True, f"{len(_CITIES)} of {len(_CITIES)} calls were correct")

    async def _only_commands(self) -> Finding:
        """Two commands, and one question that wants none, for a model that is offered nothing else."""
        for question, wanted in _RUNS:
            trial = await self._ask(question, system=self._instructions, tools=(_RUN,), seconds=_LARGE_SECONDS)
            ran = read_arguments(trial.calls[0].arguments) if trial.calls else None
            command = str(ran.get("command", "")) if ran else ""
            if wrong := _not_tried(trial):
                return wrong
            if not re.search(wanted, command) if wanted else trial.calls:
                said = f"ran {one_line(command, 60)!r}" if trial.calls else f"answered {one_line(trial.text, 60)!r}"
                return Finding(False, f"{question} {said}")
        return Finding(True, f"runs commands: {len(_RUNS)} of {len(_RUNS)} answers were correct")

    async def _json(self) -> Finding:
        question = "Which city is the capital of Japan? Answer with one JSON object and nothing else, with the keys "
        trial = await self._ask(question + '"city" and "country".')
        return _not_tried(trial) or _judge_json(trial.text)

    async def _commands(self) -> Finding:
        question = "Suggest the shell command that lists the files of the current directory."
        trial = await self._ask(question, system=self._instructions, seconds=_LARGE_SECONDS)
        return _not_tried(trial) or _judge_commands(trial.text)

    async def _languages(self) -> Finding:
        """One question in each of some languages, to be answered in it."""
        right, wrong = list[str](), list[str]()
        for language, (question, wanted) in _LANGUAGES.items():
            trial = await self._ask(question, most=min(self._written_in(10), 60))
            if failed := _not_tried(trial):
                return failed
            (right if re.search(wanted, trial.text) else wrong).append(language)
        text = f"answered in {', '.join(right) or 'none'}" + (f"; not in {', '.join(wrong)}" if wrong else "")
        return Finding(not wrong, text)

    async def _window(self) -> int:
        """Return the window that the server reports, or 0."""
        server = self._backend.server
        try:
            return (await find_window(await server(), self._backend.model_name) if server else None) or 0
        except AishError:
            return 0

    async def _whole(self, window: int, hello: Trial) -> Finding:
        """Send a short and a long prompt of the same lines: if both are read whole, their tokens are proportional.

        A slow machine gets shorter ones, so that they take at most half of the time that is left.
        """
        seconds = min(_LARGE_SECONDS, (self._ends - time.monotonic()) / 2)
        possible = int(self._reads * seconds / 8 / _LINE_TOKENS) if self._reads else _FEW
        short = min(max(possible, _LEAST), _FEW)
        few = await self._ask(_lines("Short", short), most=1, seconds=seconds)
        if wrong := _not_tried(few):
            return wrong
        if not few.usage:
            return Finding(None, "could not try: the server reports no token counts")
        around = hello.usage.prompt_tokens if hello.usage else 0  # what the server adds to each question
        per_line = max((few.usage.prompt_tokens - around) / short, 1)
        speed = few.usage.prompt_tokens / max(few.whole, 0.001)
        possible = int(speed * (seconds - few.whole) / 3)  # a long prompt takes longer for each token
        wanted = min(window * 3 // 4 or _LARGE, _LARGE, possible)
        lines = max(int(wanted / per_line), _TIMES * short)
        many = await self._ask(_lines("Long", lines), most=1, seconds=seconds)
        expected = around + round(per_line * lines)
        if many.failure and many.failure.trouble == "refused":
            return Finding(False, f"a prompt of {expected:,} tokens was refused: {one_line(many.failure.reason, 120)}")
        if many.failure and many.failure.trouble == "unreachable":
            return Finding(None, f"could not try: a prompt of {expected:,} tokens was not read in {seconds:.0f} s")
        if (wrong := _not_tried(many)) or not many.usage:
            return wrong or Finding(None, "could not try: the server reports no token counts")
        read = many.usage.prompt_tokens
        if read < 0.9 * expected:
            return Finding(False, f"of a prompt of about {expected:,} tokens only {read:,} were read")
        slow = "; too slow to try a longer one" if expected < min(window * 3 // 4 or _LARGE, _LARGE) // 2 else ""
        return Finding(True, f"a prompt of {read:,} tokens was read whole{slow}")

    def _written_in(self, seconds: int) -> int:
        """Return how many tokens the model writes in this time, but enough for a sentence."""
        return min(max(int(self._writes * seconds), _SENTENCE), _MOST_TOKENS) if self._writes else _MOST_TOKENS

    def _learn_speed(self, trial: Trial) -> None:
        """Take the speed of the newest answer that tells it: it is also that of the machine at this moment."""
        if not trial.usage or not trial.first:
            return
        new = trial.usage.prompt_tokens - trial.usage.cached_tokens
        if new >= _TELLING:
            self._reads = new / trial.first
        if trial.usage.completion_tokens >= _TELLING // 10:
            self._writes = _rate(trial, self._backend)

    async def _ask(
        self,
        question: str,
        *,
        system: str = "",
        tools: Sequence[Message] = (),
        most: int = _MOST_TOKENS,
        seconds: float = _SECONDS,
    ) -> Trial:
        """Send one request, and take its cost into the books."""
        most = min(most, self._written_in(15))
        messages = [{"role": "system", "content": system}] if system else []
        request = ChatRequest((*messages, {"role": "user", "content": question}), tuple(tools), most)
        seconds = min(seconds, self._ends - time.monotonic())
        if seconds <= 0:
            return Trial(failure=Failed("the check took too long"))
        if not await affordable(self._session, self._backend, request):
            return Trial(failure=Failed("it could cost more than the cap", "declined"))
        trial = Trial()
        try:
            async with asyncio.timeout(seconds):
                trial = await _answer(self._backend, request)
        except TimeoutError:
            trial = Trial(failure=Failed(f"no whole answer within {seconds:.0f} s", "unreachable"))
        self._learn_speed(trial)
        if trial.usage:
            dollars = self._backend.price.of(trial.usage) if self._backend.price else None
            enter(self._session, self._backend, trial.usage, dollars, "check")
        return trial


async def _answer(backend: Backend, request: ChatRequest) -> Trial:
    """Return the answer; the loop collects it as it does in a conversation, but runs nothing."""
    started, first = time.monotonic(), 0.0
    usage: Usage | None = None
    failure: Failed | None = None

    async def ask(_: bool) -> AsyncGenerator[AskEvent]:
        nonlocal failure  # of the request itself: an empty answer is none
        async with aclosing(backend.model.stream(request)) as events:
            async for event in events:
                failure = event if isinstance(event, Failed) else failure
                yield event

    loop = run_loop(ask, {}, AllowReading[None](), None, offered=lambda: request.tools)
    async with aclosing(loop) as happening:
        async for event in happening:
            match event:
                case TextPiece() | ReasoningPiece():
                    first = first or time.monotonic() - started
                case Usage():
                    usage = event
                case StepDone():
                    return Trial(event.text, event.calls, usage, failure, first, time.monotonic() - started)
    return Trial(failure=failure or Failed("there was no answer"))


def _not_tried(trial: Trial) -> Finding | None:
    if trial.failure is None:
        return None
    return Finding(None, f"could not try: {one_line(trial.failure.reason, 160)}")


def _judge_call(trial: Trial, city: str) -> Finding | None:
    """Return what is wrong with the call that a question asked for; None if it is correct."""
    if trial.failure:
        refused = trial.failure.trouble == "tools"
        return Finding(False, "the server refuses tools") if refused else _not_tried(trial)
    name = str(_TEMPERATURE["function"]["name"])
    if not trial.calls:
        wrote = written_call(trial.text, (name,)) or name in trial.text
        return Finding(False, f"wrote about {name} instead of calling it" if wrote else "answered without a call")
    call = trial.calls[0]
    if call.name != name:
        return Finding(False, f"called {one_line(call.name, 40)!r}, which it was not offered")
    given = read_arguments(call.arguments)
    if given is None or UNREADABLE in given:
        return Finding(False, "called the tool with arguments that are not a JSON object")
    if city.lower() not in str(given.get("city", "")).lower():
        return Finding(False, f"called the tool with wrong arguments: {one_line(call.arguments, 60)}")
    return None


def _judge_json(answer: str) -> Finding:
    fenced = re.fullmatch(r"\s*```\w*\n(.*?)\n\s*```\s*", answer, re.DOTALL)
    found = read_arguments(fenced[1] if fenced else answer)
    if not found:
        return Finding(False, f"answered {one_line(answer, 60)!r}")
    if missing := [name for name in ("city", "country") if name not in found]:
        return Finding(False, f"left out {' and '.join(missing)}")
    return Finding(True, "one object, in a code block" if fenced else "one object and nothing else")


def _judge_commands(answer: str) -> Finding:
    found = proposals(answer)
    if found.offered:
        return Finding(True, f"proposed {one_line(found.offered[0], 60)!r}")
    if found.unfinished:
        return Finding(False, f"the command is not complete: {found.missing}")
    if found.quoted:
        return Finding(False, "put the command into a list or a quotation, where it is not offered")
    wrote = "wrote CMD: where it does not count" if "CMD:" in answer else "proposed no command"
    return Finding(False, f"{wrote}: {one_line(answer, 60)!r}")


def _lines(word: str, count: int) -> str:
    """Return a prompt that starts with `word`, so that a cache of the server has no part of it."""
    return f"{word}. Read these lines:\n{''.join(_LINE.format(10_000 + number) for number in range(count))}Answer ok."


def _rate(trial: Trial, backend: Backend) -> float:
    """Return tokens a second after the first one; of the whole answer if it came in one piece."""
    if trial.usage:
        tokens = trial.usage.completion_tokens
    else:
        tokens = backend.tokenizer.estimates.count(backend.model_name, trial.text)
    streaming = trial.whole - trial.first
    if tokens > 1 and streaming > 0.01:
        return round((tokens - 1) / streaming, 1)
    return round(tokens / trial.whole, 1) if trial.whole > 0 and tokens else 0.0
