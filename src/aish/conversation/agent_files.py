"""Find the definitions of sub-agents: the user's own in the workspace, and those of the project that the user trusts.

A file of a project is foreign text, so nothing of it is used before the user trusts it with its current content.
"""

import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from aish.conversation.agent_definition import HELPER, AgentDefinition, read_definition
from aish.conversation.project import root_of
from aish.conversation.session import Session
from aish.places import AGENT_FOLDERS
from aish.storage.git_files import mode_of, read_bounded
from aish.values.invisible import visible
from aish.values.named_tuple import NamedTuple
from aish.values.text import one_line

_MOST_BYTES = 1 << 16
_MOST_FILES = 50  # in one folder


class DefinitionFile(NamedTuple):
    """A file that was read. `trouble` says why it cannot be used."""

    path: Path
    label: str  # how the user is told about it
    text: str = ""
    digest: str = ""
    trouble: str = ""


class FoundAgents(NamedTuple):
    """The sub-agents that can be used here, what is wrong with files, and the files that wait for trust."""

    definitions: tuple[AgentDefinition, ...]
    problems: tuple[str, ...] = ()
    untrusted: tuple[DefinitionFile, ...] = ()

    def find(self, name: str) -> AgentDefinition | None:
        return next((one for one in self.definitions if one.name.casefold() == name.casefold()), None)


def find_agents(workspace: Path, session: Session) -> FoundAgents:
    """Return the sub-agents for a conversation in its current directory. Of two with one name, the first counts."""
    mask = session.services.redaction.text
    problems: list[str] = []
    found: list[AgentDefinition] = []
    for file in _files(workspace, workspace, "agents", problems):
        found += _definition(file, mask, problems)
    found.append(HELPER)  # after the user's own, which may replace it, and before those of a project, which may not
    untrusted: list[DefinitionFile] = []
    trust = session.services.trust
    known = trust.known()
    for file in _project_files(session.cwd, problems):
        if file.trouble:
            problems.append(f"{file.label} {file.trouble}")
        elif trust.held(file.path, known) == file.digest:  # the text that was read: it may change meanwhile
            found += _definition(file, mask, problems)
        else:
            untrusted.append(file)
    return FoundAgents(tuple(_first_of_each(found, problems)), tuple(problems), tuple(untrusted))


def _project_files(cwd: Path, problems: list[str]) -> Iterator[DefinitionFile]:
    """Yield the definitions in a project, read but not judged."""
    root = root_of(cwd)
    for folder in AGENT_FOLDERS if root else ():
        assert root
        yield from _files(root / folder, root, folder, problems)


def _files(folder: Path, root: Path, shown: str, problems: list[str]) -> Iterator[DefinitionFile]:
    """Yield the Markdown files of a folder. Nothing outside of `root` is read, wherever a link leads."""
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries if entry.name.endswith(".md"))
    except OSError as error:
        if mode_of(folder, follow=False):
            problems.append(f"{shown} cannot be read: {error.strerror or error}")
        return
    if len(names) > _MOST_FILES:
        problems.append(f"{shown} has {len(names):,} files; only the first {_MOST_FILES} are read")
    for name in names[:_MOST_FILES]:
        yield _file(folder / name, root, one_line(visible(f"{shown}/{name}"), 120))


def _file(path: Path, root: Path, label: str) -> DefinitionFile:
    try:
        found, inside = path.stat(), path.resolve().is_relative_to(root.resolve())
    except (OSError, RuntimeError, ValueError):  # RuntimeError: symlink loop
        return DefinitionFile(path, label, trouble="cannot be read")
    if not stat.S_ISREG(found.st_mode):
        return DefinitionFile(path, label, trouble="is not a file")
    if not inside:
        return DefinitionFile(path, label, trouble="is a link that leads out of the folder")
    if found.st_size > _MOST_BYTES:
        return DefinitionFile(path, label, trouble=f"is longer than {_MOST_BYTES >> 10} KB")
    data = read_bounded(path, _MOST_BYTES)
    if data is None:
        return DefinitionFile(path, label, trouble="cannot be read")
    if b"\0" in data:
        return DefinitionFile(path, label, trouble="is not a text")
    return DefinitionFile(path, label, data.decode("utf-8-sig", "replace"), hashlib.sha256(data).hexdigest())


def _definition(file: DefinitionFile, mask: Callable[[str], str], problems: list[str]) -> Iterator[AgentDefinition]:
    if file.trouble:
        problems.append(f"{file.label} {file.trouble}")
        return
    read = read_definition(mask(file.text), file.path.stem, file.label)
    if read.problems:
        what = ": " if read.definition else " is not used: "
        problems.append(f"{file.label}{what}{'; '.join(read.problems)}")
    if read.definition:
        yield read.definition


def _first_of_each(found: list[AgentDefinition], problems: list[str]) -> Iterator[AgentDefinition]:
    first: dict[str, AgentDefinition] = {}
    for one in found:
        before = first.setdefault(one.name.casefold(), one)
        if before is one:
            yield one
        elif one is not HELPER:
            problems.append(f"two agents are called {one.name}: that of {before.origin} counts, not {one.origin}")
