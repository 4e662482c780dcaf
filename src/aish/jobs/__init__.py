"""Background work: what there is to do and when (`table.py`), and who runs it (`scheduler.py`)."""
