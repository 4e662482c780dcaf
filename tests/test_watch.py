"""The watched numbers: each check fails on the smallest tree that breaks it."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[1] / "tools" / "watch.py"


def load(path: Path) -> ModuleType:
    """Import a script that belongs to no package."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


watch = load(SCRIPT)


def plant(root: Path, name: str, text: str) -> None:
    """Write a module of the package below `root`."""
    path = root / "src" / "aish" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def layer_faults(root: Path) -> list[str]:
    return list(watch.layer_faults(watch.read(root, "src/aish")))


def hidden_imports(root: Path) -> list[str]:
    return list(watch.hidden_imports(watch.read(root, "src/aish")))


def broken(root: Path) -> list[str]:
    """Return the names of the broken readings."""
    return [reading.name for reading in watch.readings(root) if reading.broken]


def test_a_layer_in_the_same_row_may_not_be_imported(tmp_path: Path) -> None:
    """Steps of a turn that import each other can no longer be changed alone."""
    plant(tmp_path, "memory/recall.py", "import json\n\nfrom aish.model.port import Model\n")

    assert layer_faults(tmp_path) == [
        "src/aish/memory/recall.py:3 imports aish.model.port: layer memory may not use layer model"
    ]
    assert broken(tmp_path) == ["layer faults"]


def test_a_single_file_in_the_same_row_may_not_be_imported(tmp_path: Path) -> None:
    """`wiring.py` and the folder `views` are in one row although one of them is a file."""
    plant(tmp_path, "wiring.py", "import aish.views.repl\n")

    assert layer_faults(tmp_path) == [
        "src/aish/wiring.py:1 imports aish.views.repl: layer wiring may not use layer views"
    ]


@pytest.mark.parametrize(
    "statement",
    [
        "import aish.cli",
        "from aish import cli",
        "from aish.cli import main",
        "from .. import cli",
        "from ..cli import main",
        "import importlib\nimportlib.import_module('aish.cli')",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from aish.cli import main",
    ],
)
def test_an_upward_import_is_caught_however_it_is_spelled(tmp_path: Path, statement: str) -> None:
    """A rule that another spelling avoids is useless."""
    plant(tmp_path, "values/turn.py", statement + "\n")

    [fault] = layer_faults(tmp_path)
    assert fault.endswith("imports aish.cli: layer values may not use layer cli")


def test_layers_below_the_own_folder_and_the_bare_package_may_be_imported(tmp_path: Path) -> None:
    """The contract forbids two directions only; everything else must pass."""
    plant(tmp_path, "cli.py", "from aish import views, wiring\n")
    plant(tmp_path, "memory/ledger.py", "from aish import __version__\nfrom aish.memory.lines import Line\n")
    plant(tmp_path, "memory/lines.py", "from aish.storage.append import append\nfrom . import ledger\n")
    plant(tmp_path, "storage/append.py", "from aish.values.turn import Turn\nimport msgspec\n")

    assert layer_faults(tmp_path) == []
    assert broken(tmp_path) == []


def test_a_folder_that_is_in_no_layer_is_a_fault(tmp_path: Path) -> None:
    """A new folder needs a layer, or no rule would apply to it."""
    plant(tmp_path, "extras/odds.py", "")

    assert layer_faults(tmp_path) == ["src/aish/extras/odds.py:1 is in no layer: add extras to LAYERS"]


def test_values_use_the_standard_library_only(tmp_path: Path) -> None:
    """Everything imports values, so everything pays for their imports."""
    plant(tmp_path, "values/turn.py", "import json\n\nimport msgspec\n")

    assert layer_faults(tmp_path) == [
        "src/aish/values/turn.py:3 imports msgspec: layer values may use the standard library only"
    ]


@pytest.mark.parametrize(
    "statement",
    [
        "from aish.memory.journal import Journal",
        "from aish.memory import journal",
        "from .. import journal",
        "from ..journal_feed import JournalFeed",
        "from aish.storage.lines import LineFile",
        "from aish.storage import lines",
        "path = sessions / f'{name}.jsonl'",
    ],
)
def test_the_index_may_not_reach_past_its_feed(tmp_path: Path, statement: str) -> None:
    """An index that reads journal files cannot work with another store."""
    plant(tmp_path, "memory/finding/snapshot.py", f"{statement}\n")

    [fault] = watch.feed_faults(watch.read(tmp_path, "src/aish"))
    assert fault.startswith("src/aish/memory/finding/snapshot.py:1 ")
    assert broken(tmp_path) == ["feed faults"]


def test_the_index_may_use_its_own_modules_values_and_files(tmp_path: Path) -> None:
    """The rule applies to the index only: an adapter may use its store."""
    allowed = "from aish.memory.finding.feed import Feed\nfrom . import feed\nfrom aish.values.turns import Turn\n"
    plant(tmp_path, "memory/finding/columns.py", f"{allowed}from aish.storage.files import write_at\nimport numpy\n")
    plant(tmp_path, "memory/journal_feed.py", "from aish.memory.journal import Journal\nsuffix = '.jsonl'\n")

    assert list(watch.feed_faults(watch.read(tmp_path, "src/aish"))) == []


@pytest.mark.parametrize(
    "statement",
    [
        "import os",
        "from os import path",
        "import urllib.request as web",
        "import secrets",
        "text = open(path).read()",
        "noon = datetime.now(UTC)",
        "day = datetime.date.today()",
    ],
)
def test_a_module_that_says_it_is_pure_may_not_reach_the_machine(tmp_path: Path, statement: str) -> None:
    """The docstring is a promise to the reader, so it is checked."""
    plant(tmp_path, "action/policy.py", f'"""Rules.\n\nPure: text in, verdict out.\n"""\n\n{statement}\n')

    [fault] = watch.purity_faults(watch.read(tmp_path, "src/aish"))
    assert fault.startswith(("src/aish/action/policy.py:6 imports ", "src/aish/action/policy.py:6 calls "))
    assert broken(tmp_path) == ["purity faults"]


def test_dates_in_a_pure_module_and_the_machine_in_another_are_fine(tmp_path: Path) -> None:
    """A date is a plain value, and only a docstring line that starts with the word counts."""
    plant(tmp_path, "action/policy.py", '"""Pure: rules."""\n\nimport datetime\n')
    plant(tmp_path, "action/run.py", '"""Runs a command; not Pure: it starts a process."""\n\nimport os\n')

    assert list(watch.purity_faults(watch.read(tmp_path, "src/aish"))) == []


def test_an_own_import_inside_a_function_is_caught(tmp_path: Path) -> None:
    """It hides a boundary in the wrong place; third-party modules may be loaded late."""
    plant(tmp_path, "cli.py", "def main() -> None:\n    import rich\n    from aish.wiring import build\n")

    assert hidden_imports(tmp_path) == [
        "src/aish/cli.py:3 imports aish.wiring inside a function: only opening.py and verbs.py may"
    ]
    assert broken(tmp_path) == ["hidden import faults"]


def test_an_import_inside_a_method_is_caught(tmp_path: Path) -> None:
    """Nesting must not hide it."""
    plant(
        tmp_path,
        "cli.py",
        "class A:\n    async def b(self):\n        if 1:\n            import aish.wiring\n",
    )

    assert hidden_imports(tmp_path) == [
        "src/aish/cli.py:4 imports aish.wiring inside a function: only opening.py and verbs.py may"
    ]


def test_only_the_entry_point_may_import_the_command_line_late(tmp_path: Path) -> None:
    """`--version` answers before anything is loaded; no other module may do this."""
    late = "def main():\n    from aish.cli import main\n    from aish.wiring import build\n"
    plant(tmp_path, "__main__.py", late)

    assert hidden_imports(tmp_path) == [
        "src/aish/__main__.py:3 imports aish.wiring inside a function: only opening.py and verbs.py may"
    ]


@pytest.mark.parametrize(
    ("statement", "fault"),
    [
        ("from aish.memory.ledger import Ledger", "imports aish.memory.ledger: use aish.memory.curation"),
        ("from aish.memory.ledger_state import State", "imports aish.memory.ledger_state: use aish.memory.curation"),
        ("from aish.memory import ledger", "imports aish.memory.ledger: use aish.memory.curation"),
        ("from ..memory import ledger_state", "imports aish.memory.ledger_state: use aish.memory.curation"),
        ("import aish.memory.log_ledger", "imports aish.memory.log_ledger: use aish.memory.curation"),
        ("memory.ledger.add('fact', 'x')", "uses memory.ledger: ask Memory for what you need"),
        ("program.memory._ledger", "uses program.memory._ledger: ask Memory for what you need"),
        ("memory._pending.items()", "uses memory._pending: ask Memory for what you need"),
    ],
)
def test_only_memory_itself_uses_its_stores(tmp_path: Path, statement: str, fault: str) -> None:
    """Direct writes to the ledger skip redaction and the check for purged text."""
    plant(tmp_path, "views/doctor.py", statement + "\n")
    plant(tmp_path, "memory/curation.py", statement + "\n")
    modules = watch.read(tmp_path, "src/aish")

    assert list(watch.reached_stores(modules)) == [f"src/aish/views/doctor.py:1 {fault}"]
    assert broken(tmp_path) == ["reached store faults"]


def test_one_module_may_import_own_modules_inside_functions(tmp_path: Path) -> None:
    """One place decides what is loaded when; elsewhere such an import is easily overlooked."""
    text = "def load():\n    from aish.memory.curation import Memory\n    return Memory\n"
    plant(tmp_path, "opening.py", text)
    plant(tmp_path, "conversation/turn.py", text)

    [fault] = hidden_imports(tmp_path)
    assert fault.startswith("src/aish/conversation/turn.py:2 imports aish.memory.curation inside a function")


def test_an_import_inside_a_function_keeps_to_the_layers(tmp_path: Path) -> None:
    """The module that loads late may not reach up either."""
    plant(tmp_path, "opening.py", "def load():\n    from aish.cli import run\n    return run\n")

    assert layer_faults(tmp_path) == ["src/aish/opening.py:2 imports aish.cli: layer opening may not use layer cli"]


@pytest.mark.parametrize("name", ["'aish.memory.curation'", "f'aish.memory.{kind}'"])
@pytest.mark.parametrize("module", ["opening.py", "cli.py", "conversation/turn.py"])
def test_own_modules_are_never_loaded_by_name(tmp_path: Path, module: str, name: str) -> None:
    """The type checker cannot see what such a call returns."""
    plant(tmp_path, module, f"import importlib\n\ndef load(kind):\n    return importlib.import_module({name})\n")

    [fault] = hidden_imports(tmp_path)
    assert fault.startswith(f"src/aish/{module}:4 loads aish.memory.")
    assert broken(tmp_path) == ["hidden import faults"]


@pytest.mark.parametrize("clause", ["except:", "except Exception:", "except (ValueError, BaseException) as error:"])
@pytest.mark.parametrize("comment", ["", "  # noqa: BLE001", "  # type: ignore[misc]"])
def test_a_broad_except_without_a_reason_is_caught(tmp_path: Path, clause: str, comment: str) -> None:
    """A blind except hides mistakes; a comment for another tool is not a reason."""
    plant(tmp_path, "cli.py", f"try:\n    pass\n{clause}{comment}\n    pass\n")

    assert list(watch.broad_excepts(watch.read(tmp_path, "src/aish"))) == [("src/aish/cli.py:3", "")]
    assert broken(tmp_path) == ["broad excepts"]


def test_a_broad_except_with_a_reason_is_listed_and_passes(tmp_path: Path) -> None:
    """The outermost loop may catch everything if it gives a reason."""
    plant(
        tmp_path,
        "cli.py",
        "try:\n    pass\nexcept Exception:  # noqa: BLE001 - the prompt must come back\n    pass\n",
    )

    [reading] = [each for each in watch.readings(tmp_path) if each.name == "broad excepts"]
    assert reading.places == ["src/aish/cli.py:3 the prompt must come back"]
    assert not reading.broken


def test_a_named_except_is_not_broad(tmp_path: Path) -> None:
    """The name of our own error may end in `Exception`."""
    plant(tmp_path, "cli.py", "try:\n    pass\nexcept (OSError, StoreException):\n    pass\n")

    assert list(watch.broad_excepts(watch.read(tmp_path, "src/aish"))) == []


@pytest.mark.parametrize(
    ("name", "text", "instead"),
    [
        ("conversation/a.py", "Notice('hello')\n", "make it with notice()"),
        ("jobs/a.py", "events.Notice(text, True)\n", "make it with notice()"),
        ("acting/a.py", "async def f():\n    async for one in tool.run(call, turn): ...\n", "asks for permission"),
        ("jobs/b.py", "values.events.Notice(text)\n", "make it with notice()"),
        ("acting/b.py", "self.tool.run(call, turn)\n", "asks for permission"),
        ("acting/c.py", "tools['add'].run(call, turn)\n", "asks for permission"),
        ("acting/d.py", "ADD_TOOL.run(call, turn)\n", "asks for permission"),
        ("views/b.py", "from aish.action import command_runner\n", "acting/gate.py"),
        ("views/c.py", "from ..action.fence import fence\n", "acting/gate.py"),
        ("views/a.py", "from aish.action.command_runner import run_command\n", "acting/gate.py"),
        ("commands/a.py", "import aish.action.fence.fence\n", "acting/gate.py"),
    ],
)
def test_calls_and_imports_in_forbidden_places_are_found(tmp_path: Path, name: str, text: str, instead: str) -> None:
    """Each of these would bypass a message code, a permission or the fence."""
    plant(tmp_path, name, text)

    [fault] = watch.misplaced(watch.read(tmp_path, "src/aish"))
    assert instead in fault
    assert "misplaced faults" in broken(tmp_path)


def test_the_places_themselves_and_patterns_are_no_faults(tmp_path: Path) -> None:
    """A `match` only reads a notice, and the gate is where commands run."""
    plant(tmp_path, "values/events.py", "Notice(text, warning, code, fields)\n")
    plant(tmp_path, "views/a.py", "match event:\n    case Notice(text): ...\n    case Notice(): ...\n")
    plant(tmp_path, "acting/gate_setup.py", "from aish.action.sandbox import wrap\n")
    plant(tmp_path, "agent/loop.py", "tool.run(call, context)\n")

    assert list(watch.misplaced(watch.read(tmp_path, "src/aish"))) == []


def test_two_public_classes_may_not_share_a_name(tmp_path: Path) -> None:
    """A newcomer who searches for a class must find one. Private names are looked up in their own module."""
    plant(tmp_path, "memory/found.py", "class Found: ...\n\n\nclass _Row: ...\n")
    plant(tmp_path, "views/found.py", "class _Row: ...\n\n\nclass Found: ...\n")

    assert list(watch.shared_names(watch.read(tmp_path, "src/aish"))) == [
        "src/aish/views/found.py:4 Found is also a class in src/aish/memory/found.py:1"
    ]
    assert broken(tmp_path) == ["shared name faults"]


def test_too_many_session_fields_fail(tmp_path: Path) -> None:
    """State of a turn, a layer or a job is not a field of the conversation."""
    fields = "".join(f"    f{number}: int\n" for number in range(watch.SESSION_FIELDS))
    plant(tmp_path, "conversation/session.py", f"class Session:\n{fields}")
    assert broken(tmp_path) == []

    plant(tmp_path, "conversation/session.py", f"class Session:\n{fields}    one_more: int\n")
    assert broken(tmp_path) == ["fields of Session"]


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("agent/loop.py", "aish.conversation.session"),
        ("conversation/turn.py", "aish.prompt.table"),
        ("conversation/turn.py", "aish.acting.gate"),
        ("prompt/base.py", "aish.acting.table"),
        ("acting/gate.py", "aish.views.screen"),
        ("jobs/summary.py", "aish.commands.shell"),
    ],
)
def test_layers_in_the_middle_do_not_import_each_other(tmp_path: Path, name: str, target: str) -> None:
    """The loop does not import conversations, conversations do not import layers or tools, and none imports views."""
    plant(tmp_path, name, f"import {target}\n")

    assert broken(tmp_path) == ["layer faults"]


def test_mocks_are_counted_as_calls_and_gated_by_rate(tmp_path: Path) -> None:
    """Words in strings do not count; three in a thousand lines are too many."""
    plant(tmp_path, "cli.py", "")
    tests = tmp_path / "tests" / "test_cli.py"
    tests.parent.mkdir()
    three = "patch('a.b')\nmock.patch.object(a, 'b')\nMagicMock()\n"
    quiet = "client.patch('/item')\nMockTransport()\n'Mock()'\n"

    tests.write_text(three + quiet + "\n" * 994, encoding="utf-8")
    assert broken(tmp_path) == ["mocks per 1,000 test lines"]

    tests.write_text(three + quiet + "\n" * 995, encoding="utf-8")
    assert broken(tmp_path) == []


def test_sleeps_in_tests_are_counted(tmp_path: Path) -> None:
    """A test that sleeps is slow, and fails under load; `sleep(0)` is not waiting."""
    plant(tmp_path, "cli.py", "")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_cli.py").write_text("time.sleep(1)\nasyncio.sleep(0)\n", encoding="utf-8")

    [reading] = [each for each in watch.readings(tmp_path) if each.name == "sleeps in tests"]
    assert reading.places == ["tests/test_cli.py:1"]


def test_a_module_over_five_hundred_lines_fails_and_a_long_function_only_warns(tmp_path: Path) -> None:
    """Such a module usually has two subjects; a long function may be one match with many cases."""
    plant(tmp_path, "cli.py", "def main():\n" + "    pass\n" * 499)
    [function] = [each for each in watch.readings(tmp_path) if each.name == "longest function"]
    assert (function.value, function.places) == ("500", ["src/aish/cli.py:1 main: 500 lines, more than 60"])
    assert broken(tmp_path) == []

    plant(tmp_path, "cli.py", "\n" * 501)
    assert broken(tmp_path) == ["biggest module"]


def test_a_tree_without_sources_fails(tmp_path: Path) -> None:
    """Otherwise a check of the wrong directory would always pass."""
    assert broken(tmp_path) == ["lines of src"]


def test_the_script_exits_1_on_a_broken_gate_and_0_otherwise(tmp_path: Path) -> None:
    """The makefile only looks at the exit code."""
    (tmp_path / "tools").mkdir()
    script = tmp_path / "tools" / "watch.py"
    script.write_text(SCRIPT.read_text(encoding="utf-8"), encoding="utf-8")

    def run() -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)

    plant(tmp_path, "cli.py", "import aish.wiring\n")
    assert run().returncode == 0

    plant(tmp_path, "wiring.py", "import aish.cli\n")
    done = run()
    assert done.returncode == 1
    assert "src/aish/wiring.py:1 imports aish.cli: layer wiring may not use layer cli" in done.stdout
