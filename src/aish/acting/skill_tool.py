"""The tool `use_skill`: the text of a skill, and the files of its folder, when the model needs them."""

from collections.abc import AsyncGenerator

from aish.agent.tool import ParsedCall, Tool, ToolEvent, ToolResult, as_json, refused, schema
from aish.conversation.turn_context import TurnContext
from aish.values.errors import AishError


async def _use_skill(call: ParsedCall, turn: TurnContext) -> AsyncGenerator[ToolEvent]:
    """Return a part of a skill. From now on, the turn has no more tools and memory than the skill leaves."""
    name, file, start = (
        call.arguments.get(key, default) for key, default in (("name", ""), ("file", ""), ("start", 0))
    )
    if not isinstance(name, str) or not isinstance(file, str) or not name:
        yield refused("name and file must be strings, and name is needed")
        return
    if not isinstance(start, int) or start < 0:
        yield refused("start must be a number of characters")
        return
    session = turn.session
    skills = session.services.open_skills()
    try:
        skill = skills.usable(session, name)
        part = skills.part(session, skill, file, start)
    except AishError as error:
        yield refused(str(error))
        return
    if skill.name not in {one.name for one in turn.skills}:
        turn.skills.append(skill)
    about = {"skill": skill.name, **({"file": file} if file else {})}
    rest = {"left_out": part.rest} if part.rest else {}
    yield ToolResult(as_json(**about, text=part.text, **rest), recalled=True)


USE_SKILL: Tool[TurnContext] = Tool(
    schema(
        "use_skill",
        "Read the instructions of a skill from the list in the prompt, or a file that they mention.",
        {
            "name": {"type": "string"},
            "file": {
                "type": "string",
                "description": "a path in the folder of the skill; without it, its instructions",
            },
            "start": {"type": "integer", "description": "where to read on, in characters"},
        },
        ["name"],
    ),
    _use_skill,
    effect="read",
    layer="skills",
)
