"""The modules that are loaded before the prompt appears: start-up stays fast by structure."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from aish.opening import open_library, open_program
from aish.verbs import VERBS

HEAVY = {"prompt_toolkit", "rich", "httpx", "xllamacpp", "numpy", "sqlite3", "pygments", "email", "http.client"}
HEAVY |= {"mcp", "mcp_types", "pydantic", "anyio", "httpx2", "jsonschema", "uvicorn"}  # of MCP servers

# What the standard library would cost a verb or a question that does not need it. asyncio is not among them: a question
# needs it, and nothing can be left out of it.
COSTLY = {"argparse", "gettext", "locale", "dataclasses", "tomllib", "queue", "concurrent.futures.thread", "shutil"}
COSTLY |= {"difflib", "tempfile", "uuid", "decimal", "calendar", "hashlib", "random", "platform", "ctypes"}

SUB_AGENTS = {"aish.acting.sub_agents", "aish.acting.sub_agent_run", "aish.conversation.agent_files"}
SUB_AGENTS |= {"aish.conversation.agent_definition", "aish.prompt.agent", "aish.values.front_matter"}


def loaded_by(code: str) -> set[str]:
    """Return the modules in a fresh Python after `code`."""
    report = "import json, sys; print(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{report}"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    return set(json.loads(done.stderr.splitlines()[-1]))


def ours(modules: set[str]) -> set[str]:
    return {name for name in modules if name.partition(".")[0] == "aish"}


@pytest.mark.parametrize("option", ["--version", "-V"])
def test_the_version_is_printed_without_loading_the_program(option: str) -> None:
    """Scripts and package managers ask for it, and it takes no longer than Python itself."""
    loaded = loaded_by(f"import sys; sys.argv = ['aish', {option!r}]; from aish.__main__ import main; main()")

    assert ours(loaded) == {"aish", "aish.__main__"}


def test_ctrl_c_while_the_program_is_loaded_ends_it_without_a_traceback() -> None:
    """Python used to print a traceback."""
    press = "import os, signal, sys\nclass Press:\n    def find_spec(name, *_):\n"
    press += "        if name == 'aish.cli':\n            os.kill(os.getpid(), signal.SIGINT)\n"
    code = f"{press}sys.meta_path.insert(0, Press)\nfrom aish.__main__ import main\nsys.exit(main())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=False)

    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@pytest.mark.parametrize("module", ["aish.cli", "aish.wiring", "aish.views.repl", "aish.views.one_shot"])
def test_nothing_heavy_is_loaded_before_it_is_needed(module: str) -> None:
    """The editor is loaded after the prompt is shown, the embedded model at its first use."""
    loaded = loaded_by(f"import {module}")

    assert module in loaded
    assert loaded & HEAVY == set()


def test_sub_agents_are_loaded_by_the_first_question_to_a_model_with_tools() -> None:
    """Most conversations with the embedded model never need them."""
    loaded = ours(loaded_by("import aish.views.repl, aish.wiring, aish.commands.agents"))

    assert loaded & SUB_AGENTS == set()


def test_the_command_line_loads_no_model_no_store_and_no_view_before_it_knows_which() -> None:
    """Settings are read and the prompt is shown first; the rest of the program follows."""
    loaded = ours(loaded_by("import aish.cli"))

    packages = {name.split(".")[1] for name in loaded if "." in name}
    assert packages == {"cli", "doors", "opening", "places", "settings", "values", "verbs", "views"}
    assert {name for name in loaded if name.startswith("aish.views.")} == {
        "aish.views.arguments",
        "aish.views.exit_codes",
        "aish.views.screen",
        "aish.views.start",
        "aish.views.table",
        "aish.views.themes",
    }


def test_nothing_that_acts_or_answers_is_loaded_before_the_first_prompt(tmp_path: Path) -> None:
    """Tools, the gate, fences, MCP servers, models and conversations come while the user reads the prompt.

    This is what the shell does until the prompt is on the screen. A new package fails here until it is known to be
    small.
    """
    shown = "start.settings.view.prompt, start.settings.model, start.cwd, 80"
    code = f"import os; os.environ['AISH_HOME'] = {str(tmp_path)!r}\nfrom aish import cli, doors\n"
    loaded = loaded_by(f"{code}start = cli._load_start([])\nassert doors.first_prompt({shown})")

    packages = {name.split(".")[1] for name in ours(loaded) if "." in name}
    assert packages == {"cli", "doors", "opening", "places", "settings", "storage", "values", "verbs", "views"}
    assert not loaded & (HEAVY | {"asyncio", "subprocess"})


def test_a_server_that_was_found_costs_little_at_the_start(tmp_path: Path) -> None:
    """Its record is read before the prompt, with what is loaded anyway, and a small module that looks whose it is."""
    record = tmp_path / "state" / "machine.json"
    record.parent.mkdir()
    found = {"name": "ollama", "title": "Ollama", "endpoint": "http://127.0.0.1:1/v1", "model": "m", "kind": "openai"}
    record.write_text(json.dumps(found), encoding="utf-8")
    code = f"import os; os.environ['AISH_HOME'] = {str(tmp_path)!r}\nfrom aish import cli, doors\nimport json\n"
    without = loaded_by(f"{code}os.environ['AISH_SET_MODEL'] = 'embedded'\ncli._load_start([])")

    loaded = loaded_by(f"{code}assert cli._load_start([]).settings.model == 'ollama'")
    assert loaded - without == {"aish.storage", "aish.storage.port_owner"}


def test_the_first_screen_of_an_account_loads_nothing_heavy(tmp_path: Path) -> None:
    """A new user waits no longer for the first prompt, and nothing is asked over a network."""
    code = f"import os; os.environ['AISH_HOME'] = {str(tmp_path)!r}\nfrom aish import cli, doors\n"
    loaded = loaded_by(f"{code}assert 'Three things' in doors.first_screen(cli._load_start([]), 80)")

    assert not loaded & (HEAVY | {"asyncio", "subprocess", "socket", "ssl"})
    assert {name for name in loaded if name.startswith("aish.model.")} == {"aish.model.machine", "aish.model.weights"}
    assert "aish.views.default_model" not in loaded  # a model is looked for after the prompt


def test_looking_for_a_model_loads_nothing_heavy() -> None:
    """It begins while the first line is typed. Downloads, unpacking and engines are in processes of their own."""
    loaded = loaded_by("import aish.views.default_model")

    assert loaded & (HEAVY | {"zipfile", "urllib.request", "aish.model.pull", "xllamacpp", "prompt_toolkit"}) == set()


def test_proxies_and_certificates_are_loaded_when_a_connection_needs_them() -> None:
    """They cost nothing where there are none."""
    loaded = loaded_by("import aish.views.repl, aish.views.one_shot, aish.wiring")

    ways = {f"aish.model.{name}" for name in ("detours", "proxies", "socks", "body_decoding")}
    assert loaded & ways == set()


def test_a_download_costs_the_shell_nothing_but_its_child() -> None:
    """What unpacks, checks and talks to package indexes is loaded by the child process."""
    loaded = loaded_by("import aish.model.fetching")

    assert loaded & (HEAVY | {"zipfile", "urllib.request", "aish.model.pull", "aish.model.index_client"}) == set()


def test_what_only_acting_needs_is_loaded_when_the_model_acts() -> None:
    """The shell itself starts without the judge, servers, undo and what a check of a model needs."""
    loaded = loaded_by("import aish.views.repl, aish.views.one_shot, aish.wiring")

    acting = {f"aish.acting.{name}" for name in ("gate_setup", "local_judge", "server_tools", "server_questions")}
    action = {f"aish.action.{name}" for name in ("policy", "command_judge", "command_table", "project_files", "trash")}
    assert "aish.acting.gate" in loaded
    assert loaded & (acting | action | {"aish.conversation.model_check", "aish.views.model_check"}) == set()
    assert not {name for name in loaded if name.startswith("aish.mcp.")}
    services = {f"aish.model.{name}" for name in ("anthropic_messages", "gemini", "openai_responses")}
    assert not loaded & services  # each with the first model of its kind


def test_no_event_loop_is_loaded_before_the_prompt_or_for_a_search() -> None:
    """It takes a tenth of the start-up time, and a search asks no model."""
    assert "asyncio" not in loaded_by("import aish.cli")
    searched = loaded_by("import aish.opening, aish.views.search, aish.memory.finding.finder")
    assert "asyncio" not in searched
    assert not {name for name in ours(searched) if name.startswith(("aish.model.", "aish.context", "aish.intake"))}


def test_file_tools_and_undo_are_loaded_when_the_first_file_is_read() -> None:
    """Most questions are about no file."""
    loaded = loaded_by("import aish.views.repl, aish.views.one_shot, aish.wiring")

    lazy = {f"aish.action.{name}" for name in ("project_files", "undo", "undo_store", "file_search", "file_diff")}
    assert "aish.acting.edit_tools" in loaded
    assert loaded & (lazy | {"difflib"}) == set()


def test_skills_are_loaded_when_there_is_a_folder_with_some(tmp_path: Path) -> None:
    """Most users have none, and look at a few folders only."""
    config = tmp_path / "config" / "config.toml"
    config.parent.mkdir()
    config.write_text('model = "script"\n[models.script]\nkind = "scripted"\nanswers = ["A1"]\n', encoding="utf-8")
    code = f"import os; os.environ['AISH_HOME'] = {str(tmp_path)!r}; os.chdir({str(tmp_path)!r})\n"
    code += "from aish.cli import run\nassert run(['hello']) == 0"
    lazy = {
        "aish.conversation.skills",
        "aish.acting.skill_hooks",
        "aish.values.skill_fields",
    }
    assert not loaded_by(code) & lazy

    skill = tmp_path / "data" / "workspace" / "skills" / "x" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: x\n---\n", encoding="utf-8")
    assert lazy <= loaded_by(code)


LIGHT = {  # verbs without a model or conversation → packages they load besides those of the command line
    "config show": {"storage"},
    "config path": {"storage"},
    "cost": {"model", "storage"},
    "redact": {"memory", "storage"},
    "route ls": {"action", "intake"},
    "policy ls": {"action"},
    "trash --list": {"action", "storage"},
    "models list": {"model", "storage"},
    "goal list": {"acting", "memory", "storage"},
    "mcp list": {"mcp", "memory", "storage"},
    "memory list": {"commands", "intake", "memory", "storage"},
    "memory add fact the kettle is blue": {"commands", "intake", "memory", "storage"},
}


NEEDED = {  # what some of them need all the same
    "redact": {"hashlib"},
    "trash --list": {"argparse", "gettext", "locale"},
    "mcp list": {"tomllib"},
}


@pytest.mark.parametrize("line", LIGHT)
def test_a_verb_loads_what_it_needs_and_nothing_else(line: str, tmp_path: Path) -> None:
    """Scripts run verbs in loops. The event loop, models and conversations took half of their time."""
    base = {"cli", "doors", "opening", "places", "settings", "values", "verbs", "views"}
    code = f"import os; os.environ['AISH_HOME'] = {str(tmp_path)!r}; os.environ['XDG_DATA_HOME'] = {str(tmp_path)!r}\n"
    loaded = loaded_by(f"{code}from aish.cli import run; run({line.split()!r})")

    assert {name.split(".")[1] for name in ours(loaded) if "." in name} - base == LIGHT[line]
    assert not loaded & (HEAVY | COSTLY | {"asyncio", "ssl", "subprocess", "inspect"}) - NEEDED.get(line, set())


def test_a_question_loads_nothing_costly_before_it_is_sent(tmp_path: Path) -> None:
    """argparse, TOML, dataclasses and a thread took a tenth of the time to the request."""
    code = f"import os; os.environ['AISH_HOME'] = {str(tmp_path)!r}; os.chdir({str(tmp_path)!r})\n"
    code += "os.environ['AISH_SET_EMBEDDED__WARM'] = 'false'\n"
    words = ["--set", "models.script.kind=scripted", "--model", "script", "hello"]
    loaded = loaded_by(f"{code}from aish.cli import run\nassert run({words!r}) == 3")  # the script has no answers

    assert {"asyncio", "aish.conversation.turn", "aish.model.scripted"} <= loaded
    assert not loaded & (HEAVY | COSTLY) - {"locale"}  # asyncio loads it


def test_judging_a_usual_command_compiles_no_list_of_credentials() -> None:
    """It is the largest expression of the program, and takes as long as all rules for commands."""
    code = "import aish.action.secret_files as files\nfrom aish.cli import run\n"
    loaded_by(f"{code}assert run(['policy', 'ls', '-la']) == 0\nassert not files._name.cache_info().currsize")


def test_all_named_tuples_are_those_that_are_defined_quickly() -> None:
    """The class of `typing` compiles a constructor for each of them, and a question loads more than a hundred."""
    own = Path(__file__).parents[1] / "src" / "aish"
    masking = ("secret_", "named_secrets", "rule_search", "redaction", "stream_redaction")
    files = [path for path in own.rglob("*.py") if path.name != "named_tuple.py" and not path.name.startswith(masking)]
    slow = re.compile(r"^from typing import .*\bNamedTuple\b|typing\.NamedTuple|\bnamedtuple\(", re.MULTILINE)

    assert len(files) > 400
    assert [str(path) for path in files if slow.search(path.read_text(encoding="utf-8"))] == []


def test_every_verb_says_what_it_opens() -> None:
    """Only two verbs, which talk to a model, need the whole program."""
    assert {name for name, verb in VERBS.items() if verb.opens is open_program} == {"doctor", "tokens"}
    assert {name for name, verb in VERBS.items() if verb.opens is open_library} == {
        "export",
        "import",
        "notes",
        "recent",
        "search",
        "thread",
    }


def test_the_sdk_of_mcp_is_loaded_when_a_server_is_used_and_not_before(tmp_path: Path) -> None:
    """It takes most of a second; a question is answered without it, even if servers are configured."""
    config = tmp_path / "config" / "config.toml"
    config.parent.mkdir()
    model = 'model = "script"\n[models.script]\nkind = "scripted"\nanswers = ["A1"]\n'
    config.write_text(f'{model}[mcp.servers.time]\ncommand = "no-such-server"\n', encoding="utf-8")
    code = f"import os; os.environ['AISH_HOME'] = {str(tmp_path)!r}\nfrom aish.cli import run\n"
    asked = loaded_by(f"{code}assert run(['hello']) == 0")
    used = loaded_by("import aish.mcp.starting")

    assert {"mcp", "mcp_types", "pydantic"} <= used
    assert not asked & {"mcp", "mcp_types", "pydantic", "anyio", "httpx2", "jsonschema"}
    assert "aish.acting.server_tools" in asked
