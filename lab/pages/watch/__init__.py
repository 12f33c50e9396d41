"""Watch trained agents in a window or as a GIF; see `python -m lab.pages.watch --help`."""
