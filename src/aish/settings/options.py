"""Everything that can be set: the one declaration of defaults, types and explanations.

`aish config`, the commented file and the checks are made from it. Plain classes, because this is loaded at every
start, where dataclasses with so many fields would cost more than the rest of this folder.
"""

from collections.abc import Iterator
from typing import Any, Literal

from aish.values.named_tuple import NamedTuple


class Option(NamedTuple):
    """A key: its default and the sentence that explains it."""

    default: Any
    about: str


def option(default: Any, about: str) -> Any:
    """Declare a key. The return type is `Any`, so that the attribute can have the type of its value."""
    return Option(default, about)


class Section:
    """A group of settings. A key that is not given has its default."""

    def __init__(self, **given: Any) -> None:
        for name, declared in options_of(type(self)).items():
            default = declared.default
            value = given.get(name, default.copy() if isinstance(default, list | dict) else default)
            setattr(self, name, value() if isinstance(value, type) else value)


def options_of(kind: type[Section]) -> dict[str, Option]:
    """The declared keys of a section, in order."""
    return {name: declared for name, declared in vars(kind).items() if isinstance(declared, Option)}


_SERVICES = {  # where the kinds with a service of their own are
    "anthropic": "https://api.anthropic.com/v1",
    "google": "https://generativelanguage.googleapis.com/v1beta",
    "responses": "https://api.openai.com/v1",
}


class Preset(Section):
    """A model under a name of your own: [models.NAME]."""

    kind: Literal["openai", "anthropic", "google", "responses", "embedded", "scripted"] = option(
        "openai",
        "What answers: an OpenAI-compatible server, the APIs of Anthropic, Google (Gemini) or OpenAI (Responses), the "
        "embedded model or a script.",
    )
    endpoint: str = option(
        "",
        "Address of the server, such as http://127.0.0.1:11434/v1; unset: that of the service, for anthropic, google "
        "and responses.",
    )
    model: str = option(
        "", "The name of the model on the server; for an embedded model, that of weights of `aish models pull`."
    )
    path: str = option("", "A .gguf file of your own, for an embedded model.")
    api_key_env: str = option("", "Environment variable that holds the key.")
    api_key_file: str = option("", "File that holds the key.")
    api_key_command: str = option("", "Command that prints the key.")
    headers: dict[str, str] = option(
        {}, 'Further headers for the server, such as {X-Team = "$TEAM"}; $NAME is replaced by your own variable.'
    )
    ca_file: str = option("", "File with the authority that signed the server's certificate, in PEM form.")
    client_cert: str = option("", "File with your certificate for the server, in PEM form.")
    client_key: str = option("", "File with the key of your certificate; unset: it is in the same file.")
    temperature: float | None = option(None, "Sampling temperature; unset: the server decides.")
    max_tokens: int | None = option(None, "Maximum length of an answer in tokens; unset: the server decides.")
    window: int | None = option(None, "Context window of the model in tokens; unset: the server is asked.")
    use_tool_role: bool = option(
        True, "Send tool results in the tool role; switched off automatically if the server refuses it."
    )
    tools: bool | Literal["commands"] | None = option(
        None,
        "Offer tools to the model; unset: if it is known that it can (aish models check); unknown: all but embedded. "
        '"commands": an embedded model gets commands alone, in a form that small models get right; unset: if its '
        "file has 300 MB to 2.5 GB.",
    )
    answers: list[str] = option([], "Answers of a scripted model, one for each question.")
    pause: float = option(0.0, "Seconds between the words of a scripted model.")

    def file(self, default: str) -> str:
        """Return the .gguf file that an embedded model is told to use; `default` is that of `embedded.path`."""
        return self.path or ("" if self.model else default)

    @property
    def address(self) -> str:
        """Where the model is reached; empty if it is not on a server, or nobody has said where."""
        return self.endpoint or _SERVICES.get(self.kind, "")


class PriceTag(Section):
    """Dollars for a million tokens of a model: [prices."MODEL"]."""

    input: float = option(0.0, "Dollars for a million prompt tokens.")
    output: float = option(0.0, "Dollars for a million answer tokens.")
    cached: float | None = option(None, "Dollars for a million cached prompt tokens; unset: the same as input.")


class Context(Section):
    """How much of a conversation is sent to the model."""

    max_turns: int | Literal["auto"] = option(
        "auto",
        'Maximum number of turns in a prompt; older exchanges stay in the journal. "auto": 40 in a small token budget.',
    )
    token_budget: int | Literal["auto"] = option(
        "auto",
        'Maximum number of tokens in a prompt; "auto": the window of the model less room for the answer, below '
        "cost.prompt_dollars; 4096 if the window is not known.",
    )
    max_bytes: int = option(0, "Maximum size of the turns in a prompt in bytes; 0: no limit.")
    evict_to: float = option(
        0.75,
        "When the prompt exceeds a limit, drop turns until this part of the limit is used; 1: drop as few as possible.",
    )
    use_tool_role: bool = option(True, "Send tool results in the tool role; a preset can override this.")
    surroundings: bool = option(
        True,
        "Tell the model about system, shell, directory, git branch, time and last command, when they change; small "
        "embedded models get less (docs/models.md).",
    )
    summarize_evicted: bool = option(
        True, "Keep a short summary of turns that left the prompt; small embedded models make none (docs/models.md)."
    )


class MemorySettings(Section):
    """Curated memory: what is stored, and what goes into the prompt."""

    path: str = option("", "The memory file; unset: memory.jsonl. A relative path starts in the data directory.")
    exclusive: bool = option(False, "Lock memory, so that other aish processes cannot write to it while this one runs.")
    inject_max_chars: int = option(2000, "Maximum number of characters of memory in the prompt; 0: none.")
    propose: bool = option(True, "Let the model propose items with a tool; they wait in :memory pending.")
    summarizer_model: str = option("", "The preset that looks for items worth keeping; unset: the preset that answers.")
    summarize_on_quit: bool = option(
        False, "Look for items worth keeping when the shell ends; they wait in :memory pending."
    )
    prune_older_than_days: int | None = option(None, "Forget older items at the start; unset or 0: never.")
    allow_duplicates: bool = option(False, "Keep an item even if it is known already.")


class NotesSettings(Section):
    """The notes that aish keeps about each project."""

    upkeep: bool = option(True, "Keep SESSION.md, MEMORY.md and HISTORY.md up to date in the background.")
    model: str = option("", "The preset that helps with the notes; unset: the preset that answers.")
    recall_tokens: int = option(
        400,
        "Maximum number of tokens of notes and memory that are brought to a question; 0: none; small embedded models "
        "get less (docs/models.md).",
    )
    identity_max_chars: int = option(
        4000,
        "Maximum number of characters of SOUL.md and AGENTS.md in the prompt; small embedded models get less "
        "(docs/models.md).",
    )
    tools: bool = option(True, "Let models that can use tools read the notes and change MEMORY.md.")
    idle_seconds: int = option(30, "Seconds without a question before lasting facts are moved to MEMORY.md.")
    daily_tokens: int = option(200_000, "Maximum number of tokens that upkeep may use in a day; 0: no model is asked.")
    daily_dollars: float = option(0.25, "Maximum number of dollars that upkeep may spend in a day.")


class FindingSettings(Section):
    """Search in all conversations."""

    meaning: bool = option(True, "Compare meanings as well as words, if the weights for that are installed.")
    tools: bool = option(True, "Let models that can use tools search past conversations.")


class ProjectSettings(Section):
    """What the model is told about the project in the current directory."""

    max_chars: int = option(4000, "Maximum number of characters of the [project] block; 0: none.")
    instructions: list[str] = option(
        ["AGENTS.md", "CLAUDE.md", ".github/copilot-instructions.md"],
        "Files with instructions of a project; the first one found is sent, once you trust it.",
    )
    readme: bool = option(True, "Send the beginning of the README too, once you trust it.")
    git: bool = option(True, "Run git to count changed files, once you trust the folder.")


class CommandSettings(Section):
    """Commands: your own, and those that the model proposes."""

    shell: str = option(
        "", "The shell that runs your commands, bash or zsh; unset: $SHELL if it is one of them, else bash."
    )
    ask: Literal["unsafe", "always"] = option(
        "unsafe", "Which commands of the model need your consent: unsafe (all except those that only read), always."
    )
    rounds: int = option(
        8, "How many times the model may read what its commands printed and go on by itself; 0: never."
    )
    plan: bool = option(True, "Let models that can use tools show a plan of longer work; :plan shows and edits it.")
    fold: bool = option(
        True, "Show what the model looks at by itself in one line if it is long; :unfold shows all. false: show all."
    )
    tool: bool = option(
        True, "Let models that can use tools run commands with a tool; each goes through the same questions."
    )
    file_tools: bool = option(
        True, "Let models that can use tools read files of the project and propose changes; each change is shown first."
    )
    allow: list[str] = option(
        [], 'Commands of the model that need no consent, by their first words, such as "git commit".'
    )
    sandbox: Literal["auto", "landlock", "bubblewrap", "off"] = option(
        "auto", "What the fences around commands of the model are made of: auto, landlock, bubblewrap, off (no fence)."
    )
    pass_variables: list[str] = option(
        [],
        "Names of environment variables for commands that run unasked, besides the usual ones. Secrets among them are "
        "passed on within a goal only.",
    )
    unasked_seconds: float = option(300.0, "Seconds after which a command that nobody was asked about is ended.")


class SkillSettings(Section):
    """Skills: folders with a SKILL.md."""

    prompt_chars: int = option(2000, "Maximum number of characters of the list of skills in the prompt; 0: none.")
    body_chars: int = option(6000, "Maximum number of characters of a skill that are brought or read at once.")
    automatic: bool = option(True, "Bring a skill by itself when its paths or its when_to_use match the question.")
    hooks: bool = option(True, "Run the hooks of skills that you trust.")
    hook_seconds: float = option(10.0, "Seconds after which a hook is ended.")
    hook_chars: int = option(2000, "Maximum number of characters of what a hook prints that are used.")


class AgentSettings(Section):
    """Sub-agents: work that a model passes on to another conversation."""

    tool: bool = option(True, "Let models that can use tools pass tasks on to sub-agents; :agent works in any case.")
    at_once: int = option(3, "How many sub-agents of a conversation work at the same time; further ones wait.")
    steps: int = option(12, "Rounds of tool calls after which a sub-agent must answer; a definition can say otherwise.")
    tokens: int = option(100_000, "Tokens after which it must answer.")
    dollars: float = option(0.5, "Dollars after which it must answer.")
    minutes: float = option(10.0, "Minutes after which it must answer.")


class Safety(Section):
    """Care for people in a crisis."""

    crisis_support: bool = option(
        True,
        "Ask the model to answer with care when a message shows a person in crisis; nothing of it is remembered.",
    )


class GoalSettings(Section):
    """What a goal may do and use, unless you say otherwise when you start it."""

    steps: int = option(8, "Maximum number of steps.")
    minutes: float = option(10.0, "Maximum number of minutes, without those in which you are asked something.")
    tokens: int = option(200_000, "Maximum number of tokens, in and out.")
    dollars: float = option(0.5, "Maximum number of dollars; for models whose price is known.")
    programs: list[str] = option([], "Programs that it may start, besides those of its `until` command.")
    check_seconds: float = option(300.0, "Seconds that the `until` command may run each time.")


class Tokenize(Section):
    """How tokens are counted."""

    use_endpoint: Literal["auto", "true", "false"] = option(
        "auto", "Ask the server to count: auto (only on this machine), true, false."
    )
    timeout_ms: int = option(2000, "Milliseconds to wait for a count before tokens are estimated.")


class Network(Section):
    """Timeouts, retries and certificates."""

    connect_seconds: float = option(10.0, "Seconds to wait for a connection.")
    first_token_seconds: float = option(180.0, "Seconds to wait for the beginning of an answer.")
    silence_seconds: float = option(60.0, "Seconds to wait for the next part of an answer.")
    retries: int = option(
        3, "Retries when a server is busy or unreachable, as long as no part of the answer has arrived."
    )
    ca_file: str = option("", "File with further authorities for certificates of servers, in PEM form.")


class Cost(Section):
    """Limits on money."""

    cap_at_dollars: float | None = option(
        None, "Ask before a call that could raise the cost of this conversation above this many dollars."
    )
    cap_at_dollars_per_day: float | None = option(
        None, "Ask before a call that could raise the cost of this day above this many dollars."
    )
    prompt_dollars: float = option(
        0.1, 'Maximum number of dollars that one prompt may cost to send, if context.token_budget is "auto".'
    )


class Embedded(Section):
    """The model that runs inside aish."""

    window: int = option(8192, "Context window in tokens.")
    threads: int = option(0, "Number of threads; 0: chosen automatically.")
    path: str = option("", "A .gguf file to use instead of the weights that aish chooses for this machine.")
    warm: bool = option(
        True, "Load it after the prompt is shown, and let it read the prompt and held command output before a question."
    )
    fetch: bool = option(
        True, "Fetch better weights when the shell is first used, if no model was chosen and no server answers here."
    )


class View(Section):
    """How things look."""

    color: Literal["auto", "always", "never"] = option(
        "auto", "Colours: auto (on a terminal, unless NO_COLOR is set), always, never."
    )
    prompt: str = option(
        "{cwd} {git} {status} aish{sign} ",
        "The prompt, with placeholders: {model} {cwd} {git} {ctx_used} {ctx_pct} {cost} {status} {sign}; "
        '"shell": the prompt of your own shell.',
    )
    theme: Literal["dark", "light", "plain"] = option(
        "dark", "Colours for a dark or a light background, or almost none."
    )
    colors: dict[str, str] = option({}, 'Colours of your own, such as {prompt = "bold green", dim = "#767676"}.')
    markdown: bool = option(True, "Render Markdown in answers on a terminal: headings, lists, tables, coloured code.")
    show_reasoning: bool = option(
        False, "Show the thinking of the model as it comes; otherwise in one line, and :unfold shows it."
    )
    keys: Literal["emacs", "vi"] = option("emacs", "Key bindings of the line editor.")


class ServerSettings(Section):
    """An MCP server under a name of your own: [mcp.servers.NAME]."""

    command: str = option("", "The program to start; it is spoken to over its standard input and output.")
    args: list[str] = option([], "Arguments of the program.")
    cwd: str = option("", 'The directory in which it runs, such as "." for the project; unset: your home directory.')
    env: dict[str, str] = option({}, "Variables for it; ${NAME} in a value is replaced by your own variable.")
    env_from: list[str] = option([], "Names of your own variables to pass on, such as those with keys.")
    url: str = option("", "Address of a server that is reached over HTTP, instead of a program.")
    headers: dict[str, str] = option({}, "Headers for the address; ${NAME} is replaced by your own variable.")
    headers_env: dict[str, str] = option({}, "Headers whose whole value is in a variable of yours.")
    fence: Literal["none", "looking", "changing"] = option(
        "none", "A fence around the program: looking (it changes nothing), or changing (it changes the project only)."
    )
    network: bool = option(True, "Whether a program in a fence can use the network.")
    enabled: bool = option(True, "Whether the server is used.")
    timeout_seconds: float = option(60.0, "Seconds to wait for a connection, and for an answer or news of progress.")
    allow: list[str] = option([], "Tools that need no consent, until their description changes.")
    effect: dict[str, str] = option(
        {}, 'What tools do, such as {search = "read"}: read (needs no consent), change, send, destroy.'
    )


class McpSettings(Section):
    """Tools of MCP servers."""

    schema_tokens: int = option(
        1500, "Maximum number of tokens for descriptions of tools in a prompt; the model looks up the others by name."
    )
    result_chars: int = option(8000, "Maximum number of characters of a result that the model reads.")
    servers: dict[str, ServerSettings] = option({}, "")


class Settings(Section):
    """Everything that can be set."""

    model: str = option(
        "embedded", "The preset at the start; unset: a model server found on this machine, else `embedded`."
    )
    fallback: list[str] = option([], "Presets to try in this order when the chosen one is unreachable.")
    rules: list[dict[str, str]] = option(
        [], 'Choose a preset by the question: {match = "regular expression", model = "preset"}.'
    )
    context: Context = option(Context, "")
    memory: MemorySettings = option(MemorySettings, "")
    notes: NotesSettings = option(NotesSettings, "")
    project: ProjectSettings = option(ProjectSettings, "")
    commands: CommandSettings = option(CommandSettings, "")
    goal: GoalSettings = option(GoalSettings, "")
    finding: FindingSettings = option(FindingSettings, "")
    agents: AgentSettings = option(AgentSettings, "")
    mcp: McpSettings = option(McpSettings, "")
    skills: SkillSettings = option(SkillSettings, "")
    safety: Safety = option(Safety, "")
    tokenize: Tokenize = option(Tokenize, "")
    network: Network = option(Network, "")
    cost: Cost = option(Cost, "")
    embedded: Embedded = option(Embedded, "")
    view: View = option(View, "")
    models: dict[str, Preset] = option({}, "")
    prices: dict[str, PriceTag] = option({}, "")

    def presets(self) -> dict[str, Preset]:
        """Every preset by name; `embedded` is always there."""
        return {EMBEDDED: Preset(kind="embedded"), **self.models}


EMBEDDED = "embedded"  # the preset that is always there
# Tables whose keys the user chooses.
NAMED: dict[str, type[Section]] = {"models": Preset, "prices": PriceTag, "mcp.servers": ServerSettings}


def describe(kind: type[Section], prefix: str = "") -> Iterator[tuple[str, Any, str]]:
    """Every key of a declaration with its default and the sentence that explains it."""
    for name, declared in options_of(kind).items():
        if isinstance(declared.default, type):
            yield from describe(declared.default, f"{prefix}{name}.")
        elif declared.about:
            yield f"{prefix}{name}", declared.default, declared.about
