"""Train PPO with naive shaping, Sibling Rivalry, curiosity or a grid oracle, and measure how often it reaches the goal.

    .venv/bin/python -m papers.sibling_rivalry.train --env PointMaze --method ppo-sr --seed 0

All methods share the loop below and differ in what an episode is paid, and in which episodes are learnt from:

    ppo        minus the distance to the goal at the last step: Eq. (2)
    ppo-sr     the same for pairs of siblings that are pushed away from each other's ends: Eqs. (3) and (4)
    ppo-icm    nothing but success, and surprise at every step (icm.py)
    ppo-rnd    the same with another kind of surprise (rnd.py)
    ppo-go     nothing but success, and the number of regions visited (grid_oracle.py)

Time is counted in training episodes, each sibling as one: an epoch is 50 updates of 80 episodes.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from lab.cli import cli
from lab.errors import UserError
from lab.runs import Run, Streams
from lab.settings import check_settings
from papers.sibling_rivalry.grid_oracle import grid_oracle_reward, regions_visited
from papers.sibling_rivalry.icm import Icm
from papers.sibling_rivalry.ppo import PPO, Experience, gae
from papers.sibling_rivalry.rewards import naive_reward, sparse_reward
from papers.sibling_rivalry.rnd import Rnd
from papers.sibling_rivalry.rollouts import Rollouts, play, terminal_states
from papers.sibling_rivalry.sibling_rivalry import rivalry, siblings
from papers.sibling_rivalry.tasks import make_task

METHODS = ("ppo", "ppo-sr", "ppo-icm", "ppo-rnd", "ppo-go")
CURIOUS: dict[str, type[Icm] | type[Rnd]] = {"ppo-icm": Icm, "ppo-rnd": Rnd}
SAVE_EVERY = 5
"""Epochs between two checkpoints."""


@dataclass(frozen=True)
class Config:
    """Every setting of a run. Defaults are the paper's for the point maze, with the place where it states them."""

    env: str = "PointMaze"
    """Task: PointMaze, Corridor-<length>, UMaze-<length>, TreeMaze-<size>-<seed>, PixelGrid-<size>[-<steps>]."""
    method: Literal["ppo", "ppo-sr", "ppo-icm", "ppo-rnd", "ppo-go"] = "ppo-sr"
    """What episodes are paid; see the top of this file."""
    seed: int = 0
    """Seed of all random streams of the run."""
    epochs: int = 50
    """Training length in epochs of 4,000 episodes: 200,000 in Fig. 3."""
    device: str = "cpu"
    """Where the networks live: cpu or cuda."""

    updates: int = 50
    """Updates per epoch. Not in the paper; as in the authors' code."""
    rollouts: int = 80
    """Episodes per update: 20 workers with 4 each (App. F, Table 1)."""
    ppo_epochs: int = 4
    """Passes over the transitions of an update (Table 1)."""
    minibatches: int = 4
    """Gradient steps per pass (Table 1)."""
    lr: float = 1e-3
    """Adam's step size (Table 1)."""
    lr_decay: float = 0.999
    """Factor on it after every update (Table 1)."""
    adam_eps: float = 1e-3
    """Adam's epsilon. Not in the paper; the authors' code has 1e-3, PyTorch's default is 1e-8."""
    entropy: float = 0.025
    """Weight of the policy's entropy (Table 1; 0 for Sibling Rivalry on the pixel grid)."""
    gae_lambda: float = 0.98
    """Lambda of the advantage estimates (Table 1)."""
    gamma: float | None = None
    """Discount; None: 1, or 0.98 with ppo-icm and ppo-rnd (Table 1)."""

    epsilon: float = 5.0
    """Sibling Rivalry: inclusion threshold (Table 1; inf on the pixel grid)."""
    independent_starts: bool = False
    """Sibling Rivalry: siblings share their goal only, each has a start of its own (App. D)."""
    curiosity_weight: float = 0.01
    """ICM, RND: weight of surprise in a step's reward (App. F)."""
    curiosity_rate: float = 0.05
    """ICM, RND: weight of the module's loss (App. F, where it is a rate of training)."""
    cell_side: float = 2.0
    """Grid Oracle: side of a region. The paper names no value."""
    oracle_weight: float = 0.01
    """Grid Oracle: reward per region visited. Not in the paper; the authors' code has 0.01."""

    eval_episodes: int = 400
    """Pairs of episodes per evaluation, one evaluation per epoch, actions drawn as in training. Not in the paper."""


def check(config: Config) -> None:
    """Raise UserError for settings that cannot work."""
    check_settings(
        config,
        at_least_1=("epochs", "updates", "rollouts", "ppo_epochs", "minibatches", "eval_episodes"),
        positive=("lr", "adam_eps", "cell_side"),
        not_negative=("entropy", "curiosity_weight", "curiosity_rate", "oracle_weight"),
    )
    if config.method not in METHODS:
        raise UserError(f"unknown method {config.method!r}; right are: {', '.join(METHODS)}")
    if not config.epsilon >= 0:  # infinite: all siblings are kept
        raise UserError(f"epsilon must not be negative, not {config.epsilon}")
    for name in ("lr_decay", "gae_lambda", "gamma"):
        if getattr(config, name) is not None and not 0 < getattr(config, name) <= 1:
            raise UserError(f"{name} must lie in (0, 1], not {getattr(config, name)}")
    if config.method == "ppo-sr" and config.rollouts % 2:
        raise UserError(f"siblings come in pairs: rollouts must be even, not {config.rollouts}")


class Trainer:
    """All that a run consists of. Pickled as a whole, so that an interrupted run goes on bit for bit."""

    def __init__(self, config: Config):
        streams = Streams(config.seed)
        self.config, self.task = config, make_task(config.env)
        self.rng, self.shuffling = streams.numpy("rollouts"), streams.numpy("shuffling")
        self.rivals = config.method == "ppo-sr"
        self.curiosity: Icm | Rnd | None = None
        if config.method in CURIOUS:
            self.curiosity = CURIOUS[config.method](self.task, streams.integer("curiosity"))
        if config.method == "ppo-go" and self.task.goal_shape != (2,):
            raise UserError(f"ppo-go counts regions of a plane, and {config.env} has none; use a maze")
        self.gamma = config.gamma or (1.0 if self.curiosity is None else 0.98)
        self.agent = PPO(
            self.task, sees_anti_goal=self.rivals, lr=config.lr, lr_decay=config.lr_decay, adam_eps=config.adam_eps,
            entropy=config.entropy, epochs=config.ppo_epochs, minibatches=config.minibatches,
            seed=streams.integer("network"), curiosity=self.curiosity, curiosity_rate=config.curiosity_rate,
            device=config.device,
        )  # fmt: skip
        self.episodes_done = self.steps_done = self.evaluations = 0
        self._log: list[dict[str, float]] = []

    # --- one update ---------------------------------------------------------------------------------------------------

    def update(self) -> dict[str, float]:
        """Play the update's episodes and learn from them. Returns what is to be logged."""
        n = self.config.rollouts
        starts, goals = (
            self.pairs(n // 2, self.rng)
            if self.rivals
            else (self.task.starts(n, self.rng), self.task.goals(n, self.rng))
        )
        rollouts = self.play(starts, goals, self.rng)
        data, kept = self.experience(rollouts)
        entry = {"train_success": rollouts.reached.mean(), "kept": kept.mean()}
        if len(data) >= max(self.config.minibatches, 2):  # one transition alone has no deviation to normalise by
            entry |= self.agent.learn(data, self.shuffling)
        self.episodes_done += n
        self.steps_done += int(rollouts.lengths.sum())
        self._log.append(entry)
        return entry

    def pairs(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Starts and goals of n pairs of siblings, which are next to each other: [2 n, ...] each."""
        goals = self.task.goals(n, rng).repeat(2, axis=0)  # Algorithm 1, line 4
        if self.config.independent_starts:
            return self.task.starts(2 * n, rng), goals
        return self.task.starts(n, rng).repeat(2, axis=0), goals

    def play(self, starts: np.ndarray, goals: np.ndarray, rng: np.random.Generator) -> Rollouts:
        """Episodes with actions drawn from the policy."""

        def act(observations: np.ndarray, goals: np.ndarray, legal: np.ndarray | None) -> np.ndarray:
            return self.agent.act(observations, goals, legal, rng)

        return play(self.task, act, starts, goals, rng)  # Algorithm 1, lines 5-6

    def experience(self, rollouts: Rollouts) -> tuple[Experience, np.ndarray]:
        """The transitions to learn from, and which rollouts [n] they are of."""
        task, tensor = self.task, self.agent.tensor
        last, anti_goals, kept = self.last_rewards(rollouts)
        n, steps = rollouts.running.shape
        there = np.arange(steps + 1) <= rollouts.lengths[:, None]  # states that exist
        there[~kept] = False
        run = rollouts.running & kept[:, None]
        rows, times = np.nonzero(there)
        observations = task.observe(rollouts.states[there])
        each = tensor(observations), tensor(rollouts.goals[rows])
        anti = None if anti_goals is None else tensor(anti_goals[rows])
        values = np.zeros((n, steps + 1), np.float32)
        values[there] = self.agent.values(*each, anti).cpu().numpy()

        rewards = np.zeros((n, steps))
        rewards[np.arange(n), rollouts.lengths - 1] = last
        first = tensor(times < rollouts.lengths[rows])  # of the states that exist, those in which an action was taken
        second = tensor(times > 0)  # and those to which one led
        actions = tensor(rollouts.actions[run])
        following = None
        if self.curiosity is not None:
            following = each[0][second]
            surprise = self.curiosity.surprise(each[0][first], actions, following)
            rewards[run] += self.config.curiosity_weight * surprise.cpu().numpy()
        goes_on = ~rollouts.reached if self.curiosity is not None else np.zeros(n, bool)
        advantages = gae(rewards, values, rollouts.lengths, self.gamma, self.config.gae_lambda, goes_on)
        legal = task.legal(rollouts.states[:, :-1][run])
        data = Experience(
            observations=each[0][first], next_observations=following, goals=each[1][first],
            anti_goals=None if anti is None else anti[first], actions=actions,
            legal=None if legal is None else tensor(legal), advantages=tensor(advantages[run]),
            returns=tensor((advantages + values[:, :-1])[run]),
        )  # fmt: skip
        return data, kept

    def last_rewards(self, rollouts: Rollouts) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
        """What the last step of each rollout is paid [n], anti-goals [n, ...], and which rollouts are learnt from [n].

        This is where the methods differ.
        """
        task, reached = self.task, rollouts.reached
        if self.rivals:
            result = rivalry(rollouts.ends, rollouts.goals, reached, task.distance, self.config.epsilon)
            return result.rewards, result.anti_goals, result.kept
        if self.config.method == "ppo":
            rewards = naive_reward(task.distance(rollouts.ends, rollouts.goals), reached)
        elif self.config.method == "ppo-go":
            n, states = rollouts.states.shape[:2]
            places = task.achieved(rollouts.states.reshape(n * states, -1)).reshape(n, states, 2)
            visited = regions_visited(places, rollouts.lengths, self.config.cell_side)
            rewards = grid_oracle_reward(reached, visited, self.config.oracle_weight)
        else:
            rewards = sparse_reward(reached)
        return rewards, None, np.ones(len(rollouts), bool)

    # --- evaluation ---------------------------------------------------------------------------------------------------

    def evaluate(self) -> dict[str, float]:
        """Metrics of the policy, and means over the updates since the last evaluation.

        Every start and goal is played twice, so that ``apart``, the distance between siblings, is known of all methods.
        """
        rng = Streams(self.config.seed).numpy(f"evaluation at {self.episodes_done}")
        rollouts = self.play(*self.pairs(self.config.eval_episodes, rng), rng)
        distance = self.task.distance
        metrics = {
            "success": float(rollouts.reached.mean()),
            "distance": float(distance(rollouts.ends, rollouts.goals).mean()),
            "apart": float(distance(rollouts.ends, rollouts.ends[siblings(len(rollouts))]).mean()),
            "env_steps": self.steps_done,
        }
        for name in dict.fromkeys(name for entry in self._log for name in entry):
            metrics[name] = float(np.mean([entry[name] for entry in self._log if name in entry]))
        self._log = []
        metrics |= terminal_states(rollouts, self.evaluations)
        self.evaluations += 1
        return metrics


def main(config: Config, run_dir: Path, *, tensorboard: bool = False, progress: bool = False) -> dict:
    """Train as ``config`` says, resuming what ``run_dir`` already holds; returns the last evaluation.

    Raises:
        UserError: settings that cannot work, or a ``run_dir`` that belongs to another run.
    """
    check(config)
    fresh = Trainer(config)  # before there is a run directory: settings that it rejects leave none behind
    total = config.epochs * config.updates * config.rollouts
    with Run.open(
        config, run_dir, total_steps=total, unit="episode", score="success", tensorboard=tensorboard, progress=progress
    ) as run:
        if run.finished is not None:
            return run.finished
        state = run.load() or {"trainer": fresh, "metrics": {}}
        trainer, metrics = state["trainer"], state["metrics"]
        while trainer.episodes_done < total:
            for _ in range(config.updates):
                entry = trainer.update()
                losses = {name: value for name, value in entry.items() if name.endswith("loss")}
                run.check_finite(trainer.episodes_done, **losses)
                run.tick(trainer.episodes_done)
            metrics = trainer.evaluate()
            run.log(trainer.episodes_done, metrics)
            if trainer.evaluations % SAVE_EVERY == 0:
                run.save({"trainer": trainer, "metrics": metrics})
        summary = {name: value for name, value in metrics.items() if not name.startswith("end ")}
        return run.finish({"episodes": trainer.episodes_done, **summary}, weights=trainer.agent.policy.state_dict())


if __name__ == "__main__":
    cli(Config, main, __doc__)
