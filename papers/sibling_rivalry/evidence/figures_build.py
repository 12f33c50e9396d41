"""Figure 5: the construction task. A goal being built, and what training brings."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from lab.colours import OWN_METHOD, UNIFORM
from lab.plotting import caption, curves, legend, new_figure, save
from lab.results import Grid, Results
from papers.sibling_rivalry.evidence.labels import NAMES, label

STYLES = {  # PPO with the naive reward and with Sibling Rivalry have these colours in other figures
    "impala": {"color": UNIFORM, "linestyle": "-"},
    "impala-sr": {"color": OWN_METHOD, "linestyle": "-"},
}
PANELS = {
    "completion": ("completion", "completion, mean"),
    "completion median": ("completion", "completion, median"),
    "success": ("success rate", "the build is the goal"),
    "placed": ("blocks placed / goal's blocks", "blocks placed"),
}
"""Metric -> label of its axis, and title."""
SHOWN = (0.0, 0.35, 0.7, 1.0)
"""Shares of the way to a goal at which it is pictured."""


def fig5(results: Results, scale: str, out: Path) -> None:
    """Fig. 5: above a goal that the scripted builder builds, below completion, success and blocks placed."""
    from papers.sibling_rivalry.evidence.experiments import EXPERIMENTS  # loads torch, which listing must not

    entries = EXPERIMENTS["construction"](scale)
    grid = Grid(results, "construction", scale, entries)
    note = (
        "mean ± SD over runs, cut by the axes, single runs thin; of the episodes played in training since the point "
        "before. Completion: correct less incorrect blocks over the goal's. Above: no learner, but a scripted "
        "builder, who knows how"
    )
    text = caption(grid, note, unit="episode", label=label)
    canvas, axes = new_figure(
        2, 4, f"Sibling Rivalry Figure 5: construction ({grid.envs[0]})", caption=text, size=(2.9, 2.5)
    )
    for ax, (picture, steps) in zip(axes[0], strip(entries[0].config)):
        ax.imshow(picture, interpolation="antialiased")
        ax.set_title(f"after {steps} steps" if steps else "a start; its goal, upper right")
        ax.set_axis_off()
    for ax, (metric, (ylabel, title)) in zip(axes[1], PANELS.items()):
        curves(
            ax, grid.frame, metric, kind="mean-sd", order=list(STYLES), styles=STYLES, labels=NAMES, ylabel=ylabel,
            xlabel="training episodes",
        )  # fmt: skip
        ax.set_title(title)
        if ax.lines:
            ax.set_xlim(0, None)
            ax.set_ylim(*{"success": (-0.02, 1.02), "placed": (0, None)}.get(metric, (None, 1.02)))
    legend(canvas)
    save(canvas, out)


def strip(config) -> list[tuple[np.ndarray, int]]:
    """Pictures of a goal of the run's arena being built by a script, and the steps that have been taken."""
    from envs.voxel_builder import plan
    from papers.sibling_rivalry.build import make_task

    task, rng = make_task(config), np.random.default_rng(0)
    state, goal = task.starts(1, rng)[0], task.goals(1, rng)[0]
    states = [state]
    for action in plan(task, state, goal):
        states.append(task.step(states[-1][None], np.array([action]))[0])
        if task.success(task.achieved(states[-1][None]), goal[None])[0]:
            break
    chosen = [round(share * (len(states) - 1)) for share in SHOWN]
    return [(task.picture(states[step], goal), step) for step in chosen]
