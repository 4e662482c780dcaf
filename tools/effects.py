"""Let hostile commands run in the looking fence, in a scratch project full of traps, and count what they did.

    effects.py [--commands N] [--seed N] [--kind landlock|bubblewrap]

All commands run as if the policy had let them: hand-written ones of each class of attack, and N generated ones over
all programs of the table. Others go through the policy first. The control runs harmless effects without a fence: each
must be seen. Prints the counts; the exit status is 1 if a command had an effect, or if the control was not seen.
"""

import argparse
import os
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor

from effect_world import Done, Summary, control, own_commands, run_all
from hostile_commands import CONTROL, generate

from aish.action.fence.availability import KINDS, kind, trouble
from aish.action.fence.fence import Kind

_WORKERS = min(4, os.cpu_count() or 1)
_JUDGED = 5  # one generated command for each so many is also judged first


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--commands", type=int, default=2500, metavar="N", help="how many to generate (default: 2500)")
    parser.add_argument("--seed", type=int, default=14, metavar="N", help="other commands for another number")
    parser.add_argument("--kind", choices=KINDS, default=kind("auto"), help="which fence (default: the usual one)")
    options = parser.parse_args()
    if options.kind is None or trouble(options.kind):
        print(f"no fence: {trouble(options.kind or 'landlock')}", file=sys.stderr)
        return 1
    missed = [command for command, done in control().items() if CONTROL[command] not in _kinds(done)]
    print(f"control      {len(CONTROL)} commands without a fence, {len(CONTROL) - len(missed)} effects seen")
    for command in missed:
        print(f"  {command!r}: not seen")
    generated = list(generate(options.commands, options.seed))
    judged = list(generate(options.commands // _JUDGED, options.seed + 1))
    good = [
        _show("hand-written", _run(options.kind, own_commands()), groups=True),
        _show("generated", _run(options.kind, generated)),
        _show("judged first", _run(options.kind, judged, judged=True)),
    ]
    return 0 if all(good) and not missed else 1


def _kinds(done: Done) -> set[str]:
    return {effect.split(":")[0] for effect in done.effects}


def _run(kind: Kind, commands: list[tuple[str, str]], *, judged: bool = False) -> Summary:
    """Run commands in several worlds at once."""
    began = time.monotonic()
    with ProcessPoolExecutor(_WORKERS) as pool:
        parts = [pool.submit(run_all, kind, commands[at::_WORKERS], judged=judged) for at in range(_WORKERS)]
        done = [part.result() for part in parts]
    return Summary(
        sum((one.ran for one in done), Counter[str]()),
        sum(one.asked for one in done),
        sum(one.stopped for one in done),
        time.monotonic() - began,
        [found for one in done for found in one.found],
    )


def _show(name: str, done: Summary, *, groups: bool = False) -> bool:
    asked = f", {done.asked} would ask" if done.asked else ""
    what = "classes" if groups else "programs"
    print(f"{name:12} {sum(done.ran.values())} commands of {len(done.ran)} {what} ran{asked}, ", end="")
    print(f"the fence stopped {done.stopped}, {len(done.found)} had an effect, {done.seconds:.0f} s", flush=True)
    if groups:
        print("             " + ", ".join(f"{group} {count}" for group, count in done.ran.items()))
    for one in done.found:
        print(f"  {one.command!r}: {', '.join(one.effects)}")
    return not done.found


if __name__ == "__main__":
    sys.exit(main())
