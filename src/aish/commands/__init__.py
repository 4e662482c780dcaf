"""What may be typed after a colon. Each file registers its own."""
