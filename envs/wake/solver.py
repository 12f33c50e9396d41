"""Two-dimensional incompressible flow by finite differences, into which bodies can be put (wake/bodies.py).

Eq. (17) of Novati and Koumoutsakos, "Remember and Forget for Experience Replay" (2019), App. D, with a density of 1:

    du/dt = -(u . grad) u + nu lap u - grad p + f,    div u = 0

Staggered grid of square cells: u on the cells' left and right sides, v on the lower and upper ones, p in the middle.
Advection is conservative and upwind, of third order; diffusion central; in time Adams-Bashforth's second-order rule. p
makes the flow free of divergence: a cosine transform along x leaves a tridiagonal system along y for each wave number,
solved exactly. f is what bodies do to the fluid in them; they do it between `predict` and `project`.

Fields are float32 [ny + 5, nx + 5], with two lines of ghosts around them: u[j + 2, i + 2] lies at (i h, (j + 1/2) h),
v[j + 2, i + 2] at ((i + 1/2) h, j h), for 0 <= i <= nx and 0 <= j <= ny. The flow enters on the left, with a given
profile, and leaves on the right; below and above are walls, with or without friction.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import fft

from envs.wake.kernels import advance, divergence, ghosts, rates, solve, take_gradient

COURANT, STABLE = 0.4, 0.6
"""Usual and largest Courant number: time step times largest velocity over h."""
DIFFUSION = 0.1
"""Largest time step times nu over h^2 in a fluid at rest. In a step, the upwind scheme and diffusion together must not
damp anything by more than itself, the limit of the Adams-Bashforth rule."""
STILL = 0.1
"""Smallest velocity that the time step allows for."""


class Flow:
    """A flow. A step is `predict`, then what bodies do, then `project`.

    cells: nx and ny; h: side of a cell; viscosity: nu; inflow: u at the left edge, one or [ny]; friction: the fluid
    does not slip along the walls. ValueError for what cannot work.
    """

    def __init__(
        self,
        cells: tuple[int, int],
        h: float,
        viscosity: float,
        inflow: float | np.ndarray = 1.0,
        friction: bool = False,
        courant: float = COURANT,
    ):
        nx, ny = self.cells = cells
        if min(cells) < 8:
            raise ValueError(f"a flow needs at least 8 x 8 cells, not {nx} x {ny}")
        if not (h > 0 and 0 < viscosity < np.inf):
            raise ValueError(f"the side of a cell and the viscosity must be positive, not {h} and {viscosity}")
        if not 0 < courant <= STABLE:
            raise ValueError(
                f"a Courant number of {courant} makes the time step unstable; it must lie in (0, {STABLE}]"
            )
        self.h, self.viscosity, self.courant = h, viscosity, courant
        self.inflow = np.broadcast_to(np.asarray(inflow, np.float32), ny).copy()
        self.mirror = np.float32(-1.0 if friction else 1.0)  # of u across a wall
        self.u, self.v = np.zeros((2, ny + 5, nx + 5), np.float32)
        self.u[2:-3] = self.inflow[:, None]
        self.p = np.zeros((ny, nx), np.float32)
        self.fastest = float(np.abs(self.inflow).max())
        """Largest velocity along x or y."""
        self.dt = 0.0
        """The last time step; 0 before the first."""
        self._rates, self._rates_before = np.zeros((2, 2, ny + 5, nx + 5), np.float32)
        self._waves = _eliminated(nx, ny)
        self._divergence = np.empty((ny, nx), np.float32)
        ghosts(self.u, self.v, self.inflow, self.mirror)

    def longest_step(self) -> float:
        """The longest stable time step from here."""
        by_advection = max(self.fastest, STILL) / (self.courant * self.h)
        return 1.0 / (by_advection + self.viscosity / (DIFFUSION * self.h**2))

    def predict(self, dt: float) -> None:
        """Advance by dt under advection, diffusion and the pressure so far: Eq. (17) without what bodies do."""
        rates(self.u, self.v, np.float32(1.0 / self.h), np.float32(self.viscosity / self.h), *self._rates)
        before = -0.5 * dt * dt / self.dt if self.dt else 0.0  # Euler's rule at first
        advance(
            self.u, self.v, self.p, *self._rates, *self._rates_before, np.float32(dt - before), np.float32(before),
            np.float32(dt / self.h), self.inflow,
        )  # fmt: skip
        self._rates, self._rates_before = self._rates_before, self._rates
        self.dt = dt

    def project(self) -> None:
        """Remove the divergence by a change of the pressure."""
        divergence(self.u, self.v, np.float32(self.h / self.dt), self._divergence)
        waves = fft.dct(self._divergence, axis=1, overwrite_x=True)
        solve(waves, self._waves)
        change = fft.idct(waves, axis=1, overwrite_x=True)
        self.fastest = float(take_gradient(self.u, self.v, self.p, change, np.float32(self.dt / self.h)))
        ghosts(self.u, self.v, self.inflow, self.mirror)

    def state(self) -> dict[str, Any]:
        """Copy all that the next steps depend on."""
        return {name: np.copy(getattr(self, name)) for name in _STATE} | {"dt": self.dt, "fastest": self.fastest}

    def restore(self, state: dict[str, Any], mirrored: bool = False) -> None:
        """Go back to a `state`, or to its image in a mirror along x."""
        for name in _STATE:
            getattr(self, name)[...] = state[name]
        self.dt, self.fastest = state["dt"], state["fastest"]
        if mirrored:
            self.p[:] = self.p[::-1].copy()
            for u, v in ((self.u, self.v), self._rates_before):
                u[2:-3], v[2:-2] = u[2:-3][::-1].copy(), -v[2:-2][::-1]
            ghosts(self.u, self.v, self.inflow, self.mirror)

    def velocity_at(self, points: np.ndarray) -> np.ndarray:
        """Velocity [n, 2] at points [n, 2], interpolated in the grid; beyond the edge, that at the edge."""
        found = np.empty((len(points), 2))
        for k, (field, shift_x, shift_y) in enumerate(((self.u, 0.0, 0.5), (self.v, 0.5, 0.0))):
            x = np.clip(points[:, 0] / self.h - shift_x + 2.0, 0.0, field.shape[1] - 1.001)
            y = np.clip(points[:, 1] / self.h - shift_y + 2.0, 0.0, field.shape[0] - 1.001)
            i, j = x.astype(int), y.astype(int)
            right, above = x - i, y - j
            below = (1.0 - right) * field[j, i] + right * field[j, i + 1]
            found[:, k] = (1.0 - above) * below + above * (
                (1.0 - right) * field[j + 1, i] + right * field[j + 1, i + 1]
            )
        return found

    def vorticity(self) -> np.ndarray:
        """dv/dx - du/dy at the inner corners of cells, [ny - 1, nx - 1]."""
        u, v = self.u[2:-3, 3:-3], self.v[3:-3, 2:-3]
        return (np.diff(v, axis=1) - np.diff(u, axis=0)) / np.float32(self.h)


_STATE = ("u", "v", "p", "_rates_before")


def _eliminated(nx: int, ny: int) -> np.ndarray:
    """Inverse pivots [ny, nx] of the tridiagonal systems; 0 for the mean pressure, which is not determined."""
    waves = 2.0 - 2.0 * np.cos(np.pi * np.arange(nx) / nx)
    inverse = np.empty((ny, nx))
    for j in range(ny):
        pivot = -waves - (1.0 if j in (0, ny - 1) else 2.0) - (inverse[j - 1] if j else 0.0)
        inverse[j] = 1.0 / np.where(np.abs(pivot) > 1e-9, pivot, np.inf)
    return inverse.astype(np.float32)
