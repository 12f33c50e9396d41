"""Fig. 1: what is drawn from SAC's memory by TD error, by Q and uniformly, as pictures of the pendulum."""

import math

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.patches import Circle, Rectangle

from lab.judge.plotting import new_figure
from lab.judge.results import MissingData, matrix
from papers.ners.evidence.figures_data import Data
from papers.ners.evidence.postures import EXCESSIVE, posture

RULES = {"td": "(a) by TD error", "top_td": "(a') the largest TD errors", "q": "(b) by Q", "uniform": "(c) uniformly"}
KINDS = {"sac random": "bootstrapped", "sac random terminal": "terminal"}
"""What becomes of time-outs."""
SHOWN = 10
"""Transitions drawn as pictures, of 64; they are in random order, so the first."""
FRAMES = {"downward": "#000000", "upright": "#E69F00", "horizontal": "#56B4E9"}
"""The paper's black, orange and cyan; its red is for actions that are too large."""
RED = "#D62728"


def pendulum(ax: Axes, x: float, y: float, angle: float, speed: float, action: float) -> None:
    """One transition in a square of side 2.4 around (x, y), a frame of 2.2.

    angle in rad, 0 upright, positive counter-clockwise; speed in rad/s; action in [-1, 1], the largest torque is 1.
    A pale rod shows where it was 0.1 s ago; the arc goes in the direction of the torque, and far for a large one.
    """
    colour = RED if abs(action) > EXCESSIVE else FRAMES[posture(angle)]
    ax.add_patch(Rectangle((x - 1.1, y - 1.1), 2.2, 2.2, fill=False, edgecolor=colour, linewidth=1.8))
    for theta, shade in ((angle - 0.1 * speed, "#F2CFC4"), (angle, "#C8553D")):
        ax.plot(
            [x, x - 0.9 * math.sin(theta)], [y, y + 0.9 * math.cos(theta)], color=shade, linewidth=5,
            solid_capstyle="round",
        )  # fmt: skip
    ax.add_patch(Circle((x, y), 0.07, color="black", zorder=3))
    turn = np.linspace(0, 1.5 * math.pi * action, 30)  # from the right, counter-clockwise where positive
    arc = np.column_stack([x + 0.42 * np.cos(turn), y + 0.42 * np.sin(turn)])
    ax.plot(*arc.T, color="0.15", linewidth=1.1, zorder=4)
    tip = math.degrees(turn[-1]) + (0 if action > 0 else 180)  # a triangle that points along the arc
    ax.plot(*arc[-1], marker=(3, 0, tip), color="0.15", markersize=5, zorder=4)


def drawn(frame: pd.DataFrame, method: str, rule: str, seed: int) -> dict[str, np.ndarray]:
    """angle, speed, action, td and q of the transitions that a rule drew in one run, [64] each. MissingData without."""
    names = ("angle", "speed", "action", "td", "q")
    rows = frame[frame["seed"] == seed]
    [env] = rows["env"].unique()
    return {name: matrix(rows, f"{rule}_{name}", method, env)[1][0] for name in names}


def fig1(data: Data) -> Canvas:
    """Fig. 1: ten draws of each rule as pictures, and below them all 64 by angle, TD error and Q; of the first seed.

    Once with time-outs bootstrapped and once with time-outs stored as terminations.
    """
    seed = int(data.frame["seed"].min())
    draws: dict[str, dict[str, dict[str, np.ndarray]]] = {}
    for method, kind in KINDS.items():
        try:
            draws[kind] = {rule: drawn(data.frame, method, rule, seed) for rule in RULES}
        except MissingData:
            continue
    steps = data.entries[0].config.steps
    missing = f"; not run: {len(data.missing)} of {len(data.wanted)} runs" if data.missing else ""
    caption = (
        f"{data.scale}: seed {seed}, the first of {data.frame['seed'].nunique()}, after {steps:,} steps; frames: black "
        "downward, orange upright, cyan horizontal (by quarters of the circle), red action above "
        f"{EXCESSIVE:.0%} of the largest; arc: torque; pale rod: 0.1 s before; by TD error and by Q: in proportion to "
        "them, which is our reading; "
        f"time-outs {' (above) or '.join(draws)}{' (below)' if len(draws) > 1 else ''}{missing}"
    )
    title = "NERS Figure 1: what is drawn from SAC's memory on Pendulum"
    canvas, axes = new_figure(2 * len(draws), len(RULES), title, caption=caption, size=(3.3, 2.0))
    axes[0, 0].get_gridspec().set_height_ratios([2, 3] * len(draws))
    every = [found for kind in draws.values() for found in kind.values()]
    q = np.concatenate([found["q"] for found in every])
    td = np.concatenate([found["td"][found["td"] > 0] for found in every])
    for place, (kind, of_rules) in enumerate(draws.items()):
        for above, below, (rule, found) in zip(*axes[2 * place : 2 * place + 2], of_rules.items()):
            for k in range(min(SHOWN, len(found["angle"]))):
                pendulum(above, 2.5 * (k % 5), -2.5 * (k // 5), *(found[n][k] for n in ("angle", "speed", "action")))
            above.set(title=RULES[rule], xlim=(-1.3, 11.3), ylim=(-3.8, 1.3), aspect="equal")
            above.axis("off")
            points = below.scatter(
                np.degrees(found["angle"]), found["td"], c=found["q"], s=14, cmap="viridis", vmin=q.min(), vmax=q.max()
            )
            below.set(
                xlim=(-185, 185), xticks=range(-180, 181, 90), yscale="log", xlabel="angle in degrees (0: upright)"
            )
            below.set_title(f"all {len(found['angle'])}")
            below.set_ylim(td.min() / 2, td.max() * 2)
        axes[2 * place + 1, 0].set_ylabel(f"|TD error|\ntime-outs {kind}")
    canvas.colorbar(points, ax=list(axes[1::2].flat), label="Q")
    return canvas
