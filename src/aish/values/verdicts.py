"""The verdict of the policy on a command, before it runs.

Pure: plain values.
"""

from typing import Literal

from aish.values.named_tuple import NamedTuple

Effect = Literal["read", "change", "destroy", "send", "unknown"]

# From harmless to irreversible; the worst part of a command line decides. `destroy` ranks above `unknown`, so that the
# reason names the deletion and not the unclear part next to it.
SEVERITY: tuple[Effect, ...] = ("read", "change", "send", "unknown", "destroy")


class Verdict(NamedTuple):
    """May a command run? `reason` is one sentence that names the part of the command that decides.

    `targets` are the operands of the destructive parts, as typed, with `$PWD/` in front if the line changes directory.
    `prefixes` are, for each part that asks, the words that "always allow" would remember; empty if it must not be
    offered. `overwritten` are the files that `>` writes to: if none of them exists, `if_new` is the verdict.
    """

    verdict: Literal["run", "ask", "refuse"]
    effect: Effect
    reason: str
    targets: tuple[str, ...] = ()
    prefixes: tuple[tuple[str, ...], ...] = ()
    overwritten: tuple[str, ...] = ()
    if_new: "Verdict | None" = None
