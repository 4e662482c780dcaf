"""Interpret typed lines: routing, colon commands, completion."""
