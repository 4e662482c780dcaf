"""Every background job. A new one is a new module and a line here."""

from aish.jobs.learning import LEARNING
from aish.jobs.scheduler import Job
from aish.jobs.summary import SUMMARY
from aish.jobs.warm_up import WARM_UP

JOBS: tuple[Job, ...] = (WARM_UP, SUMMARY, LEARNING)
