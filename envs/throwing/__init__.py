"""The three ball-throwing tasks: one by one, side by side, their physics, scripted experts and pictures."""

from envs.throwing.tasks import Hand as Hand
from envs.throwing.tasks import HandWall as HandWall
from envs.throwing.tasks import Robot as Robot
