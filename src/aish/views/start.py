"""What every verb is given."""

from pathlib import Path
from typing import NamedTuple

from aish.places import Places
from aish.settings.layers import Loaded
from aish.settings.options import Settings


class Start(NamedTuple):
    """The settings, where files live, and the directory that aish was started in."""

    loaded: Loaded
    places: Places
    cwd: Path

    @property
    def settings(self) -> Settings:
        return self.loaded.settings
