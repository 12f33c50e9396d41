"""Trained agents to be watched, in a window or as a GIF; `python -m lab.pages.watch --help`."""
