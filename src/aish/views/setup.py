"""`aish setup`: find models on this machine and by keys in the environment, and write a preset for one of them."""

import os
import sys
from collections.abc import Sequence

from aish.commands.model_setup import (
    SetupRecord,
    chosen,
    find_models,
    listing,
    nothing_found,
    weights_here,
    write_presets,
)
from aish.model.discovery import FoundModel, choose_model
from aish.model.weights import CATALOGUE
from aish.settings.layers import has_chosen
from aish.values.errors import BadUsage
from aish.values.text import for_terminal, json_text
from aish.views.arguments import make_parser
from aish.views.event_loop import run_loop
from aish.views.exit_codes import NOTHING, OK
from aish.views.installing import install
from aish.views.screen import Screen
from aish.views.start import Start

_ABOUT = (
    "Find model servers and files of models on this machine and keys in the environment, and write a preset for one of "
    "them; weights that aish can fetch are fetched first. A key is never written to a file: the preset has the name of "
    "its variable. Example: aish setup ollama qwen3:8b"
)


def run(start: Start, arguments: Sequence[str]) -> int:
    """Run `aish setup`."""
    parser = make_parser("aish setup", _ABOUT)
    parser.add_argument("choice", nargs="*", metavar="NAME [MODEL]", help="what to use, by its name or number")
    parser.add_argument(
        "--yes",
        action="store_true",
        help="write a preset for each server and key, or for the best file; the first one that fits answers",
    )
    parser.add_argument("--json", action="store_true", help="print JSON; without --yes or NAME nothing is written")
    options = parser.parse_args(arguments)
    if options.yes and options.choice:
        raise BadUsage("expected either --yes or the name of what to use")
    screen = Screen(start.settings.view.color)
    found = run_loop(find_models(start.loaded, os.environ, options.choice))
    choices = [*found, *weights_here(start.places, os.environ)]
    wanted = _all(found) if options.yes else []
    if options.choice:
        wanted = [chosen(choices, options.choice, start.loaded)]
    elif not (options.yes or options.json):
        wanted = _ask(start, found, choices, screen)
    wanted = [_checked(one, screen, named=len(options.choice) > 1) for one in wanted]
    wanted = _fetched(start, wanted)
    free = not has_chosen(start.loaded.origins) or not options.yes  # --yes replaces no choice of the user
    best = next((one.preset for one in wanted if not one.caution), wanted[0].preset if wanted else "")
    default = best if free else ""
    if wanted:
        write_presets(start.places.config_file, wanted, default)
    if options.json:
        names = [one.preset for one in wanted]
        offered = [one._asdict() for one in choices if one.is_weights]
        found_ = [one._asdict() for one in found]
        print(json_text({"found": found_, "weights": offered, "written": names, "model": default}))
    else:
        for one in wanted:
            answers = "; it answers from now on" if one.preset == default else ""
            screen.say(f"{one.preset}: {one.about}{answers}")
        if wanted:
            screen.say(f"written to {start.places.config_file}; aish models check {wanted[0].preset} tries it")
        elif not found and options.yes:
            screen.note(nothing_found(start.loaded), warning=True)
    return OK if wanted or (options.json and found) else NOTHING


def _all(found: list[FoundModel]) -> list[FoundModel]:
    """Return the servers and keys; where there is none, the best file that fits."""
    files = [one for one in found if one.path and not one.caution]
    return [one for one in found if not one.path] or files[:1]


def _fetched(start: Start, wanted: list[FoundModel]) -> list[FoundModel]:
    """Fetch the weights that are not installed yet. Raises `PullFailed`."""
    for one in wanted:
        if one.is_missing:
            install(CATALOGUE[one.model], start.places.models, None)
    return [one._replace(is_missing=False) for one in wanted]


def _ask(start: Start, found: list[FoundModel], choices: list[FoundModel], screen: Screen) -> list[FoundModel]:
    """Let the user choose one by its number. A no is remembered: it is not offered again by itself."""
    if not found:
        screen.note(nothing_found(start.loaded), warning=True)
    screen.say(listing(choices))
    if not sys.stdin.isatty():
        screen.note("nothing was written; use --yes, or the name of one", warning=True)
        return []
    sys.stderr.write(for_terminal(f"which one shall answer? [1 to {len(choices)}, Enter: none] "))
    sys.stderr.flush()
    answer = sys.stdin.readline().strip()
    answer = "1" if answer.lower() in ("y", "yes") and len(found) == 1 else answer  # there is one that was found
    if not answer or answer.lower() in ("n", "no"):
        SetupRecord(start.places.setup_record).decline(found)
        screen.note("nothing was written; aish setup asks again")
        return []
    return [chosen(choices, answer.split(), start.loaded)]


def _checked(one: FoundModel, screen: Screen, *, named: bool) -> FoundModel:
    """Ask a provider for its models, unless the user has named one."""
    if named:
        return one
    better, trouble = run_loop(choose_model(one))
    if trouble:
        screen.note(trouble, warning=True)
    return better
