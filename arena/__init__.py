"""The arena: every replay idea of this project on common tasks, with every agent that it can be combined with."""
