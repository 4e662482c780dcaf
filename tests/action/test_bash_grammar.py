"""The grammar of bash is loaded quickly, and from any version of its package."""

import subprocess
import sys
from pathlib import Path

import pytest
from tree_sitter import Language, Parser

from aish.action import bash_grammar


def parsed(language: object) -> str:
    return str(Parser(Language(language)).parse(b"ls -l").root_node)


def test_only_the_extension_module_is_loaded() -> None:
    """The package imports `importlib.resources`, which takes longer than judging a command."""
    program = (
        "import sys; from aish.action.command_line import read_line; read_line('ls -l');"
        "print({'importlib.resources', 'tree_sitter_bash'} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_the_package_gives_the_same_language_afterwards() -> None:
    """Another module of the process may import the package as usual."""
    import tree_sitter_bash

    assert parsed(bash_grammar.language()) == parsed(tree_sitter_bash.language())


def package(directory: Path, **modules: str) -> Path:
    """Write a package that stands for another version of `tree_sitter_bash`."""
    folder = directory / "tree_sitter_bash"
    folder.mkdir()
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    return directory


@pytest.mark.parametrize("binding", [{}, {"_binding": ""}], ids=["has another name", "has no such function"])
def test_another_layout_of_the_package_is_imported_as_usual(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, binding: dict[str, str]
) -> None:
    """The extension module is private to the package and may change."""
    monkeypatch.syspath_prepend(package(tmp_path, __init__="def language(): return 'from the package'", **binding))
    monkeypatch.delitem(sys.modules, "tree_sitter_bash", raising=False)
    try:
        assert bash_grammar.language() == "from the package"
    finally:
        sys.modules.pop("tree_sitter_bash", None)
