"""Figs. D.1 to D.6: the worlds, as people and as the agent see them."""

from pathlib import Path

import numpy as np

from envs.minigrid.tasks import SIZE, MiniGridTask
from envs.sokoban.game import PIXELS, Sokoban
from lab.judge.plotting import new_figure, save
from lab.judge.results import Results
from papers.ter.evidence.budgets import SOKOBAN, TASKS
from papers.ter.evidence.figures_nchain import draw_chain
from papers.ter.evidence.labels import place
from papers.ter.worlds.sokoban import TASKS as ROOMS

LEVELS = 4
"""Random levels of each task that Fig. D.1 shows."""


def fig_d1(results: Results, scale: str, out: Path) -> None:
    """NChain, and of each MiniGrid and Sokoban task random levels in full and one as the agent sees it."""
    note = (
        f"no training; levels of seeds 0 to {LEVELS - 1}; at the right what the agent sees of the last, {SIZE}x{SIZE} "
        f"pixels, in Sokoban {PIXELS}x{PIXELS}"
    )
    rows = len(TASKS) + len(SOKOBAN) + 2
    canvas, axes = new_figure(rows, LEVELS + 1, "TER Figure D.1: the worlds", caption=note, size=(1.6, 1.15))
    top = axes[0, 0].get_gridspec()[:2, :]
    for ax in axes[:2].flat:
        ax.remove()
    chain = axes[2, 0].figure.add_subplot(top)
    draw_chain(chain)
    chain.set_title("NChain")
    for row, task in zip(axes[2:], TASKS + SOKOBAN):
        for seed, ax in enumerate(row[:-1]):
            picture, seen = _level(task, seed)
            ax.imshow(picture, interpolation="antialiased")
        row[-1].imshow(seen, interpolation="nearest")
        name = place(task).replace(" " if task in SOKOBAN else "-", "\n")
        row[0].set_ylabel(name, rotation=0, ha="right", va="center")
        for ax in row:
            ax.set(xticks=[], yticks=[])
            ax.grid(False)
            ax.spines[:].set_visible(False)
    for ax, title in zip(axes[2], [*(f"seed {seed}" for seed in range(LEVELS)), "agent's view"]):
        ax.set_title(title)
    save(canvas, out)


def _level(task: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A level as people and as the agent see it."""
    if task in TASKS:
        world = MiniGridTask(task)
        seen, _ = world.reset(seed=seed)
        return world.game.get_full_render(highlight=False, tile_size=32), seen
    size, boxes = ROOMS[task]
    sokoban = Sokoban((size, size), boxes, render_mode="rgb_array")
    seen, _ = sokoban.reset(seed=seed)
    return sokoban.render(), seen
