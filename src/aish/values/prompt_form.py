"""What a model is sent: everything, or the little that a small model on this machine reads in time."""

from typing import Literal

PromptForm = Literal["full", "run", "words"]
"""Everything; a short prompt with commands in the form of `model/run_form.py`; a short prompt without commands."""
