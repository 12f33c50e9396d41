"""A swimmer stays in the wake of a cylinder with as little effort as possible, feeling the flow at four points.

    import gymnasium
    env = gymnasium.make("envs:WakeFlow-v0")  # 16 cells per diameter; WakeFlow32-v0 and WakeFlow64-v0 have more

The flow-control task of Novati and Koumoutsakos, "Remember and Forget for Experience Replay" (2019), Sec. 5.4 and App.
D. Lengths are in diameters D of the cylinder, times in the time T in which it moves by D; the density is 1. We move
with the cylinder: it stands at the origin, its flat face downstream along x = 0, and the fluid comes from the left
with the speed 1. What the paper leaves open (box, starts, units of actions, sensors, grid) is chosen here and listed
in the NOTEBOOK of that paper's room.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from envs.actions import finite_numbers
from envs.reset_options import check_names
from envs.wake.bodies import Ellipse, Obstacle, half_disc
from envs.wake.solver import COURANT, Flow
from envs.wake.view import picture
from envs.window import Window

LENGTH, HEIGHT = 8, 4
PLACE = (1.8, 2.0)
"""Where in the domain the cylinder stands."""
HALF_AXES = (0.5, 0.1)
"""Half axes of the swimmer."""
BOX = (0.5, 3.5, -1.5, 1.5)
"""Where the swimmer's centre must stay: x from, x to, y from, y to."""
STARTS = (0.75, 3.25, -1.25, 1.25)
TILT = math.pi / 4
"""Largest angle of a start, to either side."""
EXIT_REWARD = -100.0
MAX_STEPS = 400
"""Actions per episode, the time limit of the registered ids."""
FEELER = 1 / 16
"""Distance from the surface at which the flow is felt: on the surface, it would be the swimmer's own."""
LIMIT = 10.0
"""Observations are clipped at plus and minus this; a swimmer that is not flung away stays far below."""
TOO_FAST = 1000.0
"""A velocity that no grid can follow; the swimmer is then lost, as if outside the box."""
DEVELOPED, WAKES, APART = 20.0, 24, 0.7
"""The wake's age at the first start taken from it; the number of starts; the time between two of them."""
KICK = 0.3
"""Velocity across the first wake, which would otherwise stay symmetric for long."""
FRAMES = 10
"""Pictures per action in a window."""


@lru_cache(maxsize=2)
def developed_wakes(cells: int, reynolds: float, courant: float) -> tuple[dict[str, Any], ...]:
    """Flows past the cylinder alone, once it sheds vortices regularly, as `Flow.state` returns them. They take half a
    second at 16 cells per diameter, eight times as long with each doubling."""
    flow = new_flow(cells, reynolds, courant)
    cylinder = Obstacle(flow, half_disc, PLACE)
    behind, middle = round((PLACE[0] + 0.2) * cells), round(PLACE[1] * cells)
    flow.v[middle - cells // 4 : middle + cells // 4, behind : behind + cells // 2] = KICK
    wakes = []
    for i in range(WAKES):
        pass_by(flow, cylinder, APART if i else DEVELOPED)
        wakes.append(flow.state())
    return tuple(wakes)


def new_flow(cells: int, reynolds: float, courant: float = COURANT) -> Flow:
    """A flow that comes from the left everywhere. ValueError for a grid or a Reynolds number that cannot work."""
    if cells != int(cells) or cells < 1:
        raise ValueError(f"cells per diameter must be a whole number, not {cells}")
    if not 0 < reynolds < math.inf:
        raise ValueError(f"the Reynolds number must be positive, not {reynolds}")
    return Flow((LENGTH * cells, HEIGHT * cells), 1.0 / cells, 1.0 / reynolds, courant=courant)


def pass_by(flow: Flow, cylinder: Obstacle, duration: float) -> list[tuple[float, float, float]]:
    """Let the flow pass the cylinder alone; return the time since the start and the force on it, step by step."""
    seen, time = [], 0.0
    while time < duration - 1e-9:
        left = duration - time
        dt = left / math.ceil(left / flow.longest_step())
        flow.predict(dt)
        force = cylinder.hold(flow)
        flow.project()
        time += dt
        seen.append((time, *force))
    return seen


class WakeFlow(gymnasium.Env):
    """The task. One action per T: force along x and y in U^2 D and torque in U^2 D^2, -1 to 1 but not clipped.

    Observation, float32 [14]: place (x, y), angle in (-pi/2, pi/2], velocity (x, y, angular), and at the tips of the
    long and the short axis the flow (x, y) relative to the swimmer's surface there. Reward: minus the squared norm of
    the action; -100 instead if the swimmer leaves the box, which terminates the episode. An episode starts in a
    developed wake, mirrored one time in two, at a random place and angle; the swimmer takes the velocity of the fluid
    in its place.

    cells: per diameter; reynolds: U D / nu; courant: of the time step. ValueError for what cannot work.
    """

    metadata = {"render_modes": ["human", "rgb_array"], "render_fps": 10}
    half_axes, box = HALF_AXES, BOX

    def __init__(
        self, render_mode: str | None = None, cells: int = 16, reynolds: float = 400.0, courant: float = COURANT
    ):
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise ValueError(f"render_mode must be one of {self.metadata['render_modes']}, not {render_mode!r}")
        self.render_mode, self.cells, self.reynolds, self.courant = render_mode, cells, reynolds, courant
        self.flow = new_flow(cells, reynolds, courant)
        self.cylinder = Obstacle(self.flow, half_disc, PLACE)
        self.swimmer = Ellipse(self.flow, HALF_AXES, (PLACE[0] + 2.0, PLACE[1]), 0.0)
        self.action = np.zeros(3)
        """The last action."""
        self.observation_space = spaces.Box(-LIMIT, LIMIT, (14,), np.float32)
        self.action_space = spaces.Box(-1.0, 1.0, (3,), np.float32)
        self._window: Window | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        check_names(options, ())
        super().reset(seed=seed)
        wakes = developed_wakes(self.cells, self.reynolds, self.courant)
        mirrored, chosen = divmod(int(self.np_random.integers(2 * len(wakes))), len(wakes))
        x, y = self.np_random.uniform(*STARTS[:2]), self.np_random.uniform(*STARTS[2:])
        self.flow.restore(wakes[chosen], bool(mirrored))
        self.swimmer.put(self.flow, (PLACE[0] + x, PLACE[1] + y), self.np_random.uniform(-TILT, TILT))
        self.action = np.zeros(3)
        self._show()
        return self.observe(), {}

    def step(self, action):
        self.action = finite_numbers(action, 3).copy()
        left, lost = 1.0, False
        while left > 1e-9 and not lost:
            dt = left / math.ceil(left / self.flow.longest_step())
            self.advance(dt)
            lost = self.is_lost()
            if math.floor(FRAMES * left) != math.floor(FRAMES * (left - dt)):
                self._show()
            left -= dt
        reward = EXIT_REWARD if lost else -float(self.action @ self.action)
        return self.observe(), reward, lost, False, {}

    def advance(self, dt: float) -> None:
        """One step of the solver, under the last action."""
        self.flow.predict(dt)
        self.swimmer.float(self.flow, self.action)
        self.cylinder.hold(self.flow)  # last: where they touch, the cylinder prevails
        self.flow.project()

    def place(self) -> tuple[float, float]:
        """The swimmer's centre, seen from the cylinder's."""
        return self.swimmer.x - PLACE[0], self.swimmer.y - PLACE[1]

    def is_lost(self) -> bool:
        """Whether the swimmer is out of its box, or too fast."""
        (x, y), (left, right, low, high) = self.place(), BOX
        inside = left <= x <= right and low <= y <= high
        return not (inside and bool((np.abs(self.swimmer.velocity) < TOO_FAST).all()))

    def feelers(self) -> np.ndarray:
        """Where the flow is felt, float64 [4, 2] in the domain: ahead and behind, then to the left and right."""
        reach = [a + FEELER for a in HALF_AXES]
        cosine, sine = math.cos(self.tilt), math.sin(self.tilt)
        ends = [(reach[0] * cosine, reach[0] * sine), (-reach[1] * sine, reach[1] * cosine)]
        signed = [(sign * x, sign * y) for x, y in ends for sign in (1, -1)]
        return np.array([self.swimmer.x, self.swimmer.y]) + signed

    @property
    def tilt(self) -> float:
        """The angle in (-pi/2, pi/2], all that an ellipse shows of it."""
        return -math.remainder(-self.swimmer.angle, math.pi)

    def observe(self) -> np.ndarray:
        """The current observation. If the swimmer was flung out of the flow, what has no value is 0."""
        points, (u, v, turn) = self.feelers(), self.swimmer.velocity
        offsets = points - (self.swimmer.x, self.swimmer.y)
        with np.errstate(invalid="ignore", over="ignore"):
            own = np.stack([u - turn * offsets[:, 1], v + turn * offsets[:, 0]], axis=1)
            felt = self.flow.velocity_at(points) - own
        seen = np.concatenate([self.place(), [self.tilt], self.swimmer.velocity, felt.ravel()])
        return np.nan_to_num(seen).clip(-LIMIT, LIMIT).astype(np.float32)

    def render(self) -> np.ndarray | None:
        """uint8 [height, width, 3]: vorticity, bodies, box, sensors and the last action."""
        return picture(self) if self.render_mode == "rgb_array" else None

    def _show(self) -> None:
        if self.render_mode == "human":
            self._window = self._window or Window("wake", FRAMES * 2)
            self._window.show(picture(self))

    def close(self) -> None:
        """Close the window if it is open."""
        if self._window is not None:
            self._window.close()
