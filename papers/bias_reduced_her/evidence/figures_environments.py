"""Figs. 1 and 2: pictures of the three tasks, and the target distribution of virtual goals. Nothing is trained."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from envs.throwing.experts import HandExpert, RobotExpert
from envs.throwing.physics import WALL
from envs.throwing.tasks import GOAL_BOX, MAX_STEPS, Hand, HandWall, Robot, ThrowingTask
from envs.throwing.view import BOTTOM, LEFT, SIDE
from lab.judge.colours import VERMILLION
from lab.judge.plotting import new_figure, save
from lab.judge.results import Results
from papers.bias_reduced_her.instructional import Grid, UniformGoals, target_distribution

Policy = Callable[[np.ndarray, np.ndarray], np.ndarray]

TOP = 0.75
"""Where Fig. 1 ends: no throw goes higher."""
FLOOR = 0.002
"""Smallest weight of a virtual goal, to which Fig. 2 is clipped."""
CELLS = 10
"""Along each side of the grid on which training compares virtual goals."""


def fig1(results: Results, scale: str, out: Path) -> None:
    """Fig. 1: each task just before the throw of its scripted expert, and where the ball goes from there."""
    note = "drawn, nothing trained; dots: the ball in the steps after a scripted expert lets go\n"
    note += "red: what the gripper can reach; black outline: where black holes may lie; objects are enlarged"
    canvas, axes = new_figure(1, 3, "Bias-reduced HER Figure 1: the tasks", caption=note, size=(3.2, 2.6))
    tasks: list[tuple[str, type[ThrowingTask], Policy]] = [
        ("(a) Hand", Hand, HandExpert()),
        ("(b) HandWall", HandWall, HandExpert(WALL)),
        ("(c) Robot", Robot, RobotExpert()),
    ]
    for ax, (title, task, policy) in zip(axes[0], tasks):
        picture, flight = throw(task(render_mode="rgb_array"), policy, goal=(0.83, 0.33))
        ax.imshow(picture, extent=(LEFT, LEFT + SIDE, BOTTOM, BOTTOM + SIDE), interpolation="antialiased")
        ax.scatter(*flight.T, s=6, color=VERMILLION, linewidths=0)
        ax.set(title=title, xticks=[], yticks=[], ylim=(BOTTOM, TOP))
        ax.spines[:].set_visible(False)
    save(canvas, out)


def throw(env: ThrowingTask, policy: Policy, goal: tuple[float, float]) -> tuple[np.ndarray, np.ndarray]:
    """Picture of the last step in which the gripper holds the ball, and the ball's places [steps, 2] from then on."""
    observation, _ = env.reset(seed=0, options={"held": True, "goal": goal})
    picture, flight = env.render(), []
    for _ in range(MAX_STEPS):
        action = policy(observation["observation"], observation["desired_goal"])
        observation, _, success, _, _ = env.step(action)
        if action[2] > 0:
            picture = env.render()
        else:
            flight.append(observation["achieved_goal"])
        if success:
            break
    return picture, np.array(flight)


def fig2(results: Results, scale: str, out: Path) -> None:
    """Fig. 2: the target distribution q*, with the paper's sigma = 0.2 read as sigma and as sigma^2."""
    note = f"computed, nothing trained; clipped from below at {FLOOR}; white: where goals may lie"
    title = "Bias-reduced HER Figure 2: target distribution q* of virtual goals"
    canvas, axes = new_figure(1, 2, title, caption=note, size=(3.8, 3.0))
    for ax, variance, name in zip(axes[0], (0.2**2, 0.2), ("$\\sigma$ = 0.2", "$\\sigma^2$ = 0.2")):
        draw_target(ax, variance)
        ax.set_title(name)
    save(canvas, out)


def draw_target(ax: Axes, variance: float) -> None:
    """q* of goals that are uniform in their box over the grid of training, brighter where it is larger."""
    x_low, x_high, y_low, y_high = GOAL_BOX
    grid = Grid((CELLS, CELLS))
    target = target_distribution(grid, UniformGoals(np.array([x_low, y_low]), np.array([x_high, y_high])), variance)
    values = np.maximum(target, FLOOR).reshape(grid.shape).T  # rows are y, columns are x
    image = ax.imshow(values, origin="lower", extent=(0, 1, 0, 1), cmap="viridis", interpolation="nearest")
    ax.add_patch(Rectangle((x_low, y_low), x_high - x_low, y_high - y_low, fill=False, edgecolor="white"))
    ax.set(xlabel="x", ylabel="y")
    ax.grid(False)
    ax.figure.colorbar(image, ax=ax, label="q* of a cell", fraction=0.046)
