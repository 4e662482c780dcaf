"""What a query leaves out: turns with a word, or with a phrase of several words.

Pure: texts in, terms and a test out.
"""

from collections.abc import Sequence

from aish.memory.finding.terms import query_terms, terms
from aish.values.named_tuple import NamedTuple


class Exclusions(NamedTuple):
    """`words` are terms of the index; no hit has one of them. `phrases` are texts that no hit contains."""

    words: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()

    def allow(self, text: str) -> bool:
        """May a turn with this text be a hit?"""
        if self.words and not set(self.words).isdisjoint(terms(text)):
            return False
        return self.allow_phrases(text)

    def allow_phrases(self, text: str) -> bool:
        flat = " ".join(text.casefold().split()) if self.phrases else ""
        return not any(phrase in flat for phrase in self.phrases)


def exclusions(texts: Sequence[str]) -> Exclusions:
    """Return what these texts leave out. An identifier such as `read_file` is one word, and not each of its parts."""
    words, phrases = dict[str, None](), dict[str, None]()
    for text in texts:
        found = query_terms(text)
        if len(found) == 1 or (found and text.isascii() and " " not in text):
            words[found[0]] = None  # of an identifier, the first term is the whole
        elif found:
            phrases[" ".join(text.casefold().split())] = None
    return Exclusions(tuple(words), tuple(phrases))
