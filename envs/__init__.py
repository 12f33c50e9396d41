"""Environments as gymnasium.Env; they know nothing of agents. Importing this package registers their ids."""

from gymnasium import register

for _name in ("Hand", "HandWall", "Robot"):
    register(id=f"{_name}-v0", entry_point=f"envs.throwing:{_name}", max_episode_steps=50)
for _name in ("BitFlip", "BitFlipBox"):
    register(id=f"{_name}-v0", entry_point=f"envs.bitflip:{_name}")
