"""Paths as names: bring a typed path into one form before it is judged, without looking at the disk.

Pure: text in, text out. A path may be a pattern, and may contain unknown parts.
"""

import re

_UNTIDY = re.compile(r"//|(?:^|/)\.\.?(?:/|$)|/proc/")
# Below these, a process shows the file system again, and its own directory.
_SELF_ROOT = re.compile(r"/proc/(?:[^/]+/)*root(?=/|$)")
_SELF_DIRECTORY = re.compile(r"/proc/(?:[^/]+/)*cwd(?=/|$)")

_ABOVE = {".": [".."], "~": ["", "home"]}


def normalized(path: str) -> str:
    """Return the path without `.`, `//` and `name/..`, and without the detours that /proc offers."""
    if not _UNTIDY.search(path):
        return path
    kept: list[str] = []
    for step in path.split("/"):
        if step == ".." and kept and kept[-1] not in ("..", ""):
            kept[-1:] = _ABOVE.get(kept[-1], [])
        elif step == ".." and kept == [""]:  # above the root is the root
            continue
        elif step not in ("", ".") or not kept:
            kept.append(step)
    if len(kept) > 1 and kept[0] == ".":
        del kept[0]
    whole = "/".join(kept) or ("/" if path.startswith("/") else ".")
    whole = _SELF_DIRECTORY.sub(".", _SELF_ROOT.sub("", whole)) or "/"
    return normalized(whole) if whole.startswith("./") and len(whole) < len(path) else whole


def below(base: str, path: str) -> str:
    """Return where a path leads from a directory."""
    return normalized(path if path.startswith(("/", "~")) else f"{base}/{path}")
