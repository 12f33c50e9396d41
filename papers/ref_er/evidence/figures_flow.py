"""Fig. 6: the swimmer in the wake, a picture and what the learners make of it."""

from __future__ import annotations

import gymnasium
import numpy as np
from matplotlib.figure import Figure as Canvas

from papers.ref_er.evidence.figures_panels import BAND, HOW, Data, label, panel, returns

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


def fig6(data: Data) -> Canvas:
    """The world; returns; and apart, as an exit costs as much as hundreds of actions, exits and effort."""
    note = f"{HOW}; shaded for {label('vracer refer')}: {BAND}; picture: vorticity, the swimmer under a constant force"
    title = "Figure 6: a swimmer in the wake of a cylinder, recurrent networks"
    canvas, axes = data.canvas(1, 4, title, note)
    world, of_return, of_exits, of_effort = axes[0]
    world.imshow(snapshot(), interpolation="antialiased")
    world.set(xticks=[], yticks=[])
    world.grid(False)
    world.spines[:].set_visible(False)
    names = {method: label(method) for method in data.methods}
    for env in data.shown:
        returns(of_return, data, env, names, ["vracer refer"])
        panel(of_exits, data, env, "exits", "exits per action", names, log=True)
        panel(of_effort, data, env, "effort", "squared action", names, log=True)
    return canvas
