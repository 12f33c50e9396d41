"""Mazes for a point: the task, layouts and collisions."""
