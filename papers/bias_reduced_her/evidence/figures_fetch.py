"""A misleading goal of FetchPush, drawn: the object rests, the hand moves, and hindsight calls it success."""

from pathlib import Path
from typing import Any

import numpy as np

from lab.judge.plotting import new_figure, save
from lab.judge.results import Results
from lab.pages.watch.pictures import picture
from papers.bias_reduced_her.filtered import misleading
from papers.bias_reduced_her.worlds.tasks import make_env

MOMENTS = (0, 10, 20)
"""Steps of the episode that are drawn."""
SEED = 3


def misleading_goal(results: Results, scale: str, out: Path) -> None:
    """Three moments of an episode of random actions. UserError where MuJoCo cannot draw."""
    env: Any = make_env("FetchPush", render_mode="rgb_array")
    actions = np.random.default_rng(SEED).uniform(-1, 1, (max(MOMENTS), 4)).astype(np.float32)
    seen, _ = env.reset(seed=SEED)
    achieved, pictures = [seen["achieved_goal"]], [picture(env)]
    for action in actions:
        achieved.append(env.step(action)[0]["achieved_goal"])
        pictures.append(picture(env))
    env.close()
    goals = np.broadcast_to(achieved[-1], (len(actions), 3))
    wrong = misleading(np.stack(achieved[:-1]), goals, env.unwrapped.compute_reward)
    note = f"random actions; virtual goal: where the object lies at step {len(actions)}. It misleads {wrong.sum()} of "
    note += f"{len(wrong)} steps:\nthose that begin with the object within 5 cm of it succeed, whatever the hand does"
    title = "Bias-reduced HER own experiment: a misleading goal"
    canvas, axes = new_figure(1, len(MOMENTS), title, caption=note, size=(2.6, 2.3))
    for ax, step in zip(axes[0], MOMENTS):
        ax.imshow(pictures[step][130:350, 90:360])
        ax.set(title=f"step {step}", xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
    save(canvas, out)
