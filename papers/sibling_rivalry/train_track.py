"""The circular track: a reward that traps, one with the trap as a fixed anti-goal, and Sibling Rivalry (Sec. 3).

    .venv/bin/python -m papers.sibling_rivalry.train_track --method sr --seed 0

An agent takes five steps along a track that starts where the goal is near but half a lap away (envs/circular_track.py),
and is rewarded for where it ends. The methods differ only in that reward and in which rollouts are learnt from:

    naive    minus the distance to the goal: Eq. (2)
    fixed    the same, less the distance to a fixed anti-goal, the local optimum: Eq. (3)
    sr       the anti-goal is where a sibling ended, and the closer of two siblings is learnt from only where it reached
             the goal: Eq. (4), Algorithm 1 with epsilon = 0

Time is counted in episodes, each sibling as one. All methods play the same number of them per update.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import torch

from envs.circular_track import LOCAL_OPTIMUM, CircularTrack, position
from lab.run.cli import cli
from lab.run.runs import Run, Streams, execute
from lab.run.settings import Count, Positive, Range
from papers.sibling_rivalry.agents.a2c import A2C, Steps
from papers.sibling_rivalry.agents.rewards import naive_reward
from papers.sibling_rivalry.agents.rollouts import Rollouts, play
from papers.sibling_rivalry.sibling_rivalry import rivalry, self_balancing_reward

METHODS = ("naive", "fixed", "sr")
ENV = "CircularTrack"
BINS = 22
"""Bins of terminal phases. With 4 k + 2 bins, goal and local optimum each lie in the middle of one."""
SAVE_EVERY = 5
"""Rows of metrics between checkpoints."""


@dataclass(frozen=True)
class Config:
    """Every setting of a run. The paper states only epsilon; the others are usual for a task of this size."""

    env: Literal["CircularTrack"] = "CircularTrack"
    """Task; there is only one."""
    method: Literal[METHODS] = "sr"  # type: ignore[valid-type]
    """What episodes are paid: see the top of this file."""
    seed: int = 0
    """Seed of all random streams of the run."""
    updates: Count = 400
    """Training length in updates."""

    pairs: Count = 64
    """Half the episodes of an update: pairs of siblings, if the method has them."""
    lr: Positive = 1e-3
    """Adam's step size."""
    epsilon: Annotated[float, Range("not be negative", lambda value: value >= 0, infinite=True)] = 0.0
    """sr: inclusion threshold (Sec. 3)."""
    log_every: Count = 20
    """Updates between rows of metrics; each row covers all episodes since the one before."""


class Trainer:
    """The whole state of a run, pickled as one object, so that an interrupted run resumes bit for bit."""

    def __init__(self, config: Config):
        streams = Streams(config.seed)
        self.config, self.task = config, CircularTrack()
        self.rng = streams.numpy("rollouts")
        self.agent = A2C(
            self.task, sees_anti_goal=config.method != "naive", lr=config.lr, seed=streams.integer("network")
        )
        self.local_optimum = position(np.array(LOCAL_OPTIMUM)).astype(np.float32)
        self.updates_done = 0
        self._ended: list[dict[str, np.ndarray]] = []

    @property
    def episodes_done(self) -> int:
        return 2 * self.config.pairs * self.updates_done

    # --- one update ---------------------------------------------------------------------------------------------------

    def update(self) -> dict[str, float]:
        """Play the update's episodes and learn from them. Returns the losses."""
        task, n, rng = self.task, 2 * self.config.pairs, self.rng
        starts, goals = task.starts(n, rng), task.goals(n, rng)  # all alike: 2 i and 2 i + 1 are siblings
        rollouts = play(task, lambda seen, g, legal: self.agent.act(seen, g, legal, rng), starts, goals, rng)
        rewards, anti_goals, kept, closer = self.last_rewards(rollouts)
        losses = self.agent.update(self.steps(rollouts, rewards, anti_goals, kept))
        self.updates_done += 1
        phases = rollouts.states[np.arange(n), rollouts.lengths, 0]
        self._ended.append(
            {"phases": phases, "ends": rollouts.ends, "reached": rollouts.reached, "closer": closer, "kept": kept}
        )
        return losses

    def last_rewards(self, rollouts: Rollouts) -> tuple[np.ndarray, np.ndarray | None, np.ndarray, np.ndarray]:
        """The reward of each rollout's last step [n], anti-goals [n, 2], and which rollouts are learnt from [n].

        Last, which are closer to the goal than their sibling [n]; without siblings, none. Here the methods differ.
        """
        ends, goals, reached, distance = rollouts.ends, rollouts.goals, rollouts.reached, self.task.distance
        if self.config.method == "sr":
            result = rivalry(ends, goals, reached, distance, self.config.epsilon)
            return result.rewards, result.anti_goals, result.kept, result.closer
        every, none = np.ones(len(rollouts), bool), np.zeros(len(rollouts), bool)
        to_goal = distance(ends, goals)
        if self.config.method == "naive":
            return naive_reward(to_goal, reached), None, every, none
        anti_goals = np.broadcast_to(self.local_optimum, goals.shape)
        return self_balancing_reward(to_goal, distance(ends, anti_goals), reached), anti_goals, every, none

    def steps(self, rollouts: Rollouts, rewards: np.ndarray, anti_goals: np.ndarray | None, kept: np.ndarray) -> Steps:
        """The steps of the rollouts that are `kept` [n]. The return of each step is its rollout's reward."""
        rows, times = np.nonzero(rollouts.running & kept[:, None])
        return Steps(
            observations=torch.from_numpy(self.task.observe(rollouts.states[rows, times])),
            goals=torch.from_numpy(rollouts.goals[rows]),
            anti_goals=None if anti_goals is None else torch.from_numpy(anti_goals[rows]),
            actions=torch.from_numpy(rollouts.actions[rows, times]),
            returns=torch.from_numpy(rewards[rows].astype(np.float32)),
        )

    # --- metrics ------------------------------------------------------------------------------------------------------

    def metrics(self) -> dict[str, float]:
        """Where the episodes since the last call ended.

        ``success``: share that reached the goal. ``trapped``: share that ended within the goal's tolerance of the local
        optimum. ``away``: mean distance from the local optimum along the track, in radians; the goal is pi away.
        ``phase k``: share that ended in bin k of BINS, if it is not 0.

        With siblings, ``closer success``, ``farther success`` and so on are those of the closer and the farther one of
        each pair; ``farther left`` and ``farther right`` are the shares that missed the goal but ended in the upper
        half of the track, on either side of it. ``kept``: share that was learnt from.
        """
        ended = {name: np.concatenate([entry[name] for entry in self._ended]) for name in self._ended[0]}
        self._ended = []
        found = self._where({name: ended[name] for name in ("phases", "ends", "reached")})
        if self.config.method == "sr":
            found["kept"] = float(ended["kept"].mean())
            for role, rows in (("closer", ended["closer"]), ("farther", ~ended["closer"])):
                part = self._where({name: ended[name][rows] for name in ("phases", "ends", "reached")})
                found |= {f"{role} {name}": value for name, value in part.items()}
            missed = ~ended["closer"] & ~ended["reached"]
            x, upper = ended["ends"][:, 0], np.sin(ended["phases"]) > 0
            for side, there in (("left", x < 0), ("right", x > 0)):
                found[f"farther {side}"] = 2 * float((missed & upper & there).mean())  # half are the farther ones
        return {name: round(value, 5) for name, value in found.items()}

    def _where(self, ended: dict[str, np.ndarray]) -> dict[str, float]:
        trapped = self.task.distance(ended["ends"], self.local_optimum) <= self.task.tolerance
        shares = histogram(ended["phases"])
        return {
            "success": float(ended["reached"].mean()),
            "trapped": float(trapped.mean()),
            "away": float(np.abs(ended["phases"] - LOCAL_OPTIMUM).mean()),
        } | {f"phase {k}": float(share) for k, share in enumerate(shares) if share}


def histogram(phases: np.ndarray) -> np.ndarray:
    """Shares float64 [BINS] of the phases [n], over any number of laps, in each of BINS equal parts of the track."""
    bins = np.floor(phases / (2 * np.pi) % 1 * BINS).astype(np.int64)
    return np.bincount(np.minimum(bins, BINS - 1), minlength=BINS) / len(phases)  # -1e-20 % 1 is 1


def train(run: Run, trainer: Trainer) -> dict:
    """Train to the end; returns the last row of metrics."""
    config = trainer.config
    while trainer.updates_done < config.updates:
        losses = trainer.update()
        run.check_finite(trainer.episodes_done, **losses)
        run.tick(trainer.episodes_done)
        if trainer.updates_done % config.log_every == 0 or trainer.updates_done == config.updates:
            run.log(trainer.episodes_done, trainer.metrics())
            if trainer.updates_done % (config.log_every * SAVE_EVERY) == 0:
                run.save(trainer)
    summary = {name: value for name, value in run.last.items() if "phase" not in name}
    return run.finish({"episodes": trainer.episodes_done, **summary}, weights=trainer.agent.policy.state_dict())


def main(config: Config, run_dir: Path, **options: Any) -> dict:
    """Train in ``run_dir``, or resume there; returns the summary. See `lab.run.runs.execute`."""
    total = 2 * config.pairs * config.updates
    return execute(config, run_dir, train, Trainer, total=lambda _: total, unit="episode", score="success", **options)


if __name__ == "__main__":
    cli(Config, main, __doc__)
