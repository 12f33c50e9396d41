"""Train on the Fetch tasks of gymnasium-robotics, with the settings that the original HER was published with.

    .venv/bin/python -m papers.bias_reduced_her.train_fetch --env FetchPush --method her --seed 0

The paper takes HER's settings for tasks of its own. Here its filter meets the tasks and the settings of HER's authors:
those of their program (openai/baselines, `her/experiment/config.py`, and the log in issue 591 there), and of
Andrychowicz et al. 2017, Appendix A. Only the settings differ from train.py, whose loop this is; NOTEBOOK.md compares
them.

Virtual successes are bootstrapped, as in that program; `--end-at-success` is the paper's other reading, in which a
success, real or virtual, ends the episode.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from lab.run.cli import cli
from lab.run.settings import Count, NotNegative, Range, Share
from papers.bias_reduced_her import train
from papers.bias_reduced_her.train import Trainer, replay_bytes

__all__ = ["Config", "Trainer", "main", "replay_bytes"]


@dataclass(frozen=True)
class Config(train.Config):
    """The settings of train.py, with HER's defaults. What is not here is the same in both."""

    env: str = "FetchPush"
    """Task: FetchReach, FetchPush, FetchPickAndPlace, FetchSlide, or any that train.py has."""
    method: Literal["her", "filtered-her", "her-ibs", "filtered-her-ibs", "her-thinned", "none"] = "her"
    """Kind of hindsight. IBS needs goals in two dimensions, which Fetch tasks do not have."""
    epochs: Count = 25
    """Training length in epochs of 40,000 steps: 1 million in all. HER's papers go on for 200."""
    batch_size: Annotated[int, Range("be at least 2", lambda value: value >= 2)] = 256
    """Transitions per gradient step. The log's; the paper of HER has 128 on each of eight cores."""
    capacity: Count = 5_000_000
    """Transitions kept, virtual ones included: HER's 1 million steps, four virtual transitions with each."""
    networks: Literal["paper", "her"] = "her"
    """her: 3 x 256, not normalised. paper: those of train.py."""
    clip: Annotated[float, Range("be positive", lambda value: value > 0, infinite=True)] = float("inf")
    """Largest gradient norm (L2), actor and critic. inf: none."""
    action_penalty: NotNegative = 1.0
    """Weight of the actions' mean square in the actor's loss."""
    epsilon_decay: Share = 1.0
    """Factor on epsilon at the start of every epoch but the first: every action in training explores."""
    random_actions: Share = 0.3
    """Share of uniform actions; the others are greedy plus noise."""
    noise: NotNegative = 0.1
    """Standard deviation of the noise, as a share of the actions' range: 0.2 where actions lie in [-1, 1]."""
    end_at_success: bool = False
    """Success ends an episode, for real and for virtual goals. Otherwise both are bootstrapped."""
    per_alpha: Share = 0.0
    """Exponent of priorities: uniform replay."""
    eval_episodes: Count = 50
    """Episodes per evaluation. HER's: 10 on each core."""
    eval_every: Count = 1
    """Epochs between evaluations."""


def main(config: Config, run_dir: Path, **options: Any) -> dict:
    """Train in ``run_dir``, or resume there; returns the summary. See `lab.run.runs.execute`."""
    return train.main(config, run_dir, **options)


if __name__ == "__main__":
    cli(Config, main, __doc__)
