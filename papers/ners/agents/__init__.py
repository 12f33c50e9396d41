"""The agents SAC, TD3 and Rainbow, their networks and tasks."""
