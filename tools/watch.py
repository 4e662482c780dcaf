"""Watched numbers: print them, and exit 1 when one that is a gate is broken.

The sources are read as text and never imported, so that nothing but the standard library is needed.
"""

import ast
import functools
import io
import re
import sys
import tokenize
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

# Top to bottom. A module uses its own folder and what is below it; siblings never use each other.
LAYERS = (
    "__main__ > cli > opening > wiring | views > commands > program > jobs > prompt | acting > conversation"
    " > agent | intake | context | model | action | memory | settings | places > storage > values"
)
DEPTH = {name: depth for depth, row in enumerate(LAYERS.split(" > ")) for name in row.split(" | ")}
# The index works with any store: it reads conversations through `feed.py` only. It writes its files by `storage.files`.
INDEX = "src/aish/memory/finding/"
INDEX_IMPORTS = ("aish.memory.finding", "aish.storage.files", "aish.values")
JOURNAL_SUFFIX = ".jsonl"
LAZY_LOADER = "src/aish/opening.py"  # the only module that may import own modules inside functions
# What reaches disk, clock, network, process or chance. `datetime` may be used: its values are plain data.
IMPURE = re.compile(
    r"(os|sys|time|random|socket|subprocess|asyncio|pathlib|http|urllib|shutil|tempfile|threading)(\.|$)"
)
PRIVATE_STORE = "aish.memory.ledger"  # and every module whose name starts with it
REACHED = re.compile(r"(?<!^self)\.(ledger|_ledger|_pending)$")  # an attribute of `self` is the module's own
MOCKS_PER_1000_LINES, LONG_FUNCTION, LONG_MODULE, SESSION_FIELDS = 3, 60, 500, 16

# Calls and imports that belong to few places: a pattern, the places (a folder ends in a slash), and what to do instead.
ONLY_HERE = (
    (r"^(events\.)?Notice\([^)]", ("src/aish/values/events.py",), "make it with notice(), which gives it a code"),
    (r"^\w*tool\.run\(", ("src/aish/agent/loop.py",), "let the loop run it, which asks for permission first"),
    (
        r"^aish\.action\.(command_runner|sandbox)$",
        ("src/aish/action/", "src/aish/acting/", "src/aish/views/doctor.py"),
        "commands of the model run through acting/gate.py",
    ),
)
MOCK = re.compile(r"^([\w.]*\bmock\.)?patch(\.\w+)?\(|^mocker\.|^[\w.]*Mock\(|^[\w.]+\.setattr\(")
SLEEP = re.compile(r"^([\w.]+\.)?sleep\((?!0\))")  # sleep(0) only lets others run
LOAD = re.compile(r"^(?:importlib\.)?(?:import_module|__import__)\((?:name=)?f?['\"]([\w.]+)")
TOOL_WORDS = re.compile(r"noqa(: *[A-Z]+\d+(, *[A-Z]+\d+)*)?|type: *ignore(\[.*?\])?|pragma: *no cover")
Function = ast.FunctionDef | ast.AsyncFunctionDef


class Module(NamedTuple):
    """A source file: `label` is its path below the root, `layer` its first name inside the package."""

    label: str
    layer: str
    text: str
    tree: ast.Module


class Import(NamedTuple):
    """A module that another one loads, by a statement or, `lazy`, by its name at run time."""

    line: int
    target: str
    in_function: bool
    lazy: bool


class Reading(NamedTuple):
    """A watched number, and the places that explain it; a broken one fails the run."""

    name: str
    value: str
    places: Sequence[str] = ()
    broken: bool = False


def read(root: Path, folder: str) -> list[Module]:
    """Parse every Python file below `folder`."""
    modules = []
    for path in sorted((root / folder).rglob("*.py")):
        text, inside = path.read_text(encoding="utf-8"), path.relative_to(root / folder).with_suffix("")
        tree = ast.parse(text, str(path))
        modules.append(Module(path.relative_to(root).as_posix(), inside.parts[0], text, tree))
    return modules


@functools.cache
def imports(module: Module) -> list[Import]:
    """List all that the module loads, by line, also inside functions and for type checking only."""
    inner = {node for top in ast.walk(module.tree) if isinstance(top, Function) for node in ast.walk(top)}
    return sorted(
        Import(node.lineno, target, node in inner, isinstance(node, ast.Call))
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Import | ast.ImportFrom | ast.Call)
        for target in targets(module, node)
    )


def targets(module: Module, node: ast.Import | ast.ImportFrom | ast.Call) -> set[str]:
    """Name in full the modules that one statement or call loads."""
    match node:
        case ast.Import(names=names):
            return {alias.name for alias in names}
        case ast.ImportFrom(names=names, module=name, level=level):
            folders = module.label.removeprefix("src/").split("/")[:-level] if level else []
            base = ".".join([*folders, name] if name else folders)
            # `from aish import memory` names a layer, `from aish import __version__` does not.
            return {f"aish.{each.name}" if base == "aish" and each.name in DEPTH else base for each in names}
        case ast.Call():
            return set(LOAD.findall(ast.unparse(node)))


def layer_faults(modules: Iterable[Module]) -> Iterator[str]:
    """Find imports that go sideways or up, and modules that are in no layer."""
    for module in modules:
        if module.layer not in DEPTH and module.layer != "__init__":
            yield f"{module.label}:1 is in no layer: {module.layer} is not one"
        for line, target, *_ in imports(module):
            place = f"{module.label}:{line} imports {target}"
            top, layer = f"{target}.".split(".")[:2]
            if top == "aish":
                below = DEPTH.get(layer, 0) > DEPTH.get(module.layer, len(DEPTH))
                if layer not in ("", module.layer) and not below:
                    yield f"{place}: layer {module.layer} may not use layer {layer}"
            elif module.layer == "values" and top not in sys.stdlib_module_names:
                yield f"{place}: layer values may use the standard library only"


def feed_faults(modules: Iterable[Module]) -> Iterator[str]:
    """Find modules of the index that reach past its port, to the journals or to another part of memory."""
    for module in modules:
        if not module.label.startswith(INDEX):
            continue
        for line, target, *_ in imports(module):
            allowed = any(target == name or target.startswith(f"{name}.") for name in INDEX_IMPORTS)
            if target.split(".")[0] == "aish" and not allowed:
                yield f"{module.label}:{line} imports {target}: the index reads conversations through its feed only"
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and JOURNAL_SUFFIX in node.value:
                yield f"{module.label}:{node.lineno} names {JOURNAL_SUFFIX}: the index knows no journal files"


def purity_faults(modules: Iterable[Module]) -> Iterator[str]:
    """Find imports that break the promise of a docstring line that starts with `Pure:`."""
    for module in modules:
        if re.search(r"^Pure:", ast.get_docstring(module.tree) or "", re.MULTILINE):
            for line, target, *_ in imports(module):
                if IMPURE.match(target):
                    yield f"{module.label}:{line} imports {target}: the module says it is pure"


def hidden_imports(modules: Iterable[Module]) -> Iterator[str]:
    """Find own modules imported inside a function outside `LAZY_LOADER`, or loaded by name anywhere."""
    for module in modules:
        for line, target, in_function, lazy in imports(module):
            if target.split(".")[0] != "aish" or (module.layer, target) == ("__main__", "aish.cli"):
                continue
            if lazy:
                yield f"{module.label}:{line} loads {target} by name, so that no tool sees its type"
            elif in_function and module.label != LAZY_LOADER:
                yield f"{module.label}:{line} imports {target} inside a function: only {LAZY_LOADER} may"


def reached_stores(modules: Iterable[Module]) -> Iterator[str]:
    """Find uses of the stores behind `Memory` outside its folder, which skip redaction and purge checks."""
    for module in modules:
        if module.layer == "memory":
            continue
        for line, target, *_ in imports(module):
            if target == PRIVATE_STORE or target.startswith(f"{PRIVATE_STORE}_"):
                yield f"{module.label}:{line} imports {target}: use aish.memory.curation"
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Attribute) and REACHED.search(text := ast.unparse(node)):
                yield f"{module.label}:{node.lineno} uses {text}: ask Memory for what you need"


def misplaced(modules: Iterable[Module]) -> Iterator[str]:
    """Find calls and imports that belong to a few places and stand elsewhere."""
    for module in modules:
        found = [(line, target) for line, target, *_ in imports(module)]
        found += [(node.lineno, ast.unparse(node)) for node in ast.walk(module.tree) if isinstance(node, ast.Call)]
        for pattern, places, instead in ONLY_HERE:
            here = any(module.label.startswith(place) for place in places)
            for line, text in found if not here else []:
                if re.search(pattern, text):
                    yield f"{module.label}:{line} {text.partition('(')[0]} does not belong here: {instead}"


def broad_excepts(modules: Iterable[Module]) -> Iterator[tuple[str, str]]:
    """Find where everything is caught, with the reason at the end of that line, or an empty one."""
    for module in modules:
        tokens = tokenize.generate_tokens(io.StringIO(module.text).readline)
        comments = {token.start[0]: token.string for token in tokens if token.type == tokenize.COMMENT}
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ExceptHandler):
                caught = re.findall(r"\w+", ast.unparse(node.type)) if node.type else ["Exception"]
                if {"Exception", "BaseException"}.intersection(caught):
                    reason = TOOL_WORDS.sub("", comments.get(node.lineno, "")).strip("#:- ")
                    yield f"{module.label}:{node.lineno}", reason


def calls(modules: Iterable[Module], pattern: re.Pattern[str]) -> Iterator[str]:
    """Find calls whose text fits the pattern; words in strings and comments do not count."""
    for module in modules:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Call) and pattern.search(ast.unparse(node)):
                yield f"{module.label}:{node.lineno}"


def functions(modules: Iterable[Module]) -> Iterator[tuple[int, str]]:
    """Find every function, with its number of lines before its place."""
    for module in modules:
        for node in ast.walk(module.tree):
            if isinstance(node, Function):
                yield (node.end_lineno or 0) - node.lineno + 1, f"{module.label}:{node.lineno} {node.name}"


def session_fields(modules: Iterable[Module]) -> int:
    """Count what a conversation carries: state of a turn, a layer or a job belongs to them."""
    classes = (node for module in modules for node in module.tree.body if isinstance(node, ast.ClassDef))
    return sum(isinstance(one, ast.AnnAssign) for node in classes if node.name == "Session" for one in node.body)


def readings(root: Path) -> Iterator[Reading]:
    """Measure the tree below `root`; a tree without sources is broken, so that a wrong root cannot pass."""
    src, tests = read(root, "src/aish"), read(root, "tests")
    sizes = [(module.text.count("\n"), module.label) for module in src]
    test_lines = sum(module.text.count("\n") for module in tests)
    yield Reading("lines of src", f"{sum(size for size, _ in sizes)}", broken=not src)
    yield Reading("lines of tests", f"{test_lines}")
    for name, check in (
        ("layer", layer_faults),
        ("feed", feed_faults),
        ("purity", purity_faults),
        ("hidden import", hidden_imports),
        ("reached store", reached_stores),
        ("misplaced", misplaced),
    ):
        faults = list(check(src))
        yield Reading(f"{name} faults", f"{len(faults)}", faults, bool(faults))
    excepts = [f"{place} {why or 'gives no reason'}" for place, why in broad_excepts(src)]
    yield Reading("broad excepts", f"{len(excepts)}", excepts, not all(why for _, why in broad_excepts(src)))
    mocks, sleeps = list(calls(tests, MOCK)), list(calls(tests, SLEEP))
    rate = 1000 * len(mocks) / max(test_lines, 1)
    yield Reading("mocks per 1,000 test lines", f"{rate:.1f}", mocks, rate >= MOCKS_PER_1000_LINES)
    yield Reading("sleeps in tests", f"{len(sleeps)}", sleeps)
    fields = session_fields(src)
    yield Reading("fields of Session", f"{fields}", broken=fields > SESSION_FIELDS)
    longest, place = max(functions(src), default=(0, ""))
    too_long = [f"{where}: {size} lines are many" for size, where in functions(src) if size > LONG_FUNCTION]
    yield Reading("longest function", f"{longest}", too_long or [place])
    biggest, place = max(sizes, default=(0, ""))
    too_big = [f"{where}: {size} lines are too many" for size, where in sizes if size > LONG_MODULE]
    yield Reading("biggest module", f"{biggest}", too_big or [place], bool(too_big))


if __name__ == "__main__":
    found = list(readings(Path(__file__).resolve().parents[1]))
    for name, value, places, broken in found:
        print(f"{name:<28}{value:>8}{'  BROKEN' if broken else ''}", *places, sep="\n    ")
    sys.exit(any(reading.broken for reading in found))
