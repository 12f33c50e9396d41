"""The paper's figures, drawn from tidy results: FIGURES maps a name to what it needs and how it is drawn.

Curves are as in the paper: the mean over runs, plus and minus a standard deviation, and single runs thin behind. A
figure draws the runs that exist; its caption names what is missing.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure as Canvas

from lab.judge.plotting import Figure, later
from papers.sibling_rivalry.evidence.drawing import (
    APART,
    CHECKPOINTS,
    DISTANCE,
    HOW,
    SUCCESS,
    Data,
    OfAgents,
    draw_maze,
    draw_world,
    heat_map,
    paper_panel,
    scatter,
)
from papers.sibling_rivalry.evidence.paper_values import ANT_CURVES, ANT_EPISODES, CURVES

if TYPE_CHECKING:
    from envs.maze.point_maze import PointMaze

PIXELS = "wrong pixels at the end"


def fig3(data: Data) -> Canvas:
    """Fig. 3: of point maze and ant maze success, distance, and where early evaluations ended; what was run of it."""
    envs, ends = data.there, {}
    for env in envs:
        there = set(data.of(env)["method"])
        ends[env] = [m for m in ("ppo", "ppo-sr", "ppo-icm", "ddpg-her") if m in there or data.scale != "quick"]
    heights = {env: 2 if len(ends[env]) > 1 else 1 for env in envs}  # a single one takes the place of the empty maze
    note = f"{HOW}; ends: epochs 1 to {CHECKPOINTS}, dark to bright"
    title = " and ".join("the ant maze" if env.startswith("Ant") else "the point maze" for env in envs)
    canvas, axes = data.canvas(sum(heights.values()), 4, f"Figure 3: {title}", note)
    first = 0
    for env in envs:
        top, bottom = axes[first], axes[first + heights[env] - 1]
        first += heights[env]
        if heights[env] == 2 or not ends[env]:
            draw_world(top[0], env)
            top[0].set_title("starts (blue) and goals (orange)")
        ours = "ours, half the maze" if env == "AntMazeSmall" else "ours"
        data.curves(top[1], env, "success", SUCCESS, title=ours)
        data.curves(top[3], env, "distance", DISTANCE, title=ours)
        paper_panel(top[2], *((ANT_CURVES, ANT_EPISODES) if env.startswith("Ant") else (CURVES["fig3"],)))
        for ax, method in zip(bottom, ends[env]):
            scatter(ax, data, env, method)
        if heights[env] == 2:
            for ax in bottom[len(ends[env]) :]:
                ax.set_visible(False)
    return canvas


def fig4(data: Data) -> Canvas:
    """Fig. 4: the pixel grid."""
    from papers.sibling_rivalry.agents.tasks import make_task

    [env] = data.envs
    task, rng = make_task(env), np.random.default_rng(0)
    canvas, axes = data.canvas(1, 4, f"Figure 4: the pixel grid ({env})", HOW)
    axes[0, 0].imshow(task.picture(task.starts(1, rng)[0], task.goals(1, rng)[0]))
    axes[0, 0].set_axis_off()
    axes[0, 0].set_title("a start, and its goal")
    data.curves(axes[0, 1], env, "success", SUCCESS, title="ours")
    paper_panel(axes[0, 2], CURVES["fig4"], title="the paper's, 13 x 13 pixels")
    data.curves(axes[0, 3], env, "distance", PIXELS, title="ours")
    return canvas


def fig6(data: Data) -> Canvas:
    """Fig. 6: corridors and U mazes of growing length; thresholds and other methods on the longest."""
    from papers.sibling_rivalry.agents.tasks import make_task
    from papers.sibling_rivalry.evidence.experiments import LENGTHS

    canvas, axes = data.canvas(2, 3, "Figure 6: corridors and U mazes", HOW, (4.0, 2.5))
    shades = dict(zip(LENGTHS, colormaps["viridis"](np.linspace(0, 0.9, len(LENGTHS)))))
    others = [method for method in data.methods if method != "ppo-sr"]
    rows = (("Corridor", "corridors", LENGTHS, 2), ("UMaze", "U mazes", LENGTHS[::2], 4))
    for (pictures, by_length, longest), (name, title, pictured, pitch) in zip(axes, rows):
        for i, length in enumerate(pictured):  # one above the other
            maze = cast("PointMaze", make_task(f"{name}-{length}"))
            draw_maze(pictures, maze, pitch * i)
            pictures.text(length + 1.0, pitch * i + (maze.height - 1) / 2, str(length), va="center")
        pictures.set(title=title, xlim=(-1, LENGTHS[-1] + 2))
        tasks = {f"{name}-{length}": length for length in LENGTHS}
        looks = {task: {"color": shades[length], "linestyle": "-"} for task, length in tasks.items()}
        lengths = copy(data)  # the tasks in place of methods
        lengths.frame = data.frame[(data.frame["method"] == "ppo-sr") & data.frame["env"].isin(tasks)]
        lengths.frame = lengths.frame.assign(method=lengths.frame["env"], env=name)
        names = {task: f"length {length}" for task, length in tasks.items()}
        heading = f"{title}, PPO+SR (ε: half the length)"
        lengths.curves(by_length, name, "success", SUCCESS, methods=tasks, title=heading, labels=names, styles=looks)
        heading = f"{title} of length {LENGTHS[-1]}"
        data.curves(longest, f"{name}-{LENGTHS[-1]}", "success", SUCCESS, methods=others, title=heading)
    for column in axes.T[1:]:  # a legend for each of them, as they have no line in common
        drawn = [ax.get_legend_handles_labels() for ax in column if ax.lines]
        if drawn:
            column[1].legend(*max(drawn, key=len), loc="upper center", bbox_to_anchor=(0.5, -0.25), ncols=3)
    return canvas


def fig7(data: Data) -> Canvas:
    """Fig. 7: success, distance to the goal and distance between siblings for every threshold, as lines and as maps."""
    [env] = data.envs
    note = f"{HOW}; white rows of the maps: not run"
    canvas, axes = data.canvas(3, 2, "Figure 7: the inclusion threshold ε on the point maze", note, (4.4, 2.3))
    thresholds = {method: int(method.strip(")").split()[-1]) for method in data.methods}
    shades = colormaps["viridis"](np.linspace(0, 0.95, len(thresholds)))
    looks = {method: {"color": shade, "linestyle": "-"} for method, shade in zip(thresholds, shades)}
    names = {method: f"ε = {threshold}" for method, threshold in thresholds.items()}
    for (lines, heat), (metric, text) in zip(axes, {"success": SUCCESS, "distance": DISTANCE, "apart": APART}.items()):
        data.curves(lines, env, metric, text, methods=thresholds, labels=names, styles=looks)
        heat_map(heat, data, env, metric, thresholds, text)
    return canvas


def fig8(data: Data) -> Canvas:
    """Fig. 8: siblings with one start and with two."""
    canvas, axes = data.canvas(1, len(data.shown), "Figure 8: siblings with starts of their own", HOW, (4.2, 2.5))
    for ax, env in zip(axes[0], data.shown):
        data.curves(ax, env, "success", SUCCESS, title=env)
    return canvas


def fig9(data: Data) -> Canvas:
    """Fig. 9: the Grid Oracle in point maze and ant maze; what was run of it."""
    note = f"{HOW}; side: that of the oracle's regions"
    canvas, axes = data.canvas(len(data.there), 2, "Figure 9: the Grid Oracle", note, (4.2, 2.5))
    for (success, distance), env in zip(axes, data.there):
        data.curves(success, env, "success", SUCCESS, title=env)
        data.curves(distance, env, "distance", DISTANCE)
    return canvas


def own(experiment: str, what: str, title: str, metrics: dict[str, str]) -> Figure:
    """Not in the paper: a panel for each metric (name -> label of its axis)."""

    def draw(data: Data) -> Canvas:
        [env] = data.envs
        canvas, axes = data.canvas(1, len(metrics), f"own experiment: {title.format(env=env)}", HOW, (4.2, 2.5))
        for ax, (metric, text) in zip(axes[0], metrics.items()):
            data.curves(ax, env, metric, text)
        return canvas

    return OfAgents.figure(experiment, f"not in the paper: {what}", draw)


def whole_grid(data: Data) -> Canvas:
    """One run each on the grid of 13 x 13 pixels, beside the paper's curves."""
    [env] = data.envs
    title = f"own experiment: one run each on the paper's own pixel grid ({env})"
    canvas, axes = data.canvas(1, 3, title, HOW, (3.2, 2.6))
    data.curves(axes[0, 0], env, "success", SUCCESS, title="ours")
    paper_panel(axes[0, 1], CURVES["fig4"])
    data.curves(axes[0, 2], env, "distance", PIXELS, title="ours")
    return canvas


def ants(experiment: str, title: str) -> Figure:
    """Runs in half the ant maze that are shorter or longer than those of Fig. 3: success, distance, and where they
    ended."""

    def draw(data: Data) -> Canvas:
        [env] = data.envs
        canvas, axes = data.canvas(1, 4, f"own experiment: {title}", f"{HOW}; ends: dark to bright with the epochs")
        data.curves(axes[0, 0], env, "success", SUCCESS)
        data.curves(axes[0, 1], env, "distance", DISTANCE)
        for ax, method in zip(axes[0, 2:], data.methods):
            scatter(ax, data, env, method)
        return canvas

    return OfAgents.figure(experiment, f"not in the paper: {title}", draw)


def _lazily(module: str) -> Callable[..., Any]:
    return later(f"papers.sibling_rivalry.evidence.figures_{module}")


FIGURES: dict[str, Figure] = {
    "fig1": Data.figure("track", "a track on which the naive reward is a trap", _lazily("track:fig1")),
    "fig2": Data.figure("track", "Sibling Rivalry on the track, sibling by sibling", _lazily("track:fig2")),
    "fig3": OfAgents.figure("maze+ant", "point maze and ant maze: shaping, curiosity and hindsight", fig3),
    "fig4": OfAgents.figure("grid", "the pixel grid: shaping, curiosity and hindsight", fig4),
    "fig5": Data.figure(
        "construction+construction-fresh", "construction: building what is shown", _lazily("build:fig5")
    ),
    "fig6": OfAgents.figure("corridors+u-mazes", "corridors and U mazes of growing length", fig6),
    "fig7": OfAgents.figure("epsilon", "the inclusion threshold on the point maze", fig7),
    "fig8": OfAgents.figure("starts", "siblings with independent starts", fig8),
    "fig9": OfAgents.figure("oracle+ant-oracle", "the Grid Oracle in point maze and ant maze", fig9),
    "own-whole-grid": OfAgents.figure(
        "whole-grid", "not in the paper: one run each on the grid of 13 x 13", whole_grid
    ),
    "own-weighting": own(
        "weighting", "means over workers or over one pool", "means over workers or over one pool",
        {"success": SUCCESS, "kept": "share of rollouts learnt from"},
    ),
    "own-dense-grid": own(
        "dense-grid", "the grid's dense rewards for longer", "dense rewards for longer ({env})",
        {"success": SUCCESS, "distance": PIXELS},
    ),
    "own-ant-short": ants("ant-short", "half the ant maze, short runs"),
    "own-ant-long": ants("ant-long", "half the ant maze, runs of the paper's length"),
    "own-low-level": Data.figure(
        "low-level", "not in the paper: the ant's low level alone", _lazily("low_level:low_level")
    ),
    "own-tasks": Figure((), _lazily("tasks:tasks"), "not in the paper: pictures of all tasks"),
}  # fmt: skip
