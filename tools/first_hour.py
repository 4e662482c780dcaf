"""Ask a model what a newcomer asks in the first hour, through the real shell, and count what is right.

    python tools/first_hour.py FOLDER --weights FILE.gguf      FOLDER has questions.jsonl and fixture.sh

A question is a fact (the answer is judged), a task in a directory (what the command printed or changed is judged, then
the sentence after it), or about something that was told before. Every question of aish about a command is answered
with yes, but never one about leaving a fence. Each task works in a directory of its own.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

import terminal as terminals
from workshop import AtGate, Workshop

_SECONDS = 120.0  # for one answer of a slow model
_KINDS = ("fact", "task", "true", "told")


class Answer(NamedTuple):
    """What the model did about one question."""

    commands: list[str]
    printed: str
    words: str
    seconds: float


class Judged(NamedTuple):
    """One question with its verdicts: was the effect right, and was the sentence after it true?"""

    question: dict[str, Any]
    answer: Answer
    right: bool
    true: bool | None = None

    def line(self) -> str:
        """Return one line for people."""
        mark = "ok " if self.right and self.true is not False else "BAD"
        parts = [self.answer.printed[:150], self.answer.words[:250]]
        said = " | ".join(part.strip().replace("\n", "⏎") for part in parts)
        return f"{mark} {self.question['id']} {self.question['question'][:90]} | {self.answer.commands} | {said}"


def main() -> int:
    parser = argparse.ArgumentParser(description="Count the right answers of a newcomer's first hour.")
    parser.add_argument("folder", type=Path, help="has questions.jsonl, and fixture.sh, which makes the directory")
    parser.add_argument("--weights", type=Path, required=True, help="a GGUF file for the embedded model")
    parser.add_argument("--only", default="", help="ids of questions, or kinds, with commas")
    parser.add_argument("--source", type=Path, help="the src folder of another version of aish")
    parser.add_argument("--all", action="store_true", help="print right answers, too")
    options = parser.parse_args()
    terminals.SECONDS = _SECONDS
    only = set(filter(None, options.only.split(",")))
    lines = (options.folder / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    questions = [one for one in map(json.loads, lines) if not only or {one["id"], one["kind"]} & only]
    counts, times = Counter[str](), list[float]()
    with tempfile.TemporaryDirectory() as scratch:
        for judged in _ask_all(questions, options.folder.resolve(), Path(scratch), _environment(options)):
            counts[f"{judged.question['kind']} of"] += 1
            counts[judged.question["kind"]] += judged.right
            if judged.true is not None:
                counts["true of"] += 1
                counts["true"] += judged.true
            counts["both"] += bool(judged.right and judged.true)
            times.append(judged.answer.seconds)
            if options.all or not judged.right or judged.true is False:
                print(judged.line(), flush=True)
    found = [f"{kind} {counts[kind]} of {counts[f'{kind} of']}" for kind in _KINDS]
    print(", ".join(found), f"right and true {counts['both']},", f"median {sorted(times)[len(times) // 2]:.1f} s")
    return 0


def _environment(options: argparse.Namespace) -> dict[str, str]:
    weights = str(options.weights.resolve())
    env = {"AISH_SET_MODEL": "mine", "AISH_SET_MODELS__MINE__KIND": "embedded", "AISH_SET_MODELS__MINE__PATH": weights}
    env |= {"AISH_SET_EMBEDDED__THREADS": "0", "AISH_SET_CONTEXT__SURROUNDINGS": "true"}  # as for people
    env |= {"AISH_SET_CONTEXT__TOKEN_BUDGET": "auto", "AISH_SET_COMMANDS__ROUNDS": "8"}
    env |= {"AISH_SET_COMMANDS__UNASKED_SECONDS": "15", "PAGER": "cat", "GIT_PAGER": "cat"}
    return env | ({"PYTHONPATH": str(options.source.resolve())} if options.source else {})


def _ask_all(questions: list[dict[str, Any]], folder: Path, scratch: Path, env: dict[str, str]) -> Any:
    workshop = Workshop(scratch)
    with AtGate(workshop, **env) as terminal:
        for question in questions:
            directory = scratch / question["id"] / "project"
            directory.parent.mkdir()
            subprocess.run(["bash", str(folder / "fixture.sh"), str(directory)], check=True, capture_output=True)
            terminal.enter(f"cd {directory}")
            terminal.wait_prompt()
            yield _ask(question, directory, workshop, terminal)


def _ask(question: dict[str, Any], directory: Path, workshop: Workshop, terminal: AtGate) -> Judged:
    told = question.get("told", [])
    if question.get("how") == "remember":
        for text in told:
            _enter(terminal, f":remember {text}")
    _enter(terminal, ":new")
    if question.get("how") == "said":
        for text in told:
            _enter(terminal, f"?{text}")
    before = _turns(workshop)
    began = time.monotonic()
    _enter(terminal, f"?{question['question']}")
    answer = _answer(_turns(workshop)[len(before) :], time.monotonic() - began)
    if question.get("how") == "remember":
        asked = terminal.raw.count(b"[y/N]")
        terminal.enter(":memory clear")
        terminal.wait_times(b"[y/N]", asked + 1)
        terminal.enter("y")
        terminal.wait_prompt()
    return _judge(question, answer, directory)


def _enter(terminal: AtGate, line: str) -> None:
    terminal.enter(line)
    terminal.watch(0.3)
    try:
        terminal.agree()
    except (AssertionError, IndexError):  # a command that waits for keys, or has the whole screen
        for keys in ("\x03", "q", "\x1b:q!\r", "\x03"):
            terminal.type(keys)
            terminal.watch(0.5)
        terminal.enter("")
        terminal.wait_prompt()


def _turns(workshop: Workshop) -> list[dict[str, Any]]:
    lines = [json.loads(line) for journal in workshop.journals() for line in journal.read_bytes().splitlines()]
    return [line for line in lines if "role" in line]


def _answer(turns: list[dict[str, Any]], seconds: float) -> Answer:
    results = [json.loads(turn["content"]) for turn in turns if turn["role"] == "tool"]
    ran = [one for one in results if "output" in one or "text" in one]
    words = [str(turn["content"]) for turn in turns if turn["role"] == "assistant" and turn.get("content")]
    commands = [
        str(json.loads(call["function"]["arguments"] if "function" in call else call["arguments"]).get("command"))
        for turn in turns
        for call in turn.get("tool_calls") or ()
    ]
    printed = "\n".join(str(one.get("output", one.get("text"))) for one in ran)
    return Answer(commands, printed, words[-1] if words else "", seconds)


def _judge(question: dict[str, Any], answer: Answer, directory: Path) -> Judged:
    def has(key: str, text: str) -> bool:
        return all(re.search(one, text, re.IGNORECASE | re.DOTALL) for one in question[key])

    def tells_falsely() -> bool:
        return any(re.search(one, answer.words, re.IGNORECASE | re.DOTALL) for one in question["reject"])

    if question["kind"] != "task":
        return Judged(question, answer, has("accept", answer.words) and not tells_falsely())
    if question["changes"]:
        check = subprocess.run(["bash", "-c", question["check"]], cwd=directory, capture_output=True, check=False)
        right = check.returncode == 0
        return Judged(question, answer, right, not tells_falsely() if right else None)
    right = bool(answer.commands) and has("shows", answer.printed)
    return Judged(question, answer, right, has("accept", answer.words) and not tells_falsely() if right else None)


if __name__ == "__main__":
    sys.exit(main())
