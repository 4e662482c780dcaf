"""Everything that can be set: the one declaration of defaults, types and explanations.

`aish config`, the commented file and the checks are made from it. Comparing and printing are left out of the classes
because generating them would be paid at every start.
"""

from collections.abc import Iterable
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from typing import Any, Literal


def option(default: Any, about: str) -> Any:
    """A field with a default and the sentence that explains it."""
    if isinstance(default, dict | list):
        return field(default_factory=lambda: default.copy(), metadata={"about": about})
    return field(default=default, metadata={"about": about})


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Preset:
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
    answers: list[str] = option([], "What a scripted model says, one entry for each question.")
    pause: float = option(0.0, "Seconds between the words of a scripted model.")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PriceTag:
    """Dollars for a million tokens of a model: [prices."MODEL"]."""

    input: float = option(0.0, "Dollars for a million prompt tokens.")
    output: float = option(0.0, "Dollars for a million answer tokens.")
    cached: float | None = option(None, "Dollars for a million prompt tokens the server had cached; unset: as input.")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Context:
    """What of a conversation is sent to the model."""

    max_turns: int = option(40, "Turns that are sent at most; older exchanges leave the prompt, never the journal.")
    token_budget: int | Literal["auto"] = option(4096, 'Tokens of a prompt at most; "auto" asks the server.')
    max_bytes: int = option(0, "Bytes of live turns at most; 0 means no limit.")
    use_tool_role: bool = option(True, "Send tool results in the tool role (a preset can say otherwise).")
    summarize_evicted: bool = option(True, "Keep a short summary of what left the prompt.")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Tokenize:
    """How tokens are counted."""

    use_endpoint: Literal["auto", "true", "false"] = option(
        "auto", "Ask the server to count: auto (only on this machine), true, false."
    )
    timeout_ms: int = option(2000, "How long to wait for a count before estimating.")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Network:
    """Patience with servers."""

    connect_seconds: float = option(10.0, "Wait for a connection.")
    first_token_seconds: float = option(180.0, "Wait for the first piece of an answer.")
    silence_seconds: float = option(60.0, "Wait for the next piece of an answer.")
    retries: int = option(3, "Tries after the first when a server is busy or away, before anything was answered.")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Cost:
    """Limits on money."""

    cap_at_dollars: float | None = option(
        None, "Ask before a call that could bring this conversation over so many dollars."
    )
    cap_at_dollars_per_day: float | None = option(
        None, "Ask before a call that could bring this day over so many dollars."
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Embedded:
    """The model that runs inside aish."""

    window: int = option(8192, "Context window in tokens.")
    threads: int = option(0, "Threads it may use; 0 lets it choose.")
    path: str = option("", "A .gguf file to use instead of the one that `aish models pull` fetched.")
    warm: bool = option(True, "Load it in the background once the prompt is shown.")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class View:
    """How things look."""

    color: Literal["auto", "always", "never"] = option(
        "auto", "Colours: auto (on a terminal, unless NO_COLOR is set), always, never."
    )
    prompt: str = option("aish> ", "The prompt; {model} stands for the model's name.")
    show_reasoning: bool = option(False, "Show what a reasoning model thinks before it answers.")
    keys: Literal["emacs", "vi"] = option("emacs", "Keys of the line editor.")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Settings:
    """Everything that can be set."""

    model: str = option("embedded", "The preset to start with.")
    fallback: list[str] = option([], "Presets to try, in this order, when the chosen one cannot be reached.")
    rules: list[dict[str, str]] = option([], 'Presets by question: {match = "regular expression", model = "preset"}.')
    context: Context = field(default_factory=Context)
    tokenize: Tokenize = field(default_factory=Tokenize)
    network: Network = field(default_factory=Network)
    cost: Cost = field(default_factory=Cost)
    embedded: Embedded = field(default_factory=Embedded)
    view: View = field(default_factory=View)
    models: dict[str, Preset] = field(default_factory=dict)
    prices: dict[str, PriceTag] = field(default_factory=dict)


EMBEDDED = "embedded"  # the preset that is always there
NAMED: dict[str, type] = {"models": Preset, "prices": PriceTag}  # tables whose keys the user chooses


def describe(kind: Any, prefix: str = "") -> Iterable[tuple[str, Any, str]]:
    """Every key of a declaration with its default and the sentence that explains it."""
    for declared in fields(kind):
        default = declared.default
        if declared.default_factory is not MISSING:
            default = declared.default_factory()
        if is_dataclass(default):
            yield from describe(default, f"{prefix}{declared.name}.")
        elif "about" in declared.metadata:
            yield f"{prefix}{declared.name}", default, declared.metadata["about"]
