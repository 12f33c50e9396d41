"""Pictures of all tasks, as their gymnasium environments render them. Nothing is trained."""

from pathlib import Path

import gymnasium

from lab.judge.plotting import new_figure, save
from lab.judge.results import Results

TASKS: dict[str, tuple[str, dict]] = {
    "circular track": ("CircularTrack-v0", {}),
    "point maze": ("PointMaze-v0", {}),
    "corridor": ("Corridor-v0", {"length": 6}),
    "U maze": ("UMaze-v0", {"length": 6}),
    "tree maze": ("TreeMaze-v0", {"size": 16, "seed": 1}),
    "pixel grid": ("PixelGrid-v0", {}),
    "ant maze": ("AntMaze-v0", {}),
    "half the ant maze": ("AntMazeSmall-v0", {}),
}
STEPS = 15
"""Random steps before the picture is taken."""


def tasks(results: Results, scale: str, out: Path) -> None:
    """Each task after a few random steps."""
    note = f"drawn, nothing trained; each after {STEPS} random steps or at the end of its episode"
    canvas, axes = new_figure(2, 4, "Sibling Rivalry: the tasks", caption=note, size=(3.2, 2.6))
    for ax, (title, (name, settings)) in zip(axes.flat, TASKS.items()):
        env = gymnasium.make(f"envs:{name}", render_mode="rgb_array", disable_env_checker=True, **settings)
        env.reset(seed=0)
        env.action_space.seed(0)
        for _ in range(STEPS):
            if any(env.step(env.action_space.sample())[2:4]):
                break
        ax.imshow(env.render(), interpolation="antialiased")  # type: ignore[arg-type]
        ax.set_title(title)
        ax.set_axis_off()
        env.close()
    save(canvas, out)
