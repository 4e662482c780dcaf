"""Every layer of the prompt. A new one is a new module and a line here."""

from collections.abc import Callable

from aish.conversation.layer import Layer
from aish.prompt.attached_files import AttachedFilesLayer
from aish.prompt.background import BackgroundLayer
from aish.prompt.base import BaseLayer
from aish.prompt.care import CareLayer
from aish.prompt.goal import GoalLayer
from aish.prompt.held_output import HeldOutputLayer
from aish.prompt.identity import IdentityLayer
from aish.prompt.note_files import NoteFilesLayer
from aish.prompt.plan import PlanLayer
from aish.prompt.project import ProjectLayer
from aish.prompt.recalled_notes import RecalledNotesLayer
from aish.prompt.recalled_turns import RecalledTurnsLayer
from aish.prompt.skills import SkillsLayer, SkillTextsLayer
from aish.prompt.summary import SummaryLayer
from aish.prompt.surroundings import SurroundingsLayer
from aish.prompt.working_state import WorkingStateLayer

LAYERS: tuple[Callable[[], Layer], ...] = (
    # the system prompt
    BaseLayer,
    IdentityLayer,
    NoteFilesLayer,
    SkillsLayer,
    ProjectLayer,
    BackgroundLayer,
    WorkingStateLayer,
    SummaryLayer,
    RecalledTurnsLayer,
    CareLayer,
    GoalLayer,
    # in front of the user's message
    SurroundingsLayer,
    HeldOutputLayer,
    AttachedFilesLayer,
    PlanLayer,
    SkillTextsLayer,
    RecalledNotesLayer,
)
