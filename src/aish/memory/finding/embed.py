"""Static embeddings: the vector of a text is the mean of the vectors of its word pieces. Fast and deterministic."""

import json
from collections.abc import Sequence
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from aish.memory.finding.vectors import Floats
from aish.memory.finding.word_pieces import WordPieces

_MAX_CHARACTERS = 4_000  # of a text that are embedded


class StaticEmbedder:
    """An embedder with one vector per word piece. Raises what `WordPieces` raises, and `TypeError`."""

    def __init__(self, weights: Path, tokens: Path) -> None:
        self.name = weights.stem
        self._pieces, self._vectors = WordPieces(tokens), _matrix(weights)
        self.size = int(self._vectors.shape[1])

    def embed(self, texts: Sequence[str]) -> Floats:
        """One vector of length 1 per text; a zero vector for a text without any word piece."""
        pieces = [self._pieces.ids(text[:_MAX_CHARACTERS]) if text else [] for text in texts]
        ends = np.cumsum([0, *map(len, pieces)])
        ids = np.fromiter(chain(*pieces), np.int32, ends[-1])
        used = np.flatnonzero(np.bincount(ids, minlength=len(self._vectors)))
        vectors = self._vectors[used].astype(np.float32)  # each one once, because float16 is slow to add
        row_of = np.empty(len(self._vectors), np.int32)
        row_of[used] = np.arange(len(used))
        places = row_of[ids]
        found = np.zeros((len(texts), self.size), np.float32)
        for row, (start, end) in enumerate(pairwise(ends)):
            found[row] = vectors[places[start:end]].sum(axis=0)
        lengths = np.linalg.norm(found, axis=1, keepdims=True)
        found /= np.maximum(lengths, 1e-9)
        return found


def _matrix(path: Path) -> Any:
    """Map the only matrix of a safetensors file: eight bytes give the length of a JSON header, then data follows."""
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        described = json.loads(file.read(min(size, 1 << 20)))
    [matrix] = [value for name, value in described.items() if name != "__metadata__"]
    kind = {"F16": np.float16, "F32": np.float32}[matrix["dtype"]]
    mapped = np.memmap(path, kind, "r", offset=8 + size + matrix["data_offsets"][0], shape=tuple(matrix["shape"]))
    return np.asarray(mapped)  # plain array: each access to a `memmap` costs more
