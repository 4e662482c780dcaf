"""When a changed setting counts in a shell that is running.

Pure: a key in, a moment out. Most settings are read each time they are needed; the others are read when something is
opened. A key that is not listed counts from the next start, which is always true.
"""

from typing import Literal

When = Literal["now", "conversation", "start"]
_NOW = frozenset(
    """
    model fallback rules context goal safety cost models
    memory.propose memory.summarizer_model memory.summarize_on_quit
    notes.upkeep notes.model notes.recall_tokens notes.tools notes.idle_seconds notes.daily_tokens notes.daily_dollars
    finding.tools commands.ask commands.rounds commands.plan commands.tool commands.file_tools
    agents.steps agents.tokens agents.dollars agents.minutes
    skills.automatic skills.hooks skills.hook_seconds skills.hook_chars skills.body_chars
    view.prompt view.keys view.theme view.colors view.show_reasoning
    """.split()
)
_CONVERSATION = frozenset(
    "memory.inject_max_chars notes.identity_max_chars project skills.prompt_chars agents.at_once".split()
)


def takes_effect(key: str) -> When:
    """Return when a change of this key counts: now, from the next conversation, or from the next start."""
    parts = key.split(".")
    prefixes = {".".join(parts[:count]) for count in (1, 2)}
    if prefixes & _NOW:
        return "now"
    return "conversation" if prefixes & _CONVERSATION else "start"


IN_WORDS = {
    "now": "from now on",
    "conversation": "from the next conversation on (:new)",
    "start": "from the next start of aish on",
}
