"""Files of models that Ollama, LM Studio, llama.cpp and the Hugging Face cache keep on this machine.

The search has limits on folders, files, depth and time; a partial result is used.
"""

import json
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from aish.model.gguf import read_head
from aish.storage.line_reading import opener_now
from aish.values.named_tuple import NamedTuple

SECONDS = 1.0
_MOST_ENTRIES = 5000  # of folders
_MOST_HEADS = 60  # files that are opened
_DEEPEST = 4  # folders below the first one: models--*/snapshots/*/*.gguf
_LONGEST_MANIFEST = 1 << 20
_LONGEST_NAME = 80
_SUFFIX = ".gguf"
_WEIGHTS = "application/vnd.ollama.image.model"
_DIGEST = re.compile(r"sha256:([0-9a-f]{64})")
_PART = re.compile(r"(.+)-(\d{5})-of-(\d{5})")
_COMMON = "library"  # the namespace of Ollama's own models, which it leaves out of names
_SERVICE = "/usr/share/ollama"  # the home of Ollama where it is a service of the system


class KeptFile(NamedTuple):
    """A model that can chat: who keeps it, under what name, in which file, and the bytes of all its parts."""

    keeper: str
    name: str
    path: Path
    size: int


def find_kept_files(
    env: Mapping[str, str], home: Path, seconds: float = SECONDS, clock: Callable[[], float] = time.monotonic
) -> list[KeptFile]:
    """Return the files that could be an embedded model, each once, the largest first."""
    search = _Search(clock, clock() + seconds)
    found = dict[str, KeptFile]()
    for one in _candidates(env, home, search):
        try:
            real = os.path.realpath(one.path)
        except (OSError, ValueError):
            continue
        if real in found or not search.may_open():
            continue
        head = read_head(one.path)
        if head and head.chats and one.name.isprintable():
            found[real] = one._replace(name=one.name[:_LONGEST_NAME])
    return sorted(found.values(), key=lambda one: -one.size)


def _candidates(env: Mapping[str, str], home: Path, search: "_Search") -> Iterator[KeptFile]:
    def place(name: str, default: Path) -> Path:
        given = Path(env.get(name, ""))
        return given if given.is_absolute() else default

    cache = place("XDG_CACHE_HOME", home / ".cache")
    hub = place("HF_HUB_CACHE", place("HF_HOME", cache / "huggingface") / "hub")
    service = Path(env.get("OLLAMA_MODELS") or f"{_SERVICE}/.ollama/models")
    for folder in dict.fromkeys((place("OLLAMA_MODELS", home / ".ollama/models"), service)):
        yield from _ollama(folder, search)
    yield from _gguf("LM Studio", home / ".lmstudio/models", search)
    yield from _gguf("LM Studio", home / ".cache/lm-studio/models", search)
    yield from _gguf("llama.cpp", place("LLAMA_CACHE", cache / "llama.cpp"), search)
    yield from _gguf("Hugging Face", hub, search)


def _ollama(folder: Path, search: "_Search") -> Iterator[KeptFile]:
    """Yield the models of manifests/<host>/<namespace>/<name>/<tag>, whose weights are in blobs/."""
    for manifest in search.files(folder / "manifests"):
        *_, namespace, name, tag = ("", "", *manifest.parts)
        for layer in _layers(manifest):
            digest = _DIGEST.fullmatch(str(layer.get("digest"))) if layer.get("mediaType") == _WEIGHTS else None
            path = folder / "blobs" / f"sha256-{digest[1]}" if digest else None
            if path and (size := _size(path)) and size == layer.get("size"):
                owner = "" if namespace == _COMMON else f"{namespace}/"
                yield KeptFile("Ollama", f"{owner}{name}:{tag}", path, size)


def _layers(manifest: Path) -> list[dict[str, Any]]:
    try:
        with open(manifest, "rb", opener=opener_now) as file:
            layers = json.loads(file.read(_LONGEST_MANIFEST))["layers"]
        return [layer for layer in layers if isinstance(layer, dict)]
    except (OSError, ValueError, RecursionError, TypeError, KeyError):
        return []


def _gguf(keeper: str, folder: Path, search: "_Search") -> Iterator[KeptFile]:
    """Yield the files of a folder. A model in several parts is its first part, if all are there."""
    for path in search.files(folder):
        if path.suffix.lower() != _SUFFIX:
            continue
        part = _PART.fullmatch(path.stem)
        if not part:
            yield KeptFile(keeper, path.stem, path, _size(path))
        elif int(part[2]) == 1 and int(part[3]) <= _MOST_ENTRIES:
            numbers = range(1, int(part[3]) + 1)
            sizes = [_size(path.with_name(f"{part[1]}-{number:05}-of-{part[3]}{path.suffix}")) for number in numbers]
            if all(sizes):
                yield KeptFile(keeper, part[1], path, sum(sizes))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except (OSError, ValueError):
        return 0


class _Search:
    """What is left of the bounds."""

    def __init__(self, clock: Callable[[], float], end: float) -> None:
        self._clock, self._end = clock, end
        self._entries, self._heads = _MOST_ENTRIES, _MOST_HEADS

    def may_open(self) -> bool:
        """Count a file that is opened."""
        self._heads -= 1
        return self._heads >= 0 and self._clock() < self._end

    def files(self, folder: Path, depth: int = _DEEPEST) -> Iterator[Path]:
        """Yield the files in a folder and below, in the order of their names. Links to folders are not followed."""
        try:
            with os.scandir(folder) as listing:
                entries = []
                for entry in listing:
                    self._entries -= 1
                    if self._entries < 0 or self._clock() >= self._end:
                        break
                    entries.append(entry)
        except (OSError, ValueError):
            return
        for entry in sorted(entries, key=lambda one: one.name):
            try:
                below, file = entry.is_dir(follow_symlinks=False), entry.is_file()
            except OSError:
                continue
            if below and depth:
                yield from self.files(Path(entry.path), depth - 1)
            elif file:
                yield Path(entry.path)
