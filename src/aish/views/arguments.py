"""Parsers for the arguments of verbs."""

import argparse
import os
import sys


def make_parser(
    prog: str, description: str, *, epilog: str = "", keep_lines: bool = False, allow_abbrev: bool = True
) -> argparse.ArgumentParser:
    """A parser for one verb. `keep_lines` shows description and epilog as they are."""
    kind = argparse.RawDescriptionHelpFormatter if keep_lines else argparse.HelpFormatter
    return argparse.ArgumentParser(
        prog=prog,
        description=description,
        epilog=epilog,
        allow_abbrev=allow_abbrev,
        formatter_class=lambda prog: kind(prog, width=_columns() - 2),
    )


def _columns() -> int:
    """The width of the terminal.

    By default argparse asks `shutil` for it at every start, which takes longer to load than most verbs take to run.
    """
    try:
        return int(os.environ.get("COLUMNS", "")) or 80
    except ValueError:
        pass
    try:
        return os.get_terminal_size(sys.__stdout__.fileno() if sys.__stdout__ else 1).columns or 80
    except (OSError, ValueError):
        return 80
