"""The flow solver's kernels; arrays are those of `Flow` (wake/solver.py), float32, and are written in place."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

OPTIONS: dict[str, Any] = {"error_model": "numpy", "fastmath": {"reassoc", "arcp", "nsz"}, "forceinline": True}
"""Options of `njit`. No "contract", and everything inlined: else the last digit would depend on what the compiler
inlines where, and on which process compiles."""
HALF, SEVEN, THREE, TWELFTH = (np.float32(x) for x in (0.5, 7.0, 3.0, 1 / 12))


@njit(cache=True, **OPTIONS)
def _flux(a, b, c, d, speed, friction):
    """What `speed` carries across, and friction, between b and c of four neighbours in a row: third order, upwind."""
    carried = speed * (SEVEN * (b + c) - (a + d)) - abs(speed) * (THREE * (c - b) - (d - a))
    return carried * TWELFTH - friction * (c - b)


@njit(cache=True, **OPTIONS)
def rates(u, v, over_h, friction, rate_u, rate_v):
    """Compute du/dt and dv/dt by advection and diffusion, for all velocities but those at the edges."""
    rows, columns = u.shape
    last_i, last_j = columns - 3, rows - 3  # of u along x, of v along y
    across, up, up_next = np.empty((3, columns), np.float32)
    for j in range(2, last_j):
        f0, f1, f2, f3, f4 = u[j - 2], u[j - 1], u[j], u[j + 1], u[j + 2]
        low, high = v[j], v[j + 1]
        rate = rate_u[j]
        if j == 2:
            for i in range(3, last_i):
                up[i] = _flux(f0[i], f1[i], f2[i], f3[i], HALF * (low[i - 1] + low[i]), friction)
        for i in range(3, last_i):
            up_next[i] = _flux(f1[i], f2[i], f3[i], f4[i], HALF * (high[i - 1] + high[i]), friction)
        for i in range(3, last_i + 1):
            across[i] = _flux(f2[i - 2], f2[i - 1], f2[i], f2[i + 1], HALF * (f2[i - 1] + f2[i]), friction)
        for i in range(3, last_i):
            rate[i] = over_h * ((across[i] - across[i + 1]) + (up[i] - up_next[i]))
        up, up_next = up_next, up
    for j in range(3, last_j):
        f0, f1, f2, f3, f4 = v[j - 2], v[j - 1], v[j], v[j + 1], v[j + 2]
        low, high = u[j - 1], u[j]
        rate = rate_v[j]
        if j == 3:
            for i in range(2, last_i):
                up[i] = _flux(f0[i], f1[i], f2[i], f3[i], HALF * (f1[i] + f2[i]), friction)
        for i in range(2, last_i):
            up_next[i] = _flux(f1[i], f2[i], f3[i], f4[i], HALF * (f2[i] + f3[i]), friction)
        for i in range(2, last_i + 1):
            across[i] = _flux(f2[i - 2], f2[i - 1], f2[i], f2[i + 1], HALF * (low[i] + high[i]), friction)
        for i in range(2, last_i):
            rate[i] = over_h * ((across[i] - across[i + 1]) + (up[i] - up_next[i]))
        up, up_next = up_next, up


@njit(cache=True, **OPTIONS)
def advance(u, v, p, rate_u, rate_v, before_u, before_v, now, before, dt_over_h, inflow):
    """Advance u and v by `now` times their rates, `before` times those of the step before, and the pressure.

    At the right edge, u is carried out with the mean inflow, and as much flows out as in.
    """
    rows, columns = u.shape
    last_i, last_j = columns - 3, rows - 3
    mean = inflow.mean()
    missing = np.float64(0.0)
    for j in range(2, last_j):
        leaving = u[j, last_i] - dt_over_h * mean * (u[j, last_i] - u[j, last_i - 1])
        for i in range(3, last_i):
            u[j, i] += now * rate_u[j, i] + before * before_u[j, i] - dt_over_h * (p[j - 2, i - 2] - p[j - 2, i - 3])
        u[j, last_i] = leaving
        missing += inflow[j - 2] - leaving
    share = np.float32(missing / inflow.size)
    for j in range(2, last_j):
        u[j, last_i] += share
    for j in range(3, last_j):
        for i in range(2, last_i):
            v[j, i] += now * rate_v[j, i] + before * before_v[j, i] - dt_over_h * (p[j - 2, i - 2] - p[j - 3, i - 2])


@njit(cache=True, **OPTIONS)
def divergence(u, v, factor, out):
    """`factor` times what flows out of each cell [ny, nx]."""
    for j in range(out.shape[0]):
        for i in range(out.shape[1]):
            out[j, i] = factor * ((u[j + 2, i + 3] - u[j + 2, i + 2]) + (v[j + 3, i + 2] - v[j + 2, i + 2]))


@njit(cache=True, **OPTIONS)
def solve(waves, inverse):
    """Solve Poisson's equation for each wave number along x, in place; `inverse`: see `_eliminated`."""
    ny, nx = waves.shape
    for i in range(nx):
        waves[0, i] *= inverse[0, i]
    for j in range(1, ny):
        for i in range(nx):
            waves[j, i] = (waves[j, i] - waves[j - 1, i]) * inverse[j, i]
    for j in range(ny - 2, -1, -1):
        for i in range(nx):
            waves[j, i] -= inverse[j, i] * waves[j + 1, i]
    level = waves[:, 0].mean()  # the pressure is determined up to this constant
    for j in range(ny):
        waves[j, 0] -= level


@njit(cache=True, **OPTIONS)
def take_gradient(u, v, p, change, dt_over_h):
    """Add `change` to the pressure and subtract its gradient from the velocities; return the largest velocity."""
    ny, nx = p.shape
    fastest = np.float32(0.0)
    for j in range(ny):
        for i in range(nx):
            p[j, i] += change[j, i]
        for i in range(1, nx):
            u[j + 2, i + 2] -= dt_over_h * (change[j, i] - change[j, i - 1])
        for i in range(nx + 1):
            fastest = max(fastest, abs(u[j + 2, i + 2]))
    for j in range(1, ny):
        for i in range(nx):
            v[j + 2, i + 2] -= dt_over_h * (change[j, i] - change[j - 1, i])
        for i in range(nx):
            fastest = max(fastest, abs(v[j + 2, i + 2]))
    return fastest


@njit(cache=True, **OPTIONS)
def ghosts(u, v, inflow, mirror):
    """Fill what lies beyond the edges: the inflow's u and no v; no gradient at the outlet; a mirror at the walls."""
    rows, columns = u.shape
    last_i, last_j = columns - 3, rows - 3
    for j in range(2, last_j):
        u[j, 0] = u[j, 1] = u[j, 2] = inflow[j - 2]
        u[j, last_i + 1] = u[j, last_i + 2] = u[j, last_i]
    for j in range(2, last_j + 1):
        v[j, 1], v[j, 0] = -v[j, 2], -v[j, 3]
        v[j, last_i] = v[j, last_i + 1] = v[j, last_i - 1]
        v[j, last_i + 2] = v[j, last_i - 1]
    for i in range(columns):
        u[1, i], u[0, i] = mirror * u[2, i], mirror * u[3, i]
        u[last_j, i], u[last_j + 1, i] = mirror * u[last_j - 1, i], mirror * u[last_j - 2, i]
        v[2, i] = v[last_j, i] = np.float32(0.0)
        v[1, i], v[0, i] = -mirror * v[3, i], -mirror * v[4, i]
        v[last_j + 1, i], v[last_j + 2, i] = -mirror * v[last_j - 1, i], -mirror * v[last_j - 2, i]
