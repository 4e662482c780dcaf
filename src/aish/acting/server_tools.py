"""The tools of MCP servers as tools of the model, and the servers they belong to.

A server is connected when one of its tools is called, or when the model or the user asks for its tools. Until then
its tools are offered as they were last time. If their descriptions are too long for the prompt, the model gets one
tool, `mcp_tools`, with which it looks them up.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import suppress

from aish.acting.server_questions import CallEvents
from aish.agent.tool import Consent, ParsedCall, Tool, ToolEvent, ToolResult, as_json, refused, schema
from aish.conversation.permission import ask_about
from aish.conversation.turn_context import TurnContext
from aish.mcp.known_tools import KnownTools
from aish.mcp.launch import digest_of
from aish.mcp.schemas import one_line_about, tool_names
from aish.settings.options import McpSettings, ServerSettings
from aish.values.errors import BadUsage, NotFound, StoreTrouble
from aish.values.events import notice
from aish.values.named_tuple import NamedTuple
from aish.values.text import clip, one_line
from aish.values.tool_servers import LOOK_UP, ServerTool, ServerTrouble, ToolServer
from aish.values.turns import Message
from aish.values.verdicts import SEVERITY, Effect

MakeServer = Callable[[str, ServerSettings, str], ToolServer]
_CHARS_PER_TOKEN = 4
_CHANGED = "(its description changed since you last used it)"
_EFFECTS: dict[str, Effect] = {effect: effect for effect in SEVERITY}


class ServerState(NamedTuple):
    """A server as `:mcp list` shows it. `tools` is None if they are not known yet."""

    name: str
    what: str
    connected: bool
    enabled: bool
    tools: tuple[ServerTool, ...] | None
    trouble: str
    schemas: tuple[Message, ...]
    offered: int


class ServerTools:
    """All servers of the settings."""

    def __init__(self, settings: McpSettings, known: KnownTools, make: MakeServer) -> None:
        self._settings, self._known = settings, known
        self._entries = {
            name: OfferedServer(name, one, known, make, settings.result_chars)
            for name, one in settings.servers.items()
            if bool(one.command) != bool(one.url)
        }
        self._loaded: list[str] = []  # names for the model of tools that it looked up, newest last

    def entry(self, name: str) -> "OfferedServer":
        """Raises `NotFound`."""
        if name not in self._entries:
            there = f"there are: {', '.join(self._entries)}" if self._entries else "aish mcp add adds one"
            raise NotFound(f"there is no MCP server {one_line(name, 60)!r}; {there}")
        return self._entries[name]

    def states(self) -> list[ServerState]:
        offered = {tool.name for tool in self.offered()}
        return [entry.state(offered) for entry in self._entries.values()]

    def offered(self) -> Sequence[Tool[TurnContext]]:
        """Return the tools for the prompt, in a stable order."""
        room = self._settings.schema_tokens * _CHARS_PER_TOKEN
        tools, hidden = list[Tool[TurnContext]](), list[OfferedServer]()
        for entry in self._entries.values():
            if not entry.settings.enabled:
                continue
            own = entry.tools_for_model()
            if entry.listing is None or entry.size > room:
                hidden.append(entry)
            else:
                room -= entry.size
                tools += own
        if hidden:
            tools += [self._look_up_tool(hidden), *self._loaded_tools(hidden)]
        by_name = dict[str, Tool[TurnContext]]()
        for tool in tools:  # `a__b` of `x` is called as `b` of `x__a`; chat APIs refuse two tools of one name
            by_name.setdefault(tool.name, tool)
        return list(by_name.values())

    def _loaded_tools(self, hidden: list["OfferedServer"]) -> list[Tool[TurnContext]]:
        """Return what the model looked up, as far as there is room; the newest one in any case."""
        by_name = {tool.name: tool for entry in hidden for tool in entry.tools_for_model()}
        chosen, room = list[Tool[TurnContext]](), self._settings.schema_tokens * _CHARS_PER_TOKEN
        for name in reversed(self._loaded):
            if name in by_name:
                room -= schema_size(by_name[name])
                if room >= 0 or not chosen:
                    chosen.append(by_name[name])
        return sorted(chosen, key=lambda tool: tool.name)

    def _look_up_tool(self, hidden: list["OfferedServer"]) -> Tool[TurnContext]:
        names = [entry.name for entry in hidden]
        about = (
            "Look up the tools of a server: "
            + ", ".join(entry.summary for entry in hidden)
            + ". With `server` you get "
            "their names; with `tools` as well, those tools are loaded and you can call them."
        )
        properties: dict[str, Message] = {
            "server": {"type": "string", "enum": names},
            "tools": {"type": "array", "items": {"type": "string"}, "description": "names from the list, to load"},
        }
        return Tool(schema(LOOK_UP, about, properties, ["server"]), self._look_up, effect="read")

    async def _look_up(self, call: ParsedCall, turn: TurnContext) -> AsyncGenerator[ToolEvent]:
        """Connect to a server, and list or load its tools."""
        name, wanted = call.arguments.get("server"), call.arguments.get("tools") or []
        entry = self._entries.get(name) if isinstance(name, str) else None
        if entry is None or not entry.settings.enabled or not isinstance(wanted, list):
            yield refused(f"server must be one of {', '.join(self._entries)}, and tools a list of names")
            return
        await entry.refresh()
        own = entry.tools_for_model()
        if not wanted:
            lines = {tool.name: one_line_about(tool.schema["function"]["description"]) for tool in own}
            mask = turn.session.services.redaction.text
            note = "call a tool by its name if it is offered to you; otherwise load it first with `tools`"
            yield ToolResult(clip(mask(as_json(server=name, note=note, tools=lines)), self._settings.result_chars))
            return
        found = [tool for tool in own if tool.name in wanted or tool.name.partition("__")[2] in wanted]
        for tool in found:
            self._loaded = [other for other in self._loaded if other != tool.name] + [tool.name]
        missing = [
            str(one)[:80] for one in wanted if not any(str(one) in (t.name, t.name.partition("__")[2]) for t in found)
        ]
        yield ToolResult(as_json(loaded=[tool.name for tool in found], not_found=missing[:20]))

    async def close(self) -> None:
        """Disconnect from all servers."""
        await asyncio.gather(*(entry.disconnect() for entry in self._entries.values()))


class OfferedServer:
    """One server: its connection, its tools, and the last trouble with it."""

    def __init__(self, name: str, settings: ServerSettings, known: KnownTools, make: MakeServer, most: int) -> None:
        self.name, self.settings, self.trouble = name, settings, ""
        self._known, self._make, self._most = known, make, most
        self._identity = digest_of(settings.command, settings.args, settings.cwd, settings.url)
        self._server: ToolServer | None = None
        self.listing = known.listing(name, self._identity)
        self._listed = -1  # the revision of the server that was listed
        self._for_model: list[Tool[TurnContext]] | None = None
        self.size = 0  # characters of all schemas, counted with them

    @property
    def summary(self) -> str:
        return f"{self.name} ({'not connected yet' if self.listing is None else f'{len(self.listing)} tools'})"

    @property
    def connected(self) -> bool:
        return self._server is not None and self._server.connected

    def server(self) -> ToolServer:
        if not self.settings.enabled:
            raise BadUsage(f"{self.name} is switched off: set mcp.servers.{self.name}.enabled to true")
        if self._server is None:
            self._server = self._make(self.name, self.settings, self._identity)
        return self._server

    async def connect(self) -> None:
        """Connect at once, and list the tools. Raises `ServerTrouble`."""
        try:
            await self.server().connect()
        except ServerTrouble as error:
            self.trouble = str(error)
            raise
        await self.refresh()

    async def disconnect(self) -> None:
        if self._server is not None:
            await self._server.close()
        self._listed = -1

    def log(self) -> str:
        return self._server.log() if self._server else ""

    async def refresh(self) -> None:
        """Connect if necessary, and list the tools if they may have changed. Raises `ServerTrouble`."""
        server = self.server()
        if server.connected and self._listed == server.revision:
            return
        try:
            revision = server.revision
            tools = await server.tools()
        except ServerTrouble as error:
            self.trouble = str(error)
            raise
        self.trouble, self._listed = "", revision
        if tools != self.listing:
            self.listing, self._for_model = tools, None
            self._known.keep_listing(self.name, self._identity, tools)

    def tools_for_model(self) -> list[Tool[TurnContext]]:
        """Return the known tools, each under a name that chat APIs accept."""
        if self._for_model is None:
            listing = self.listing or ()
            names = tool_names(self.name, (tool.name for tool in listing))
            self._for_model = [self._tool(tool, names[tool.name]) for tool in listing if tool.name in names]
            self.size = sum(schema_size(tool) for tool in self._for_model)
        return self._for_model

    def renamed(self) -> dict[str, str]:
        """Return the tools whose name had to be changed: the name at the server, and for the model."""
        names = tool_names(self.name, (tool.name for tool in self.listing or ()))
        return {tool: name for tool, name in names.items() if name != f"{self.name}__{tool}"}

    def state(self, offered: set[str]) -> ServerState:
        own = self.tools_for_model()
        what = self.settings.url or " ".join([self.settings.command, *self.settings.args])
        return ServerState(
            self.name,
            what,
            self.connected,
            self.settings.enabled,
            self.listing,
            self.trouble,
            tuple(tool.schema for tool in own),
            sum(tool.name in offered for tool in own),
        )

    def _tool(self, tool: ServerTool, name: str) -> Tool[TurnContext]:
        function = {"name": name, "description": tool.about, "parameters": tool.parameters}

        def run(call: ParsedCall, turn: TurnContext) -> AsyncGenerator[ToolEvent]:
            return self._run(tool, call, turn)

        return Tool(
            {"type": "function", "function": function},
            run,
            effect=self._effect(tool),
            consent=lambda: self._consent(tool),
            foreign=bool(self.settings.url) or self.settings.fence != "none",  # any other server can do all by itself
        )

    def _effect(self, tool: ServerTool) -> Effect:
        """What the user said about the tool; otherwise the server's hint, which lowers no question to none."""
        said = _EFFECTS.get(self.settings.effect.get(tool.name, ""))
        return said or ("send" if tool.hint == "read" else "destroy" if tool.hint == "destroy" else "unknown")

    def _consent(self, tool: ServerTool) -> Consent:
        standing = self._known.standing(self.name, tool)
        allowed = tool.name in self.settings.allow or standing.always

        def keep_always() -> None:
            with suppress(StoreTrouble):  # then it is allowed this time only
                self._known.note(self.name, tool, always=True)

        changed = standing.state == "changed"
        return Consent(allowed and not changed, _CHANGED if changed else "", keep_always)

    async def _run(self, tool: ServerTool, call: ParsedCall, turn: TurnContext) -> AsyncGenerator[ToolEvent]:
        """Call the tool. If the server describes it differently than when the user was asked, ask again."""
        before = tool
        await self.refresh()
        now = next((one for one in self.listing or () if one.name == tool.name), None)
        if now is None:
            yield refused(f"{self.name} has no tool {tool.name!r} any more")
            return
        if now.digest != before.digest:
            again = self._tool(now, call.name)
            async with call.alone:
                allowed = await ask_about(again, call, turn.person, self._consent(now)._replace(note=_CHANGED))
            if not allowed:
                yield refused(f"{tool.name} was changed by its server, and the user did not allow it again")
                return
        try:
            standing = self._known.standing(self.name, now)
            self._known.note(self.name, now, always=standing.always and standing.state == "same")
        except StoreTrouble as error:
            yield notice("mcp.not_noted", f"cannot keep what {tool.name} is like: {error}", warning=True)
        async for event in self._call(now, call, turn):
            yield event

    async def _call(self, tool: ServerTool, call: ParsedCall, turn: TurnContext) -> AsyncGenerator[ToolEvent]:
        events: asyncio.Queue[ToolEvent | None] = asyncio.Queue()
        listener = CallEvents(self.name, call, turn.person, events)
        work = asyncio.create_task(self.server().call(tool.name, call.arguments, listener))
        work.add_done_callback(lambda _: events.put_nowait(None))
        try:
            while (event := await events.get()) is not None:
                yield event
        finally:
            if not work.done():
                work.cancel()
                await asyncio.wait([work])
        try:
            reply = work.result()
        except ServerTrouble as error:
            self.trouble = str(error)
            raise
        text = clip(turn.session.services.redaction.text(reply.text), self._most)
        yield ToolResult(as_json(status="failed", error=text) if reply.failed else text)


def schema_size(tool: Tool[TurnContext]) -> int:
    """Return the number of characters of a schema."""
    return len(json.dumps(tool.schema))
