"""Which skills a question gets by itself: strict, because a skill that is brought for nothing costs room."""

import time

import pytest

from aish.conversation.skill_matching import matches, named_files, reason_for
from aish.values.skills import Skill

RELEASE = Skill(
    "release",
    "workspace",
    "/skills/release",
    when_to_use="When the user asks to release a new version or to write a changelog",
    paths=("*.toml", "docs/**/*.md"),
)
PDF = Skill("pdf", "workspace", "/skills/pdf", when_to_use="Use this skill for filling in PDF forms; merging PDF files")
UNITS = Skill("units", "workspace", "/skills/units", when_to_use="Wenn der Nutzer Einheiten umrechnen möchte")


@pytest.mark.parametrize(
    ("skill", "question"),
    [
        (RELEASE, "please release version 2.1"),
        (RELEASE, "can you update the changelog?"),
        (PDF, "fill in these PDF forms for me"),
        (PDF, "how do I merge two pdf files"),
        (UNITS, "kannst du diese Einheiten umrechnen"),
    ],
)
def test_a_question_about_the_occasion_gets_the_skill(skill: Skill, question: str) -> None:
    """The user need not know the name of the skill."""
    assert reason_for(skill, question, []).startswith("when_to_use: ")


@pytest.mark.parametrize("skill", [RELEASE, PDF, UNITS])
@pytest.mark.parametrize(
    "question",
    [
        "what is the version of python here?",
        "write a poem about a new user",
        "how do I cook rice",
        "please help me to use this",
        "when was the user asked to write something?",
        "which form of the verb is right?",
        "yes",
        "",
        "?",
        "the a of to",
    ],
)
def test_another_question_does_not(skill: Skill, question: str) -> None:
    """One common word is not enough."""
    assert reason_for(skill, question, []) == ""


def test_a_skill_without_an_occasion_comes_only_by_name() -> None:
    """Not even a question without telling words matches it."""
    assert reason_for(Skill("x", "workspace", "/x", when_to_use="when"), "when is it?", []) == ""
    assert reason_for(Skill("x", "workspace", "/x"), "", ["a.py"]) == ""
    subjects = Skill("x", "workspace", "/x", when_to_use="Python, Ruby, tests")
    assert reason_for(subjects, "is Python older than Ruby?", []) == ""


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("*.py", "src/a/b.py", True),
        ("*.py", "b.pyc", False),
        ("src/*.py", "src/b.py", True),
        ("src/*.py", "src/a/b.py", False),
        ("src/**/*.py", "src/b.py", True),
        ("src/**/*.py", "src/a/b/c.py", True),
        ("**/test_?.py", "a/test_1.py", True),
        ("./docs/{a,b}.md", "docs/b.md", True),
        ("docs/{a,b}.md", "docs/c.md", False),
        ("**", "anything/at/all", True),
        ("", "a.py", False),
        ("Makefile", "sub/Makefile", True),
    ],
)
def test_patterns_match_as_in_other_tools(pattern: str, path: str, expected: bool) -> None:
    """A pattern without a slash is for the name of the file."""
    assert matches(pattern, path) is expected


def test_no_pattern_takes_long() -> None:
    """Skills of other people may have any pattern."""
    start = time.process_time()
    for pattern in (
        "*a" * 90 + "b",
        "/".join(["**", "a"] * 60),
        "{a,b}" * 40,
        "{" * 200,
        "?*" * 90 + "b",
        "x" * 100_000,
    ):
        assert not matches(pattern, "/".join("a" * 140) + "/c")
        assert not matches(pattern, "a" * 290)
    assert time.process_time() - start < 1


def test_words_that_may_be_files_are_found_without_addresses() -> None:
    """Whether they exist is looked up later."""
    question = "compare src/a.py, `b.toml` and ./c/d.md. See https://example.org/x.py (or this/that)!"
    assert named_files(question) == ["src/a.py", "b.toml", "c/d.md", "this/that"]
    assert len(named_files(" ".join(f"f{number}.py" for number in range(1000)))) == 20
