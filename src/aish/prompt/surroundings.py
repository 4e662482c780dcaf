"""The surroundings in front of the user's message: what a colleague at the same desk would know."""

from aish.conversation.surroundings import SurroundingsKeeper


class SurroundingsLayer(SurroundingsKeeper):
    """In front of the message, because there a change leaves the server's prompt cache valid.

    The journal does not have it: it is no part of what was said, and search would find it in every conversation.
    """

    name = "surroundings"
    order = 5
    place = "message"
    in_journal = False
