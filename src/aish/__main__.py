"""The door. `--version` is answered here, before anything else is loaded."""

import sys

from aish import __version__


def main() -> int:
    """Run aish with the arguments of this process."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        print(f"aish {__version__}")
        return 0
    from aish.cli import run  # here, so that --version costs no more than Python itself

    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
