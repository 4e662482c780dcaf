"""Background work: the jobs and when they run (`table.py`), and the scheduler that runs them (`scheduler.py`)."""
