"""The index of all conversations, and the search in it."""
