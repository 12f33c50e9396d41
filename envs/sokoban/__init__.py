"""Sokoban: the game, its level generator and its pictures."""

from envs.sokoban.game import Sokoban as Sokoban
