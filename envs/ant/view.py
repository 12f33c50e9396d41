"""Pictures of the ant maze, for people: from straight above. They need no OpenGL."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
import pygame

PICTURE, FINER = 480, 3
"""Side of a picture in pixels; how many times finer it is drawn, to smooth the edges."""
RIM = 0.15
"""What is shown of the outer walls, in blocks."""
AROUND = 12.0
"""How far a picture reaches if there are no walls; the ant stays in the middle."""
FLOOR, LINE, WALL, GOAL, GOALS = (255, 255, 255), (228, 228, 228), (90, 90, 90), (213, 94, 0), (247, 223, 204)
TORSO, LEG, FOOT = (0, 114, 178), (0, 84, 132), (0, 50, 80)


def draw(task: Any, state: np.ndarray, goal: np.ndarray) -> np.ndarray:
    """Draw one state of an `ant_maze.AntMaze` and its goal: uint8 [PICTURE, PICTURE, 3]."""
    side = task.layout.side
    if len(task.walls):
        left, right, low, high = task.extent
        left, right, low, high = left - RIM * side, right + RIM * side, low - RIM * side, high + RIM * side
    else:
        left, right, low, high = (float(state[axis]) + around for axis in (0, 1) for around in (-AROUND, AROUND))
    scale = PICTURE * FINER / max(right - left, high - low)
    canvas = pygame.Surface((PICTURE * FINER, PICTURE * FINER), depth=32)  # needs no display
    canvas.fill(FLOOR)

    def place(point: Any) -> tuple[float, float]:  # on the canvas, where y points down
        return (float(point[0]) - left) * scale, (high - float(point[1])) * scale

    def box(corner: Any, opposite: Any, colour: tuple[int, int, int]) -> None:
        (x, to_y), (to_x, y) = (map(round, place(point)) for point in (corner, opposite))
        pygame.draw.rect(canvas, colour, (x, y, to_x - x, to_y - y))

    corner, opposite = task.layout.goals
    box(corner, opposite, GOALS)
    for at in np.arange(np.floor(min(left, low) / side), max(right, high) / side + 1) * side:  # floor of squares
        pygame.draw.line(canvas, LINE, place((at, low)), place((at, high)), FINER)
        pygame.draw.line(canvas, LINE, place((left, at)), place((right, at)), FINER)
    for centre in task.walls:
        box(centre - side / 2, centre + side / 2, WALL)
    pygame.draw.circle(canvas, GOAL, place(goal), task.tolerance * scale, 2 * FINER)
    for radius, ends, colour in sorted(body(task.model, state), key=lambda part: part[1][:, 2].max()):
        begin, end = map(place, ends)
        for point in (begin, end):
            pygame.draw.circle(canvas, colour, point, radius * scale)
        pygame.draw.line(canvas, colour, begin, end, round(2 * radius * scale))
    small = pygame.transform.smoothscale(canvas, (PICTURE, PICTURE))
    return np.ascontiguousarray(pygame.surfarray.array3d(small).swapaxes(0, 1))


def body(model: mujoco.MjModel, state: np.ndarray) -> list[tuple[float, np.ndarray, tuple[int, int, int]]]:
    """The ant's parts where they are in this state: radius, two ends [2, 3] (of the torso, the same), colour."""
    data = mujoco.MjData(model)
    data.qpos[:] = state[: model.nq]
    mujoco.mj_kinematics(model, data)
    parts = []
    for i in range(model.ngeom):
        if model.geom_bodyid[i] == 0:  # floor and walls
            continue
        capsule = model.geom_type[i] == mujoco.mjtGeom.mjGEOM_CAPSULE
        along = data.geom_xmat[i].reshape(3, 3)[:, 2] * (model.geom_size[i, 1] if capsule else 0.0)
        ends = data.geom_xpos[i] + np.array([-1.0, 1.0])[:, None] * along
        colour = TORSO if not capsule else FOOT if "ankle" in model.geom(i).name else LEG
        parts.append((float(model.geom_size[i, 0]), ends, colour))
    return parts
