"""MiniGrid, Sokoban and Atari: what sets a world of TER's paper apart from the others."""
