"""How bytes reach the disk and are found there again. Knows nothing of what they mean."""
