"""What this paper's notebook shows (`make notebook`)."""

from lab.pages.notebook import Notebook

NOTEBOOK = Notebook(
    equations=("Eq. (3)", "Algorithm 1"),
    code=(
        "papers.sibling_rivalry.sibling_rivalry:self_balancing_reward",
        "papers.sibling_rivalry.sibling_rivalry:rivalry",
    ),
    about=(
        "The circular track (Fig. 1), all of it; and PPO in the point maze (Fig. 3), with Sibling Rivalry and "
        "without, with seed 0 alone, for 48,000 episodes. In our run Sibling Rivalry first succeeds after 32,000 and "
        "ends at a success of 0.49; two of the figure's five have not begun by then."
    ),
    figure="fig1",
    train="papers.sibling_rivalry.train --env PointMaze --method",
    methods=("ppo-sr", "ppo"),
    settings={"smoke": "--epochs 2 --updates 2 --rollouts 8 --eval-episodes 4", "quick": "--epochs 12"},
    metrics="success,distance",
)
