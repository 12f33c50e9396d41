"""SAC, TD3 and Rainbow, which NERS serves, their networks and tasks."""
