"""Mazes for a MuJoCo ant: the task and its pictures."""
