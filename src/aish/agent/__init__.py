"""The agent loop: a model that answers with tools. Knows messages, tools and events, but no conversations."""
