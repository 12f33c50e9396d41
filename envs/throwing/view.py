"""Pictures of the ball-throwing tasks, with every object drawn larger than it is.

Red outline: what the gripper can reach. Black outline: where black holes may lie. All lengths are those of the world,
see `physics`, until `View._pixel`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pygame

from envs.throwing.physics import BASE, LINK, WORKSPACE

Point = tuple[float, float]
Colour = tuple[int, int, int]

SIZE = 480
"""Width and height of a picture in pixels."""
FINER = 4
"""How many times finer the canvas is: making it smaller smooths the edges. With 3, pygame turns white into 253."""
LEFT, BOTTOM, SIDE = -0.04, -0.07, 1.11
"""The part of the world that a picture shows."""
BALL, OUTLINE = 0.018, 0.005
"""Radius of the ball, width of outlines."""
PALM = 0.045
"""How far behind the gripper's centre its palm is."""

WHITE, BLACK, RED = (255, 255, 255), (0, 0, 0), (205, 40, 40)
GROUND, LINE, BRICK = (232, 230, 225), (70, 70, 70), (165, 160, 155)
STEEL, DARK_STEEL, PEDESTAL = (96, 122, 152), (48, 64, 84), (214, 218, 223)
ORANGE, DARK_ORANGE, SHINE = (240, 140, 20), (150, 80, 0), (255, 228, 175)
HALO = [(228, 220, 240), (196, 180, 222), (150, 126, 192), (96, 70, 148), (20, 10, 36)]
"""The black hole from its rim to its centre."""


class View:
    """Pictures of `task`, a `throwing.ThrowingTask`; with `window`, shown in one."""

    def __init__(self, task: Any, window: bool):
        self.task = task
        self.canvas = pygame.Surface((SIZE * FINER, SIZE * FINER), depth=32)  # needs no display
        self.window = None
        if window:
            pygame.display.init()
            self.window = pygame.display.set_mode((SIZE, SIZE))
            pygame.display.set_caption(type(task).__name__)
            self.clock = pygame.time.Clock()

    def draw(self) -> np.ndarray | None:
        """Return the current scene, uint8 [SIZE, SIZE, 3]; with a window, show it there when the next frame is due."""
        self._surroundings()
        self._gripper_and_ball()
        small = pygame.transform.smoothscale(self.canvas, (SIZE, SIZE))
        if self.window is None:
            return np.ascontiguousarray(pygame.surfarray.array3d(small).swapaxes(0, 1))
        self.window.blit(small, (0, 0))
        self.clock.tick(self.task.metadata["render_fps"])
        pygame.event.pump()  # else the system takes the window for frozen
        pygame.display.flip()
        return None

    def close(self) -> None:
        """Close the window, if there is one."""
        if self.window is not None:
            pygame.display.quit()
            self.window = None

    # --- the scene ----------------------------------------------------------------------------------------------------

    @property
    def _is_arm(self) -> bool:
        return len(self.task.state) > 9

    def _surroundings(self) -> None:
        """Floor, wall, pedestal, the two outlined regions, and the black hole."""
        self.canvas.fill(WHITE)
        self._box((LEFT, LEFT + SIDE, BOTTOM, -BALL), GROUND)  # so a ball at y = 0 lies on the floor, not in it
        self._bar((LEFT, -BALL), (LEFT + SIDE, -BALL), OUTLINE, LINE)
        wall, top = self.task.wall
        for colour, width in ((BRICK, 0.0), (LINE, OUTLINE)):  # where there is no wall, it lies outside the picture
            self._box((wall - 0.012, wall + 0.012, -BALL, top), colour, width)
        if self._is_arm:
            x, y = BASE
            self._polygon([(x - 0.06, -BALL), (x - 0.02, y), (x + 0.02, y), (x + 0.06, -BALL)], PEDESTAL)
            self._disc(BASE, 2 * LINK, RED, OUTLINE)
        else:
            self._box(WORKSPACE, RED, OUTLINE)
        goal = (float(self.task.goal[0]), float(self.task.goal[1]))
        for i, colour in enumerate(HALO):
            self._disc(goal, 0.058 - 0.006 * i, colour)
        self._box(self.task.goal_box, BLACK, OUTLINE)

    def _gripper_and_ball(self) -> None:
        state = self.task.state
        if self._is_arm:
            elbow = BASE[0] + LINK * math.cos(state[0]), BASE[1] + LINK * math.sin(state[0])
            centre, closed = (state[2], state[3]), state[8] > 0
            ahead = ((centre[0] - elbow[0]) / LINK, (centre[1] - elbow[1]) / LINK)
            wrist = (centre[0] - PALM * ahead[0], centre[1] - PALM * ahead[1])
            for a, b in ((BASE, elbow), (elbow, wrist)):
                self._bar(a, b, 0.032, DARK_STEEL)
                self._bar(a, b, 0.024, STEEL)
            for joint, radius in ((BASE, 0.028), (elbow, 0.022)):
                self._disc(joint, radius, DARK_STEEL)
                self._disc(joint, 0.5 * radius, WHITE)
        else:
            centre, closed, ahead = (state[0], state[1]), state[4] > 0, (0.0, -1.0)
            wrist = centre[0], centre[1] + PALM
            self._bar(wrist, (centre[0], centre[1] + PALM + 0.025), 0.024, STEEL)
        self._ball(*state[self.task.ball])
        self._gripper(centre, ahead, closed)

    def _gripper(self, centre: Point, ahead: Point, closed: bool) -> None:
        """Palm and two fingers around `centre`; `ahead` is the direction, of length 1, in which the fingers point."""

        def place(forward: float, left: float) -> Point:
            x, y = centre[0] + forward * ahead[0], centre[1] + forward * ahead[1]
            return x - left * ahead[1], y + left * ahead[0]

        wrist = place(-PALM, 0.0)
        for side in (-1, 1):
            root = place(-PALM, 0.027 * side)
            knuckle = place(-0.012, (0.027 if closed else 0.038) * side)
            tip = place(0.014, (0.021 if closed else 0.044) * side)
            for a, b, width in ((wrist, root, 0.016), (root, knuckle, 0.012), (knuckle, tip, 0.012)):
                self._bar(a, b, width, DARK_STEEL)

    def _ball(self, x: float, y: float) -> None:
        self._disc((x, y), BALL, DARK_ORANGE)
        self._disc((x, y), 0.85 * BALL, ORANGE)
        self._disc((x - 0.3 * BALL, y + 0.35 * BALL), 0.28 * BALL, SHINE)

    # --- shapes, in lengths of the world ------------------------------------------------------------------------------

    def _pixel(self, point: Point) -> Point:
        """Place on the canvas, where y points down."""
        scale = SIZE * FINER / SIDE
        return (point[0] - LEFT) * scale, (BOTTOM + SIDE - point[1]) * scale

    def _length(self, length: float) -> int:
        return round(length * SIZE * FINER / SIDE)

    def _polygon(self, corners: list[Point], colour: Colour) -> None:
        pygame.draw.polygon(self.canvas, colour, [self._pixel(corner) for corner in corners])

    def _disc(self, centre: Point, radius: float, colour: Colour, width: float = 0.0) -> None:
        """A filled disc, or a circle whose line has a `width`."""
        pygame.draw.circle(self.canvas, colour, self._pixel(centre), self._length(radius), self._length(width))

    def _box(self, box: Sequence[float], colour: Colour, width: float = 0.0) -> None:
        """A filled box (x from, x to, y from, y to), or its outline when there is a `width`."""
        x_low, x_high, y_low, y_high = box
        left, top = self._pixel((x_low, y_high))
        rectangle = (round(left), round(top), self._length(x_high - x_low), self._length(y_high - y_low))
        pygame.draw.rect(self.canvas, colour, rectangle, self._length(width))

    def _bar(self, a: Point, b: Point, width: float, colour: Colour) -> None:
        """A thick line with round ends."""
        length = math.dist(a, b)
        dx, dy = (width / 2 * (b[1] - a[1]) / length, width / 2 * (a[0] - b[0]) / length)
        self._polygon(
            [(a[0] + dx, a[1] + dy), (b[0] + dx, b[1] + dy), (b[0] - dx, b[1] - dy), (a[0] - dx, a[1] - dy)], colour
        )
        self._disc(a, width / 2, colour)
        self._disc(b, width / 2, colour)
