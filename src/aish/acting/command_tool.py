"""The tool `run_command`: its commands pass the same gate as the `CMD:` lines of an answer."""

from collections.abc import AsyncGenerator

from aish.agent.tool import ParsedCall, Tool, ToolEvent, ToolResult, as_json, refused, schema
from aish.conversation.turn_context import TurnContext
from aish.intake.past_questions import shows_past

_RUN_COMMAND = schema(
    "run_command",
    "Run one shell command in the user's project and read what it prints. Read-only commands run at once; the "
    "user is asked about all others.",
    {"command": {"type": "string"}},
    ["command"],
)


async def _run_command(call: ParsedCall, turn: TurnContext) -> AsyncGenerator[ToolEvent]:
    """Pass the command through the gate; return its status and output to the model, or why it did not run."""
    command = call.arguments.get("command")
    if not isinstance(command, str) or not command.strip():
        yield refused("command must be a string")
        return
    if turn.gate is None:
        yield refused("commands cannot be run here")
        return
    decided = await turn.gate.decide(command)
    if decided.outcome is None:
        yield refused(f"[aish] {decided.reason}")
        return
    output = turn.session.services.redaction.text(decided.outcome.output)
    yield ToolResult(
        as_json(command=decided.command, status=decided.outcome.status, output=output),
        recalled=shows_past(decided.command),
    )


COMMAND_TOOLS = (
    Tool(_RUN_COMMAND, _run_command, effect="unknown", setting="commands.tool", asks_itself=True, needs_gate=True),
)
