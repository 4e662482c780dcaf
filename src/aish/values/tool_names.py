"""Names of tools in files that were written for other programs, and what they are called here.

Pure: names in, names out.
"""

_OTHER_NAMES = {
    "read": ("read_file",),
    "ls": ("list_files",),
    "glob": ("list_files", "search_files"),
    "grep": ("search_files",),
    "edit": ("edit_file",),
    "multiedit": ("edit_file",),
    "write": ("write_file",),
    "bash": ("run_command",),
    "shell": ("run_command",),
}


def names_here(tool: str) -> tuple[str, ...]:
    """Return the tools that do here what a tool of another program does; a name that is not known stays as it is."""
    return _OTHER_NAMES.get(tool.lower(), (tool.removeprefix("mcp__"),))
