"""Which files of a project need more than the usual question: those with credentials, and those that run later."""

import os
from pathlib import Path

from aish.action.fence.bounds import protected
from aish.action.fence.watcher import run_by_git
from aish.action.secret_files import is_secret


def is_secret_in(root: Path, real: Path) -> bool:
    """Could reading this file of a project show a credential? The place of the project counts if it is hidden."""
    top = Path(os.path.realpath(root))
    hidden = any(part.startswith(".") for part in top.parts)
    return is_secret(str(real.relative_to(top))) or (hidden and is_secret(str(real)))


def runs_later(root: Path, real: Path) -> bool:
    """Is it a file that runs something later, in the project or in a project inside it?"""
    top = Path(os.path.realpath(root))
    if ".git" in real.relative_to(top).parts or run_by_git(str(real)):
        return True
    levels = [top, *(parent for parent in real.parents if top in parent.parents)]
    around = {real, *real.parents}
    return any(one in around for level in levels for one in protected(level))
