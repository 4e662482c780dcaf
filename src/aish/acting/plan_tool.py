"""The tool `update_plan`: the model says what it intends to do, and how far it is."""

from collections.abc import AsyncGenerator

from aish.agent.tool import ParsedCall, Tool, ToolEvent, ToolResult, as_json, refused, schema
from aish.conversation.plan import TOOL, plan_keeper
from aish.conversation.turn_context import TurnContext
from aish.values.events import notice
from aish.values.plan import MOST_CHARS, MOST_STEPS, SIGNS, parse_steps, progress


async def _update_plan(call: ParsedCall, turn: TurnContext) -> AsyncGenerator[ToolEvent]:
    """Replace the plan."""
    steps, keeper = parse_steps(call.arguments.get("steps")), plan_keeper(turn.session)
    if isinstance(steps, str) or keeper is None:
        yield refused(steps if isinstance(steps, str) else "there is no plan here")
        return
    keeper.update(steps)
    yield notice("plan.updated", progress(steps), steps=len(steps))
    yield ToolResult(as_json(status="ok"))


_STEP = {
    "type": "object",
    "properties": {"text": {"type": "string", "maxLength": MOST_CHARS}, "state": {"enum": list(SIGNS)}},
    "required": ["text", "state"],
}
PLAN_TOOL: Tool[TurnContext] = Tool(
    schema(
        TOOL,
        "For work of more than a few steps: show the user your plan, all steps each time, when it changes or a step "
        "is done. A plan edited by the user replaces yours.",
        {"steps": {"type": "array", "maxItems": MOST_STEPS, "items": _STEP}},
        ["steps"],
    ),
    _update_plan,
    effect="read",
    trust="own",
    setting="commands.plan",
    asks_itself=True,  # it shows what it does; nobody is asked
)
