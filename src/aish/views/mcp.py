"""`aish mcp`: list, add and remove MCP servers in the settings, and take them over from other tools."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from aish.mcp.other_tools import HOME_FILES, PROJECT_FILES, FoundServer, read_servers
from aish.places import find_project, home_directory
from aish.settings.layers import mismatch, type_of
from aish.settings.options import ServerSettings, options_of
from aish.settings.tables import add_table, remove_table
from aish.settings.user_file import edit_settings_file, read_settings_file
from aish.values.errors import BadUsage, NotFound
from aish.values.named_tuple import NamedTuple
from aish.values.person import agrees
from aish.values.text import counted, for_terminal, json_text
from aish.views.arguments import Options, VerbArguments
from aish.views.exit_codes import NOTHING, OK
from aish.views.screen import Screen
from aish.views.start import Start

_TABLE = ("mcp", "servers")


class McpDoors(NamedTuple):
    """The settings and places, and what finds secrets in a text."""

    start: Start
    has_secret: Callable[[str], bool]


def run(doors: McpDoors, arguments: Sequence[str]) -> int:
    """Run one action of `aish mcp`."""
    end = [*arguments, "--"].index("--")
    options = _parser().parse_args(arguments[:end])
    command = list(arguments[end + 1 :])
    if command and options.action != "add":
        raise BadUsage(f"aish mcp {options.action} takes no command")
    match options.action:
        case "add":
            return _add(doors, options, command)
        case "remove":
            return _remove(doors.start, _one(options.names, "NAME"))
        case "import":
            return _import(doors, options.names, yes=options.yes)
    return _list(doors.start, as_json=options.json)


def _parser() -> VerbArguments:
    examples = (
        "aish mcp add time -- uvx mcp-server-time\naish mcp add docs --url https://example.org/mcp\naish mcp import"
    )
    parser = VerbArguments(
        "aish mcp", "Manage the MCP servers whose tools the model can use.", epilog=examples, keep_lines=True
    )
    parser.add_argument("action", nargs="?", default="list", choices=("list", "add", "remove", "import"))
    parser.add_argument("names", nargs="*", metavar="NAME", help="the server; for import, files of other tools")
    parser.add_argument("--url", default="", help="the address of a server that is reached over HTTP")
    parser.add_argument("--env", action="append", default=[], metavar="KEY=VALUE", help="a variable for the server")
    parser.add_argument("--env-from", action="append", default=[], metavar="KEY", help="a variable of yours to pass on")
    parser.add_argument("--header", action="append", default=[], metavar="KEY=VALUE", help="a header for the address")
    parser.add_argument("--yes", action="store_true", help="do not ask before import writes")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def _one(names: Sequence[str], what: str) -> str:
    if len(names) != 1 or not names[0].strip():
        raise BadUsage(f"expected one {what}")
    return names[0]


def _list(start: Start, *, as_json: bool) -> int:
    servers = start.settings.mcp.servers
    if as_json:
        print(json_text({name: _given(one) for name, one in servers.items()}))
        return OK if servers else NOTHING
    for name, one in servers.items():
        what = one.url or " ".join([one.command, *one.args])
        Screen().say(f"{name:<16} {what}{'' if one.enabled else '  (off)'}")
    if not servers:
        Screen().note(
            "no MCP servers; aish mcp add NAME -- COMMAND adds one, aish mcp import finds those of other tools"
        )
    return OK if servers else NOTHING


def _given(server: ServerSettings) -> dict[str, Any]:
    """What the settings say about a server, without the values of variables and headers."""
    hidden = ("env", "headers")
    given = {
        key: getattr(server, key)
        for key, one in options_of(ServerSettings).items()
        if getattr(server, key) != one.default
    }
    return {key: sorted(value) if key in hidden else value for key, value in given.items()}


def _add(doors: McpDoors, options: Options, command: list[str]) -> int:
    name = _one(options.names, "NAME")
    if bool(command) == bool(options.url):
        raise BadUsage("expected aish mcp add NAME -- COMMAND, or aish mcp add NAME --url URL")
    values: dict[str, Any] = {"url": options.url} if options.url else {"command": command[0]}
    values |= {"args": command[1:]} if command[1:] else {}
    values |= {"env": _pairs(options.env)} if options.env else {}
    values |= {"env_from": options.env_from} if options.env_from else {}
    values |= {"headers": _pairs(options.header)} if options.header else {}
    for key, value in [*_pairs(options.env).items(), *_pairs(options.header).items()]:
        if doors.has_secret(f"{key}={value}"):
            raise BadUsage(
                f"{key} looks like a secret, which does not belong into settings: use --env-from {key}, "
                f"or write ${{{key}}} instead of the value"
            )
    _write(doors.start, [FoundServer(name, values)])
    Screen().say(f"added {name} to {doors.start.places.config_file}; in the shell, :mcp connect {name} tries it")
    return OK


def _pairs(given: Sequence[str]) -> dict[str, str]:
    pairs = dict[str, str]()
    for pair in given:
        key, sign, value = pair.partition("=")
        if not sign or not key:
            raise BadUsage(f"expected KEY=VALUE, got {pair!r}")
        pairs[key] = value
    return pairs


def _remove(start: Start, name: str) -> int:
    path = start.places.config_file

    def edit(text: str) -> str:
        changed = remove_table(text, [*_TABLE, name])
        if changed.strip() == text.strip():
            raise NotFound(f"there is no MCP server {name!r} in {path}")
        return changed

    edit_settings_file(path, edit)
    Screen().say(f"removed {name} from {path}")
    return OK


def _import(doors: McpDoors, files: Sequence[str], *, yes: bool) -> int:
    """Show what other tools have configured, ask, and add it."""
    screen, known = Screen(), set(doors.start.settings.mcp.servers)
    project = find_project(doors.start.cwd)
    usual = [home_directory() / name for name in HOME_FILES] + [project / name for name in PROJECT_FILES]
    found: dict[str, FoundServer] = {}
    for path in [Path(name) for name in files] or [path for path in dict.fromkeys(usual) if path.is_file()]:
        for server in _servers_in(path, doors, screen, named=bool(files)):
            if server.name in known or server.name in found:
                screen.note(f"{server.name} of {path} is left out: there is a server of this name already")
                continue
            found[server.name] = server
            screen.say(f"{server.name}  (from {path})")
            text = add_table("", [*_TABLE, server.name], server.values)
            screen.say("\n".join(f"    {line}" for line in text.splitlines()[1:]))
            for note in server.notes:
                screen.note(f"{server.name}: {note}", warning=True)
    if not found:
        screen.note("no other servers found" if files else "no servers of other tools found; give a file to read")
        return NOTHING
    count = counted(len(found), "server")
    if not yes and not _agrees(
        f"add {count} to {doors.start.places.config_file}? Their programs will be run. [y/N] ", screen
    ):
        screen.note("nothing was written")
        return NOTHING
    _write(doors.start, list(found.values()))
    screen.say(f"added {count}")
    return OK


def _servers_in(path: Path, doors: McpDoors, screen: Screen, *, named: bool) -> list[FoundServer]:
    try:
        return read_servers(read_settings_file(path, must_exist=named), str(path), doors.has_secret)
    except BadUsage as error:
        if named:
            raise
        screen.note(str(error), warning=True)
        return []


def _agrees(question: str, screen: Screen) -> bool:
    if not sys.stdin.isatty():
        screen.note(f"{question}no user to ask; use --yes", warning=True)
        return False
    sys.stderr.write(for_terminal(question))
    sys.stderr.flush()
    return agrees(sys.stdin.readline())


def _write(start: Start, servers: Sequence[FoundServer]) -> None:
    """Add the servers to the settings file. All or none are written."""
    path = start.places.config_file
    for server in servers:
        for key, value in server.values.items():
            wrong = mismatch(value, type_of(f"mcp.servers.x.{key}"))
            if wrong:
                raise BadUsage(f"{server.name}: {key}: {wrong}")

    def edit(text: str) -> str:
        for server in servers:
            text = add_table(text, [*_TABLE, server.name], server.values)
        return text

    edit_settings_file(path, edit)
