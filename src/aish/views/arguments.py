"""Parsers for the arguments of verbs."""

import argparse
import os
import sys


def make_parser(
    prog: str, description: str, *, epilog: str = "", keep_lines: bool = False, allow_abbrev: bool = True
) -> argparse.ArgumentParser:
    """Return a parser for one verb. `keep_lines` keeps the line breaks of description and epilog."""
    kind = argparse.RawDescriptionHelpFormatter if keep_lines else argparse.HelpFormatter
    return argparse.ArgumentParser(
        prog=prog,
        description=description,
        epilog=epilog,
        allow_abbrev=allow_abbrev,
        formatter_class=lambda prog: kind(prog, width=columns() - 2),
    )


def columns() -> int:
    """Return the width of the terminal.

    By default argparse imports `shutil` for this, which takes longer than most verbs need to run.
    """
    try:
        return int(os.environ.get("COLUMNS", "")) or 80
    except ValueError:
        pass
    try:
        return os.get_terminal_size(sys.__stdout__.fileno() if sys.__stdout__ else 1).columns or 80
    except (OSError, ValueError):
        return 80
