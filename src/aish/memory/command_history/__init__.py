"""The commands that the user has run: our own record, and the histories of other shells, read in place."""
