"""What is loaded before the prompt appears: start-up stays fast by structure, not by luck."""

import json
import subprocess
import sys

import pytest

HEAVY = {"prompt_toolkit", "rich", "httpx", "xllamacpp", "numpy", "sqlite3", "pygments", "email", "http.client"}


def loaded_by(code: str) -> set[str]:
    """The modules in a fresh Python after `code`."""
    report = "import json, sys; print(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{report}"], capture_output=True, text=True, timeout=30, check=True
    )
    return set(json.loads(done.stderr))


def ours(modules: set[str]) -> set[str]:
    return {name for name in modules if name.partition(".")[0] == "aish"}


@pytest.mark.parametrize("option", ["--version", "-V"])
def test_the_version_is_told_without_loading_the_program(option: str) -> None:
    """It is asked for by scripts and package managers, and costs no more than Python itself."""
    loaded = loaded_by(f"import sys; sys.argv = ['aish', {option!r}]; from aish.__main__ import main; main()")

    assert ours(loaded) == {"aish", "aish.__main__"}


def test_ctrl_c_while_the_program_is_loaded_ends_it_without_a_traceback() -> None:
    """It was met by Python, which told in which of our lines it had been."""
    press = "import os, signal, sys\nclass Press:\n    def find_spec(name, *_):\n"
    press += "        if name == 'aish.cli':\n            os.kill(os.getpid(), signal.SIGINT)\n"
    code = f"{press}sys.meta_path.insert(0, Press)\nfrom aish.__main__ import main\nsys.exit(main())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=False)

    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@pytest.mark.parametrize("module", ["aish.cli", "aish.wiring", "aish.views.repl", "aish.views.one_shot"])
def test_nothing_heavy_is_loaded_before_it_is_needed(module: str) -> None:
    """The editor comes after the prompt is on the screen, the embedded model after its first use."""
    loaded = loaded_by(f"import {module}")

    assert module in loaded
    assert loaded & HEAVY == set()


def test_the_command_line_loads_no_model_no_store_and_no_view_before_it_knows_which() -> None:
    """Settings are read and the prompt is written first; the rest of the program follows."""
    loaded = ours(loaded_by("import aish.cli"))

    packages = {name.split(".")[1] for name in loaded if "." in name}
    assert packages == {"cli", "places", "settings", "values", "views"}
    assert {name for name in loaded if name.startswith("aish.views.")} == {
        "aish.views.crash",
        "aish.views.exit_codes",
        "aish.views.prompt",
        "aish.views.screen",
        "aish.views.table",
        "aish.views.themes",
    }


def test_no_loop_is_loaded_before_the_prompt_and_none_to_look_something_up() -> None:
    """It brings a tenth of the start with it, and who only searches asks no model."""
    assert "asyncio" not in loaded_by("import aish.cli")
    searched = loaded_by("import aish.opening, aish.views.search, aish.memory.finding.finder")
    assert "asyncio" not in searched
    assert {name for name in ours(searched) if name.startswith(("aish.model.", "aish.context", "aish.intake"))} == {
        "aish.model.weights"
    }
