"""The paper's figures, drawn from tidy results: FIGURES maps a name to what it needs and how it is drawn.

Curves are as in the paper: the mean over runs, plus and minus a standard deviation, and single runs thin behind. A
figure draws what there is; its caption says what of the experiment's grid is missing.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
from matplotlib import colormaps

from lab.plotting import Figure, legend, save, shown
from lab.results import Results
from papers.sibling_rivalry.evidence.drawing import (
    APART,
    CHECKPOINTS,
    DISTANCE,
    HOW,
    SUCCESS,
    Data,
    draw_maze,
    draw_world,
    heat_map,
    panel,
    paper_panel,
    scatter,
    styles,
)
from papers.sibling_rivalry.evidence.paper_values import ANT_CURVES, ANT_EPISODES, CURVES

if TYPE_CHECKING:
    from envs.point_maze import PointMaze


def fig3(results: Results, scale: str, out: Path) -> None:
    """Fig. 3: of point maze and ant maze success, distance, and where early evaluations ended; what was run of it."""
    data = Data(results, "maze", "ant", scale=scale)
    envs, ends = data.there, {}
    for env in envs:
        there = set(data.of(env)["method"])
        ends[env] = [m for m in ("ppo", "ppo-sr", "ppo-icm", "ddpg-her") if m in there or scale != "quick"]
    heights = {env: 2 if len(ends[env]) > 1 else 1 for env in envs}  # a single one takes the place of the empty maze
    note = f"{HOW}; ends: epochs 1 to {CHECKPOINTS}, dark to bright"
    title = " and ".join("the ant maze" if env.startswith("Ant") else "the point maze" for env in envs)
    canvas, axes = data.canvas(sum(heights.values()), 4, f"Figure 3: {title}", note, (2.9, 2.6))
    first = 0
    for env in envs:
        top, bottom = axes[first], axes[first + heights[env] - 1]
        first += heights[env]
        if heights[env] == 2 or not ends[env]:
            draw_world(top[0], env)
            top[0].set_title("starts (blue) and goals (orange)")
        panel(top[1], data.of(env), "success", SUCCESS, styles(data.methods))
        panel(top[3], data.of(env), "distance", DISTANCE, styles(data.methods))
        for ax in (top[1], top[3]):
            ax.set_title("ours, half the maze" if env == "AntMazeSmall" else "ours")
        if env.startswith("Ant"):
            paper_panel(top[2], ANT_CURVES, ANT_EPISODES)
        else:
            paper_panel(top[2], CURVES["fig3"])
        for ax, method in zip(bottom, ends[env]):
            scatter(ax, data, env, method)
        if heights[env] == 2:
            for ax in bottom[len(ends[env]) :]:
                ax.set_visible(False)
    legend(canvas)
    save(canvas, out)


def fig4(results: Results, scale: str, out: Path) -> None:
    """Fig. 4: the pixel grid."""
    from papers.sibling_rivalry.tasks import make_task

    data = Data(results, "grid", scale=scale)
    [env] = data.envs
    task, rng = make_task(env), np.random.default_rng(0)
    canvas, axes = data.canvas(1, 4, f"Figure 4: the pixel grid ({env})", HOW, (2.9, 2.6))
    axes[0, 0].imshow(task.picture(task.starts(1, rng)[0], task.goals(1, rng)[0]))
    axes[0, 0].set_axis_off()
    panel(axes[0, 1], data.of(env), "success", SUCCESS, styles(data.methods))
    paper_panel(axes[0, 2], CURVES["fig4"])
    panel(axes[0, 3], data.of(env), "distance", "wrong pixels at the end", styles(data.methods))
    for ax, title in zip(axes[0], ("a start, and its goal", "ours", "the paper's, 13 x 13 pixels", "ours")):
        ax.set_title(title)
    legend(canvas)
    save(canvas, out)


def fig6(results: Results, scale: str, out: Path) -> None:
    """Fig. 6: corridors and U mazes of growing length; thresholds and other methods on the longest."""
    from papers.sibling_rivalry.evidence.experiments import LENGTHS
    from papers.sibling_rivalry.tasks import make_task

    data = Data(results, "corridors", "u-mazes", scale=scale)
    canvas, axes = data.canvas(2, 3, "Figure 6: corridors and U mazes", HOW, (4.0, 2.5))
    shades = dict(zip(LENGTHS, colormaps["viridis"](np.linspace(0, 0.9, len(LENGTHS)))))
    others = styles(method for method in data.methods if method != "ppo-sr")
    rows = (("Corridor", "corridors", LENGTHS, 2), ("UMaze", "U mazes", LENGTHS[::2], 4))
    for (pictures, by_length, longest), (name, title, pictured, pitch) in zip(axes, rows):
        for i, length in enumerate(pictured):  # one above the other
            maze = cast("PointMaze", make_task(f"{name}-{length}"))
            draw_maze(pictures, maze, pitch * i)
            pictures.text(length + 1.0, pitch * i + (maze.height - 1) / 2, str(length), va="center")
        pictures.set(title=title, xlim=(-1, LENGTHS[-1] + 2))
        tasks = {f"{name}-{length}": length for length in LENGTHS}
        frame = data.frame[(data.frame["method"] == "ppo-sr") & data.frame["env"].isin(tasks)]
        looks = {task: {"color": shades[length], "linestyle": "-"} for task, length in tasks.items()}
        names = {task: f"length {length}" for task, length in tasks.items()}
        panel(by_length, frame.assign(method=frame["env"], env=name), "success", SUCCESS, looks, names)
        panel(longest, data.of(f"{name}-{LENGTHS[-1]}"), "success", SUCCESS, others)
        by_length.set_title(f"{title}, PPO+SR (ε: half the length)")
        longest.set_title(f"{title} of length {LENGTHS[-1]}")
    for column in axes.T[1:]:  # a legend for each of them, as they have no line in common
        drawn = [ax.get_legend_handles_labels() for ax in column if ax.lines]
        if drawn:
            column[1].legend(*max(drawn, key=len), loc="upper center", bbox_to_anchor=(0.5, -0.25), ncols=3)
    save(canvas, out)


def fig7(results: Results, scale: str, out: Path) -> None:
    """Fig. 7: success, distance to the goal and distance between siblings for every threshold, as lines and as maps."""
    data = Data(results, "epsilon", scale=scale)
    [env] = data.envs
    note = f"{HOW}; white rows of the maps: not run"
    canvas, axes = data.canvas(3, 2, "Figure 7: the inclusion threshold ε on the point maze", note, (4.4, 2.3))
    thresholds = {method: int(method.strip(")").split()[-1]) for method in data.methods}
    shades = colormaps["viridis"](np.linspace(0, 0.95, len(thresholds)))
    looks = {method: {"color": shade, "linestyle": "-"} for method, shade in zip(thresholds, shades)}
    names = {method: f"ε = {threshold}" for method, threshold in thresholds.items()}
    for (lines, heat), (metric, text) in zip(axes, {"success": SUCCESS, "distance": DISTANCE, "apart": APART}.items()):
        panel(lines, data.of(env), metric, text, looks, names)
        heat_map(heat, data, env, metric, thresholds, text)
    legend(canvas)
    save(canvas, out)


def fig8(results: Results, scale: str, out: Path) -> None:
    """Fig. 8: siblings with one start and with two."""
    data = Data(results, "starts", scale=scale)
    envs = shown(data)
    canvas, axes = data.canvas(1, len(envs), "Figure 8: siblings with starts of their own", HOW, (4.2, 2.5))
    for ax, env in zip(axes[0], envs):
        panel(ax, data.of(env), "success", SUCCESS, styles(data.methods))
        ax.set_title(env)
    legend(canvas)
    save(canvas, out)


def whole_grid(results: Results, scale: str, out: Path) -> None:
    """One run each on the grid of 13 x 13 pixels, beside the paper's curves."""
    data = Data(results, "whole-grid", scale=scale)
    [env] = data.envs
    title = f"own experiment: one run each on the paper's own pixel grid ({env})"
    canvas, axes = data.canvas(1, 3, title, HOW, (3.2, 2.6))
    panel(axes[0, 0], data.of(env), "success", SUCCESS, styles(data.methods))
    paper_panel(axes[0, 1], CURVES["fig4"])
    panel(axes[0, 2], data.of(env), "distance", "wrong pixels at the end", styles(data.methods))
    for ax, title in zip(axes[0], ("ours", "the paper's", "ours")):
        ax.set_title(title)
    legend(canvas)
    save(canvas, out)


def weighting(results: Results, scale: str, out: Path) -> None:
    """Sibling Rivalry with losses that are means over workers, and over one pool."""
    data = Data(results, "weighting", scale=scale)
    [env] = data.envs
    canvas, axes = data.canvas(1, 2, "own experiment: means over workers or over one pool", HOW, (4.2, 2.5))
    panel(axes[0, 0], data.of(env), "success", SUCCESS, styles(data.methods))
    panel(axes[0, 1], data.of(env), "kept", "share of rollouts learnt from", styles(data.methods))
    legend(canvas)
    save(canvas, out)


def ants(experiment: str, title: str) -> Figure:
    """Runs in half the ant maze that are shorter or longer than those of Fig. 3: success, distance, and where they
    ended."""

    def draw(results: Results, scale: str, out: Path) -> None:
        data = Data(results, experiment, scale=scale)
        [env] = data.envs
        note = f"{HOW}; ends: dark to bright with the epochs"
        canvas, axes = data.canvas(1, 4, f"own experiment: {title}", note, (2.9, 2.6))
        for ax, metric, text in zip(axes[0], ("success", "distance"), (SUCCESS, DISTANCE)):
            panel(ax, data.of(env), metric, text, styles(data.methods))
        for ax, method in zip(axes[0, 2:], data.methods):
            scatter(ax, data, env, method)
        legend(canvas)
        save(canvas, out)

    return Figure((experiment,), draw, f"not in the paper: {title}")


def dense_grid(results: Results, scale: str, out: Path) -> None:
    """DQN with dense rewards on the pixel grid for longer than in Fig. 4."""
    data = Data(results, "dense-grid", scale=scale)
    [env] = data.envs
    canvas, axes = data.canvas(1, 2, f"own experiment: dense rewards for longer ({env})", HOW, (4.2, 2.5))
    panel(axes[0, 0], data.of(env), "success", SUCCESS, styles(data.methods))
    panel(axes[0, 1], data.of(env), "distance", "wrong pixels at the end", styles(data.methods))
    legend(canvas)
    save(canvas, out)


def fig9(results: Results, scale: str, out: Path) -> None:
    """Fig. 9: the Grid Oracle in point maze and ant maze; what was run of it."""
    data = Data(results, "oracle", "ant-oracle", scale=scale)
    envs = data.there
    note = f"{HOW}; side: that of the oracle's regions"
    canvas, axes = data.canvas(len(envs), 2, "Figure 9: the Grid Oracle", note, (4.2, 2.5))
    for (success, distance), env in zip(axes, envs):
        panel(success, data.of(env), "success", SUCCESS, styles(data.methods))
        panel(distance, data.of(env), "distance", DISTANCE, styles(data.methods))
        success.set_title(env)
    legend(canvas)
    save(canvas, out)


def _elsewhere(module: str, name: str) -> Callable[[Results, str, Path], None]:
    """A drawing function of another file, which is imported when it is needed."""

    def draw(results: Results, scale: str, out: Path) -> None:
        from importlib import import_module

        getattr(import_module(f"papers.sibling_rivalry.evidence.{module}"), name)(results, scale, out)

    return draw


FIGURES: dict[str, Figure] = {
    "fig1": Figure(("track",), _elsewhere("figures_track", "fig1"), "a track on which the naive reward is a trap"),
    "fig2": Figure(("track",), _elsewhere("figures_track", "fig2"), "Sibling Rivalry on the track, sibling by sibling"),
    "fig3": Figure(("maze", "ant"), fig3, "point maze and ant maze: shaping, curiosity and hindsight"),
    "fig4": Figure(("grid",), fig4, "the pixel grid: shaping, curiosity and hindsight"),
    "fig5": Figure(
        ("construction", "construction-fresh"), _elsewhere("figures_build", "fig5"),
        "construction: building what is shown",
    ),
    "fig6": Figure(("corridors", "u-mazes"), fig6, "corridors and U mazes of growing length"),
    "fig7": Figure(("epsilon",), fig7, "the inclusion threshold on the point maze"),
    "fig8": Figure(("starts",), fig8, "siblings with independent starts"),
    "fig9": Figure(("oracle", "ant-oracle"), fig9, "the Grid Oracle in point maze and ant maze"),
    "own-whole-grid": Figure(("whole-grid",), whole_grid, "not in the paper: one run each on the grid of 13 x 13"),
    "own-weighting": Figure(("weighting",), weighting, "not in the paper: means over workers or over one pool"),
    "own-dense-grid": Figure(("dense-grid",), dense_grid, "not in the paper: the grid's dense rewards for longer"),
    "own-ant-short": ants("ant-short", "half the ant maze, short runs"),
    "own-ant-long": ants("ant-long", "half the ant maze, runs of the paper's length"),
    "own-low-level": Figure(
        ("low-level",), _elsewhere("figures_low_level", "low_level"), "not in the paper: the ant's low level alone"
    ),
    "own-tasks": Figure((), _elsewhere("figures_tasks", "tasks"), "not in the paper: pictures of all tasks"),
}  # fmt: skip
