"""Pictures of the construction task, for people: arena and goal from above the south-west, and the agent's own view.

In the arena, the goal's missing blocks are outlined, wrong ones have a red frame and a cross; the red line is the
agent's gaze, which ends at what it aims at. All lengths are in cells until `Scene._pixel`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pygame

from envs.voxel.eye import COLOURS, FLOOR, MEADOW, OTHER_FLOOR
from envs.voxel.kernels import EYE, HEADING, HEADINGS, PITCH, PITCHES, REACH, X, Y, Z, aim

WIDTH, HEIGHT, SIDE = 720, 480, 240
"""Size of a picture in pixels; width of its right column, which has the goal above what the agent sees."""
FINER = 2
"""How many times finer the canvas is: making it smaller smooths the edges."""
SKY, EDGE, WRONG, GAZE = (238, 243, 248), (45, 48, 54), (205, 40, 20), (205, 40, 20)
COAT, SKIN, HAIR = (0, 130, 100), (236, 200, 166), (84, 56, 40)
BRIGHT = (1.0, 0.84, 0.66)
"""Brightness of a block's top, its western and its southern face."""
Colour = tuple[int, ...]
Point = tuple[float, float, float]


def draw(task: Any, state: np.ndarray, goal: np.ndarray) -> np.ndarray:
    """Draw one state of a `build.VoxelBuild` and its goal: uint8 [HEIGHT, WIDTH, 3]."""
    canvas = pygame.Surface((WIDTH * FINER, HEIGHT * FINER), depth=32)  # needs no display
    canvas.fill(SKY)
    shape = task.height, task.size, task.size
    cells, wanted = state[: task.cells].reshape(shape), np.asarray(goal).astype(np.int64).reshape(shape)
    left = pygame.Rect(0, 0, (WIDTH - SIDE) * FINER, HEIGHT * FINER)
    Scene(canvas, left, task.size, task.height).arena(cells, wanted, state[task.cells :].astype(int).tolist())
    top = pygame.Rect(left.right, 0, SIDE * FINER, (HEIGHT - SIDE * 3 // 4) * FINER)
    Scene(canvas, top, task.size, task.height).arena(wanted, wanted, None)
    picture = pygame.surfarray.array3d(pygame.transform.smoothscale(canvas, (WIDTH, HEIGHT))).swapaxes(0, 1)
    seen = task.look(state[None], SIDE * 3 // 4 - 8, SIDE - 8)[0]
    picture[-4 - len(seen) : -4, -4 - seen.shape[1] : -4] = seen
    return np.ascontiguousarray(picture)


def _shade(colour: Any, brightness: float) -> Colour:
    return tuple(int(part * brightness) for part in colour)


class Scene:
    """A part of a canvas, and the arena's place in it."""

    def __init__(self, canvas: pygame.Surface, part: pygame.Rect, size: int, height: int):
        self.canvas, self.size, self.height = canvas, size, height
        above = height + 2.0  # layers that can be seen above the ground: an agent stands on the highest
        self.unit = min(part.width / (2 * size + 2.4), part.height / (size + above + 1.0))
        self.origin = part.centerx, part.centery + self.unit * (size + above * 0.5) / 2

    def arena(self, cells: np.ndarray, wanted: np.ndarray, pose: list[int] | None) -> None:
        """Draw floor and blocks, the farthest first, and the agent in its turn; mark what differs from `wanted`."""
        size, rim = self.size, 0.5
        corners: list[Point] = [
            (-rim, -rim, 0),
            (size + rim, -rim, 0),
            (size + rim, size + rim, 0),
            (-rim, size + rim, 0),
        ]
        self._polygon(corners, MEADOW)
        for x in range(size):
            for y in range(size):
                floor: list[Point] = [(x, y, 0), (x + 1, y, 0), (x + 1, y + 1, 0), (x, y + 1, 0)]
                self._polygon(floor, FLOOR if (x + y) % 2 == 0 else OTHER_FLOOR)
        for x, y in sorted(((x, y) for x in range(size) for y in range(size)), key=lambda cell: -sum(cell)):
            for z in range(self.height):
                self._cell(x, y, z, int(cells[z, y, x]), int(wanted[z, y, x]))
            if pose is not None and (pose[X], pose[Y]) == (x, y):
                self._agent(pose)
        if pose is not None:
            self._gaze(cells, pose)

    def _cell(self, x: int, y: int, z: int, there: int, wanted: int) -> None:
        box = (x, x + 1.0, y, y + 1.0, z, z + 1.0)
        if there:
            self._box(box, COLOURS[there - 1], EDGE if there == wanted else WRONG, 1 if there == wanted else 3)
            if there != wanted:
                for a, b in (((x, y, z + 1), (x + 1, y + 1, z + 1)), ((x + 1, y, z + 1), (x, y + 1, z + 1))):
                    self._line(a, b, WRONG, 3)
        elif wanted:
            self._box(box, None, _shade(COLOURS[wanted - 1], 0.85), 2)

    def _agent(self, pose: list[int]) -> None:
        """Draw coat, head and hair, half a cell thick, and a nose to tell where it looks."""
        x, y, z = pose[X] + 0.5, pose[Y] + 0.5, float(pose[Z])
        ahead = HEADINGS[pose[HEADING]] / np.linalg.norm(HEADINGS[pose[HEADING]])
        nose = (x + 0.36 * ahead[0], y + 0.36 * ahead[1], z + EYE - 0.08)
        behind = ahead.sum() > 0.1  # then the head hides it
        if behind:
            self._line((x, y, z + EYE - 0.08), nose, SKIN, 5)
        self._box((x - 0.24, x + 0.24, y - 0.24, y + 0.24, z, z + 1.3), COAT, EDGE, 1)
        self._box((x - 0.2, x + 0.2, y - 0.2, y + 0.2, z + 1.3, z + 1.72), SKIN, EDGE, 1)
        self._box((x - 0.21, x + 0.21, y - 0.21, y + 0.21, z + 1.72, z + 1.84), HAIR, EDGE, 1)
        if not behind:
            self._line((x, y, z + EYE - 0.08), nose, HAIR, 5)

    def _gaze(self, cells: np.ndarray, pose: list[int]) -> None:
        """Draw the gaze from the eye to the face that it meets, or to its reach; a dot where it aims at something."""
        eye = (pose[X] + 0.5, pose[Y] + 0.5, pose[Z] + EYE)
        pitch = math.radians(float(PITCHES[pose[PITCH]]))
        level = math.cos(pitch) / float(np.linalg.norm(HEADINGS[pose[HEADING]]))
        way = (*(HEADINGS[pose[HEADING]] * level).tolist(), -math.sin(pitch))
        flat = np.ascontiguousarray(cells.reshape(-1)).astype(np.uint8)
        broken, filled = aim(flat, np.array(pose, np.uint8), self.size, self.height)
        steps, end = 200, 0.0
        for i in range(1, steps + 1):
            end = REACH * i / steps
            x, y, z = (math.floor(start + end * step) for start, step in zip(eye, way))
            inside = 0 <= x < self.size and 0 <= y < self.size
            if not inside or z < 0 or (z < self.height and cells[z, y, x]):
                break
        tip = tuple(start + end * step for start, step in zip(eye, way))
        self._line(eye, tip, GAZE, 1)
        if broken >= 0 or filled >= 0:
            pygame.draw.circle(self.canvas, GAZE, self._pixel(tip), 3 * FINER)

    # --- shapes -------------------------------------------------------------------------------------------------------

    def _pixel(self, point: Any) -> tuple[float, float]:
        """Place on the canvas: east leads to the upper right, north to the upper left."""
        x, y, z = point
        return self.origin[0] + (x - y) * self.unit, self.origin[1] - ((x + y) / 2 + z) * self.unit

    def _polygon(self, corners: list[Point], colour: Colour) -> None:
        pygame.draw.polygon(self.canvas, colour, [self._pixel(corner) for corner in corners])

    def _line(self, a: Any, b: Any, colour: Colour, width: int) -> None:
        pygame.draw.line(self.canvas, colour, self._pixel(a), self._pixel(b), width * FINER)

    def _box(self, box: tuple[float, ...], colour: Any, edge: Colour, width: int) -> None:
        """Its three faces that can be seen, filled unless `colour` is None, and their edges."""
        x, to_x, y, to_y, z, to_z = box
        faces: list[list[Point]] = [
            [(x, y, to_z), (to_x, y, to_z), (to_x, to_y, to_z), (x, to_y, to_z)],
            [(x, y, z), (x, to_y, z), (x, to_y, to_z), (x, y, to_z)],
            [(x, y, z), (to_x, y, z), (to_x, y, to_z), (x, y, to_z)],
        ]
        for face, brightness in zip(faces, BRIGHT):
            if colour is not None:
                self._polygon(face, _shade(colour, brightness))
            for a, b in zip(face, face[1:] + face[:1]):
                self._line(a, b, edge, width)
