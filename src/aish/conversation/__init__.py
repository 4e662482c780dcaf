"""Conversations and their turns. Start with turn.py."""
