"""Fig. 6: the swimmer in the wake, a picture and what the learners make of it."""

from __future__ import annotations

from pathlib import Path

import gymnasium
import numpy as np

from lab.plotting import legend, save
from lab.results import Results
from papers.ref_er.evidence.figures_panels import BAND, HOW, RETURN, Data, cut_below, label, panel

SEED, ACTIONS = 3, 3
"""Of the picture's episode."""


def snapshot() -> np.ndarray:
    """uint8 [height, width, 3]: a swimmer that leaves the wake's middle by force; no learner has a part in it."""
    env = gymnasium.make("WakeFlow-v0", render_mode="rgb_array")
    env.reset(seed=SEED)
    for _ in range(ACTIONS):
        env.step(np.array([-0.35, 0.2, 0.03]))
    found = env.render()
    env.close()
    return found  # type: ignore[return-value]


def fig6(results: Results, scale: str, out: Path) -> None:
    """The world; returns; and apart, as an exit costs as much as hundreds of actions, exits and effort."""
    data = Data(results, "fig6", scale)
    note = f"{HOW}; shaded for {label('vracer refer')}: {BAND}; picture: vorticity, the swimmer under a constant force"
    title = "Figure 6: a swimmer in the wake of a cylinder, recurrent networks"
    canvas, axes = data.canvas(1, 4, title, note)
    world, of_return, of_exits, of_effort = axes[0]
    world.imshow(snapshot(), interpolation="antialiased")
    world.set(xticks=[], yticks=[])
    world.grid(False)
    world.spines[:].set_visible(False)
    for env in data.shown:
        panel(of_return, data, env, "return", RETURN, banded=["vracer refer"])
        cut_below(of_return)
        panel(of_exits, data, env, "exits", "exits per action", log=True)
        panel(of_effort, data, env, "effort", "squared action", log=True)
    legend(canvas)
    save(canvas, out)
