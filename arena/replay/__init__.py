"""Replay ideas of different families side by side: what is replayed next, how much it counts, under which goal."""
