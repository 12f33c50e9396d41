"""The arena's experiments and their results."""
