"""Recall: what is brought to a turn out of all notes and memory, without a model."""
