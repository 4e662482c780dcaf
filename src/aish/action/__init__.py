"""Acting on the machine: commands are parsed, judged and run here."""
