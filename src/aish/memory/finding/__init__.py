"""Finding what was said: the index of all conversations, and the search in it."""
