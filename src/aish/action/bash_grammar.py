"""The compiled grammar of bash.

The package `tree_sitter_bash` imports `importlib.resources` for files that aish does not use, which takes longer than
judging a command. So only the package's extension module is loaded, if it is where it usually is.
"""

from importlib.machinery import PathFinder
from importlib.util import module_from_spec

_PACKAGE = "tree_sitter_bash"


def language() -> object:
    """Return what `tree_sitter.Language` is made of."""
    try:
        return _from_extension()
    except (ImportError, AttributeError):  # another version of the package, or an installation without plain files
        import tree_sitter_bash  # here, because this import is what the function avoids

        return tree_sitter_bash.language()


def _from_extension() -> object:
    """Load the extension module without its package. Raises `ImportError` or `AttributeError`."""
    found = PathFinder.find_spec(_PACKAGE)
    name = f"{_PACKAGE}._binding"
    spec = PathFinder.find_spec(name, found.submodule_search_locations) if found else None
    if spec is None or spec.loader is None:
        raise ImportError(f"no extension module {name}")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    made: object = module.language()
    return made
