"""Goals that were worked on: listed, shown and replayed from their records, without a model."""

from typing import Any

from aish.acting.goal_pages import listing, page
from aish.memory.goal_records import GoalRecord, GoalRecords
from aish.values.replies import Reply

_MOST_LISTED = 50


class GoalHistory:
    """The records of all goals. All methods raise `StoreTrouble`."""

    def __init__(self, records: GoalRecords) -> None:
        self._records = records

    def listing(self) -> Reply:
        """Return the newest goals."""
        found = [self._records.read(id) for id in self._records.ids()[:_MOST_LISTED]]
        if not found:
            return Reply("there is no goal yet; :goal GOAL starts one", data=[], found=False)
        table = listing((one.id, one.begin, one.steps, one.end) for one in found)
        return Reply(table=table, data=[_summary(one) for one in found])

    def page(self, wanted: str, *, whole: bool) -> Reply:
        """Return one goal, by default the newest; with `whole`, as it was shown. Raises `NotFound`."""
        found = self._records.read(self._records.find(wanted))
        text = page(found.begin, found.steps, found.end, found.damaged, whole=whole)
        data = {**_summary(found), "record": [one for one in (found.begin, *found.steps, found.end) if one]}
        return Reply(f"{found.id}\n{text}", data=data)

    def last_turns(self, conversation: str) -> set[int]:
        """Return the turns of the last goal of a conversation."""
        return self._records.last_turns(conversation)


def _summary(goal: GoalRecord) -> dict[str, Any]:
    return {
        "id": goal.id,
        "goal": goal.begin.get("goal", ""),
        "started": goal.begin.get("ts", ""),
        "steps": len(goal.steps),
        "end": goal.end.get("kind"),
        "damaged_lines": goal.damaged,
    }
