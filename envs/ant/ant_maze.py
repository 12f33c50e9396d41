"""The ant maze: a four-legged robot in a U, whose goal lies behind the wall where it starts.

    import gymnasium
    env = gymnasium.make("envs:AntMaze-v0")  # that of the paper
    env = gymnasium.make("envs:AntMazeSmall-v0")  # half as large in every direction, a surrogate
    env = gymnasium.make("envs:AntArena-v0")  # no walls

The task is that of Trott et al., "Keeping your distance: solving sparse reward tasks using self-balancing shaped
rewards" (2019), Sec. 4 and App. F, "Ant maze navigation with hierarchical RL"; physics and layout, which the paper only
draws, are those of its authors' code. The straight way to the goal ends at a wall; the way around it is three times as
long. Torques move the ant, and learning to walk takes long: the paper's learner has two levels, and the higher one
tells the lower one where to go.

The ant is gymnasium's, with other actuators and contacts (`compiled`). Unlike in gymnasium, falling over ends nothing:
an ant on its back carries on until time is up.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium
import mujoco
import numpy as np
from mujoco import rollout

from envs.actions import finite_rows
from envs.goal_task import GoalEnv, GoalTask

ANT = Path(gymnasium.__file__).parent / "envs/mujoco/assets/ant.xml"
POSITIONS, SPEEDS = 15, 14
"""The ant's x, y, z, a quaternion and eight joints; and how fast each changes (a quaternion has three speeds)."""
STEP, FRAMES = 0.02, 5
"""Seconds per step of the simulator, and its steps per action."""
FORCE = 30.0
"""Largest torque of a motor."""
NOISE = 0.1
"""In starts: range of what is added to every position, and standard deviation of the speeds."""
CLOCK = 0.001
"""How much the learner's clock advances per step."""
WALL = 4.0
"""Height of a block."""
FAR = 1000.0
"""Bound of the observations, and of x and y where there are no walls, for gymnasium's spaces."""


@dataclass(frozen=True)
class Layout:
    """Where walls and goals are. The ant starts at the origin."""

    blocks: tuple[str, ...]
    """Rows of blocks, lowest y first: 1 is a wall, 0 is free, R free with the origin in its middle; no rows: open."""
    side: float
    """Side of a block."""
    goals: tuple[tuple[float, float], tuple[float, float]]
    """Lowest x and y of a goal, and highest."""
    steps: int
    """Steps in an episode."""
    integrator: mujoco.mjtIntegrator


U = ("11111", "1R001", "11101", "10001", "11111")
RK4, FAST = mujoco.mjtIntegrator.mjINT_RK4, mujoco.mjtIntegrator.mjINT_IMPLICITFAST
LAYOUTS = {
    "U": Layout(U, 8.0, ((-3.5, 12.5), (3.5, 19.5)), 500, RK4),
    "small U": Layout(U, 4.0, ((-1.75, 6.25), (1.75, 9.75)), 400, FAST),
    "arena": Layout((), 4.0, ((-5.0, -5.0), (5.0, 5.0)), 400, FAST),
}
"""The paper's; half of it, with four fifths of the time and a faster integrator; and no walls."""


class AntMaze(GoalTask):
    """The ant in a maze. In the unit of length, the ant's torso has a radius of 0.25.

    State: float64 [30], its 15 positions (absolute x and y first), their 14 speeds, and the steps that have passed.
    Observation: the same as float32, the steps times 0.001. Goal: float32 (x, y). An action is eight torques of up to
    30, kept for 0.1 s. Success: within 1.0 of the goal. Only starts are random.
    """

    observation_shape = (POSITIONS + SPEEDS + 1,)
    goal_shape = (2,)
    n_actions = 8
    action_range: float = FORCE
    tolerance = 1.0

    def __init__(self, layout: str = "U"):
        """ValueError for a layout that is not in LAYOUTS."""
        if layout not in LAYOUTS:
            raise ValueError(f"unknown layout {layout!r}; choose from: {', '.join(LAYOUTS)}")
        self.name, self.layout = layout, LAYOUTS[layout]
        self.max_steps = self.layout.steps
        self.walls = wall_centres(self.layout)
        """float64 [number of blocks, 2]"""
        self.model = compiled(self.layout)
        self._data = mujoco.MjData(self.model)  # scratch space for the simulator; nothing is kept there

    def __reduce__(self) -> tuple[Any, ...]:
        return AntMaze, (self.name,)

    def starts(self, n: int, rng: np.random.Generator) -> np.ndarray:
        states = np.zeros((n, *self.observation_shape))
        states[:, :POSITIONS] = self.model.qpos0 + rng.uniform(-NOISE, NOISE, (n, POSITIONS))
        states[:, 3:7] /= np.linalg.norm(states[:, 3:7], axis=1, keepdims=True)  # the simulator would, but a step later
        states[:, POSITIONS:-1] = NOISE * rng.standard_normal((n, SPEEDS))
        return states

    def goals(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return rng.uniform(*self.layout.goals, (n, 2)).astype(np.float32)

    def step(self, states: np.ndarray, actions: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """If the simulator gives up, as it does at speeds that no ant has, the ant stays where it is, at rest."""
        n = len(states)
        actions = finite_rows(actions, n, self.n_actions)
        before = np.concatenate([np.zeros((n, 1)), states[:, :-1]], axis=1)  # it wants the time first
        torques = np.clip(actions, -FORCE, FORCE)[:, None].repeat(FRAMES, axis=1)
        last = rollout.rollout(self.model, self._data, before, torques)[0][:, -1]
        after = states.copy()
        after[:, :-1] = last[:, 1:]
        lost = ~(last[:, 0] > STEP * (FRAMES - 0.5))  # not all steps were made: the time shows it
        if lost.any():
            after[lost, :POSITIONS] = states[lost, :POSITIONS]
            after[lost, POSITIONS:-1] = 0.0
        after[:, -1] += 1.0
        return after

    def observe(self, states: np.ndarray) -> np.ndarray:
        seen = states.copy()
        seen[:, -1] *= CLOCK
        return seen.astype(np.float32)

    def achieved(self, states: np.ndarray) -> np.ndarray:
        return states[..., :2].astype(np.float32)

    def distance(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        apart = np.subtract(a, b, dtype=np.float64)
        return np.hypot(apart[..., 0], apart[..., 1])

    def bounds(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        high = np.full(self.observation_shape, FAR, np.float32)
        low, place = -high, self.extent
        low[:2], high[:2] = place[::2], place[1::2]
        return low, high, low[:2], high[:2]

    def check(self, state: np.ndarray) -> None:
        """ValueError unless the ant's middle is between the walls, in none of them, and its quaternion is not 0."""
        super().check(state)
        if not self.contains(state[:2]) or not state[3:7].any():
            raise ValueError(f"no ant can be at {state[:3].tolist()} with the quaternion {state[3:7].tolist()}")

    def contains(self, goal: np.ndarray) -> bool:
        return not (np.abs(self.walls - goal).max(axis=1, initial=-1.0) < self.layout.side / 2).any()

    def picture(self, state: np.ndarray, goal: np.ndarray) -> np.ndarray:
        """Draw from above: walls, where goals lie (orange), the ant (blue), a circle where its centre meets it."""
        from envs.ant.view import draw  # which loads pygame

        return draw(self, state, goal)

    @property
    def extent(self) -> tuple[float, float, float, float]:
        """x from, x to, y from, y to, between the outer walls."""
        if not len(self.walls):
            return -FAR, FAR, -FAR, FAR
        half = self.layout.side / 2
        (left, low), (right, high) = self.walls.min(axis=0) + half, self.walls.max(axis=0) - half
        return float(left), float(right), float(low), float(high)


def wall_centres(layout: Layout) -> np.ndarray:
    """x and y of the middle of every block: float64 [number of blocks, 2]."""
    places = {(row, column): kind for row, line in enumerate(layout.blocks) for column, kind in enumerate(line)}
    row, column = next((place for place, kind in places.items() if kind == "R"), (0, 0))
    centres = [(x - column, y - row) for (y, x), kind in places.items() if kind == "1"]
    return layout.side * np.array(centres, np.float64).reshape(-1, 2)


def compiled(layout: Layout) -> mujoco.MjModel:
    """Gymnasium's ant with the authors' simulator steps, motors and contacts, between walls."""
    spec = mujoco.MjSpec.from_file(str(ANT))
    spec.option.timestep, spec.option.integrator = STEP, layout.integrator
    for motor in spec.actuators:  # gymnasium's: gear 150, and controls of up to 1
        motor.gear[0], motor.ctrlrange = 1.0, (-FORCE, FORCE)
    half = layout.side / 2
    for x, y in wall_centres(layout):
        spec.worldbody.add_geom(
            type=mujoco.mjtGeom.mjGEOM_BOX, pos=(x, y, WALL / 2), size=(half, half, WALL / 2),
            contype=1, conaffinity=1,  # by default those of the ant's parts, which do not touch each other
        )  # fmt: skip
    for geom in spec.geoms:
        geom.solref[:2], geom.solimp[:3] = (0.02, 1.0), (0.8, 0.8, 0.01)
    return spec.compile()


def ant_maze_env(render_mode: str | None = None) -> GoalEnv:
    """The paper's maze, one episode at a time."""
    return GoalEnv(AntMaze("U"), render_mode)


def small_ant_maze_env(render_mode: str | None = None) -> GoalEnv:
    """The maze of half the size, one episode at a time."""
    return GoalEnv(AntMaze("small U"), render_mode)


def ant_arena_env(render_mode: str | None = None) -> GoalEnv:
    """The arena without walls, one episode at a time."""
    return GoalEnv(AntMaze("arena"), render_mode)
