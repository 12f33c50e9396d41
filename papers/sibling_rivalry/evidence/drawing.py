"""How this paper's figures look: colours, captions, and the panels that several of them share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure as Canvas
from matplotlib.patches import Rectangle

from lab.judge import plotting
from lab.judge.colours import BLACK, GREEN, OWN_METHOD, PURPLE, SKY, UNIFORM
from lab.judge.plotting import not_run, round_steps
from lab.judge.results import MissingData, Results, matrix
from papers.sibling_rivalry.evidence.labels import NAMES, label
from papers.sibling_rivalry.evidence.paper_values import EPISODES

if TYPE_CHECKING:
    from envs.ant.ant_maze import AntMaze
    from envs.maze.point_maze import PointMaze

STYLES: dict[str, dict] = {  # dashes where several methods stay at 0, so that all of them can be seen there
    "ppo": {"color": UNIFORM, "linestyle": "-"},
    "ppo-sr": {"color": OWN_METHOD, "linestyle": "-"},
    "ppo-icm": {"color": GREEN, "linestyle": "--"},
    "ppo-rnd": {"color": SKY, "linestyle": ":"},
    "ppo-go": {"color": "#7B4FB5", "linestyle": "-"},
    "ddpg-her": {"color": PURPLE, "linestyle": "-"},
    "dqn": {"color": BLACK, "linestyle": "-"},
    "dqn-her": {"color": PURPLE, "linestyle": "-"},
}
VARIANTS: dict[str, dict] = {  # shades of Sibling Rivalry's, the oracle's and HER's colour
    "(batches of 2560)": {"color": "#7A3560", "linestyle": "--"},
    "(epsilon 0)": {"color": "#FBD9BF", "linestyle": "-"},
    "(epsilon 1)": {"color": "#F7B787", "linestyle": "-"},
    "(epsilon 2)": {"color": "#EE8A3C", "linestyle": "--"},
    "(epsilon 3)": {"color": "#B84E00", "linestyle": "-."},
    "(epsilon 5)": {"color": "#662B00", "linestyle": "-"},
    "(independent starts)": {"color": "#662B00", "linestyle": "--"},
    "(one pool)": {"color": "#662B00", "linestyle": "--"},
    "(side 1)": {"color": "#B598DC", "linestyle": "-"},
    "(side 2)": {"color": "#7B4FB5", "linestyle": "--"},
    "(side 3)": {"color": "#3B1A6B", "linestyle": "-"},
}
START, GOAL = UNIFORM, OWN_METHOD
"""Colours of the squares in which starts and goals lie."""
HOW = "mean ± SD, cut by the axes, single runs thin"
SUCCESS, DISTANCE, APART = "success rate", "final distance to goal", "distance between siblings"
EPISODES_LABEL = "training episodes"
CHECKPOINTS = 15
"""Evaluations whose ends Fig. 3 shows, the first of training."""


def styles(methods: Iterable[str]) -> dict[str, dict]:
    """A method has one colour in all figures, its variants have shades of it."""
    parts = {method: method.partition(" ") for method in methods}
    return {method: STYLES[base] | VARIANTS.get(variant, {}) for method, (base, _, variant) in parts.items()}


class Data(plotting.Data):
    """The rows of experiments, and figures that say how they were made and what is missing."""

    paper, plan = "Sibling Rivalry", "papers.sibling_rivalry.evidence.experiments"
    unit, xlabel, size = "episode", EPISODES_LABEL, (2.9, 2.6)
    label, styles = staticmethod(label), staticmethod(styles)

    def __init__(self, results: Results, experiment: str, scale: str) -> None:
        super().__init__(results, experiment, scale)
        self.there = [env for env in self.envs if env in set(self.frame["env"])]
        """Tasks of which something was run."""

    def curves(self, ax: Axes, env: str, metric: str, ylabel: str, **look: Any) -> None:
        """Success lies in [0, 1], and its band is cut near there, as the paper's."""
        self.panel(ax, env, metric, ylabel, **look)
        if ax.lines:
            ax.set_xlim(0, None)
            ax.set_ylim(*((-0.02, 1.02) if metric == "success" else (0, None)))


class OfAgents(Data):
    """And with Adam's epsilon in its captions."""

    def caption(self, note: str, **names: Any) -> str:
        adam = [f"{value:.0e}".replace("e-0", "e-") for value in sorted({e.config.adam_eps for e in self.entries})]
        note = f"{note}; Adam's epsilon {' and '.join(adam)}"
        if "AntMazeSmall" in self.there:
            from papers.sibling_rivalry.agents.tasks import (
                SHORT_OF_STEPS,  # here: a list of figures does without kernels
            )

            note += f" (low level in half the ant maze {SHORT_OF_STEPS['adam_eps']:.0e})".replace("e-0", "e-")
        return super().caption(note, **names)


# ---- panels ----------------------------------------------------------------------------------------------------------


def paper_panel(
    ax: Axes, lines: dict[str, tuple[float, ...]], episodes: tuple[int, ...] = EPISODES, title: str = "the paper's"
) -> None:
    """The paper's own curves."""
    for method, values in lines.items():
        ax.plot(episodes, values, **STYLES[method], linewidth=1.6, label=NAMES[method])
    ax.set_title(title)
    ax.set(xlabel=EPISODES_LABEL, ylabel=SUCCESS, ylim=(-0.02, 1.02), xlim=(0, None))
    round_steps(ax)


def draw_maze(ax: Axes, maze: PointMaze, up: float = 0.0) -> None:
    """Walls of a maze, and the squares in which starts and goals lie; shifted upwards by `up`."""
    for wall in maze.walls() + [0.0, up]:
        ax.plot(*wall.T, color="0.2", linewidth=1.2, solid_capstyle="round", zorder=2)
    for (x, y), colour in ((maze.start_cell, START), (maze.goal_cell, GOAL)):
        ax.add_patch(Rectangle((x - 0.5, y - 0.5 + up), 1, 1, color=colour, alpha=0.3, linewidth=0))
    ax.set_aspect("equal")
    ax.set_axis_off()


def draw_ant_maze(ax: Axes, world: AntMaze) -> None:
    """Walls of an ant maze, where the ant starts, and the rectangle in which goals lie."""
    side = world.layout.side
    for x, y in world.walls:
        ax.add_patch(Rectangle((x - side / 2, y - side / 2), side, side, color="0.35", linewidth=0))
    (left, low), (right, high) = world.layout.goals
    ax.add_patch(Rectangle((left, low), right - left, high - low, color=GOAL, alpha=0.3, linewidth=0))
    ax.add_patch(Rectangle((-0.04 * side, -0.04 * side), 0.08 * side, 0.08 * side, color=START, alpha=0.5, linewidth=0))
    rim = 0.1 * side
    ax.set(xlim=np.add(world.extent[:2], (-rim, rim)), ylim=np.add(world.extent[2:], (-rim, rim)))
    ax.set_aspect("equal")
    ax.set_axis_off()


def draw_world(ax: Axes, env: str) -> None:
    """The point maze or an ant maze from above."""
    from papers.sibling_rivalry.agents.tasks import make_task  # loads torch

    task: Any = make_task(env)
    if env.startswith("Ant"):
        draw_ant_maze(ax, task.world)
    else:
        draw_maze(ax, task)


def scatter(ax: Axes, data: Data, env: str, method: str) -> None:
    """Where the first episodes of each of the first evaluations ended, in the run with the smallest seed."""
    from papers.sibling_rivalry.evidence.ends import end_points  # loads torch

    draw_world(ax, env)
    frame = data.of(env)
    frame = frame[(frame["method"] == method) & frame["metric"].str.startswith("end ")]
    if frame.empty:
        ax.set_title(f"{label(method)}: ends")
        not_run(ax)
        return
    seed = frame["seed"].min()
    points = end_points(frame[frame["seed"] == seed])
    order = np.unique(points.index.get_level_values("step"), return_inverse=True)[1]
    early = order < CHECKPOINTS
    ax.scatter(
        points["x"][early], points["y"][early], c=order[early], cmap="viridis", s=7, linewidths=0, vmin=0,
        vmax=CHECKPOINTS - 1, zorder=3,
    )  # fmt: skip
    ax.set_title(f"{label(method)}: ends, seed {seed}")


def heat_map(ax: Axes, data: Data, env: str, metric: str, thresholds: dict[str, int], text: str) -> None:
    """Means over runs of a metric: thresholds upwards, episodes to the right; rows of what was not run are white and
    have no tick."""
    rows = {}
    for method, threshold in thresholds.items():
        try:
            steps, runs = matrix(data.of(env), metric, method, env)
        except MissingData:
            continue
        rows[threshold] = pd.Series(runs.mean(axis=0), index=steps)
    ax.grid(False)
    if not rows:
        return not_run(ax)
    low, high = min(thresholds.values()), max(thresholds.values())
    table = pd.DataFrame(rows).sort_index().reindex(columns=range(low, high + 1)).T
    norm = Normalize(0, 1 if metric == "success" else np.nanmax(table.to_numpy()))
    ax.imshow(
        table.to_numpy(), origin="lower", aspect="auto", cmap="viridis", norm=norm, interpolation="nearest",
        extent=(0, table.columns[-1], low - 0.5, high + 0.5),
    )  # fmt: skip
    ax.set(ylabel="ε", xlabel=EPISODES_LABEL, yticks=list(rows))
    round_steps(ax)
    cast(Canvas, ax.figure).colorbar(ScalarMappable(norm, "viridis"), ax=ax, label=text)
