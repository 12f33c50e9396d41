"""Train a task's agent with one of the replay ideas; measure how well it does and what the idea replays.

    .venv/bin/python -m arena.replay.train --env NChain-20 --idea ter --seed 0

The ideas are in ideas.py, the tasks with their agents in tasks.py. Loop, environment and networks are those of the
agent's room; joined.py puts the sampler in between, and meter.py measures all samplers alike.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from arena.replay.ideas import IDEAS, refusal
from arena.replay.tasks import BUDGETS, TASKS, make, room_config
from lab.run.cli import cli
from lab.run.errors import UserError
from lab.run.runs import execute
from lab.run.settings import Count, check


@dataclass(frozen=True)
class Config:
    """Every setting of a run. The task fixes the agent's settings; an idea's are the same on all tasks."""

    env: Literal[tuple(TASKS)] = "NChain-20"  # type: ignore[valid-type]
    """Task; it fixes the agent."""
    idea: Literal[tuple(IDEAS)] = "uniform"  # type: ignore[valid-type]
    """Replay idea."""
    seed: int = 0
    """Seed of all random streams of the run."""
    steps: Count | None = None
    """Length of the run in environment steps or, on tasks with goals, episodes; None takes the task's. Memory,
    exploration and times of evaluation stay those of the task."""
    budget: Literal[BUDGETS] = "quick"  # type: ignore[valid-type]
    """Settings of the task: those of the comparison, or tiny ones that only test the wiring."""

    def check(self) -> None:
        """Raise UserError for a pair that cannot be joined, and for settings that the agent's room rejects."""
        agent = TASKS[self.env].agent
        if why := refusal(self.idea, self.env, agent.name, agent.provides):
            raise UserError(why)
        check(_room(self))

    @property
    def method(self) -> str:
        """Label of the run in names and results."""
        return self.idea


def _room(config: Config):
    return room_config(config.env, config.idea, config.seed, config.steps, config.budget)


def replay_bytes(config: Config) -> int:
    """Memory [bytes] of the full replay, which a sweep adds up before it starts. For NChain it is too high: that of a
    larger grid."""
    return TASKS[config.env].agent.replay_bytes(_room(config))


def main(config: Config, run_dir: Path, **options: Any) -> dict:
    """Train in ``run_dir``, or resume there; returns the summary. See `lab.run.runs.execute`."""
    check(config)
    task, room = TASKS[config.env], _room(config)
    return execute(
        config, run_dir, task.agent.train, lambda _: make(config.env, config.idea, room),
        total=lambda _: task.agent.steps(room), unit=task.agent.unit, score=task.score, **options,
    )  # fmt: skip


if __name__ == "__main__":
    cli(Config, main, __doc__)
