"""The arena: every replay idea of this project, on common tasks, with agents that they can be joined with."""
