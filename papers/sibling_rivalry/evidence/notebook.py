"""What this paper's notebook shows (lab/pages/notebook): the track, which takes seconds, and two runs in the maze."""

EQUATIONS = ("Eq. (3)", "Algorithm 1")
CODE = (
    "papers.sibling_rivalry.sibling_rivalry:self_balancing_reward",
    "papers.sibling_rivalry.sibling_rivalry:rivalry",
)
ABOUT = (
    "The circular track (Fig. 1), all of it; and PPO in the point maze (Fig. 3), with Sibling Rivalry and "
    "without, with seed 0 alone. Of the five seeds of the figure it is the one that learns soonest; two others "
    "have not begun by then."
)
SHORT = {"smoke": "--epochs 2 --updates 2 --rollouts 8 --eval-episodes 4", "quick": "--epochs 12"}
COMMANDS = {
    scale: [
        f"-m lab run sibling_rivalry fig1 --scale {scale}",
        *(
            f"-m papers.sibling_rivalry.train --env PointMaze --method {method} --no-progress {settings} "
            f"--run-dir runs/notebook/{scale}/{method}"
            for method in ("ppo-sr", "ppo")
        ),
        f"-m lab compare runs/notebook/{scale}/ppo-sr runs/notebook/{scale}/ppo --metrics success,distance "
        f"--out runs/notebook/{scale}/sibling_rivalry.png",
    ]
    for scale, settings in SHORT.items()
}
PICTURES = ("runs/figures/sibling_rivalry/{scale}/fig1.png", "runs/notebook/{scale}/sibling_rivalry.png")
