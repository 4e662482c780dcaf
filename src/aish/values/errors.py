"""Everything aish raises on purpose. What happens in normal life (a model that is down) is a value instead.

AishError
├── BadTurn        a turn breaks a rule of the context
├── BadUsage       the caller asked for something that makes no sense
├── Declined       it makes sense, but it was ruled out before
├── NotFound       there is nothing by that name
└── StoreTrouble   something could not be read from or written to the disk
"""


class AishError(Exception):
    """A message for the user: what happened, and what to do."""


class BadTurn(AishError):
    """A turn that no chat template would accept."""


class BadUsage(AishError):
    """Words or options that make no sense together."""


class Declined(AishError):
    """Asked for and understood, but not done: the user ruled it out, now or earlier."""


class NotFound(AishError):
    """Nothing has that name, number or place."""


class StoreTrouble(AishError):
    """The disk said no. Nothing that was acknowledged before is affected."""
