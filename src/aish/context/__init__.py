"""What the model is sent: turns, blocks, what they cost and what has to go."""
