"""The tools that the model is offered, and what happens when it calls one."""

import json

from aish.conversation.finding_tools import FINDING
from aish.conversation.memory_tools import PROPOSING
from aish.conversation.session import Session
from aish.conversation.tool import Used, answer, refused
from aish.values.errors import AishError
from aish.values.events import Notice
from aish.values.turns import ToolCall

TOOLS = PROPOSING | FINDING


def use(session: Session, call: ToolCall, typed: str) -> Used:
    """Run one call of the model; whatever is wrong with it is told to the model, and trouble to the user too."""
    tool = TOOLS.get(call.name)
    if tool is None or tool.schema not in session.tools():
        return refused(f"there is no tool {call.name[:60]!r}")
    try:
        arguments = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        arguments = None
    if not isinstance(arguments, dict):
        return refused("the arguments are not a JSON object")
    try:
        return tool.run(session, typed, arguments)
    except AishError as error:
        return Used(answer(status="refused", reason=str(error)), (Notice(str(error), warning=True),))
