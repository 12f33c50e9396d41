"""Figs. 1 and 2: the circular track, and where episodes on it end in the course of training."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import PowerNorm
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import EngFormatter

from envs.circular_track import GOAL, LOCAL_OPTIMUM, CircularTrack, position
from lab.judge.colours import BLACK, GREEN, OWN_METHOD, UNIFORM
from lab.judge.plotting import not_run
from lab.judge.results import MissingData
from papers.sibling_rivalry.agents.rewards import naive_reward
from papers.sibling_rivalry.evidence.drawing import Data
from papers.sibling_rivalry.evidence.ends import histograms
from papers.sibling_rivalry.sibling_rivalry import self_balancing_reward
from papers.sibling_rivalry.train_track import BINS, ENV

NAMES = {"naive": "distance to the goal", "fixed": "fixed anti-goal", "sr": "Sibling Rivalry"}
STYLES: dict[str, dict[str, Any]] = {  # PPO with the first and with Sibling Rivalry have these colours in other figures
    "naive": {"color": UNIFORM, "linestyle": "-"},
    "fixed": {"color": "0.45", "linestyle": "-"},
    "sr": {"color": OWN_METHOD, "linestyle": "-"},
}
PLACES = {GOAL: GREEN, LOCAL_OPTIMUM: BLACK}
"""Phase of the goal, green, and of the local optimum, black."""
RED = "#D00000"
"""Of rewards, whose heights fill the panel."""
NORM = PowerNorm(0.5, 0.0, 1.0)
"""Colours of shares: a root, so that one in a hundred can be seen beside all."""
PHASES = np.linspace(0.0, 2 * np.pi, 601)


def shapes() -> dict[str, np.ndarray]:
    """Rewards for ending at PHASES, float64 [601]: `naive` of Eq. (2), `fixed` of Eq. (3) with the local optimum as
    anti-goal."""
    task, points = CircularTrack(), position(PHASES)
    goal, anti_goal = position(np.array(GOAL)), position(np.array(LOCAL_OPTIMUM))
    to_goal, to_anti_goal = task.distance(points, goal), task.distance(points, anti_goal)
    reached = to_goal <= task.tolerance
    return {"naive": naive_reward(to_goal, reached), "fixed": self_balancing_reward(to_goal, to_anti_goal, reached)}


def fig1(data: Data) -> Canvas:
    """Fig. 1: the track; ends with Eq. (2) as reward, and with Eq. (3) and the local optimum as anti-goal; success."""
    canvas, axes = _start(data, "Figure 1: a trap, and an anti-goal set by hand", ["naive", "fixed"])
    draw_track(axes[0])
    heat_map(axes[1], data.frame, "naive", "", shapes()["naive"], "Eq. (2): distance to the goal")
    heat_map(axes[2], data.frame, "fixed", "", shapes()["fixed"], "Eq. (3): anti-goal = local optimum")
    return _finish(canvas, axes)


def fig2(data: Data) -> Canvas:
    """Fig. 2: ends of all rollouts with Sibling Rivalry, of the farther and of the closer siblings; success."""
    canvas, axes = _start(data, "Figure 2: the anti-goal is where a sibling ended", ["naive", "sr"])
    for ax, role in zip(axes, ("", "farther ", "closer ")):
        heat_map(ax, data.frame, "sr", role, shapes()["naive"], f"{role}sibling" if role else "all rollouts")
    return _finish(canvas, axes)


def _start(data: Data, title: str, methods: list[str]) -> tuple[Canvas, np.ndarray]:
    """With success in the last panel."""
    note = "ends: mean of the seeds, reward in red; success: mean ± SD, single runs thin"
    canvas, axes = data.canvas(1, 4, title, note, (3.0, 2.7), label=NAMES.__getitem__)
    data.panel(axes[0, 3], ENV, "success", "success rate", methods, labels=NAMES, styles=STYLES)
    axes[0, 3].set(ylim=(-0.03, 1.03), title="success in training", xlabel="episodes")
    return canvas, axes[0]


def _finish(canvas: Canvas, axes: np.ndarray) -> Canvas:
    """A scale of colours between the heat maps and success."""
    if axes[2].collections:
        canvas.colorbar(axes[2].collections[0], ax=axes[2], label="share of ends", ticks=[0, 0.05, 0.2, 0.5, 1])
    return canvas


def draw_track(ax: Axes) -> None:
    """The track with the goal and the local optimum, which is also the start."""
    ax.plot(*position(PHASES).T, color="0.6", linewidth=4)
    middle = (GOAL, "goal, phase $\\pi/2$", 10), (LOCAL_OPTIMUM, "local optimum\nand start, $3\\pi/2$", -52)
    for phase, name, offset in middle:
        x, y = position(np.array(phase))
        ax.plot(x, y, "x", color=PLACES[phase], markersize=10, markeredgewidth=3)
        ax.annotate(name, (x, y), xytext=(0, offset), textcoords="offset points", ha="center", linespacing=1.1)
    for phase, name, offset, side in ((0.0, "0", 6, "left"), (np.pi, "$\\pi$", -6, "right")):
        x, y = position(np.array(phase))
        ax.annotate(name, (x, y), xytext=(offset, 0), textcoords="offset points", ha=side, va="center")
    ax.set(xlim=(-1.35, 1.35), ylim=(-0.6, 1.4), aspect="equal", title="the track")
    ax.set_axis_off()


def heat_map(ax: Axes, frame: pd.DataFrame, method: str, role: str, reward: np.ndarray, title: str) -> None:
    """Where episodes ended, mean over seeds: phases from left to right, training upwards; `reward` over it in red."""
    ax.set_title(title, pad=14)  # the crosses of goal and local optimum lie below it
    ax.set(xlabel="phase", xlim=(0, 2 * np.pi), xticks=np.arange(5) * np.pi / 2)
    ax.set_xticklabels(["0", "$\\pi/2$", "$\\pi$", "$3\\pi/2$", "$2\\pi$"])
    ax.grid(False)
    try:
        steps, shares = histograms(frame, method, role)
    except MissingData:
        not_run(ax)
        return
    edges = np.linspace(0, 2 * np.pi, BINS + 1)
    ax.pcolormesh(edges, np.append(0, steps), shares.mean(axis=0), cmap="Blues", norm=NORM)
    ax.set_ylabel("episodes")
    ax.yaxis.set_major_formatter(EngFormatter(sep=""))
    across = ax.get_xaxis_transform()  # x: phase, y: share of the panel's height
    for phase, colour in PLACES.items():
        ax.plot(phase, 1.04, "x", color=colour, markersize=6, markeredgewidth=2, transform=across, clip_on=False)
    height = 0.05 + 0.9 * (reward - reward.min()) / (reward.max() - reward.min())
    ax.plot(PHASES, height, color=RED, linewidth=1.2, alpha=0.8, transform=across)
