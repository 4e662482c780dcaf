"""Paths as names: bring a typed path into one form before it is judged, without looking at the disk.

Pure: text in, text out. A path may be a pattern, and may contain unknown parts.
"""

import re

_UNTIDY = re.compile(r"//|(?:^|/)\.\.?(?:/|$)|/proc/")
_ABOVE = {".": "..", "~": "/home"}
# Below these names, a process shows the file system again, and its own directory.
_DETOURS = {"root": [""], "cwd": ["."]}


def normalized(path: str) -> str:
    """Return the path without `.`, `//` and `name/..`, and without the detours that /proc offers."""
    if not _UNTIDY.search(path):
        return path
    kept: list[str] = []
    for step in path.split("/"):
        if step == ".." and kept and kept[-1] != "..":
            above = _ABOVE.get(kept[0]) if len(kept) == 1 else None
            kept = above.split("/") if above else kept if kept == [""] else kept[:-1] or ["."]
        elif step in _DETOURS and kept[:2] == ["", "proc"] and len(kept) > 2:
            kept = list(_DETOURS[step])
        elif not kept or step not in ("", "."):
            kept.append(step)
    if len(kept) > 1 and kept[0] == ".":
        del kept[0]
    return "/".join(kept) or "/"


def below(base: str, path: str) -> str:
    """Return where a path leads from a directory."""
    return normalized(path if path.startswith(("/", "~")) else f"{base}/{path}")
