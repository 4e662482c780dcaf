"""aish: a conversational shell that remembers."""

__version__ = "0.1.0"
