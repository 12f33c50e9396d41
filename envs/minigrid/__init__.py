"""Seven MiniGrid tasks: their rules as a kernel, their pictures and rewards."""

from envs.minigrid.tasks import TASKS as TASKS
from envs.minigrid.tasks import MiniGridTask as MiniGridTask
