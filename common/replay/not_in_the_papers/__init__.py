"""Replay ideas from outside the five papers, for the arena and the adapters."""
