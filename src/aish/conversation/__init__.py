"""The order of a turn, and the conversation it belongs to. Start with turn.py."""
