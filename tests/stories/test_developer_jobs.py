"""Eight small jobs of a developer, done by a scripted model through the whole program, each checked by an exit code."""

import json
from pathlib import Path

import pytest
from developer_jobs import JOBS, DeveloperJob
from workshop import AtGate, Workshop

ACTING = {"AISH_SET_COMMANDS__ROUNDS": "8", "AISH_SET_COMMANDS__FILE_TOOLS": "true"}


def last_answer(workshop: Workshop) -> str:
    """The newest answer in the journal."""
    lines = [json.loads(line) for journal in workshop.journals() for line in journal.read_bytes().splitlines()]
    return str([line["content"] for line in lines if line.get("role") == "assistant" and line.get("content")][-1])


@pytest.mark.proves("P4")
@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.name)
def test_the_job_is_done(job: DeveloperJob, tmp_path: Path) -> None:
    """The user asks once and agrees to every change; nothing else is needed."""
    workshop = Workshop(tmp_path)
    job.make(workshop.directory)
    assert not job.is_done(workshop.directory, ""), "the check must fail before the work"
    workshop.script(*job.script)
    with AtGate(workshop, **ACTING) as terminal:
        terminal.ask(job.question)
        terminal.wait_for(job.question[:40])
        terminal.agree()
    answer = last_answer(workshop)
    assert answer == job.script[-1]
    assert job.is_done(workshop.directory, answer)


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.name)
def test_a_no_to_everything_changes_nothing(job: DeveloperJob, tmp_path: Path) -> None:
    """Without consent the model can only look."""
    workshop = Workshop(tmp_path)
    job.make(workshop.directory)
    before = contents(workshop.directory)
    workshop.script(*job.script)
    with AtGate(workshop, **ACTING) as terminal:
        terminal.ask(job.question)
        terminal.wait_for(job.question[:40])
        terminal.refuse()
    assert contents(workshop.directory) == before


def contents(project: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in project.rglob("*") if path.is_file() and ".git" not in path.parts}
