"""Figure 5: the construction task. A goal being built, and what training brings."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure as Canvas

from lab.judge.colours import OWN_METHOD, UNIFORM
from papers.sibling_rivalry.evidence.drawing import Data

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


def fig5(data: Data) -> Canvas:
    """Fig. 5: above a goal that the scripted builder builds, below completion, success and blocks placed."""
    note = (
        "mean ± SD over runs, cut by the axes, single runs thin; of the episodes played in training since the point "
        "before. Completion: correct less incorrect blocks over the goal's. Above: no learner, but a scripted "
        "builder, who knows how"
    )
    [env] = data.envs
    canvas, axes = data.canvas(2, 4, f"Figure 5: construction ({env})", note, (2.9, 2.5))
    for ax, (picture, steps) in zip(axes[0], strip(data.entries[0].config)):
        ax.imshow(picture, interpolation="antialiased")
        ax.set_title(f"after {steps} steps" if steps else "a start; its goal, upper right")
        ax.set_axis_off()
    for ax, (metric, (ylabel, title)) in zip(axes[1], PANELS.items()):
        data.panel(ax, env, metric, ylabel, STYLES, title=title, styles=STYLES)
        if ax.lines:
            ax.set_xlim(0, None)
            ax.set_ylim(*{"success": (-0.02, 1.02), "placed": (0, None)}.get(metric, (None, 1.02)))
    return canvas


def strip(config) -> list[tuple[np.ndarray, int]]:
    """Pictures of a goal of the run's arena being built by a script, and the steps that have been taken."""
    from envs.voxel.builder import plan
    from papers.sibling_rivalry.train_build import make_task

    task, rng = make_task(config), np.random.default_rng(0)
    state, goal = task.starts(1, rng)[0], task.goals(1, rng)[0]
    states = [state]
    for action in plan(task, state, goal):
        states.append(task.step(states[-1][None], np.array([action]))[0])
        if task.success(task.achieved(states[-1][None]), goal[None])[0]:
            break
    chosen = [round(share * (len(states) - 1)) for share in SHOWN]
    return [(task.picture(states[step], goal), step) for step in chosen]
