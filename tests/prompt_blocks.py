"""Blocks as the layers of the prompt make them, for tests that need no conversation."""

from typing import cast

from aish.context.blocks import Block
from aish.conversation.layer import Layer
from aish.conversation.session import Session
from aish.model.weights import PromptForm
from aish.prompt.base import BaseLayer
from aish.prompt.goal import GoalLayer
from aish.prompt.summary import SummaryLayer


class _AnySession:
    """These layers ask a session only for what its model is sent."""

    def prompt_form(self, turn: object = None) -> PromptForm:
        return "full"

    def is_small(self, turn: object = None) -> bool:
        return False


_NO_SESSION = cast(Session, _AnySession())


def base_block() -> Block:
    return _block(BaseLayer())


def goal_block(goal: str) -> Block:
    layer = GoalLayer()
    layer.goal = goal
    return _block(layer)


def summary_block(summary: str) -> Block:
    layer = SummaryLayer()
    layer.summary = summary
    return _block(layer)


def _block(layer: Layer) -> Block:
    return layer.block(_NO_SESSION, None)
