"""The paper's figures, drawn from tidy results: FIGURES maps a name to what it needs and how it is drawn.

Curves are as in the paper: the mean over runs, plus and minus a standard deviation, and single runs thin behind. A
figure draws what there is; its caption says what of the experiment's grid is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure as Canvas
from matplotlib.patches import Rectangle
from matplotlib.ticker import EngFormatter, MaxNLocator

from lab.colours import BLACK, GREEN, OWN_METHOD, PURPLE, SKY, UNIFORM
from lab.plotting import Figure, caption, curves, legend, new_figure, save, shown
from lab.results import Grid, MissingData, Results, matrix
from papers.sibling_rivalry.evidence.labels import NAMES, label
from papers.sibling_rivalry.evidence.paper_values import ANT_CURVES, ANT_EPISODES, CURVES, EPISODES

if TYPE_CHECKING:
    from envs.ant_maze import AntMaze
    from envs.point_maze import PointMaze

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
VARIANTS: dict[str, dict] = {  # shades of Sibling Rivalry's and of the oracle's colour
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


class Together(Results):
    """Several experiments as one, named in one word with a "+" between them: those of them that there are."""

    def at(self, experiment: str, scale: str) -> pd.DataFrame:
        frames = []
        for name in experiment.split("+"):
            try:
                frames.append(super().at(name, scale))
            except MissingData as error:
                missing = error
        if not frames:
            raise missing
        return pd.concat(frames)


class Data(Grid):
    """The rows of experiments, and figures that say how they were made and what is missing."""

    def __init__(self, results: Results, *experiments: str, scale: str):
        from papers.sibling_rivalry.evidence.experiments import (
            EXPERIMENTS,  # loads torch, which listing the figures must not
        )

        self.entries = [entry for name in experiments for entry in EXPERIMENTS[name](scale)]
        super().__init__(Together(results.root), "+".join(experiments), scale, self.entries)

    @property
    def there(self) -> list[str]:
        """Tasks of which something was run."""
        return [env for env in self.envs if env in set(self.frame["env"])]

    def canvas(self, rows: int, cols: int, title: str, note: str, size: tuple[float, float]):
        """new_figure with scale, runs, episodes and Adam's epsilon, which differs between scales, in its caption."""
        adam = sorted({entry.config.adam_eps for entry in self.entries})
        note = f"{note}; Adam's epsilon {' and '.join(f'{value:.0e}'.replace('e-0', 'e-') for value in adam)}"
        text = caption(self, note, unit="episode", label=label)
        return new_figure(rows, cols, f"Sibling Rivalry {title}", caption=text, size=size)


# ---- panels ----------------------------------------------------------------------------------------------------------


def panel(
    ax: Axes, frame: pd.DataFrame, metric: str, ylabel: str, looks: dict[str, dict], names: dict[str, str] | None = None
) -> None:
    """One metric of one task over training episodes, of the methods that `looks` has styles for.

    Success lies in [0, 1], and its band is cut near there, as the paper's. names: in the legend, instead of the labels.
    """
    curves(
        ax, frame, metric, kind="mean-sd", order=list(looks), styles=looks, ylabel=ylabel, xlabel=EPISODES_LABEL,
        labels=names or {method: label(method) for method in looks},
    )  # fmt: skip
    if ax.lines:
        ax.set_xlim(0, None)
        ax.set_ylim(*((-0.02, 1.02) if metric == "success" else (0, None)))


def paper_panel(
    ax: Axes, lines: dict[str, tuple[float, ...]], episodes: tuple[int, ...] = EPISODES, title: str = "the paper's"
) -> None:
    """The paper's own curves."""
    for method, values in lines.items():
        ax.plot(episodes, values, **STYLES[method], linewidth=1.6, label=NAMES[method])
    ax.set_title(title)
    ax.set(xlabel=EPISODES_LABEL, ylabel=SUCCESS, ylim=(-0.02, 1.02), xlim=(0, None))
    _episodes(ax)


def _episodes(ax: Axes) -> None:
    """Few round numbers of training episodes along x."""
    ax.xaxis.set_major_formatter(EngFormatter(sep=""))
    ax.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))


def not_run(ax: Axes) -> None:
    box = {"color": "white", "pad": 1.0}  # over the walls of a maze
    ax.text(0.5, 0.5, "not run", transform=ax.transAxes, ha="center", va="center", color="0.5", bbox=box)


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
    from papers.sibling_rivalry.tasks import make_task  # loads torch

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
    """Means over runs of a metric: thresholds upwards, episodes to the right; what was not run is left white."""
    rows = {}
    for method, threshold in thresholds.items():
        try:
            steps, runs = matrix(data.of(env), metric, method, env)
        except MissingData:
            continue
        rows[threshold] = pd.Series(runs.mean(axis=0), index=steps)
    ax.grid(False)
    if not rows:
        ax.set(xticks=[], yticks=[])
        return not_run(ax)
    low, high = min(thresholds.values()), max(thresholds.values())
    table = pd.DataFrame(rows).sort_index().reindex(columns=range(low, high + 1)).T
    norm = Normalize(0, 1 if metric == "success" else np.nanmax(table.to_numpy()))
    ax.imshow(
        table.to_numpy(), origin="lower", aspect="auto", cmap="viridis", norm=norm, interpolation="nearest",
        extent=(0, table.columns[-1], low - 0.5, high + 0.5),
    )  # fmt: skip
    ax.set(ylabel="ε", xlabel=EPISODES_LABEL, yticks=range(low, high + 1, 2))
    _episodes(ax)
    cast(Canvas, ax.figure).colorbar(ScalarMappable(norm, "viridis"), ax=ax, label=text)


# ---- figures ---------------------------------------------------------------------------------------------------------


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

    data = Data(results, "shapes", scale=scale)
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
    canvas, axes = data.canvas(3, 2, "Figure 7: the inclusion threshold ε on the point maze", HOW, (4.4, 2.3))
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
    canvas, axes = data.canvas(1, 3, f"One run each on the paper's own pixel grid ({env})", HOW, (3.2, 2.6))
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
    canvas, axes = data.canvas(1, 2, "Means over workers or over one pool", HOW, (4.2, 2.5))
    panel(axes[0, 0], data.of(env), "success", SUCCESS, styles(data.methods))
    panel(axes[0, 1], data.of(env), "kept", "share of rollouts learnt from", styles(data.methods))
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
    "fig5": Figure(("construction",), _elsewhere("figures_build", "fig5"), "construction: building what is shown"),
    "fig6": Figure(("shapes",), fig6, "corridors and U mazes of growing length"),
    "fig7": Figure(("epsilon",), fig7, "the inclusion threshold on the point maze"),
    "fig8": Figure(("starts",), fig8, "siblings with independent starts"),
    "fig9": Figure(("oracle", "ant-oracle"), fig9, "the Grid Oracle in point maze and ant maze"),
    "own-whole-grid": Figure(("whole-grid",), whole_grid, "not in the paper: one run each on the grid of 13 x 13"),
    "own-weighting": Figure(("weighting",), weighting, "not in the paper: means over workers or over one pool"),
    "own-low-level": Figure(
        ("low-level",), _elsewhere("figures_low_level", "low_level"), "not in the paper: the ant's low level alone"
    ),
    "own-tasks": Figure((), _elsewhere("figures_tasks", "tasks"), "not in the paper: pictures of all tasks"),
}
