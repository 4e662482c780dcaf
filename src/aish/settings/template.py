"""The commented configuration file that `aish config init` writes, made from the declaration."""

import json
from typing import Any

from aish.settings.options import Preset, PriceTag, ServerSettings, Settings, describe

_HEAD = """\
# Settings of aish. Every line that starts with "# " and a key shows a default: remove the "# " to change it.
# `aish config` shows the values in force and where each comes from.
"""
_EXAMPLES = """
# Models are presets with names of your own; `:model NAME` and `--model NAME` choose one.
# [models.local]
# endpoint = "http://127.0.0.1:11434/v1"
# model = "qwen3:8b"
#
# [models.cloud]
# endpoint = "https://openrouter.ai/api/v1"
# model = "openai/gpt-5-mini"
# api_key_env = "OPENROUTER_API_KEY"
#
# [prices."openai/gpt-5-mini"]
# input = 0.25
# output = 2.0
#
# [mcp.servers.time]
# command = "mcp-server-time"
"""


def template() -> str:
    """The text of a new configuration file."""
    lines = [_HEAD]
    section = ""
    for key, default, about in describe(Settings):
        table, _, name = key.rpartition(".")
        if table != section:
            lines.append(f"\n[{table}]")
            section = table
        lines.append(f"# {about}")
        lines.append(f"# {name} = {toml_value(default)}")
    lines.append(_EXAMPLES)
    for title, kind in (
        ("models.NAME", Preset),
        ('prices."MODEL"', PriceTag),
        ("mcp.servers.NAME", ServerSettings),
    ):
        lines.append(f"# Keys of [{title}]:")
        lines += [f"#   {name}: {about}" for name, _, about in describe(kind)]
    return "\n".join(lines) + "\n"


def toml_value(value: Any) -> str:
    """A value as TOML writes it; a value that is not set, in words."""
    match value:
        case None:
            return "(unset)"
        case list():
            return f"[{', '.join(toml_value(item) for item in value)}]"
        case dict():
            return f"{{{', '.join(f'{toml_value(name)} = {toml_value(item)}' for name, item in value.items())}}}"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
