"""Expand a word as the shell would, before a command runs and without starting a program."""

import fnmatch
import os
import re
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

_LONGEST, _MOST_BRACES, _MOST_CHOICES = 1_000, 50, 200  # of one word: characters, braces, and words it becomes

Letters = list[tuple[str, bool]]  # characters, and whether each was quoted


def expand(word: str, directory: Path, most: int, deadline: float) -> list[str] | None:
    """Return the names that a shell would expand a word to; None if that would require running something."""
    letters = _unquote(word)
    if letters is None:
        return None
    names: list[str] = []
    choices = list(islice(_alternatives(letters), _MOST_CHOICES + 1))
    if len(choices) > _MOST_CHOICES:
        return None
    for each in choices:
        start = _tilde(each)
        if start is None:
            return None
        plain = "".join(letter for letter, _ in start)
        matches = _matches(start, directory, deadline) if _has_pattern(start) else iter(())
        names += list(islice(matches, most + 1)) or [plain]
    return names


def plain_text(word: str) -> str | None:
    """Return the text of a word that the shell does not expand; None if it does."""
    letters = _unquote(word)
    if letters is None or any(letter in "*?[{~" and not quoted for letter, quoted in letters):
        return None
    return "".join(letter for letter, _ in letters)


def _unquote(word: str) -> Letters | None:
    """Return the characters of a word without its quotes; None if the word contains a command or a variable."""
    if len(word) > _LONGEST or word.count("{") > _MOST_BRACES:
        return None
    letters: Letters = []
    for piece in re.finditer(r"""(?s)'([^']*)'|"((?:[^"\\$`]|\\.)*)"|\\(.)|(.)""", word):
        single, double, escaped, bare = piece.groups()
        if bare is not None:
            if bare in "'\"\\$`()<>;&|" or bare.isspace():
                return None
            letters.append((bare, False))
        elif double is not None:
            letters += [(letter, True) for letter in re.sub(r'\\([$`"\\])', r"\1", double)]
        else:
            letters += [(letter, True) for letter in (single if single is not None else escaped)]
    text = "".join(letter if not quoted else "_" for letter, quoted in letters)
    return None if re.search(r"\{[^{},]*\.\.[^{},]*\}|\[\[:", text) or "\0" in word else letters


def _alternatives(letters: Letters) -> Iterator[Letters]:
    """Expand `{these,choices}`, also nested ones; braces without a comma are plain characters."""
    for start, opening in enumerate(letters):
        if opening != ("{", False):
            continue
        depth, cuts = 0, [start]
        for at in range(start, len(letters)):
            depth += {("{", False): 1, ("}", False): -1}.get(letters[at], 0)
            if depth == 0:
                if len(cuts) == 1:
                    break
                head, tail = letters[:start], letters[at + 1 :]
                choices = [letters[left + 1 : right] for left, right in zip(cuts, [*cuts[1:], at], strict=True)]
                for choice in choices:
                    yield from _alternatives(head + choice + tail)
                return
            if depth == 1 and letters[at] == (",", False):
                cuts.append(at)
    yield letters


def _tilde(letters: Letters) -> Letters | None:
    """Replace an unquoted leading `~` or `~name` by the home directory; None for `~+` and the like."""
    end = letters.index(("/", False)) if ("/", False) in letters else len(letters)
    prefix = "".join(letter for letter, _ in letters[:end])
    if not prefix.startswith("~") or any(quoted for _, quoted in letters[:end]):
        return letters
    if re.fullmatch(r"~[-+]?\d*", prefix) and prefix != "~":
        return None
    home = os.path.expanduser(prefix)  # noqa: PTH111  # leaves `~nobody` as it is
    return [(letter, True) for letter in home] + letters[end:]


def _has_pattern(letters: Letters) -> bool:
    return any(letter in "*?[" and not quoted for letter, quoted in letters)


def _matches(letters: Letters, directory: Path, deadline: float) -> Iterator[str]:
    """Yield the names that match a pattern, as in bash: hidden files only if the pattern starts with a dot."""
    parts: list[Letters] = [[]]
    for letter, quoted in letters:
        if letter == "/":
            parts.append([])
        else:
            parts[-1].append((letter, quoted))
    found = [""]
    for number, part in enumerate(parts):
        slash = "/" if number < len(parts) - 1 else ""
        found = [name + slash for base in found for name in _step(base, part, directory, deadline)]
    yield from found


def _step(base: str, part: Letters, directory: Path, deadline: float) -> Iterator[str]:
    if time.monotonic() > deadline:
        return
    if not _has_pattern(part):
        name = base + "".join(letter for letter, _ in part)
        if not name or os.path.lexists(os.path.join(directory, name)):  # noqa: PTH118  # a Path forgets the slash
            yield name
        return
    text = "".join(f"[{letter}]" if quoted and letter in "*?[" else letter for letter, quoted in part)
    fits = re.compile(fnmatch.translate(text.replace("[^", "[!"))).match
    try:
        with os.scandir(directory / base) as entries:
            for entry in entries:
                if time.monotonic() > deadline:
                    return
                if fits(entry.name) and (not entry.name.startswith(".") or text.startswith(".")):
                    yield base + entry.name
    except OSError:  # not a directory, or not readable
        return
