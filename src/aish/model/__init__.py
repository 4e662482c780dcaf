"""Models that answer, behind one port, and what their answers cost."""
