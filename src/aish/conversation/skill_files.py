"""Find skills on disk: folders with a `SKILL.md`, in the workspace, in the channel and in the project.

Skills of a project are foreign text: they are read to be listed, and count when the user trusts their folder.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from aish.action.workspace import read_inside
from aish.places import SkillFolder
from aish.values.errors import Declined, NotFound
from aish.values.front_matter import read_front_matter
from aish.values.skill_fields import described
from aish.values.skills import Skill

FILE = "SKILL.md"
MOST_BYTES = 1 << 20
MOST_SKILLS = 1_000  # in one folder


def find_skills(folders: Sequence[SkillFolder], agreed: Callable[[Path], str]) -> list[Skill]:
    """Read all skills. `agreed` returns the digest of a folder if the user trusts it as it is now, else "".

    The folders are given in their order of precedence: of two skills with one name, the first one counts.
    """
    found: list[Skill] = []
    counts: dict[str, Skill] = {}
    for folder in folders:
        for skill in _in_folder(folder):
            digest = agreed(Path(skill.folder)) if skill.readable else ""
            own = folder.place != "project"
            skill = skill._replace(trusted=own or bool(digest), agreed=bool(digest), digest=digest)
            first = counts.get(skill.name.casefold())
            if first is not None and skill.readable:
                told = f"{first.folder} has the same name and counts: rename one of them"
                skill = skill._replace(hidden_by=first.folder, problems=(*skill.problems, told))
            elif skill.readable:
                counts[skill.name.casefold()] = skill
            found.append(skill)
    return found


def _in_folder(folder: SkillFolder) -> Iterable[Skill]:
    try:
        with os.scandir(folder.path) as entries:
            names = sorted(entry.name for entry in entries if not entry.name.startswith("."))
    except OSError as error:
        yield _unreadable(folder, folder.path, f"the folder cannot be read: {error.strerror or error}")
        return
    top = Path(os.path.realpath(folder.path))
    if folder.place == "project" and not top.is_relative_to(os.path.realpath(folder.path.parents[1])):
        yield _unreadable(folder, folder.path, "it is a link that leads out of the project: copy the folder instead")
        return
    number = 0
    for name in names:
        path = folder.path / name
        if not os.path.isdir(path):  # noqa: PTH112  # a Path raises if it may not look
            continue
        number += 1
        if number > MOST_SKILLS:
            yield _unreadable(folder, folder.path, f"only the first {MOST_SKILLS:,} skills are read: remove some")
            return
        if not Path(os.path.realpath(path)).is_relative_to(top):
            yield _unreadable(folder, path, f"it is a link that leads out of {folder.path}: copy the folder instead")
            continue
        if (skill := _read(folder, path)) is not None:
            yield skill


def _read(folder: SkillFolder, path: Path) -> Skill | None:
    """Read one skill; None if the folder has no SKILL.md."""
    try:
        data, _ = read_inside(path, FILE, MOST_BYTES)
    except NotFound:
        return None
    except Declined:
        return _unreadable(folder, path, _why_not(path / FILE))
    except OSError as error:
        return _unreadable(folder, path, f"{FILE} cannot be read: {error.strerror or error}; check its permissions")
    if b"\0" in data:
        return _unreadable(folder, path, f"{FILE} is not a text: it contains NUL bytes; save it as text")
    text = data.decode("utf-8", "replace")
    skill = described(folder.place, str(path), read_front_matter(text))
    if "\ufffd" in text and b"\xef\xbf\xbd" not in data:
        skill = skill._replace(problems=(*skill.problems, f"{FILE} is not UTF-8 everywhere: save it as UTF-8"))
    return skill


def _why_not(file: Path) -> str:
    try:
        if file.stat().st_size > MOST_BYTES:
            return f"{FILE} has more than {MOST_BYTES >> 20} MB: move most of its text to other files of the folder"
    except OSError:
        pass
    return f"{FILE} is no file of this folder, or a link that leads out of it: copy the file instead"


def _unreadable(folder: SkillFolder, path: Path, problem: str) -> Skill:
    return Skill(path.name, folder.place, str(path), problems=(problem,), readable=False)
