"""Commands about goals: work towards one, and look at what was done."""

from aish.commands.shell import COMMANDS, Shell
from aish.intake.commands import Arguments, CommandOption
from aish.prompt.goal import GoalLayer
from aish.values.errors import BadUsage
from aish.values.replies import Reply

_OPTIONS = (
    *(CommandOption(name, takes_value=True) for name in "paths programs steps minutes tokens dollars".split()),
    CommandOption("network"),
)


@COMMANDS.add(
    "goal",
    argument="GOAL|log|replay [ID]",
    options=_OPTIONS,
    aliases=("norris",),
)
async def goal(shell: Shell, arguments: Arguments) -> Reply:
    """Let the model work towards a goal, step by step, within what you allow once.

    Before the first step you see what it may do: change files in the project or in some of its directories (`--paths`),
    start the programs of the `until` command and of `--programs`, use the network (only with `--network`), and how much
    it may use (`--steps`, `--minutes`, `--tokens`, `--dollars`). Options come before the goal: `:goal --steps 3
    --paths src,docs fix the links`. Looking needs no consent. Whatever is outside asks, for just that thing;
    destroying something, and what cannot be understood, always asks for a word. Commands run in a fence with exactly
    these bounds.

    With `until 'COMMAND'`, aish runs the command after each step that changed something, and the goal is reached when
    it succeeds, whatever the model says. Without it, the model says `GOAL: complete`. Ctrl-C pauses: continue, steer
    with a line of your own, or stop.

    `:goal log` lists goals, `:goal log ID` shows the steps of one, `:goal replay ID` shows it again as it was, without
    a model and without running anything. `:diff goal` shows what the last goal changed, `:undo goal` takes it back.
    """
    goals, words = shell.program.goals, arguments.words
    if not arguments.options and words[:1] in (("log",), ("replay",)) and len(words) <= 2:
        wanted = words[1] if len(words) == 2 else ""
        if words[0] == "log" and not wanted:
            return goals.listing()
        return goals.page(wanted, whole=words[0] == "replay")
    worker, layer = shell.worker, shell.session.layer(GoalLayer)
    if worker is None or worker.gate is None:
        raise BadUsage("a goal needs a terminal, because somebody has to allow what it may do")
    if layer.goal:
        raise BadUsage("a goal is worked on already; stop it first with Ctrl-C")
    options = {name: arguments.value(name) for name in arguments.options}
    return await shell.program.goal_mode.start(worker, arguments.text, options, layer.set)
