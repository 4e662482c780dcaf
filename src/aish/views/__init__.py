"""What a user or a script sees of the program: prompt, screen, answers and verbs."""
