"""What the pages name exists: commands, verbs, settings, files of this repository, and links."""

import re
from pathlib import Path

import pytest

from aish.commands.manual import COMMANDS
from aish.settings.options import Settings, describe
from aish.values.errors import NotFound
from aish.verbs import VERBS

TOP = Path(__file__).parent.parent
PAGES = ["README.md", "CONTRIBUTING.md", *(f"docs/{path.name}" for path in sorted((TOP / "docs").glob("*.md")))]
OF_VIM = ("r", "sh")
KEYS = {key for key, _, _ in describe(Settings)}
TABLES = {key.partition(".")[0] for key in KEYS if "." in key}
FILES = {path.name for folder in ("src", "tests", "tools", "bench") for path in (TOP / folder).rglob("*.py")}


@pytest.mark.parametrize("page", PAGES)
def test_a_page_names_nothing_that_does_not_exist(page: str) -> None:
    """A reader who tries it would stop trusting the rest."""
    text = (TOP / page).read_text(encoding="utf-8")
    wrong = [name for name in re.findall(r"`(?:[\w*]+/)*(\w+\.py)`", text) if name not in FILES]
    quoted = re.findall(r"`([a-z_]+\.[a-z_]+)(?: = [^`]*)?`", text)
    wrong += [key for key in quoted if key.partition(".")[0] in TABLES and key not in KEYS and not _is_file(key)]
    named = {name for name in re.findall(r"`:([a-z]+)", text) if name not in OF_VIM}
    wrong += [f":{name}" for name in named if not _is_command(name)]
    wrong += [f"aish {verb}" for verb in re.findall(r"(?m)^ {4}aish ([a-z]+)\b", text) if verb not in VERBS]
    links = re.findall(r"\]\((?!http)([^)#]+)\)", text)
    wrong += [link for link in links if not (TOP / page).parent.joinpath(link).exists()]
    assert not wrong


def _is_file(name: str) -> bool:
    return name.endswith((".py", ".jsonl", ".md"))


def _is_command(name: str) -> bool:
    try:
        COMMANDS.find(name)
    except NotFound:
        return False
    return True
