"""The list of requirements and the tests agree: every requirement marked done has a test.

The marks are read from the source of the test files, so the result does not depend on which tests run.
"""

import ast
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).parent
LIST = TESTS.parent / "docs" / "requirements.toml"

Table = Mapping[str, Mapping[str, Any]]
Mark = tuple[str, list[str]]  # the name of the mark, and its arguments


def requirements() -> Table:
    return tomllib.loads(LIST.read_text(encoding="utf-8"))


def modules() -> dict[str, ast.Module]:
    """Parse every test file; the keys are paths below the tests."""
    return {
        path.relative_to(TESTS).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted(TESTS.rglob("test_*.py"))
    }


def marks(expressions: Iterable[ast.AST]) -> Iterator[Mark]:
    """Read `pytest.mark.NAME(ARGUMENT, …)`, alone or in a list; other expressions are ignored."""
    for expression in expressions:
        match expression:
            case ast.List(elts=inner) | ast.Tuple(elts=inner):
                yield from marks(inner)
            case ast.Call(func=ast.Attribute(value=ast.Attribute(attr="mark"), attr=name), args=arguments):
                yield name, [text(argument) for argument in arguments]
            case ast.Attribute(value=ast.Attribute(attr="mark"), attr=name):
                yield name, []


def text(argument: ast.expr) -> str:
    """Return a string constant; for other expressions their source, which is not a known id."""
    match argument:
        case ast.Constant(value=str(value)):
            return value
    return ast.unparse(argument)


def ids(applied: Iterable[Mark]) -> set[str]:
    return {each for name, arguments in applied if name == "proves" for each in arguments}


def named(module: ast.Module) -> set[str]:
    """Find the ids in all marks of a module."""
    return ids(marks(ast.walk(module)))


def whole_block(block: ast.Module | ast.ClassDef) -> Iterator[ast.expr]:
    """Find the value of `pytestmark`, which applies to every test of the block."""
    for node in block.body:
        match node:
            case ast.Assign(targets=[ast.Name(id="pytestmark")], value=value):
                yield value


def proven(block: ast.Module | ast.ClassDef, around: Iterable[Mark] = ()) -> set[str]:
    """Find the ids that the tests of a module or class prove, by their own marks or those around them.

    A mark without a test proves nothing, and neither does a test that is skipped or expected to fail.
    """
    here = [*around, *marks(whole_block(block))]
    found: set[str] = set()
    for node in block.body:
        match node:
            case ast.ClassDef(name=name) if name.startswith("Test"):
                found |= proven(node, [*here, *marks(node.decorator_list)])
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) if name.startswith("test"):
                applied = [*here, *marks(node.decorator_list)]
                if not any(mark in ("skip", "xfail") for mark, _ in applied):
                    found |= ids(applied)
    return found


def flaws(table: Table) -> list[str]:
    """Report entries that are not well formed."""
    found = []
    for key, entry in table.items():
        if not is_sentence(entry.get("says")):
            found.append(f"{key}: `says` is not a sentence")
        if entry.get("status") not in ("done", "planned"):
            found.append(f"{key}: `status` is neither done nor planned")
        if "gap" in entry and not (is_sentence(entry["gap"]) and entry.get("status") == "done"):
            found.append(f"{key}: `gap` is a reason, and belongs to what is done")
        if unknown := entry.keys() - {"says", "status", "gap"}:
            found.append(f"{key}: unknown {', '.join(sorted(unknown))}")
    return found


def is_sentence(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def unproven(table: Table, proofs: set[str]) -> list[str]:
    """List requirements that are marked done without a test."""
    return [key for key, entry in table.items() if entry.get("status") == "done" and key not in proofs]


def test_every_requirement_has_a_text_and_a_status() -> None:
    """The list must be clear without guessing."""
    table = requirements()

    assert table
    assert flaws(table) == []


def test_every_requirement_that_is_done_is_proven_by_a_test() -> None:
    """Without a test, a requirement stays planned."""
    proofs = set().union(*(proven(module) for module in modules().values()))

    missing = unproven(requirements(), proofs)
    assert not missing, f"no test proves {', '.join(missing)}"


def test_no_test_names_a_requirement_that_does_not_exist() -> None:
    """A mistyped id would leave the real one without a test."""
    known = requirements().keys()
    strays = {path: sorted(named(module) - known) for path, module in modules().items()}

    assert {path: names for path, names in strays.items() if names} == {}


def test_marks_are_read_from_functions_classes_and_whole_modules() -> None:
    """Each is a usual way to mark tests."""
    module = ast.parse("""
pytestmark = [pytest.mark.anyio, pytest.mark.proves("A1")]

@pytest.mark.proves("A2", "A3")
async def test_one(): ...

@pytest.mark.proves("A4")
class TestMore:
    pytestmark = pytest.mark.proves("A5")

    @pytest.mark.slow
    @pytest.mark.proves("A6")
    def test_two(self): ...
""")

    assert proven(module) == named(module) == {"A1", "A2", "A3", "A4", "A5", "A6"}


@pytest.mark.parametrize(
    "source",
    [
        'pytestmark = pytest.mark.proves("A1")',
        '@pytest.mark.proves("A1")\ndef helper(): ...',
        '@pytest.mark.proves("A1")\nclass TestNothing: ...',
        '@pytest.mark.skip\n@pytest.mark.proves("A1")\ndef test_it(): ...',
        '@pytest.mark.xfail(reason="not yet")\n@pytest.mark.proves("A1")\ndef test_it(): ...',
        'pytestmark = [pytest.mark.skip, pytest.mark.proves("A1")]\ndef test_it(): ...',
    ],
)
def test_a_mark_without_a_test_that_can_fail_proves_nothing(source: str) -> None:
    """The id is named, but no test would fail if the promise were broken."""
    module = ast.parse(source)

    assert named(module) == {"A1"}
    assert proven(module) == set()


def test_a_mark_in_a_string_or_comment_does_not_count() -> None:
    """Only code that pytest runs is a proof."""
    assert named(ast.parse("""'pytest.mark.proves("A1")'  # pytest.mark.proves("A2")""")) == set()


def test_an_argument_that_is_not_a_plain_string_is_no_known_id() -> None:
    """It cannot be read without running the code, so it is reported."""
    module = ast.parse("@pytest.mark.proves(*EVERYTHING)\ndef test_it(): ...")

    assert named(module) == {"*EVERYTHING"}


def test_a_done_requirement_without_proof_is_reported_and_a_planned_one_is_not() -> None:
    """This is the purpose of the comparison."""
    table = {"A1": {"status": "done"}, "A2": {"status": "done"}, "A3": {"status": "planned"}}

    assert unproven(table, proven(ast.parse('@pytest.mark.proves("A1")\ndef test_it(): ...'))) == ["A2"]


def test_an_entry_that_is_not_well_formed_is_reported() -> None:
    """A misspelt status would otherwise need no test."""
    table: Table = {
        "A1": {"says": "Fine.", "status": "done", "gap": "One case is missing."},
        "A2": {"says": " ", "status": "planned"},
        "A3": {"says": "Fine.", "status": "finished"},
        "A4": {"says": "Fine.", "status": "planned", "gap": "All of it."},
        "A5": {"says": "Fine.", "status": "done", "gaps": "A typing mistake."},
    }

    assert flaws(table) == [
        "A2: `says` is not a sentence",
        "A3: `status` is neither done nor planned",
        "A4: `gap` is a reason, and belongs to what is done",
        "A5: unknown gaps",
    ]
