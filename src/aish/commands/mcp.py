"""Commands about MCP servers: their state, their tools and their logs."""

import json

from aish.commands.shell import COMMANDS, Shell
from aish.intake.commands import Arguments
from aish.values.errors import BadUsage
from aish.values.replies import Reply, Table
from aish.values.text import counted, one_line

_NONE = "no MCP servers; aish mcp add NAME -- COMMAND adds one, aish mcp import takes them over from other tools"


@COMMANDS.add("mcp")
async def list_servers(shell: Shell, arguments: Arguments) -> Reply:
    """List the MCP servers: their state, their tools, and how many tokens the descriptions of these take.

    A server is started when one of its tools is called, or with `:mcp connect`. The model sees a tool as
    `server__tool`. If the descriptions take more than `mcp.schema_tokens`, the model looks tools up when it needs them.
    """
    if not shell.program.settings.mcp.servers:
        return Reply(_NONE, data=[], found=False)
    rows, data = [], []
    for one in shell.program.servers.states():
        state = "connected" if one.connected else "off" if not one.enabled else "not connected"
        tokens = await shell.session.backend.tokenizer.count(json.dumps(one.schemas)) if one.schemas else 0
        tools = "?" if one.tools is None else f"{len(one.tools)}"
        offered = "all" if one.tools is not None and one.offered == len(one.tools) else f"{one.offered}"
        note = shell.session.services.redaction.text(one.trouble or one.what)
        rows.append((one.name, state, tools, f"{tokens:,}", offered, one_line(note, 200)))
        data.append({"name": one.name, "state": state, "tools": tools, "tokens": tokens, "trouble": one.trouble})
    table = Table(("server", "state", "tools", "tokens", "offered", ""), rows, [""] * len(rows), wide=5)
    return Reply(table=table, data=data)


@COMMANDS.add("mcp list")
async def list_servers_again(shell: Shell, arguments: Arguments) -> str | Reply:
    """The same as `:mcp`."""
    return await list_servers(shell, arguments)


@COMMANDS.add("mcp connect", argument="NAME")
async def connect(shell: Shell, arguments: Arguments) -> str:
    """Connect to a server now, and list its tools. A connection that exists is made anew."""
    entry = shell.program.servers.entry(_name(arguments))
    await entry.disconnect()
    await entry.connect()
    return f"{entry.name} is connected: {counted(len(entry.listing or ()), 'tool')}"


@COMMANDS.add("mcp disconnect", argument="NAME")
async def disconnect(shell: Shell, arguments: Arguments) -> str:
    """End the connection to a server. The next call of one of its tools connects again."""
    entry = shell.program.servers.entry(_name(arguments))
    if not entry.connected:
        return f"{entry.name} was not connected"
    await entry.disconnect()
    return f"{entry.name} is disconnected"


@COMMANDS.add("mcp tools", argument="[NAME]")
async def show_tools(shell: Shell, arguments: Arguments) -> Reply:
    """Show the tools of a server, or of all, with the effect that decides about the question before a call.

    Connects to the server NAME if its tools are not known yet.
    """
    servers = shell.program.servers
    names = [arguments.text.strip()] if arguments.text.strip() else [one.name for one in servers.states()]
    rows, notes = [], []
    for name in names:
        entry = servers.entry(name)
        if entry.listing is None and arguments.text.strip():
            await entry.connect()
        for tool in entry.tools_for_model():
            consent = tool.consent() if tool.consent else None
            asks = "changed, asks" if consent and consent.note else "allowed" if consent and consent.given else "asks"
            asks = "allowed" if asks == "asks" and tool.effect == "read" else asks
            rows.append((tool.name, tool.effect, asks, one_line(tool.schema["function"]["description"], 300)))
        notes += [f"{one_line(old, 60)!r} of {name} is called {new}" for old, new in entry.renamed().items()]
        if entry.listing is None:
            notes.append(f"{name} was not connected yet: :mcp connect {name}")
    table = Table(("tool", "effect", "", "description"), rows, [""] * len(rows), wide=3)
    return Reply("\n".join(notes), table, data=[row[0] for row in rows], found=bool(rows))


@COMMANDS.add("mcp log", argument="NAME")
async def show_log(shell: Shell, arguments: Arguments) -> str:
    """Show the newest lines that a server wrote to its standard error or sent as log messages."""
    entry = shell.program.servers.entry(_name(arguments))
    text = shell.session.services.redaction.text(entry.log())
    return text or f"{entry.name} has written nothing since aish started"


def _name(arguments: Arguments) -> str:
    name = arguments.text.strip()
    if not name:
        raise BadUsage("which server? :mcp lists them")
    return name
