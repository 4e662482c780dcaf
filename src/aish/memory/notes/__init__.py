"""Note files: Markdown that people and the program edit."""
