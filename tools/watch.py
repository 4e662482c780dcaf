"""Print the watched numbers, and exit 1 when a limit is broken.

The sources are parsed and never imported, so that only the standard library is needed.
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

# Top to bottom. A module may import its own folder and the layers below; layers in one row never import each other.
LAYERS = (
    "__main__ > cli > verbs > opening | doors > wiring | views > adapters > commands > program > jobs > prompt | acting"
    " > conversation > agent | intake | context | model | action | memory | mcp | settings | places > storage > values"
)
DEPTH = {name: depth for depth, row in enumerate(LAYERS.split(" > ")) for name in row.split(" | ")}
# The index works with any store: it reads conversations only through `feed.py`, and writes files with `storage.files`.
INDEX = "src/aish/memory/finding/"
INDEX_IMPORTS = ("aish.memory.finding", "aish.storage.files", "aish.values")
JOURNAL_SUFFIX = ".jsonl"
ENTRY_IMPORTS = (
    "aish.cli",
    "aish.views.as_shell",
    "aish.views.held_signals",
)  # `__main__` loads them inside its function, to start fast
LAZY_LOADERS = (
    "src/aish/opening.py",
    "src/aish/doors.py",
    "src/aish/verbs.py",
    "src/aish/adapters.py",
)  # import own modules inside functions
# Modules that reach disk, clock, network, processes or randomness. `datetime` is allowed: its values are plain data.
IMPURE = re.compile(
    r"(os|sys|time|random|socket|subprocess|asyncio|pathlib|http|urllib|shutil|tempfile|threading|secrets|uuid|ssl|fcntl"
    r"|select|selectors|signal|glob|mmap|pty|tty|termios|sqlite3|ctypes|multiprocessing|concurrent)(\.|$)"
)
IMPURE_CALL = re.compile(r"open|input|print|([\w.]+\.)?(now|utcnow|today)")
PRIVATE_STORE = re.compile(r"aish\.memory\.(log_)?ledger(_\w+)?")
REACHED = re.compile(r"(?<!^self)\.(ledger|_ledger|_pending)$")  # an attribute of `self` belongs to the module
MOCKS_PER_1000_LINES, LONG_FUNCTION, LONG_MODULE, SESSION_FIELDS = 3, 60, 500, 16

# Calls and imports that are allowed only in some places: a pattern, the places (a folder ends in a slash), and what to
# do instead.
ONLY_HERE = (
    (r"^([\w.]+\.)?Notice\([^)]", ("src/aish/values/events.py",), "make it with notice(), which gives it a code"),
    (
        r"(?i)^[\w.]*tool(s\[[^]]*\])?\.run\(",
        ("src/aish/agent/loop.py",),
        "let the loop run it, which asks for permission first",
    ),
    (
        r"^aish\.action\.(command_runner|fence\..*)$",
        ("src/aish/action/", "src/aish/acting/", "src/aish/views/doctor.py"),
        "commands of the model run through acting/gate.py",
    ),
)
MOCK = re.compile(r"^([\w.]*\bmock\.)?patch(\.\w+)?\(|^mocker\.|^[\w.]*Mock\(|^[\w.]+\.setattr\(")
SLEEP = re.compile(r"^([\w.]+\.)?sleep\((?!0\))")  # sleep(0) only yields to other tasks
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
    """An import: by a statement, or, if `lazy`, by name at run time."""

    line: int
    target: str
    in_function: bool
    lazy: bool


class Reading(NamedTuple):
    """A watched number, and the places that explain it; a broken reading fails the run."""

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
    """List all imports by line, including those inside functions and for type checking."""
    inner = {node for top in ast.walk(module.tree) if isinstance(top, Function) for node in ast.walk(top)}
    return sorted(
        Import(node.lineno, target, node in inner, isinstance(node, ast.Call))
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Import | ast.ImportFrom | ast.Call)
        for target in targets(module, node)
    )


def targets(module: Module, node: ast.Import | ast.ImportFrom | ast.Call) -> set[str]:
    """Return the full names of the modules that one statement or call loads."""
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


def names(module: Module) -> Iterator[tuple[int, str]]:
    """Yield what is imported, by line: `from aish.action import sandbox` names `aish.action.sandbox` too."""
    for line, target, *_ in imports(module):
        yield line, target
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ImportFrom):
            for base in targets(module, node):
                yield from ((node.lineno, f"{base}.{each.name}") for each in node.names)


def layer_faults(modules: Iterable[Module]) -> Iterator[str]:
    """Find imports of a layer beside or above, and modules that are in no layer."""
    for module in modules:
        if module.layer not in DEPTH and module.layer != "__init__":
            yield f"{module.label}:1 is in no layer: add {module.layer} to LAYERS"
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
    """Find modules of the index that import journals or other parts of memory instead of using the feed."""
    for module in modules:
        if not module.label.startswith(INDEX):
            continue
        for line, target, *_ in imports(module):
            allowed = any(target == name or target.startswith(f"{name}.") for name in INDEX_IMPORTS)
            if target.split(".")[0] == "aish" and not allowed:
                yield f"{module.label}:{line} imports {target}: the index reads conversations through its feed only"
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and JOURNAL_SUFFIX in node.value:
                yield f"{module.label}:{node.lineno} names {JOURNAL_SUFFIX}: the index must not read journal files"


def purity_faults(modules: Iterable[Module]) -> Iterator[str]:
    """Find impure imports and calls in modules whose docstring has a line that starts with `Pure:`."""
    for module in modules:
        if re.search(r"^Pure:", ast.get_docstring(module.tree) or "", re.MULTILINE):
            for line, target, *_ in imports(module):
                if IMPURE.match(target):
                    yield f"{module.label}:{line} imports {target}: the module's docstring says it is pure"
            for node in ast.walk(module.tree):
                if isinstance(node, ast.Call) and IMPURE_CALL.fullmatch(called := ast.unparse(node.func)):
                    yield f"{module.label}:{node.lineno} calls {called}(): the module's docstring says it is pure"


def hidden_imports(modules: Iterable[Module]) -> Iterator[str]:
    """Find own modules imported inside a function outside `LAZY_LOADERS`, or loaded by name anywhere."""
    for module in modules:
        for line, target, in_function, lazy in imports(module):
            if target.split(".")[0] != "aish" or (module.layer == "__main__" and target in ENTRY_IMPORTS):
                continue
            if lazy:
                yield f"{module.label}:{line} loads {target} by name, so that no tool sees its type"
            elif in_function and module.label not in LAZY_LOADERS:
                yield f"{module.label}:{line} imports {target} inside a function: only opening.py and verbs.py may"


def reached_stores(modules: Iterable[Module]) -> Iterator[str]:
    """Find uses of the stores behind `Memory` outside its folder; they would skip redaction and purge checks."""
    for module in modules:
        if module.layer == "memory":
            continue
        for line, target in names(module):
            if PRIVATE_STORE.fullmatch(target):
                yield f"{module.label}:{line} imports {target}: use aish.memory.curation"
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Attribute) and REACHED.search(text := ast.unparse(node)):
                yield f"{module.label}:{node.lineno} uses {text}: ask Memory for what you need"


def misplaced(modules: Iterable[Module]) -> Iterator[str]:
    """Find calls and imports that are allowed only in some other places."""
    for module in modules:
        found = list(names(module))
        found += [(node.lineno, ast.unparse(node)) for node in ast.walk(module.tree) if isinstance(node, ast.Call)]
        for pattern, places, instead in ONLY_HERE:
            here = any(module.label.startswith(place) for place in places)
            for line, text in found if not here else []:
                if re.search(pattern, text):
                    yield f"{module.label}:{line} {text.partition('(')[0]} is not allowed here: {instead}"


def shared_names(modules: Iterable[Module]) -> Iterator[str]:
    """Find public classes whose name another class has: a search for the name would find both."""
    first: dict[str, str] = {}
    for module in modules:
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                place = f"{module.label}:{node.lineno}"
                if node.name in first:
                    yield f"{place} {node.name} is also a class in {first[node.name]}"
                first.setdefault(node.name, place)


def broad_excepts(modules: Iterable[Module]) -> Iterator[tuple[str, str]]:
    """Find handlers that catch everything, with the reason from the comment on that line, or an empty one."""
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
    """Find calls that match the pattern; strings and comments do not count."""
    for module in modules:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Call) and pattern.search(ast.unparse(node)):
                yield f"{module.label}:{node.lineno}"


def functions(modules: Iterable[Module]) -> Iterator[tuple[int, str]]:
    """Yield every function: its number of lines, and its place."""
    for module in modules:
        for node in ast.walk(module.tree):
            if isinstance(node, Function):
                yield (node.end_lineno or 0) - node.lineno + 1, f"{module.label}:{node.lineno} {node.name}"


def session_fields(modules: Iterable[Module]) -> int:
    """Count the fields of `Session`. State of a turn, a layer or a job belongs there instead."""
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
        ("shared name", shared_names),
    ):
        faults = list(check(src))
        yield Reading(f"{name} faults", f"{len(faults)}", faults, bool(faults))
    excepts = [f"{place} {why or 'no reason given'}" for place, why in broad_excepts(src)]
    yield Reading("broad excepts", f"{len(excepts)}", excepts, not all(why for _, why in broad_excepts(src)))
    mocks, sleeps = list(calls(tests, MOCK)), list(calls(tests, SLEEP))
    rate = 1000 * len(mocks) / max(test_lines, 1)
    yield Reading("mocks per 1,000 test lines", f"{rate:.1f}", mocks, rate >= MOCKS_PER_1000_LINES)
    yield Reading("sleeps in tests", f"{len(sleeps)}", sleeps)
    fields = session_fields(src)
    yield Reading("fields of Session", f"{fields}", broken=fields > SESSION_FIELDS)
    longest, place = max(functions(src), default=(0, ""))
    too_long = [
        f"{where}: {size} lines, more than {LONG_FUNCTION}" for size, where in functions(src) if size > LONG_FUNCTION
    ]
    yield Reading("longest function", f"{longest}", too_long or [place])
    biggest, place = max(sizes, default=(0, ""))
    too_big = [f"{where}: {size} lines, more than {LONG_MODULE}" for size, where in sizes if size > LONG_MODULE]
    yield Reading("biggest module", f"{biggest}", too_big or [place], bool(too_big))


if __name__ == "__main__":
    found = list(readings(Path(__file__).resolve().parents[1]))
    for name, value, places, broken in found:
        print(f"{name:<28}{value:>8}{'  BROKEN' if broken else ''}", *places, sep="\n    ")
    sys.exit(any(reading.broken for reading in found))
