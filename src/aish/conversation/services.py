"""What all conversations of a program share: settings, stores and models, opened on first use."""

from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple

from aish.memory.conversations import Conversations
from aish.memory.curation import Memory
from aish.memory.redaction import Redaction
from aish.model.backend import Backend
from aish.model.cost import CostBook
from aish.model.estimate import Estimates
from aish.settings.options import Settings
from aish.settings.trust import Trust
from aish.values.hits import Finder


class Services(NamedTuple):
    """The parts that a conversation uses; program.py creates them."""

    settings: Settings
    conversations: Conversations
    costs: CostBook
    estimates: Estimates
    redaction: Redaction
    trust: Trust
    open_backend: Callable[[str], Backend]
    open_memory: Callable[[], tuple[Memory, str]]  # the text says why memory is read-only, if it is
    open_finder: Callable[[], Finder]
    now: Callable[[], datetime]
