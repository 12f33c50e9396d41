"""The picture of the swimmer in the wake: vorticity, bodies, the box, sensors, and force and torque.

Red turns anticlockwise, blue clockwise, as in the paper's Fig. 6. The arrow is the force of the last action, the arc
around the swimmer its torque.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

SCALE, FINER = 90, 2
"""Pixels per diameter; how many times finer shapes are drawn, to smooth their edges."""
STRONG = 8.0
"""Vorticity [1/T] at full colour."""
RED, BLUE = np.array((178, 24, 43.0)), np.array((33, 102, 172.0))
BODY, SWIMMER, LINE, ARROW = (60, 60, 60), (255, 214, 92), (20, 20, 20), (0, 110, 60)


def colours(vorticity: np.ndarray) -> np.ndarray:
    """uint8 [..., 3]: white without vorticity."""
    shade = np.tanh(vorticity / STRONG)[..., None]
    return np.where(shade > 0, 255 - shade * (255 - RED), 255 + shade * (255 - BLUE)).astype(np.uint8)


def picture(env: Any) -> np.ndarray:
    """Draw the whole domain of a `WakeFlow`: uint8 [height, width, 3]."""
    import pygame  # not needed for training

    flow, swimmer = env.flow, env.swimmer
    width, height = (round(cells * flow.h * SCALE) for cells in flow.cells)
    field = np.pad(flow.vorticity(), ((0, 1), (0, 1)), mode="edge")  # a corner as its cell: off by half a cell
    small = pygame.surfarray.make_surface(colours(field[::-1]).swapaxes(0, 1))
    canvas = pygame.transform.smoothscale(small, (width * FINER, height * FINER))
    scale, top = SCALE * FINER, height * FINER

    def at(x: float, y: float) -> tuple[float, float]:
        return x * scale, top - y * scale

    (ox, oy), (a, b) = env.cylinder.place, env.half_axes
    turns = np.linspace(0.0, 2.0 * math.pi, 65)
    round_side = [at(ox - 0.5 * math.sin(t), oy + 0.5 * math.cos(t)) for t in turns[:33]]
    pygame.draw.polygon(canvas, BODY, round_side)

    left, right, low, high = env.box
    corners = [(ox + x, oy + y) for x, y in ((left, low), (right, low), (right, high), (left, high))]
    for (x, y), (to_x, to_y) in zip(corners, corners[1:] + corners[:1]):
        n = round(math.hypot(to_x - x, to_y - y) * 8)
        for k in range(n):  # dashes
            start, end = (at(x + (to_x - x) * part / n, y + (to_y - y) * part / n) for part in (k + 0.2, k + 0.8))
            pygame.draw.line(canvas, LINE, start, end, FINER)

    cosine, sine = math.cos(swimmer.angle), math.sin(swimmer.angle)
    outline = [(a * math.cos(t), b * math.sin(t)) for t in turns]
    hull = [at(swimmer.x + x * cosine - y * sine, swimmer.y + x * sine + y * cosine) for x, y in outline]
    pygame.draw.polygon(canvas, SWIMMER, hull)
    pygame.draw.polygon(canvas, LINE, hull, FINER)
    for x, y in env.feelers():
        pygame.draw.circle(canvas, LINE, at(x, y), 2.5 * FINER)

    force_x, force_y, torque = np.nan_to_num(env.action).clip(-2.0, 2.0).tolist()
    tip = (swimmer.x + force_x, swimmer.y + force_y)
    if (length := math.hypot(force_x, force_y)) > 0.02:
        pygame.draw.line(canvas, ARROW, at(swimmer.x, swimmer.y), at(*tip), 3 * FINER)
        along, size = (force_x / length, force_y / length), min(0.12, 0.5 * length)
        back = (tip[0] - size * along[0], tip[1] - size * along[1])
        wings = [at(back[0] - s * 0.6 * size * along[1], back[1] + s * 0.6 * size * along[0]) for s in (1, -1)]
        pygame.draw.polygon(canvas, ARROW, [at(*tip), *wings])
    if abs(torque) > 0.02:
        arc = np.linspace(0.0, min(abs(torque), 1.0) * 1.5 * math.pi, 33) * math.copysign(1.0, torque)
        points = [at(swimmer.x + 0.3 * math.cos(t), swimmer.y + 0.3 * math.sin(t)) for t in arc]
        pygame.draw.lines(canvas, ARROW, False, points, 2 * FINER)
        pygame.draw.circle(canvas, ARROW, points[-1], 4 * FINER)
    shown = pygame.transform.smoothscale(canvas, (width, height))
    return np.ascontiguousarray(pygame.surfarray.array3d(shown).swapaxes(0, 1))
