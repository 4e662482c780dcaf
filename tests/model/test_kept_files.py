"""Files of models that other programs keep are found, and the search for them ends."""

import hashlib
import json
import os
from pathlib import Path

import pytest
from gguf_files import CHAT, gguf, write_gguf

from aish.model.kept_files import KeptFile, find_kept_files

ENCODER = {"general.architecture": "bert"}


def keep_in_ollama(models: Path, name: str, values: dict[str, object], *, size: int = 4000) -> Path:
    """Lay a model down as Ollama does; the name is namespace/model/tag."""
    digest = hashlib.sha256(name.encode()).hexdigest()
    blob = write_gguf(models / "blobs" / f"sha256-{digest}", values, size=size)
    layers = [
        {"mediaType": "application/vnd.ollama.image.license", "digest": f"sha256:{'0' * 64}", "size": 3},
        {"mediaType": "application/vnd.ollama.image.model", "digest": f"sha256:{digest}", "size": size},
    ]
    manifest = models / "manifests" / "host.example" / name
    manifest.parent.mkdir(parents=True, exist_ok=True)
    manifest.write_text(json.dumps({"schemaVersion": 2, "layers": layers}), encoding="utf-8")
    return blob


def test_models_of_ollama_are_found_by_their_manifests(tmp_path: Path) -> None:
    """Their files have no name and no ending. Two tags of one file are one model."""
    models = tmp_path / "elsewhere"
    chat = keep_in_ollama(models, "library/llama3.2/3b", dict(CHAT), size=9000)
    other = keep_in_ollama(models, "someone/coder/latest", dict(CHAT))
    keep_in_ollama(models, "library/embedder/latest", dict(ENCODER))
    same = models / "manifests/host.example/library/llama3.2/latest"
    same.write_bytes((same.parent / "3b").read_bytes())
    half = keep_in_ollama(models, "library/half/latest", dict(CHAT))
    half.write_bytes(gguf(CHAT))  # not all of it has arrived
    for number, content in enumerate((b"", b"[]", b'{"layers": 5}', b'{"layers": [5, {"digest": "../../x"}]}')):
        (same.parent / str(number)).write_bytes(content)

    assert find_kept_files({"OLLAMA_MODELS": str(models)}, tmp_path) == [
        KeptFile("Ollama", "llama3.2:3b", chat, 9000),
        KeptFile("Ollama", "someone/coder:latest", other, 4000),
    ]


def test_files_of_the_others_are_found_where_these_keep_them(tmp_path: Path) -> None:
    """LM Studio has two folders, llama.cpp one or a variable, and Hugging Face links to its blobs."""
    new = write_gguf(tmp_path / ".lmstudio/models/maker/Big/Big-Q4.gguf", CHAT, size=9000)
    old = write_gguf(tmp_path / ".cache/lm-studio/models/maker/Old/Old.gguf", CHAT, size=8000)
    write_gguf(tmp_path / ".lmstudio/models/maker/Big/mmproj-Big.gguf", {"general.architecture": "clip"})
    (tmp_path / ".lmstudio/models/maker/Big/half.gguf.part").write_bytes(gguf(CHAT))
    cached = write_gguf(tmp_path / "llama/maker_Mid.gguf", CHAT, size=7000)
    blob = write_gguf(tmp_path / ".cache/huggingface/hub/models--a--b/blobs/abc", CHAT, size=6000)
    link = blob.parents[1] / "snapshots/123/Small.gguf"
    link.parent.mkdir(parents=True)
    link.symlink_to(blob)

    found = find_kept_files({"LLAMA_CACHE": str(tmp_path / "llama")}, tmp_path)
    assert [(one.keeper, one.name, one.path) for one in found] == [
        ("LM Studio", "Big-Q4", new),
        ("LM Studio", "Old", old),
        ("llama.cpp", "maker_Mid", cached),
        ("Hugging Face", "Small", link),
    ]
    moved = find_kept_files({"HF_HOME": str(tmp_path / "x"), "XDG_CACHE_HOME": "relative"}, tmp_path)
    assert [one.name for one in moved] == ["Big-Q4", "Old"]


def test_a_model_in_parts_counts_once_and_only_whole(tmp_path: Path) -> None:
    folder = tmp_path / ".lmstudio/models/maker/Split"
    for number in (1, 2, 3):
        write_gguf(folder / f"Huge-{number:05}-of-00003.gguf", CHAT, size=1000 * number)
    write_gguf(folder / "Half-00001-of-00002.gguf", CHAT)

    first = folder / "Huge-00001-of-00003.gguf"
    assert find_kept_files({}, tmp_path) == [KeptFile("LM Studio", "Huge", first, 6000)]


def test_the_search_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some caches have a million files, links in a circle, or hang on a network."""
    models = tmp_path / ".lmstudio/models"
    for number in range(8):
        write_gguf(models / f"m{number}" / "x.gguf", {**CHAT, "general.name": str(number)}, size=2000 + number)
    (models / "m0" / "circle").symlink_to(models)
    write_gguf(models / "a/b/c/d/e/deep.gguf", CHAT)
    os.mkfifo(models / "m0" / "pipe.gguf")

    assert len(find_kept_files({}, tmp_path)) == 8
    ticks = iter(range(10_000))
    assert len(find_kept_files({}, tmp_path, seconds=16, clock=lambda: next(ticks))) < 8
    assert find_kept_files({}, tmp_path, seconds=0) == []
    monkeypatch.setattr("aish.model.kept_files._MOST_HEADS", 3)
    assert len(find_kept_files({}, tmp_path)) == 3
    monkeypatch.setattr("aish.model.kept_files._MOST_ENTRIES", 1)
    assert len(find_kept_files({}, tmp_path)) <= 1


def test_strange_places_are_no_trouble(tmp_path: Path) -> None:
    (tmp_path / ".lmstudio").write_bytes(b"")
    env = {"OLLAMA_MODELS": "/nul\0l", "LLAMA_CACHE": str(tmp_path / "no"), "HF_HUB_CACHE": "/dev/null"}

    assert find_kept_files(env, tmp_path) == []
