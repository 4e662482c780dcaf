"""The programs of the drift check: where they come from, how they are made to speak, and which files they write.

In command lines and variables, {home} and {text} are replaced by the home directory and the question.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

PORT = 4010
URL = f"http://127.0.0.1:{PORT}"
HEARD = "otter-heard"  # what the tool prints
COMMAND = f"echo {HEARD}"
REEDS = "reeds.txt"  # a file that says the same

# What is said: the question, a part of it that the server knows it by, and the answer. The second one needs a tool.
TALK = (
    ("Which bird stands in the reeds?", "Which bird stands", "The heron stands in the reeds."),
    ("Please listen at the reeds.", "listen at the reeds", "An otter was heard at the reeds."),
    (
        'Und drittens: wo sind "Füchse" & <b>Bären</b>?\nZweite Zeile, 100 %.',
        "Und drittens",
        'Im Wald:\n\n```sh\nls "Füchse" | wc -l\n```\n\n- eins\n- zwei & drei <ok>',
    ),
)
RESUMED = ("What was the first bird?", "It was the heron, as I said.")  # the answer only if all earlier ones are sent

_CALLS: dict[str, dict[str, Any]] = {  # the tool that runs a command, by the name that a program gives it
    "Bash": {"command": COMMAND, "description": "Listen"},
    "bash": {"command": COMMAND, "description": "Listen"},
    "run_shell_command": {"command": COMMAND, "description": "Listen"},
    "exec_command": {"cmd": COMMAND},
    "read_file": {"path": REEDS},
}


def fixtures() -> dict[str, Any]:
    """Return the answers of the model server. The first one that matches is given."""
    known: list[dict[str, Any]] = []
    for question, part, answer in TALK:
        if question == TALK[1][0]:
            known += [
                {
                    "match": {"userMessage": part, "toolName": name, "hasToolResult": False},
                    "response": {"toolCalls": [{"name": name, "arguments": arguments}]},
                }
                for name, arguments in _CALLS.items()
            ]
        known.append({"match": {"userMessage": part}, "response": {"content": answer}})
    question, answer = RESUMED
    known.append({"match": {"userMessage": question, "turnIndex": 4}, "response": {"content": answer}})
    known.append({"match": {}, "response": {"content": "Something else"}})  # titles and other own questions
    return {"fixtures": known}


class DriftProgram(NamedTuple):
    """A program, and how it is driven for a conversation without a screen.

    `first` and `more` are the command lines for the first question and the following ones; without {text} the question
    goes to standard input. `writes` is what is
    imported, in the home directory. `tool` says that the second question makes it call a tool. Without a package it is
    aish itself, which needs no import.
    """

    package: str
    program: str
    api: str
    first: tuple[str, ...]
    more: tuple[str, ...]
    writes: str
    format: str = ""  # only where the content does not tell
    tool: bool = False
    call: str = COMMAND  # what the call of the tool says
    npm: bool = False
    with_packages: tuple[str, ...] = ()
    scripts: bool = False  # those of npm: needed to put its binary in place
    settings: Mapping[str, str] = MappingProxyType({})
    variables: Mapping[str, str] = MappingProxyType({})


_CODEX = (
    "exec",
    "--skip-git-repo-check",
    "--dangerously-bypass-approvals-and-sandbox",  # it runs inside a fence without a network, on files of nobody
)
_AIDER = (
    *(
        "--model",
        "openai/gpt-4o",
        "--yes-always",
        "--no-check-update",
        "--no-show-release-notes",
        "--analytics-disable",
    ),
    *("--no-show-model-warnings", "--no-auto-commits", "--no-pretty", "--no-gitignore", "--no-browser"),
    *("--map-tokens", "0", "--no-stream", "--message", "{text}"),
)
_OPENAI = {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": f"{URL}/v1", "OPENAI_API_BASE": f"{URL}/v1"}
_LLM_TOOL = f'def bash(command: str, description: str = "") -> str:\n    "Run a command"\n    return "{HEARD}"\n'

PROGRAMS = {
    "codex": DriftProgram(
        "@openai/codex",
        "codex",
        "OpenAI Responses",
        (*_CODEX, "{text}"),
        (*_CODEX, "resume", "--last", "{text}"),
        ".codex",
        tool=True,
        npm=True,
        settings={
            ".codex/config.toml": (
                'model = "gpt-5"\nmodel_provider = "mock"\ncheck_for_update_on_startup = false\n'
                "[analytics]\nenabled = false\n"
                '[model_providers.mock]\nname = "mock"\nwire_api = "responses"\nenv_key = "KEY"\n'
                f'base_url = "{URL}/v1"\n'
            )
        },
        variables={"KEY": "none"},
    ),
    "claude-code": DriftProgram(
        "@anthropic-ai/claude-code",
        "claude",
        "Anthropic Messages",
        ("-p", "{text}"),
        ("-p", "--continue", "--allowedTools", "Bash", "--", "{text}"),
        ".claude",
        tool=True,
        npm=True,
        scripts=True,
        variables={
            "ANTHROPIC_BASE_URL": URL,
            "ANTHROPIC_API_KEY": "none",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        },
    ),
    "gemini-cli": DriftProgram(
        "@google/gemini-cli",
        "gemini",
        "Gemini",
        ("--skip-trust", "-p", "{text}"),
        ("--skip-trust", "--yolo", "--resume", "latest", "-p", "{text}"),
        ".gemini",
        tool=True,
        npm=True,
        settings={
            ".gemini/settings.json": (
                '{"security": {"auth": {"selectedType": "gemini-api-key"}}, "telemetry": {"enabled": false}, '
                '"privacy": {"usageStatisticsEnabled": false}, "model": {"name": "gemini-2.5-flash"}, '
                '"general": {"enableAutoUpdate": false}}'
            )
        },
        variables={"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": URL},
    ),
    "opencode": DriftProgram(
        "opencode-ai",
        "opencode",
        "OpenAI Responses",
        ("run",),  # it puts words of its command line into quotation marks
        ("run", "--continue"),
        ".local/share/opencode",
        tool=True,
        npm=True,
        scripts=True,
        settings={
            ".config/opencode/opencode.json": (
                '{"autoupdate": false, "share": "disabled", "model": "openai/gpt-4o", "small_model": "openai/gpt-4o", '
                f'"provider": {{"openai": {{"options": {{"baseURL": "{URL}/v1", "apiKey": "none"}}}}}}, '
                '"permission": {"bash": "allow"}}'
            )
        },
        variables={"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"},
    ),
    "llm": DriftProgram(
        "llm",
        "llm",
        "OpenAI Chat",
        ("-m", "mock", "{text}"),
        ("-m", "mock", "-c", "--functions", _LLM_TOOL, "{text}"),
        ".config/io.datasette.llm",
        tool=True,
        settings={
            ".config/io.datasette.llm/extra-openai-models.yaml": (
                f"- model_id: mock\n  model_name: gpt-4o\n  api_base: {URL}/v1\n  supports_tools: true\n"
            )
        },
        variables=_OPENAI,
    ),
    "shell-gpt": DriftProgram(
        "shell-gpt",
        "sgpt",
        "OpenAI Chat",
        ("--chat", "birds", "{text}"),
        ("--chat", "birds", "{text}"),
        "chats",
        with_packages=("click<8.2",),  # it needs click, but does not ask for it
        variables={
            **_OPENAI,
            "API_BASE_URL": f"{URL}/v1",
            "DEFAULT_MODEL": "gpt-4o",
            "USE_LITELLM": "false",
            "CHAT_CACHE_PATH": "{home}/chats",
            "CACHE_PATH": "{home}/cache",
        },
    ),
    "aider": DriftProgram(
        "aider-chat",
        "aider",
        "OpenAI Chat",
        _AIDER,
        ("--restore-chat-history", *_AIDER),
        "work/.aider.chat.history.md",
        settings={".gitconfig": "[user]\nname = nobody\nemail = nobody@example.org\n"},
        variables=_OPENAI,
    ),
}

# aish itself, with each API that it speaks. It needs no import, and its tool reads a file.
_AISH = {  # kind of the preset: API, path of the endpoint, model
    "openai": ("OpenAI Chat", "/v1", "gpt-4o"),
    "responses": ("OpenAI Responses", "/v1", "gpt-4o"),
    "anthropic": ("Anthropic Messages", "/v1", "claude-sonnet-4-5"),
    "google": ("Gemini", "/v1beta", "gemini-2.5-flash"),
}
PROGRAMS |= {
    f"aish-{kind}": DriftProgram(
        "",
        "",
        api,
        ("{text}",),
        ("--continue", "{text}"),
        "",
        tool=True,
        call=REEDS,
        settings={
            "aish/config/config.toml": (
                f'model = "mock"\n[models.mock]\nkind = "{kind}"\nendpoint = "{URL}{path}"\nmodel = "{model}"\n'
                'api_key_env = "KEY"\n'
            ),
            f"work/{REEDS}": f"{HEARD}\n",
        },
        variables={"KEY": "none"},
    )
    for kind, (api, path, model) in _AISH.items()
}
