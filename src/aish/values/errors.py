"""All exceptions that aish raises on purpose. Expected failures (an unreachable model) are values instead.

AishError
├── BadTurn        a turn breaks a rule of the context
├── BadUsage       the request is invalid
├── Declined       the request is valid, but the user declined it
├── NotFound       nothing has that name
└── StoreTrouble   a store could not be read or written
"""


class AishError(Exception):
    """A message for the user: what happened, and what to do."""


class BadTurn(AishError):
    """A turn that no chat template would accept."""


class BadUsage(AishError):
    """Invalid words or options."""


class Declined(AishError):
    """A valid request that was not carried out, because the user declined it now or earlier."""


class NotFound(AishError):
    """Nothing has that name, number or path."""


class StoreTrouble(AishError):
    """A read or write failed. Everything acknowledged before is unaffected."""
