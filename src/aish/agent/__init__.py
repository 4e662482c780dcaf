"""The loop that lets a model answer with tools. Knows messages, tools and events, and nothing of conversations."""
