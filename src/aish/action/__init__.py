"""What the shell does to the machine: commands are read, judged and run here."""
