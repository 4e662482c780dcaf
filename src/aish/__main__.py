"""The entry point. It answers `--version`, and starts the user's own shell for `-c`, before anything else is loaded."""

import gc
import os
import sys

from aish import __version__


def main() -> int:
    """Run aish with the arguments of this process."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        try:
            print(f"aish {__version__}", flush=True)
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            return 141
        return 0
    # First, because collecting garbage among modules that are being loaded would take a twentieth of the start-up time.
    gc.set_threshold(50_000, 20, 20)
    if "--json" in sys.argv:
        from aish.views.held_signals import hold_signals  # here, because only an object must be printed in any case

        hold_signals()
    if len(sys.argv) > 1 or not os.isatty(0):
        from aish.views.as_shell import replace_process  # here, because it must be fast, and is not needed otherwise

        status = replace_process(sys.argv[1:])
        if status is not None:
            return status
    try:
        from aish.cli import run  # here, so that --version costs no more than Python itself
    except KeyboardInterrupt:  # `run` handles later ones
        return 130
    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
