"""A misleading goal of FetchPush, drawn: the object rests, the hand moves, and hindsight calls it success."""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.patches import Circle, Rectangle

from lab.judge.colours import BLACK, SKY, VERMILLION
from lab.judge.plotting import new_figure, save
from lab.judge.results import Results
from papers.bias_reduced_her.filtered import misleading
from papers.bias_reduced_her.worlds.tasks import make_env

MOMENTS = (0, 10, 20)
"""Steps of the episode that are drawn."""
SEED = 3
NEAR, SIDE = 5.0, 5.0
"""Distance within which a goal is met, and side of the object [cm]."""


def misleading_goal(results: Results, scale: str, out: Path) -> None:
    """Three moments of an episode of random actions, seen from above."""
    env: Any = make_env("FetchPush")
    actions = np.random.default_rng(SEED).uniform(-1, 1, (max(MOMENTS), 4)).astype(np.float32)
    seen = [env.reset(seed=SEED)[0], *(env.step(action)[0] for action in actions)]
    hand, object_ = (np.stack([s[name][:3] for s in seen]) for name in ("observation", "achieved_goal"))
    goal = object_[-1]
    wrong = misleading(object_[:-1], np.broadcast_to(goal, object_[:-1].shape), env.unwrapped.compute_reward)
    env.close()
    note = (
        f"random actions, seen from above; cross: the object's place at step {len(actions)}, a virtual goal; circle: "
    )
    note += (
        f"where it is met. It misleads\n{wrong.sum()} of {len(wrong)} steps: those that begin with the object's centre "
    )
    note += "inside the circle succeed, wherever the hand goes (line)"
    title = "Bias-reduced HER own experiment: a misleading goal of FetchPush"
    canvas, axes = new_figure(1, len(MOMENTS), title, caption=note, size=(2.6, 2.7))
    hand, object_ = (100 * (places[:, :2] - goal[:2]) for places in (hand, object_))
    for ax, step in zip(axes[0], MOMENTS):
        ax.add_patch(Rectangle(object_[step] - SIDE / 2, SIDE, SIDE, color=SKY))
        ax.add_patch(Circle((0, 0), NEAR, fill=False, edgecolor=VERMILLION, linestyle="--"))
        ax.plot(0, 0, "+", color=VERMILLION)
        ax.plot(*hand[: step + 1].T, color=BLACK, linewidth=1)
        ax.plot(*hand[step], "o", color=BLACK)
        ax.text(*(object_[step] - (0, NEAR + 0.8)), "object", ha="center", va="top", color=SKY)
        ax.text(*(hand[step] + (0, 1.5)), "hand", ha="center", va="bottom")
        middle = (hand[0] + object_[0]) / 2
        ax.set(title=f"step {step}", aspect="equal", xlabel="x (cm)", ylabel="y (cm)" if step == 0 else "")
        ax.set(xlim=middle[0] + np.array([-16, 16]), ylim=middle[1] + np.array([-16, 16]))
    save(canvas, out)
