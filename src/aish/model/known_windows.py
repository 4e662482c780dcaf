"""The windows of well-known hosted models, for services that do not tell them.

Pure. Only for services on the internet: a server of your own may run the same model with a smaller window.
"""

import re

# The beginning of a name without its vendor, and tokens. The first that matches counts, so longer names come first.
_WINDOWS = (
    ("gpt-5", 400_000),
    ("gpt-4.1", 1_000_000),
    ("gpt-4o", 128_000),
    ("gpt-4-turbo", 128_000),
    ("gpt-4-32k", 32_768),
    ("gpt-4", 8_192),
    ("gpt-3.5-turbo", 16_385),
    ("gpt-oss", 131_072),
    ("chatgpt-4o", 128_000),
    ("o1-mini", 128_000),
    ("o1", 200_000),
    ("o3", 200_000),
    ("o4-mini", 200_000),
    ("claude-2.0", 100_000),
    ("claude-instant", 100_000),
    ("claude", 200_000),
    ("gemini-1.0", 32_768),
    ("gemini", 1_000_000),
    ("mistral-large", 128_000),
    ("mistral-medium", 128_000),
    ("mistral-small", 32_000),
    ("codestral", 32_000),
    ("ministral", 128_000),
    ("open-mixtral-8x7b", 32_000),
    ("deepseek", 64_000),
    ("grok", 128_000),
    ("command-r", 128_000),
    ("llama-3.1", 128_000),
    ("llama-3.2", 128_000),
    ("llama-3.3", 128_000),
    ("llama-4", 128_000),
    ("qwen3", 32_768),
    ("qwen2.5", 32_768),
    ("kimi-k2", 128_000),
    ("glm-4", 128_000),
)


def known_window(model: str) -> int:
    """Return the window of a well-known model in tokens, or 0. `vendor/` in front of its name does not matter."""
    name = re.sub(r"^meta-(?=llama)", "", model.lower().rpartition("/")[2])
    return next((size for start, size in _WINDOWS if _begins(name, start)), 0)


def _begins(name: str, start: str) -> bool:
    """Return whether `start` is the beginning of `name`, and not of a longer number or word in it."""
    return name.startswith(start) and not (name[len(start) :][:1].isalnum() and start[-1].isdigit())
