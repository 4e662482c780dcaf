"""The note beside weights: title, makers, licence and source."""

from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from aish.model.weights import Weights
from aish.storage.files import replace_file
from aish.values.errors import StoreTrouble


def origin_file(path: Path) -> Path:
    """Return the path of the note for a file of weights."""
    return path.with_name(f"{path.name}.origin.txt")


def origin_text(weights: Weights, source: str, day: str) -> str:
    """Return the note. `source` is in plain words; it has no address that could hold a login. Pure."""
    licence = weights.licence and f"{weights.licence}, https://spdx.org/licenses/{weights.licence}.html"
    rows = [("title", weights.label), ("makers", weights.makers), ("licence", licence)]
    for each in (weights, *weights.companions):
        rows += [("file", each.file), ("sha256", f"{each.sha256}, checked by its hash")]
    rows += [("from", source), ("date", day)]
    return "".join(f"{name + ':':<9}{text}\n" for name, text in rows if text)


def write_origin(weights: Weights, path: Path, source: str) -> None:
    """Write the note beside the weights. It only informs, so that weights without it are as good."""
    text = origin_text(weights, source, f"{datetime.now(UTC):%Y-%m-%d}")
    with suppress(StoreTrouble):
        replace_file(origin_file(path), text.encode())
