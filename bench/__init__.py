"""Benchmarks, as ratios measured in one run: `python -m bench` (see the README for the last figures)."""
