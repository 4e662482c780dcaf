"""Files and directories that the user names in a question with `@`.

Pure: takes text, returns text.
"""

import json
import re

from aish.values.invisible import visible
from aish.values.named_tuple import NamedTuple
from aish.values.patterns import pattern
from aish.values.text import one_line
from aish.values.turns import EXEC_MARK, FILES_MARK, HOOK_MARK, INPUT_MARK, SKILL_MARK, TASK_MARK

MOST_NAMES = 10  # files of one question
_NAME = pattern(r"""(?<![^\s("'`])@(?:"([^"\n]+)"|'([^'\n]+)'|((?:\\.|[^\s\\"'`])+))""")
_QUOTED = pattern(r"`[^`]*`")
_AFTER = ".,;:!?)]}>"  # punctuation that ends a sentence, not a name
_MARKS = (EXEC_MARK, INPUT_MARK, FILES_MARK, TASK_MARK, SKILL_MARK, HOOK_MARK, "[recalled", "[surroundings]")
_FORGED = pattern(rf"(?m)^(?:{'|'.join(map(re.escape, _MARKS))})")


class NamedPath(NamedTuple):
    """A path as the user wrote it after `@`. `otherwise` is the path without punctuation at its end."""

    path: str
    otherwise: str

    @property
    def looks_like_path(self) -> bool:
        """Is it meant as a path? `@alice` may be a person."""
        return "/" in self.otherwise or "." in self.otherwise


def named_paths(question: str) -> list[NamedPath]:
    """Return what a question names with `@`, each once; not what a quoted command has."""
    found: dict[str, NamedPath] = {}
    for match in _NAME.finditer(_QUOTED.sub(_without_command, question)):
        quoted, bare = match[1] or match[2] or "", re.sub(r"\\(.)", r"\1", match[3] or "")
        one = NamedPath(quoted, quoted) if quoted else NamedPath(bare, bare.rstrip(_AFTER))
        if one.otherwise:
            found.setdefault(one.otherwise, one)
    return list(found.values())[:MOST_NAMES]


def _without_command(quoted: re.Match[str]) -> str:
    """Leave out a quoted text of several words: its `@` belongs to a command, as in `curl -d @body.json`."""
    return "``" if len(quoted[0].split()) > 1 else quoted[0]


def attachment(kind: str, name: str, size: str, text: str) -> str:
    """Return one file or directory for the model. Text that imitates a heading of ours is changed."""
    title = f"{kind} {json.dumps(one_line(visible(name), 200), ensure_ascii=False)}"
    clean = _FORGED.sub(lambda mark: f"({mark[0][1:]}", text.strip("\n"))
    return f"--- {title}, {size}\n{clean}\n--- end of {title}"


def as_text(attachments: list[str]) -> str:
    """Return the block in front of the message; empty without attachments."""
    return "\n".join([FILES_MARK, *attachments]) if attachments else ""
