"""What is run in the arena, and what came out."""
