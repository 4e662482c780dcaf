"""What can be set, where values come from, and which project files are trusted."""
