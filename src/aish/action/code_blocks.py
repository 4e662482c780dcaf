"""Find the code blocks of an answer, as the renderer shows them, and the commands that it proposes.

Pure: text in, blocks out.
"""

import re

from aish.action.proposals import proposals
from aish.values.answer_lines import AnswerLines, CodeFence, quotes
from aish.values.named_tuple import NamedTuple
from aish.values.patterns import pattern

_SHELLS = frozenset(("", "bash", "sh", "shell", "zsh", "console", "shell-session", "shellsession", "terminal"))
_PROMPT = pattern(r"[$%#] +")
_SESSIONS = frozenset(("console", "shell-session", "shellsession", "terminal"))


class CodeBlock(NamedTuple):
    """A block of code: its language, and its text without the fence."""

    language: str
    text: str
    whole: bool = True  # whether its end was there

    @property
    def is_shell(self) -> bool:
        return self.language in _SHELLS

    @property
    def command(self) -> str:
        """What to run: of a session with prompts only what was typed after them, otherwise the text."""
        lines = self.text.split("\n")
        shows_prompts = self.language in _SESSIONS or all(_PROMPT.match(line) for line in lines if line.strip())
        prompts = [line[0] for line in lines if _PROMPT.match(line)]
        sign = next((one for one in prompts if one != "#"), "#")  # beside another prompt, # begins a comment
        typed = [line[found.end() :] for line in lines if (found := _PROMPT.match(line)) and line[0] == sign]
        if shows_prompts and typed and not (self.language not in _SESSIONS and self.text.lstrip().startswith("#")):
            return "\n".join(typed)
        return self.text.strip("\n")


def code_blocks(answer: str) -> list[CodeBlock]:
    """Return the blocks of an answer in order; if it has none, the commands that it proposes."""
    lines, blocks = AnswerLines(), list[CodeBlock]()
    code: list[str] = []
    for line in re.split(r"\r?\n", answer):
        before = lines.fence
        inside = lines.is_inside(line)
        lines.read(line)
        if before and not before.formula:
            if inside and lines.fence is not None:
                code.append(_content(line, before))
                continue
            blocks.append(_block(before, code))
            code = []
    if lines.fence and not lines.fence.formula:
        blocks.append(_block(lines.fence, code)._replace(whole=False))
    return blocks or [CodeBlock("", command) for command in proposals(answer).offered]


def _content(line: str, fence: CodeFence) -> str:
    text = line[len(quotes(line, fence.depth)) :]
    spaces = len(text) - len(text.lstrip(" "))
    return text[min(spaces, fence.indent) :]


def _block(fence: CodeFence, code: list[str]) -> CodeBlock:
    language = fence.info.split()[0].lower() if fence.info.split() else ""
    return CodeBlock(language.strip("{}."), "\n".join(code))
