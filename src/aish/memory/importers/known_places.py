"""Where other programs keep their conversations on this machine: Linux and macOS, with the variables that move them.

Nothing is looked at here; that is for the caller.
"""

from collections.abc import Mapping
from pathlib import Path

from aish.values.named_tuple import NamedTuple


class KnownPlace(NamedTuple):
    """A file or directory that a program writes; `formats` are those it is known for, others there are left out."""

    program: str
    path: Path
    formats: tuple[str, ...]


def known_places(env: Mapping[str, str], home: Path, cwd: Path, temporary: Path) -> list[KnownPlace]:
    """Return every place where a program may keep conversations, in a fixed order."""

    def moved(name: str, usual: Path) -> Path:
        return Path(env[name]) if env.get(name, "").startswith("/") else usual

    data, config = moved("XDG_DATA_HOME", home / ".local/share"), moved("XDG_CONFIG_HOME", home / ".config")
    mac = home / "Library/Application Support"
    claude, codex = moved("CLAUDE_CONFIG_DIR", home / ".claude"), moved("CODEX_HOME", home / ".codex")
    goose = moved("GOOSE_PATH_ROOT", data / "goose")
    goose = goose / "data/sessions" if "GOOSE_PATH_ROOT" in env else goose / "sessions"
    places = [
        KnownPlace("Claude Code", claude, ("claude-code", "claude-history")),
        KnownPlace("Claude Code", config / "claude/projects", ("claude-code",)),
        KnownPlace("Codex", codex, ("codex", "codex-history")),
        KnownPlace("Gemini CLI", home / ".gemini/tmp", ("gemini",)),
        KnownPlace("OpenCode", data / "opencode", ("opencode",)),
        KnownPlace("Goose", goose, ("goose",)),
        KnownPlace("Cursor", home / ".cursor/projects", ("cursor",)),
        KnownPlace("SpecStory", cwd / ".specstory/history", ("specstory",)),
    ]
    for folder in dict.fromkeys((config, mac)):
        places += [
            KnownPlace("Cursor", folder / "Cursor/User/globalStorage/state.vscdb", ("cursor",)),
            KnownPlace("Cursor", folder / "Cursor/User/workspaceStorage", ("cursor",)),
            KnownPlace("llm", moved("LLM_USER_PATH", folder / "io.datasette.llm") / "logs.db", ("llm",)),
            KnownPlace("aichat", moved("AICHAT_CONFIG_DIR", folder / "aichat"), ("aichat",)),
        ]
    places += [KnownPlace("shell-gpt", moved("CHAT_CACHE_PATH", temporary / "chat_cache"), ("shell-gpt",))]
    named = dict.fromkeys((cwd, home))
    places += [KnownPlace("aider", folder / ".aider.chat.history.md", ("aider",)) for folder in named]
    return list({place.path: place for place in places}.values())
