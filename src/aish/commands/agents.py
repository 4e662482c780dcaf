"""Commands about sub-agents: give one a task, list and stop them, and trust the definitions of a project."""

from contextlib import aclosing
from typing import TYPE_CHECKING

from aish.commands.items import YES, agreed
from aish.commands.shell import COMMANDS, Shell
from aish.intake.commands import Arguments
from aish.model.cost import total
from aish.values.errors import BadUsage
from aish.values.events import Notice
from aish.values.invisible import visible
from aish.values.replies import Reply, Table
from aish.values.text import clip, foreign, one_line

if TYPE_CHECKING:  # loaded when the first sub-agent is needed
    from aish.conversation.agent_files import DefinitionFile

_MOST_SHOWN = 4_000  # characters of a definition before it is trusted


@COMMANDS.add("agent", argument="[NAME TASK]")
async def agent(shell: Shell, arguments: Arguments) -> Reply:
    """Let a sub-agent work on a task, or list the agents that there are.

    It works in a conversation of its own, within a budget, and answers once; Ctrl-C stops it. Your next question takes
    its answer along. An agent is a Markdown file in `agents/` of the workspace, or in `.aish/agents/` of a project once
    you trust it; `helper`, which only reads, is always there.
    """
    name, _, task = arguments.text.strip().partition(" ")
    agents, session = shell.program.agents, shell.session
    found = agents.team(session, again=True).found
    if not name:
        rows = [
            (one.name, one.context if one.memory == "none" else f"{one.context}, {one.memory}", one.origin, one.purpose)
            for one in found.definitions
        ]
        table = Table(("agent", "context", "defined in", "for"), rows, [""] * len(rows), wide=3)
        data = [{"name": one.name, "origin": one.origin, "context": one.context} for one in found.definitions]
        return Reply("\n".join(_remarks(shell)), table, data=data)
    run = agents.prepare(session, name, task.strip())
    gate = shell.worker.gate if shell.worker else None
    async with aclosing(agents.follow(run, session, shell.person, gate, typed=True)) as events:
        async for event in events:
            if shell.worker:
                shell.worker.note(event.text if isinstance(event, Notice) else event)
    agents.take_along(session, run)
    text = foreign(run.answer.strip()) or f"no answer: {run.reason or 'it said nothing'}"
    return Reply(text, data=run.result(), found=run.state == "done")


@COMMANDS.add("agents")
async def list_runs(shell: Shell, arguments: Arguments) -> Reply:
    """Show the sub-agents that run or ran for this conversation: state, steps, tokens, cost and conversation.

    `:resume` with the id of its conversation continues one. `:agent` alone lists those that there are.
    """
    session, costs = shell.session, shell.session.services.costs
    rows: list[tuple[str, ...]] = []
    data: list[dict[str, object]] = []
    runs = shell.program.agents.team(session).runs
    for run in runs:
        state = f"{run.state} ({run.limit})" if run.limit else run.state
        used = run.used
        tokens, task = f"{used.tokens:,}", shell.program.redaction.text(run.task)
        rows.append((f"{run.number}", run.label, state, f"{run.steps}", tokens, used.money, run.conversation, task))
        data.append(run.result() | {"number": run.number})
    known = {run.conversation for run in runs}
    for id, name, title in shell.program.conversations.children(session.journal.id):
        if id not in known:  # from an earlier run of the program
            used = total(call for call in costs.of(id))
            tokens = f"{used.tokens:,}"
            rows.append(("", name, "ended", "", tokens, used.money, id, title))
            data.append({"agent": name, "status": "ended", "conversation": id})
    if not rows:
        return Reply("no sub-agent has worked for this conversation", data=[], found=False)
    rows = [(*row[:-1], one_line(visible(row[-1]), 200)) for row in rows]
    head = ("", "agent", "state", "steps", "tokens", "cost", "conversation", "task")
    return Reply(table=Table(head, rows, [""] * len(rows), wide=7), data=data)


@COMMANDS.add("agents stop", argument="[N]")
async def stop(shell: Shell, arguments: Arguments) -> Reply:
    """Stop a sub-agent by its number in `:agents`, or all that run for this conversation.

    What it did so far stays in its conversation.
    """
    words = arguments.text.strip()
    if words and not (words.isdecimal() and len(words) < 6):
        raise BadUsage(f"expected a number of :agents, got {one_line(words, 40)!r}")
    stopped = shell.program.agents.stop(shell.session, int(words) if words else None)
    text = f"stopped: {', '.join(run.label for run in stopped)}" if stopped else "nothing to stop: it has ended"
    return Reply(text, data=[run.number for run in stopped], found=bool(stopped))


@COMMANDS.add("agents trust", argument="[--yes]", options=(YES,))
async def trust(shell: Shell, arguments: Arguments) -> Reply:
    """Trust the definitions of agents in this project as they are now, after showing them.

    They are used from then on. A file that changes must be trusted again.
    """
    session, agents = shell.session, shell.program.agents
    if arguments.text.strip():
        raise BadUsage(f":agents trust takes no argument, but got {one_line(arguments.text, 40)!r}")
    if not session.remembers:
        raise BadUsage("this run writes nothing (--no-memory), so trust cannot be changed")
    new = agents.team(session, again=True).found.untrusted
    if not new:
        return Reply("no definitions of agents here wait for trust", found=False)
    if not arguments.has("yes") and not await agreed(shell.person, f"{_definitions(shell, new)}\n\ntrust this?"):
        return Reply("nothing was changed", data={"trusted": []}, found=False)
    for file in new:
        session.services.trust.give(file.path, file.digest)
    left = {file.path for file in agents.team(session, again=True).found.untrusted}
    now = [file.label for file in new if file.path not in left]
    lines = [f"trusted as it is now: {', '.join(now)}"] if now else []
    lines += [f"{file.label} changed while you were asked; try again" for file in new if file.path in left]
    return Reply("\n".join([*lines, *_remarks(shell)]), data={"trusted": now}, found=bool(now))


def _definitions(shell: Shell, files: "tuple[DefinitionFile, ...]") -> str:
    """Return the files as they would be used."""
    mask = shell.program.redaction.text
    return "\n\n".join(f"{file.label}:\n{foreign(visible(clip(mask(file.text), _MOST_SHOWN)))}" for file in files)


def _remarks(shell: Shell) -> list[str]:
    """Return what is wrong with definitions, and which ones wait for trust."""
    found = shell.program.agents.team(shell.session).found
    waiting = ", ".join(file.label for file in found.untrusted)
    return [*found.problems, *([f"not trusted yet: {waiting} (:agents trust)"] if waiting else [])]
