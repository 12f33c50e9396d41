"""Replay ideas of different families side by side: what comes next, how much it counts, under which goal."""
