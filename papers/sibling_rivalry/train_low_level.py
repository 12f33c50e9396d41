"""Train the ant's low level alone, on random subgoals, and measure how close it gets to them.

    .venv/bin/python -m papers.sibling_rivalry.train_low_level --env AntArena --seed 0

It is trained as it is below all methods (hierarchy.py), but random subgoals replace those of a high level, which is how
every high level begins. The paper has no such experiment: it shows that subgoals are reached if no wall is in the way.

Time is counted in steps of the environment.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from lab.run.cli import cli
from lab.run.errors import UserError
from lab.run.runs import Run, Streams, execute
from lab.run.settings import Count
from papers.sibling_rivalry.agents.hierarchy import Hierarchy, joined
from papers.sibling_rivalry.agents.rollouts import Rollouts, play
from papers.sibling_rivalry.agents.tasks import make_task

SAVE_EVERY = 5
"""Evaluations between checkpoints."""


@dataclass(frozen=True)
class Config:
    """Every setting of a run."""

    env: str = "AntArena"
    """Task with two levels: AntArena, AntMaze or AntMazeSmall[-<steps per subgoal>]. In the arena the low level
    has the settings of half the ant maze."""
    method: Literal["low-level"] = "low-level"
    """What is trained; there is only one."""
    seed: int = 0
    """Seed of all random streams of the run."""
    updates: Count = 500
    """Training length in updates, each of 8,000 steps in the arena. Not in the paper."""
    episodes: Count = 20
    """Episodes per update: one for each of 20 workers, as below a high level."""
    device: str = "cpu"
    """Device of the networks: cpu or cuda."""
    eval_every: Count = 25
    """Updates between evaluations."""
    eval_episodes: Count = 20
    """Episodes per evaluation; actions are sampled as in training."""


class Trainer:
    """The whole state of a run, pickled as one object, so that an interrupted run resumes bit for bit."""

    def __init__(self, config: Config):
        task = make_task(config.env)
        if not isinstance(task, Hierarchy):
            raise UserError(f"{config.env} has no low level; choose from: AntArena, AntMaze, AntMazeSmall")
        streams = Streams(config.seed)
        self.config, self.task = config, task
        self.rng = streams.numpy("rollouts")
        task.begin(streams, config.device)
        self.updates = 0

    @property
    def steps_per_update(self) -> int:
        """Steps of the environment."""
        return self.config.episodes * self.task.max_steps * self.task.interval

    @property
    def steps(self) -> int:
        """Steps of the environment learnt from so far."""
        return self.updates * self.steps_per_update

    def play(self, starts: np.ndarray, goals: np.ndarray, rng: np.random.Generator) -> Rollouts:
        """Episodes whose subgoals lie anywhere within reach."""
        reach, n = self.task.action_range, self.task.n_actions

        def act(observations: np.ndarray, goals: np.ndarray, legal: np.ndarray | None) -> np.ndarray:
            return rng.uniform(-reach, reach, (len(observations), n)).astype(np.float32)  # type: ignore[operator, arg-type]

        return play(self.task, act, starts, goals, rng)

    def starts_and_goals(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Goals are out of reach: no episode ends early."""
        return self.task.starts(n, rng), np.full((n, *self.task.goal_shape), np.inf, np.float32)

    def update(self) -> dict[str, float]:
        """Play the update's episodes and learn from them. Returns metrics."""
        starts, goals = self.starts_and_goals(self.config.episodes, self.rng)
        entry = self.task.practise(self.play, starts, goals, self.rng, turns=1)[1]
        self.updates += 1
        return entry

    def evaluate(self) -> dict[str, float]:
        """``before`` and ``distance``: mean distance to the subgoal when it was set and when its time was up;
        ``success``: share of subgoals within the task's tolerance by then."""
        rng = Streams(self.config.seed).numpy(f"evaluation at {self.updates}")
        starts, goals = self.starts_and_goals(self.config.eval_episodes, rng)
        pursuits = joined(self.task.observed(self.play, starts, goals, rng)[1])
        before = self.task.distance(self.task.achieved(pursuits.states[:, 0]), pursuits.subgoals)
        after = self.task.low.distances(pursuits)[:, -1]
        return {
            "success": float((after <= self.task.tolerance).mean()),
            "distance": float(after.mean()),
            "before": float(before.mean()),
        }


def train(run: Run, trainer: Trainer) -> dict:
    """Train to the end; returns the last evaluation."""
    config = trainer.config
    if not run.last:  # the policy before learning
        run.log(0, trainer.evaluate())
    evaluations = trainer.updates // config.eval_every
    while trainer.updates < config.updates:
        entry = trainer.update()
        run.check_finite(trainer.steps, **{name: value for name, value in entry.items() if name.endswith("loss")})
        run.tick(trainer.steps)
        if trainer.updates % config.eval_every == 0 or trainer.updates == config.updates:
            run.log(trainer.steps, trainer.evaluate())
            evaluations += 1
            if evaluations % SAVE_EVERY == 0:
                run.save(trainer)
    return run.finish({"steps": trainer.steps, **run.last}, weights=trainer.task.low.ppo.policy.state_dict())


def main(config: Config, run_dir: Path, **options: Any) -> dict:
    """Train in ``run_dir``, or resume there; returns the summary. See `lab.run.runs.execute`."""
    return execute(
        config, run_dir, train, Trainer, score="success",
        total=lambda one: config.updates * one.steps_per_update, **options,
    )  # fmt: skip


if __name__ == "__main__":
    cli(Config, main, __doc__)
