"""Writers for formats that other tools read. They hold one turn, or one answer with its tool results, at a time."""

from collections.abc import Callable, Iterator, Mapping

from aish.memory.exporters import claude_code, openai, own_lines, page
from aish.memory.exporters.talk import Talk, TurnPeriod, find_talks, talk_of
from aish.values.named_tuple import NamedTuple

__all__ = ["FORMATS", "Format", "Talk", "TurnPeriod", "find_talks", "talk_of"]


class Format(NamedTuple):
    """How a conversation is written: its text in pieces, and the name of its own file."""

    pieces: Callable[[Talk], Iterator[str]]
    file_name: Callable[[Talk], str]


FORMATS: Mapping[str, Format] = {
    "jsonl": Format(own_lines.pieces, lambda talk: f"{talk.id}.jsonl"),
    "markdown": Format(page.pieces, lambda talk: f"{talk.id}.md"),
    "openai": Format(openai.pieces, lambda talk: f"{talk.id}.jsonl"),
    "claude-code": Format(claude_code.pieces, lambda talk: f"{claude_code.session_id(talk)}.jsonl"),
}
