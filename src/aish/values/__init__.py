"""The words all parts share. Standard library only."""
