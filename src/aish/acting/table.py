"""All tools that a model can be offered. A new tool is a new module and a line here."""

from aish.acting.command_tool import COMMAND_TOOLS
from aish.acting.edit_tools import EDIT_TOOLS
from aish.acting.file_tools import FILE_TOOLS
from aish.acting.finding_tools import FINDING_TOOLS
from aish.acting.memory_tools import MEMORY_TOOLS
from aish.acting.notes_tools import READ_NOTES, UPDATE_NOTES
from aish.acting.plan_tool import PLAN_TOOL
from aish.acting.skill_tool import USE_SKILL
from aish.agent.tool import Tool
from aish.conversation.turn_context import TurnContext

TOOLS: tuple[Tool[TurnContext], ...] = (
    *MEMORY_TOOLS,
    READ_NOTES,
    UPDATE_NOTES,
    *FINDING_TOOLS,
    *FILE_TOOLS,
    *EDIT_TOOLS,
    *COMMAND_TOOLS,
    PLAN_TOOL,
    USE_SKILL,
)
