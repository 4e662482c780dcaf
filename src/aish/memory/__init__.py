"""What happened and what is known, in files that people can read."""
