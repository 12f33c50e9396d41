"""Bodies in a flow (wake/solver.py): an obstacle that stands still, and an ellipse that floats and is driven.

Brinkman penalisation, implicit and as strong as possible: where a body covers the share c of a velocity's cell, that
velocity becomes (1 - c) times the fluid's plus c times the body's. The momentum that the fluid loses is the force on
the body.

The ellipse is as heavy as the fluid it displaces. In each step it takes over the momentum and angular momentum of the
fluid in its place; force and torque are added, and are exactly what fluid and body gain together. What the surrounding
fluid does to it, by pressure and friction at its surface, has by then changed the fluid in its place.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numba import njit

from envs.wake.kernels import OPTIONS
from envs.wake.solver import Flow

ZERO, HALF, ONE, TINY = (np.float32(x) for x in (0.0, 0.5, 1.0, 1e-12))
THINNEST = 1.5
"""Fewest cells in the shorter half axis of an ellipse."""
Shape = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Distance from the surface, negative inside, of points x, y relative to the obstacle's place."""


def disc(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """A circular cylinder of diameter 1."""
    return np.hypot(x, y) - 0.5


def half_disc(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """A D-section cylinder of diameter 1, round on the left; its place is the middle of the flat face."""
    return np.maximum(np.hypot(x, y) - 0.5, x)


class Obstacle:
    """A body that stands still at `place`. ValueError if it reaches beyond the flow."""

    def __init__(self, flow: Flow, shape: Shape, place: tuple[float, float]):
        self.place, h = place, flow.h
        x = (np.arange(flow.u.shape[1]) - 2) * h - place[0]
        y = ((np.arange(flow.u.shape[0]) - 2) * h - place[1])[:, None]
        self.cover_u, self.cover_v = _share(shape(x, y + h / 2), h), _share(shape(x + h / 2, y), h)
        covered = (self.cover_u > 0) | (self.cover_v > 0)
        j, i = np.flatnonzero(covered.any(axis=1)), np.flatnonzero(covered.any(axis=0))
        nx, ny = flow.cells
        if not (len(i) and i[0] > 2 and j[0] > 2 and i[-1] < nx + 2 and j[-1] < ny + 2):
            raise ValueError(f"the obstacle at {place} reaches beyond the flow")
        self._box = int(j[0]), int(j[-1]) + 1, int(i[0]), int(i[-1]) + 1

    def hold(self, flow: Flow) -> tuple[float, float]:
        """Stop the fluid inside; return the force on the obstacle along x and y."""
        x, y = hold(flow.u, flow.v, self.cover_u, self.cover_v, self._box)
        return x * flow.h**2 / flow.dt, y * flow.h**2 / flow.dt


def _share(distance: np.ndarray, h: float) -> np.ndarray:
    """Share of each cell inside, float32, from its centre's distance, as if surfaces ran along the cells' sides."""
    return np.clip(0.5 - distance / h, 0.0, 1.0).astype(np.float32)


class Ellipse:
    """A floating ellipse with the half axes a and b, at `place`, with the axis of a turned by `angle`.

    ValueError if the shorter half axis spans fewer than THINNEST cells.
    """

    def __init__(self, flow: Flow, half_axes: tuple[float, float], place: tuple[float, float], angle: float):
        self._axes = half_axes[0] / flow.h, half_axes[1] / flow.h
        if not min(self._axes) >= THINNEST:
            raise ValueError(
                f"the grid is too coarse: the ellipse's half axis of {min(half_axes):g} spans {min(self._axes):.2g} "
                f"cells, and needs {THINNEST:g}"
            )
        side = 2 * math.ceil(max(self._axes)) + 5
        if side > min(flow.cells):
            raise ValueError(f"an ellipse with the half axes {half_axes} does not fit into the flow")
        self._cover = np.zeros((2, side, side), np.float32)
        self.velocity = np.zeros(3)
        """Velocity along x and y, and angular; NaN once it has left the flow."""
        self.put(flow, place, angle)

    def put(self, flow: Flow, place: tuple[float, float], angle: float) -> None:
        """Put it into the fluid; it takes over the fluid's motion in its place."""
        self.x, self.y, self.angle = *place, angle
        self._drive(flow, np.zeros(3))

    def float(self, flow: Flow, push: np.ndarray) -> None:
        """Move on by the flow's time step; `push` [3]: forces along x and y and a torque."""
        u, v, turn = self.velocity.tolist()
        self.x, self.y, self.angle = self.x + flow.dt * u, self.y + flow.dt * v, self.angle + flow.dt * turn
        self._drive(flow, push * (flow.dt / flow.h**2))

    def _drive(self, flow: Flow, push: np.ndarray) -> None:
        """push: added momentum and angular momentum, divided by the mass of the fluid in a cell."""
        where = self.x / flow.h, self.y / flow.h, math.cos(self.angle), math.sin(self.angle)
        drive(flow.u, flow.v, where, self._axes, self._cover, push, flow.h, self.velocity)


# ---- kernels, with the options of wake/kernels.py ------------------------------------------------------------------


@njit(cache=True, **OPTIONS)
def hold(u, v, cover_u, cover_v, box):
    """Take the covered share off u and v within the box of rows and columns; return the sums of what was taken."""
    first, last, left, right = box
    x, y = 0.0, 0.0
    for j in range(first, last):
        for i in range(left, right):
            taken_u, taken_v = cover_u[j, i] * u[j, i], cover_v[j, i] * v[j, i]
            u[j, i] -= taken_u
            v[j, i] -= taken_v
            x += taken_u
            y += taken_v
    return x, y


@njit(cache=True, **OPTIONS)
def cover_by_ellipse(x0, y0, where, axes, out):
    """Write the shares of cells that an ellipse covers into `out` [rows, columns]. Its centre is x0 columns and y0 rows
    from the first cell's; `where`: see `drive`."""
    x0, y0, cosine, sine = np.float32(x0), np.float32(y0), np.float32(where[2]), np.float32(where[3])
    over_a, over_b = np.float32(1.0 / axes[0]), np.float32(1.0 / axes[1])
    for j in range(out.shape[0]):
        for i in range(out.shape[1]):
            x, y = np.float32(i) - x0, np.float32(j) - y0
            along, beside = (x * cosine + y * sine) * over_a, (y * cosine - x * sine) * over_b
            r = math.sqrt(along * along + beside * beside)  # 1 on the surface
            along, beside = along * over_a, beside * over_b
            slope = math.sqrt(along * along + beside * beside + TINY)  # r times that of r
            out[j, i] = min(max(HALF - r * (r - ONE) / slope, ZERO), ONE)


@njit(cache=True, **OPTIONS)
def drive(u, v, where, axes, cover, push, h, velocity):
    """Let the fluid in an ellipse move as one rigid body with its momentum plus `push`; `velocity` gets that motion.

    where: x and y in cells, cosine and sine of the angle; axes: in cells; cover: scratch [2, n, n].
    """
    rows, columns = u.shape
    n = cover.shape[1]
    i0 = min(max(int(where[0]) + 2 - n // 2, 2), columns - 3 - n)
    j0 = min(max(int(where[1]) + 2 - n // 2, 2), rows - 3 - n)
    cover_u, cover_v = cover[0], cover[1]
    x0, y0 = where[0] + 2.0 - i0, where[1] + 2.0 - j0
    cover_by_ellipse(x0, y0 - 0.5, where, axes, cover_u)
    cover_by_ellipse(x0 - 0.5, y0, where, axes, cover_v)
    mass_u, arm_u, mass_v, arm_v, inertia = 0.0, 0.0, 0.0, 0.0, 0.0  # an arm is the distance from the centre
    x, y, spin = push[0], push[1], push[2]
    for j in range(n):
        for i in range(n):
            if cover_u[j, i] > ZERO:
                share, arm = cover_u[j, i], (j - y0 + 0.5) * h
                momentum = share * u[j0 + j, i0 + i]
                mass_u += share
                arm_u += share * arm
                inertia += share * arm * arm
                x += momentum
                spin -= arm * momentum
            if cover_v[j, i] > ZERO:
                share, arm = cover_v[j, i], (i - x0 + 0.5) * h
                momentum = share * v[j0 + j, i0 + i]
                mass_v += share
                arm_v += share * arm
                inertia += share * arm * arm
                y += momentum
                spin += arm * momentum
    if mass_u == 0.0 or mass_v == 0.0:
        velocity[:] = np.nan
        return
    turn = (spin + arm_u * x / mass_u - arm_v * y / mass_v) / (inertia - arm_u**2 / mass_u - arm_v**2 / mass_v)
    along, across = (x + turn * arm_u) / mass_u, (y - turn * arm_v) / mass_v
    velocity[0], velocity[1], velocity[2] = along, across, turn
    for j in range(n):
        of_row = np.float32(along - turn * (j - y0 + 0.5) * h)
        for i in range(n):
            of_column = np.float32(across + turn * (i - x0 + 0.5) * h)
            u[j0 + j, i0 + i] += cover_u[j, i] * (of_row - u[j0 + j, i0 + i])
            v[j0 + j, i0 + i] += cover_v[j, i] * (of_column - v[j0 + j, i0 + i])
