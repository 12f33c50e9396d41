"""Environments as gymnasium.Env. They know nothing of agents."""
