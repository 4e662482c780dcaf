"""`aish setup`: find models on this machine and by keys in the environment, and write a preset for one."""

import os
import sys
from collections.abc import Sequence

from aish.commands.model_setup import SetupRecord, chosen, find_models, listing, nothing_found, write_presets
from aish.model.discovery import FoundModel, choose_model
from aish.settings.options import EMBEDDED
from aish.values.errors import BadUsage
from aish.values.text import for_terminal, json_text
from aish.views.arguments import make_parser
from aish.views.event_loop import run_loop
from aish.views.exit_codes import NOTHING, OK
from aish.views.screen import Screen
from aish.views.start import Start

_ABOUT = (
    "Find model servers on this machine and keys in the environment, and write a preset for one of them. A key is "
    "never written to a file: the preset has the name of its variable. Example: aish setup ollama qwen3:8b"
)


def run(start: Start, arguments: Sequence[str]) -> int:
    """Run `aish setup`."""
    parser = make_parser("aish setup", _ABOUT)
    parser.add_argument("choice", nargs="*", metavar="NAME [MODEL]", help="what to use, by its name or number")
    parser.add_argument(
        "--yes", action="store_true", help="write a preset for all that is found; the first one answers"
    )
    parser.add_argument("--json", action="store_true", help="print JSON; without --yes or NAME nothing is written")
    options = parser.parse_args(arguments)
    if options.yes and options.choice:
        raise BadUsage("expected either --yes or the name of what to use")
    screen = Screen(start.settings.view.color)
    found = run_loop(find_models(start.settings, os.environ, options.choice))
    wanted = found if options.yes else [chosen(found, options.choice, start.settings)] if options.choice else []
    if not (options.yes or options.choice or options.json):
        wanted = _ask(start, found, screen)
    wanted = [_checked(one, screen, named=len(options.choice) > 1) for one in wanted]
    free = start.settings.model == EMBEDDED or not options.yes  # --yes replaces no choice of the user
    default = wanted[0].name if wanted and free else ""
    if wanted:
        write_presets(start.places.config_file, wanted, default)
    if options.json:
        told = {"found": [one._asdict() for one in found], "written": [one.name for one in wanted], "model": default}
        print(json_text(told))
    else:
        for one in wanted:
            answers = "; it answers from now on" if one.name == default else ""
            screen.say(f"{one.name}: {one.about}{answers}")
        if wanted:
            screen.say(f"written to {start.places.config_file}; aish models check {wanted[0].name} tries it")
        elif not found:
            screen.note(nothing_found(start.settings), warning=True)
    return OK if wanted or (options.json and found) else NOTHING


def _ask(start: Start, found: list[FoundModel], screen: Screen) -> list[FoundModel]:
    """Let the user choose one by its number. A no is remembered: it is not offered again by itself."""
    if not found:
        return []
    screen.say(listing(found))
    if not sys.stdin.isatty():
        screen.note("nothing was written; use --yes, or the name of one", warning=True)
        return []
    most = f"1 to {len(found)}" if len(found) > 1 else "1"
    sys.stderr.write(for_terminal(f"which one shall answer? [{most}, Enter: none] "))
    sys.stderr.flush()
    answer = sys.stdin.readline().strip()
    answer = "1" if answer.lower() in ("y", "yes") and len(found) == 1 else answer
    if not answer or answer.lower() in ("n", "no"):
        SetupRecord(start.places.setup_record).decline(found)
        screen.note("nothing was written; aish setup asks again")
        return []
    return [chosen(found, answer.split(), start.settings)]


def _checked(one: FoundModel, screen: Screen, *, named: bool) -> FoundModel:
    """Ask a provider for its models, unless the user has named one."""
    if named:
        return one
    better, trouble = run_loop(choose_model(one))
    if trouble:
        screen.note(trouble, warning=True)
    return better
