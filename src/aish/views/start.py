"""The values that every verb starts with."""

from pathlib import Path

from aish.places import Places
from aish.settings.layers import Loaded
from aish.settings.options import Settings
from aish.values.named_tuple import NamedTuple


class Start(NamedTuple):
    """The settings, the places of files, and the directory in which aish was started."""

    loaded: Loaded
    places: Places
    cwd: Path

    @property
    def settings(self) -> Settings:
        return self.loaded.settings
