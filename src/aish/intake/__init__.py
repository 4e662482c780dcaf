"""What was typed, and which command it means."""
