"""Every background job. A new one is a new module and a line here."""

from aish.jobs.learning import LEARNING
from aish.jobs.notes import AT_QUIT, FACTS, RECALL, RECALL_AT_START, STATE, TIDYING
from aish.jobs.scheduler import Job
from aish.jobs.skills import AFTER_RESPONSE
from aish.jobs.summary import SUMMARY
from aish.jobs.warm_up import WARM_UP, WARM_UP_OUTPUT

JOBS: tuple[Job, ...] = (
    RECALL_AT_START,
    WARM_UP,
    WARM_UP_OUTPUT,
    AFTER_RESPONSE,
    STATE,
    RECALL,
    SUMMARY,
    FACTS,
    TIDYING,
    AT_QUIT,
    LEARNING,
)
