"""Set up every test: its own world, one kind of event loop, and a clean environment."""

import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings
from world import World

from aish.model.http import provide_detours
from aish.opening import load_detours
from aish.wiring import _abilities

os.environ.setdefault("CI", "true")  # the small model answers, whatever is installed
provide_detours(load_detours)  # as the program does

# Use the same examples in every run, so that a failure is caused by the change under test. Deadlines would fail under
# load.
settings.register_profile("ci", derandomize=True, database=None, deadline=None)
settings.register_profile("random", derandomize=False, database=None, deadline=None, print_blob=True)


def pytest_configure(config: pytest.Config) -> None:
    """Choose the examples of property tests, and restore the signals that a background job ignores."""
    if config.getoption("--hypothesis-profile") is None:
        settings.load_profile("ci" if config.getoption("--hypothesis-seed") is None else "random")
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the tests of the embedded model first: they take longest, and one worker would still run them at the end."""
    items.sort(key=lambda item: item.get_closest_marker("real") is None)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the user's settings, keys and proxies, and what another test learned about a server."""
    for name in list(os.environ):
        if name.startswith("AISH") or name.lower().endswith("_proxy") or name.endswith(("_API_KEY", "_CA_BUNDLE")):
            monkeypatch.delenv(name)
    _abilities.clear()
