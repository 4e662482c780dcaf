"""What the policy says of a command before anybody runs it.

Pure: plain values.
"""

from typing import Literal, NamedTuple

Effect = Literal["read", "change", "destroy", "send", "unknown"]

# From harmless to what cannot be undone; a command line is as bad as its worst part. What nobody can read comes
# before what is known to destroy, so that the reason names the deletion and not the riddle beside it.
SEVERITY: tuple[Effect, ...] = ("read", "change", "send", "unknown", "destroy")


class Verdict(NamedTuple):
    """May a command run, and why: `reason` is one sentence that names the part of the command that decides.

    `targets` are the operands of the parts that destroy, as typed, after `$PWD/` where the line goes elsewhere.
    `prefixes` are, for each part that asks, the words that "always allow" would remember; there are none where allowing
    must not be offered.
    """

    verdict: Literal["run", "ask", "refuse"]
    effect: Effect
    reason: str
    targets: tuple[str, ...] = ()
    prefixes: tuple[tuple[str, ...], ...] = ()
