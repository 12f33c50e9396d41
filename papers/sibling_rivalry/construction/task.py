"""The construction task by name, optionally with other sizes and with the agent's view."""

from __future__ import annotations

from typing import Any

import numpy as np

from envs.voxel.build import VoxelBuild, check_picture
from lab.run.errors import UserError

ARENAS: dict[str, dict[str, Any]] = {
    "VoxelBuild": dict(size=11, height=3, sides=(4, 11), heights=(1, 2), most_blocks=34, max_steps=100),
    "VoxelBuildSmall": dict(size=7, height=2, sides=(3, 5), heights=(1, 1), most_blocks=16, max_steps=40),
}
"""Name -> arguments of `VoxelBuild`."""


class SeeingBuild(VoxelBuild):
    """The task with the agent's view at the end of observations, `parts["picture"]`: rows x columns x 3 in [0, 1]."""

    def __init__(self, picture: tuple[int, int], **arena: Any):
        """ValueError for impossible sizes."""
        super().__init__(**arena)
        check_picture(picture)
        self.picture_shape, plain = (*picture, 3), self.observation_shape[0]
        self.parts["pose"] = slice(2 * self.cells, plain)
        self.parts["picture"] = slice(plain, None)
        self.observation_shape = (plain + int(np.prod(self.picture_shape)),)

    def observe(self, states: np.ndarray) -> np.ndarray:
        seen = super().observe(states)
        rows, columns, _ = self.picture_shape
        seen[:, self.parts["picture"]] = self.look(states, rows, columns).reshape(len(states), -1) / np.float32(255)
        return seen


def make_build(env: str, picture: tuple[int, int] | None = None, **changes: Any) -> VoxelBuild:
    """The task called `env` with `changes` of its arena; None changes nothing. UserError for impossible ones."""
    if env not in ARENAS:
        raise UserError(f"unknown env {env!r}; choose from: {', '.join(ARENAS)}")
    arena = ARENAS[env] | {name: value for name, value in changes.items() if value is not None}
    try:
        return VoxelBuild(**arena) if picture is None else SeeingBuild(picture, **arena)
    except ValueError as error:
        raise UserError(f"env {env!r}: {error}") from None
