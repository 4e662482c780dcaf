"""Everything that can be set: the one declaration of defaults, types and explanations.

`aish config`, the commented file and the checks are made from it. Plain classes, because this is loaded at every
start, where dataclasses of so many fields would cost more than all else in this folder.
"""

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple


class Option(NamedTuple):
    """A key: its default and the sentence that explains it."""

    default: Any
    about: str


def option(default: Any, about: str) -> Any:
    """Declare a key; typed as anything, so that the attribute can have the type of its value."""
    return Option(default, about)


class Section:
    """A group of settings. What is declared with `option` can be given; what is not given has its default."""

    def __init__(self, **given: Any) -> None:
        for name, declared in options_of(type(self)).items():
            default = declared.default
            value = given.get(name, default.copy() if isinstance(default, list | dict) else default)
            setattr(self, name, value() if isinstance(value, type) else value)


def options_of(kind: type[Section]) -> dict[str, Option]:
    """The declared keys of a section, in order."""
    return {name: declared for name, declared in vars(kind).items() if isinstance(declared, Option)}


class Preset(Section):
    """A model under a name of your own: [models.NAME]."""

    kind: Literal["openai", "embedded", "scripted"] = option(
        "openai", "What answers: a server, the embedded model, a script."
    )
    endpoint: str = option("", "Address of an OpenAI-compatible server, such as http://127.0.0.1:11434/v1.")
    model: str = option("", "The name the server knows the model by.")
    api_key_env: str = option("", "Environment variable that holds the key.")
    api_key_file: str = option("", "File that holds the key.")
    api_key_command: str = option("", "Command that prints the key.")
    temperature: float | None = option(None, "How free the answers are; unset leaves it to the server.")
    max_tokens: int | None = option(None, "Longest answer in tokens; unset leaves it to the server.")
    use_tool_role: bool = option(
        True, "Send tool results in the tool role; switched off by itself where it is refused."
    )
    tools: bool | None = option(
        None, "Offer tools to the model; unset: yes, but not to the embedded one. Switched off where it is refused."
    )
    answers: list[str] = option([], "What a scripted model says, one entry for each question.")
    pause: float = option(0.0, "Seconds between the words of a scripted model.")


class PriceTag(Section):
    """Dollars for a million tokens of a model: [prices."MODEL"]."""

    input: float = option(0.0, "Dollars for a million prompt tokens.")
    output: float = option(0.0, "Dollars for a million answer tokens.")
    cached: float | None = option(None, "Dollars for a million prompt tokens the server had cached; unset: as input.")


class Context(Section):
    """What of a conversation is sent to the model."""

    max_turns: int = option(40, "Turns that are sent at most; older exchanges leave the prompt, never the journal.")
    token_budget: int | Literal["auto"] = option(4096, 'Tokens of a prompt at most; "auto" asks the server.')
    max_bytes: int = option(0, "Bytes of live turns at most; 0 means no limit.")
    use_tool_role: bool = option(True, "Send tool results in the tool role (a preset can say otherwise).")
    summarize_evicted: bool = option(True, "Keep a short summary of what left the prompt.")


class MemorySettings(Section):
    """What is remembered on purpose."""

    path: str = option("", "The ledger; unset: memory.jsonl. A relative path starts in the data directory.")
    exclusive: bool = option(False, "Keep other aish processes from writing while this one runs.")
    inject_max_chars: int = option(2000, "Characters of remembered items in the prompt at most; 0: none.")
    propose: bool = option(True, "Let the model propose items with a tool; they wait in :memory pending.")
    summarizer_model: str = option("", "The preset that looks for what is worth keeping; unset: the one that answers.")
    summarize_on_quit: bool = option(False, "Look for it when the shell is left; what is found waits for your yes.")
    prune_older_than_days: int | None = option(None, "Forget items older than this at the start; unset or 0: never.")
    allow_duplicates: bool = option(False, "Keep an item that is known already.")


class FindingSettings(Section):
    """Finding what was said."""

    meaning: bool = option(True, "Compare meanings as well as words, if the weights for it are here.")
    tools: bool = option(True, "Let models that can use tools look for themselves in what was said before.")


class ProjectSettings(Section):
    """What the model is told of the directory."""

    max_chars: int = option(4000, "Characters of the [project] block at most; 0: none.")
    instructions: list[str] = option(
        ["AGENTS.md", "CLAUDE.md", ".github/copilot-instructions.md"],
        "Files with a project's instructions; the first that is there is told, once you trust it.",
    )
    readme: bool = option(True, "Tell the beginning of the README too, once you trust it.")
    git: bool = option(True, "Count changed files by running git, where you trust the folder.")


class CommandSettings(Section):
    """Commands: your own lines, and what the model proposes."""

    shell: str = option(
        "", "The shell that runs your lines, bash or zsh; unset: $SHELL if it is one of them, else bash."
    )
    ask: Literal["unsafe", "always"] = option(
        "unsafe", "Which commands of the model are asked for: unsafe (all but those that only read), always."
    )
    tool: bool = option(False, "Offer the model a tool that runs commands; each goes through the same questions.")
    allow: list[str] = option([], 'Beginnings of commands of the model that need no question, such as "git commit".')
    sandbox: Literal["auto", "landlock", "bubblewrap", "off"] = option(
        "auto", "What keeps commands of the model from writing outside the project: auto, landlock, bubblewrap, off."
    )


class Safety(Section):
    """Care for people."""

    crisis_support: bool = option(
        True, "Ask the model to answer with care when a message shows a person in crisis; nothing of it is remembered."
    )


class Tokenize(Section):
    """How tokens are counted."""

    use_endpoint: Literal["auto", "true", "false"] = option(
        "auto", "Ask the server to count: auto (only on this machine), true, false."
    )
    timeout_ms: int = option(2000, "How long to wait for a count before estimating.")


class Network(Section):
    """Patience with servers."""

    connect_seconds: float = option(10.0, "Wait for a connection.")
    first_token_seconds: float = option(180.0, "Wait for the first piece of an answer.")
    silence_seconds: float = option(60.0, "Wait for the next piece of an answer.")
    retries: int = option(3, "Tries after the first when a server is busy or away, before anything was answered.")


class Cost(Section):
    """Limits on money."""

    cap_at_dollars: float | None = option(
        None, "Ask before a call that could bring this conversation over so many dollars."
    )
    cap_at_dollars_per_day: float | None = option(
        None, "Ask before a call that could bring this day over so many dollars."
    )


class Embedded(Section):
    """The model that runs inside aish."""

    window: int = option(8192, "Context window in tokens.")
    threads: int = option(0, "Threads it may use; 0 lets it choose.")
    path: str = option("", "A .gguf file to use instead of the one that `aish models pull` fetched.")
    warm: bool = option(True, "Load it in the background once the prompt is shown.")


class View(Section):
    """How things look."""

    color: Literal["auto", "always", "never"] = option(
        "auto", "Colours: auto (on a terminal, unless NO_COLOR is set), always, never."
    )
    prompt: str = option(
        "{cwd} {git} {status} aish{sign} ",
        "The prompt; {model} {cwd} {git} {ctx_used} {ctx_pct} {cost} {status} {sign} stand for what they say.",
    )
    theme: Literal["dark", "light", "plain"] = option("dark", "Colours for a dark or a light window, or hardly any.")
    colors: dict[str, str] = option({}, 'Colours of your own, such as {prompt = "bold green", dim = "#767676"}.')
    markdown: bool = option(True, "Lay answers out on a terminal: headings, lists, tables, coloured code.")
    show_reasoning: bool = option(False, "Show what a reasoning model thinks before it answers.")
    keys: Literal["emacs", "vi"] = option("emacs", "Keys of the line editor.")


class Settings(Section):
    """Everything that can be set."""

    model: str = option("embedded", "The preset to start with.")
    fallback: list[str] = option([], "Presets to try, in this order, when the chosen one cannot be reached.")
    rules: list[dict[str, str]] = option([], 'Presets by question: {match = "regular expression", model = "preset"}.')
    context: Context = option(Context, "")
    memory: MemorySettings = option(MemorySettings, "")
    project: ProjectSettings = option(ProjectSettings, "")
    commands: CommandSettings = option(CommandSettings, "")
    finding: FindingSettings = option(FindingSettings, "")
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
NAMED: dict[str, type[Section]] = {"models": Preset, "prices": PriceTag}  # tables whose keys the user chooses


def describe(kind: type[Section], prefix: str = "") -> Iterator[tuple[str, Any, str]]:
    """Every key of a declaration with its default and the sentence that explains it."""
    for name, declared in options_of(kind).items():
        if isinstance(declared.default, type):
            yield from describe(declared.default, f"{prefix}{name}.")
        elif declared.about:
            yield f"{prefix}{name}", declared.default, declared.about
