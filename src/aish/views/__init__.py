"""How a person or a script sees the program."""
