"""`aish goal`: list, show and replay goals. It runs nothing: a goal starts in the shell, where it can be allowed."""

from collections.abc import Sequence

from aish.acting.goal_history import GoalHistory
from aish.memory.goal_records import GoalRecords
from aish.values.text import json_text
from aish.views.arguments import VerbArguments
from aish.views.exit_codes import NOTHING, OK
from aish.views.screen import Screen
from aish.views.start import Start


def run(start: Start, arguments: Sequence[str]) -> int:
    """List goals, or show one."""
    parser = VerbArguments("aish goal", "Look at goals that were worked on. To start one, type :goal in the shell.")
    parser.add_argument("action", choices=("list", "show", "replay"), help="what to do")
    parser.add_argument("id", nargs="?", default="", help="the start or end of an id (default: the newest goal)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    goals = GoalHistory(GoalRecords(start.places.goals))
    whole = options.action == "replay"
    reply = goals.listing() if options.action == "list" else goals.page(options.id, whole=whole)
    if options.json:
        print(json_text(reply.data))
    else:
        Screen(start.settings.view.color).say(reply)
    return OK if reply.found else NOTHING
