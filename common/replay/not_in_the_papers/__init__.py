"""Replay ideas that none of the five papers is about; the arena and the adapters use them."""
