"""The code blocks of an answer, as the user sees and counts them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aish.action.code_blocks import CodeBlock, code_blocks

ANSWER = """First:

```python
print("a")

```

1. then

   ```sh
   make
     indented
   ```

> ~~~
> quoted
> ~~~

````markdown
```sh
inner
```
````
"""


def test_blocks_come_in_order_without_fences_quotes_and_indents() -> None:
    """What is copied is the code alone."""
    assert code_blocks(ANSWER) == [
        CodeBlock("python", 'print("a")\n'),
        CodeBlock("sh", "make\n  indented"),
        CodeBlock("", "quoted"),
        CodeBlock("markdown", "```sh\ninner\n```"),
    ]


def test_an_answer_that_was_cut_off_has_a_block_that_is_not_whole() -> None:
    """Half a command may be another command."""
    assert code_blocks("```sh\nrm -rf /tmp/x") == [CodeBlock("sh", "rm -rf /tmp/x", whole=False)]


def test_proposed_commands_count_if_there_is_no_block() -> None:
    """They are the code of such an answer."""
    assert code_blocks("Do this:\n\nCMD: ls -l\nCMD: cat <<E\nx\nE\n") == [
        CodeBlock("", "ls -l"),
        CodeBlock("", "cat <<E\nx\nE"),
    ]
    assert code_blocks("no code, `ls` is inline") == []


@pytest.mark.parametrize(
    ("language", "text", "command"),
    [
        ("sh", "ls\nmake\n", "ls\nmake"),
        ("console", "$ ls\na  b\n$ make test\nok", "ls\nmake test"),
        ("console", "# install what is needed\n$ npm ci\nok", "npm ci"),
        ("console", "# apt update\n# reboot", "apt update\nreboot"),
        ("", "$ ls", "ls"),
        ("bash", "$ cd x\n$ make", "cd x\nmake"),
        ("bash", "# build it\nmake", "# build it\nmake"),
        ("bash", "# only a comment", "# only a comment"),
        ("sh", "echo a\n$ b", "echo a\n$ b"),
    ],
)
def test_prompts_of_a_session_are_not_run(language: str, text: str, command: str) -> None:
    """In a session, what was printed is not run either."""
    block = CodeBlock(language, text)
    assert block.is_shell and block.command == command


def test_other_languages_are_not_shell_code() -> None:
    """Running Python as a shell script would do anything."""
    assert not any(CodeBlock(language, "x").is_shell for language in ("python", "diff", "json", "text"))


@given(st.text(st.sampled_from("`~ \n>ab-1.CMD:"), max_size=120))
def test_any_answer_can_be_read(answer: str) -> None:
    """Models write anything; code comes from the answer."""
    for block in code_blocks(answer):
        assert all(line.strip(" >") in answer for line in block.text.split("\n"))
