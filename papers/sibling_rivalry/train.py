"""Train PPO with naive shaping, Sibling Rivalry, curiosity or a grid oracle, and measure how often it reaches the goal.

    .venv/bin/python -m papers.sibling_rivalry.train --env PointMaze --method ppo-sr --seed 0

All methods share the loop below. They differ in what an episode is paid and in which episodes are learnt from:

    ppo        minus the distance to the goal at the last step: Eq. (2)
    ppo-sr     the same for pairs of siblings that are pushed away from each other's ends: Eqs. (3) and (4)
    ppo-icm    success, and surprise at every step (icm.py)
    ppo-rnd    the same with another measure of surprise (rnd.py)
    ppo-go     success, and the number of regions visited (grid_oracle.py)

In the ant maze these methods train the high level of two (hierarchy.py); the low level is the same for all.

Time is counted in training episodes, each sibling as one: an epoch is 50 updates of 80 episodes, 20 in the ant maze.
"""

from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np

from common.twins import fast
from envs.goal_task import GoalTask
from lab.run.cli import cli
from lab.run.errors import UserError
from lab.run.runs import Run, Streams, execute
from lab.run.settings import Count, NotNegative, Positive, Range
from papers.sibling_rivalry.agents.fast_ppo import FastPPO, fits
from papers.sibling_rivalry.agents.grid_oracle import grid_oracle_reward, regions_visited
from papers.sibling_rivalry.agents.hierarchy import Hierarchy, with_low_level
from papers.sibling_rivalry.agents.icm import Icm
from papers.sibling_rivalry.agents.ppo import PPO, Experience, gae
from papers.sibling_rivalry.agents.rewards import naive_reward, sparse_reward
from papers.sibling_rivalry.agents.rnd import Rnd
from papers.sibling_rivalry.agents.rollouts import Rollouts, play, terminal_states
from papers.sibling_rivalry.agents.tasks import make_task
from papers.sibling_rivalry.sibling_rivalry import rivalry, siblings

FAST = {PPO: FastPPO}
"""Twin that learns in its place on a CPU where it fits, see `common/twins.py`."""
METHODS = ("ppo", "ppo-sr", "ppo-icm", "ppo-rnd", "ppo-go")
CURIOUS: dict[str, type[Icm] | type[Rnd]] = {"ppo-icm": Icm, "ppo-rnd": Rnd}
SAVE_EVERY = 5
"""Epochs between checkpoints."""
Factor = Annotated[float, Range("lie in (0, 1]", lambda value: 0 < value <= 1)]


@dataclass(frozen=True)
class Config:
    """Every setting of a run. Defaults are the paper's, with the place where it states them; None: by task."""

    env: str = "PointMaze"
    """Task: PointMaze, Corridor-<length>, UMaze-<length>, TreeMaze-<size>-<seed>, PixelGrid-<size>[-<steps>] or
    AntMaze, AntMazeSmall, AntArena[-<steps per subgoal>]."""
    method: Literal[METHODS] = "ppo-sr"  # type: ignore[valid-type]
    """What episodes are paid: see the top of this file."""
    seed: int = 0
    """Seed of all random streams of the run."""
    epochs: Count = 50
    """Training length in epochs of 4,000 episodes: 200,000 in Fig. 3."""
    device: str = "cpu"
    """Device of the networks: cpu or cuda."""

    updates: Count | None = None
    """Updates per epoch. None: 50, or 20 for the ant. Not in the paper; as in the authors' code."""
    rollouts: Count = 80
    """Episodes per update: 20 workers with 4 each (App. F, Table 1)."""
    worker_rollouts: Count = 4
    """Episodes per worker (Table 1). Losses are averaged per worker, then across workers; 80: pooled."""
    ppo_epochs: Count | None = None
    """Passes over the transitions of an update. None: 4, or 2 for the ant (Table 1)."""
    minibatches: Count = 4
    """Gradient steps per pass (Table 1)."""
    lr: Positive = 1e-3
    """Adam's step size (Table 1)."""
    lr_decay: Factor | None = None
    """Factor on lr after every epoch. None: 0.95, as in the authors' code (Table 1 has 0.999, for each of the
    50 updates), or 1 for the ant (Table 1)."""
    adam_eps: Positive = 1e-3
    """Adam's epsilon, with the value and in the place of the authors' code (adam.py). Not in the paper."""
    entropy: NotNegative | None = None
    """Weight of the policy's entropy. None: 0.025, or 0 for Sibling Rivalry on the pixel grid (Table 1)."""
    gae_lambda: Factor = 0.98
    """Lambda of the advantage estimates (Table 1)."""
    gamma: Factor | None = None
    """Discount; None: 1, or 0.98 with ppo-icm and ppo-rnd (Table 1)."""

    epsilon: Annotated[float, Range("not be negative", lambda value: value >= 0, infinite=True)] | None = None
    """Sibling Rivalry: inclusion threshold. None: 5; inf on the pixel grid; 10 in the ant maze (Table 1), 5 in half
    of it."""
    independent_starts: bool = False
    """Sibling Rivalry: siblings share only their goal, not their start (App. D)."""
    curiosity_weight: NotNegative = 0.01
    """ICM, RND: weight of surprise in a step's reward (App. F)."""
    curiosity_rate: NotNegative = 0.05
    """ICM, RND: weight of the module's loss (App. F calls it a rate of training)."""
    cell_side: Positive = 2.0
    """Grid Oracle: side of a region. Not in the paper."""
    oracle_weight: NotNegative = 0.01
    """Grid Oracle: reward per region visited. Not in the paper; the authors' code has 0.01."""

    eval_episodes: Count = 400
    """Pairs of episodes per evaluation, one evaluation per epoch; actions sampled as in training. Not in the paper."""

    def check(self) -> None:
        """Raise UserError for settings that cannot work together."""
        if self.method == "ppo-sr" and self.rollouts % 2:
            raise UserError(f"siblings come in pairs: rollouts must be even, not {self.rollouts}")


class OfTask(NamedTuple):
    """Settings whose default (None) depends on the task."""

    entropy: float
    gamma: float
    epsilon: float
    updates: int
    ppo_epochs: int
    lr_decay: float


def of_task(config: Config, task: GoalTask) -> OfTask:
    """The settings; None: as in Table 1, which has columns for mazes, the ant maze and the pixel grid (here: discrete
    actions). Its threshold for the ant is twice the reach of a subgoal."""
    grid, ant = task.action_range is None, isinstance(task, Hierarchy)
    column = OfTask(
        entropy=0.0 if grid and config.method == "ppo-sr" else 0.025,
        gamma=0.98 if config.method in CURIOUS else 1.0,
        epsilon=inf if task.action_range is None else 2.0 * task.action_range if ant else 5.0,
        updates=20 if ant else 50,
        ppo_epochs=2 if ant else 4,
        lr_decay=1.0 if ant else 0.95,
    )
    given = {name: getattr(config, name) for name in OfTask._fields}
    return column._replace(**{name: value for name, value in given.items() if value is not None})


class Trainer:
    """The whole state of a run, pickled as one object, so that an interrupted run resumes bit for bit."""

    def __init__(self, config: Config):
        streams = Streams(config.seed)
        self.config, self.task = config, make_task(config.env)
        self.settings = of_task(config, self.task)
        self.rng, self.shuffling = streams.numpy("rollouts"), streams.numpy("shuffling")
        self.rivals = config.method == "ppo-sr"
        self.curiosity: Icm | Rnd | None = None
        if config.method in CURIOUS:
            self.curiosity = CURIOUS[config.method](self.task, streams.integer("curiosity"))
        if isinstance(self.task, Hierarchy):
            self.task.begin(streams, config.device)
        if config.method == "ppo-go" and self.task.goal_shape != (2,):
            raise UserError(f"ppo-go counts regions of a plane, and {config.env} has none; use a maze")
        twins = FAST if fits(self.task, self.curiosity) else {}
        self.agent = fast(PPO, twins, config.device)(
            self.task, sees_anti_goal=self.rivals, lr=config.lr, lr_decay=self.settings.lr_decay,
            adam_eps=config.adam_eps, entropy=self.settings.entropy, epochs=self.settings.ppo_epochs,
            minibatches=config.minibatches, seed=streams.integer("network"), curiosity=self.curiosity,
            curiosity_rate=config.curiosity_rate, device=config.device,
        )  # fmt: skip
        self.total = config.epochs * self.settings.updates * config.rollouts
        """Episodes of the whole run."""
        self.episodes_done = self.steps_done = self.evaluations = 0
        self._log: list[dict[str, float]] = []

    # --- one update ---------------------------------------------------------------------------------------------------

    def update(self) -> dict[str, float]:
        """Play the update's episodes and learn from them: an iteration of Algorithm 1. Returns metrics.

        Methods without siblings do the same, but every episode has its own start and goal, and all are learnt from.
        """
        starts, goals = self.starts_and_goals(self.config.rollouts)  # Algorithm 1, line 4
        rollouts, entry = self.rollouts(starts, goals)  # Algorithm 1, lines 5-6
        # Algorithm 1, lines 7-8, 9-14 and 15-18: what is paid, who is closer, and who is learnt from
        last_rewards, anti_goals, kept = self.last_rewards(rollouts)
        data, workers = self.experience(rollouts, last_rewards, anti_goals, kept)  # Algorithm 1, line 2
        entry |= {"train_success": rollouts.reached.mean(), "kept": kept.mean()}
        if np.bincount(workers).max() >= max(self.config.minibatches, 2):  # else there is nothing to split
            entry |= self.agent.learn(data, workers, self.shuffling)  # Algorithm 1, line 19
        self.episodes_done += self.config.rollouts
        self.steps_done += int(rollouts.lengths.sum()) * self.task.interval
        self._log.append(entry)
        return entry

    def starts_and_goals(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Starts and goals of n episodes: the same for both siblings of a pair, or one each."""
        if self.rivals:
            return self.pairs(n // 2, self.rng)
        return self.task.starts(n, self.rng), self.task.goals(n, self.rng)

    def pairs(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Starts and goals of n pairs of siblings, each pair in adjacent rows: [2 n, ...] each."""
        goals = self.task.goals(n, rng).repeat(2, axis=0)
        if self.config.independent_starts:
            return self.task.starts(2 * n, rng), goals
        return self.task.starts(n, rng).repeat(2, axis=0), goals

    def rollouts(self, starts: np.ndarray, goals: np.ndarray) -> tuple[Rollouts, dict[str, float]]:
        """Episodes to learn from, and metrics of the low level, if there is one: it learns meanwhile."""
        if isinstance(self.task, Hierarchy):
            return self.task.practise(self.play, starts, goals, self.rng, self.config.worker_rollouts)
        return self.play(starts, goals, self.rng), {}

    def play(self, starts: np.ndarray, goals: np.ndarray, rng: np.random.Generator) -> Rollouts:
        """Episodes with actions sampled from the policy."""

        def act(observations: np.ndarray, goals: np.ndarray, legal: np.ndarray | None) -> np.ndarray:
            return self.agent.act(observations, goals, legal, rng)

        return play(self.task, act, starts, goals, rng)

    def experience(
        self, rollouts: Rollouts, last_rewards: np.ndarray, anti_goals: np.ndarray | None, kept: np.ndarray
    ) -> tuple[Experience, np.ndarray]:
        """The transitions of the rollouts that are `kept` [n], and the worker of each: int64 [m].

        Values are computed for all [n, T + 1] states; those after an episode's end are ignored.
        """
        task, tensor, states = self.task, self.agent.tensor, rollouts.states
        n, steps = rollouts.running.shape
        observations = task.observe(states.reshape(-1, *states.shape[2:]))
        goals = rollouts.goals.repeat(steps + 1, axis=0)
        anti = None if anti_goals is None else tensor(anti_goals.repeat(steps + 1, axis=0))
        values = self.agent.values(tensor(observations), tensor(goals), anti).cpu().numpy().reshape(n, steps + 1)

        run = rollouts.running & kept[:, None]  # [n, T], picks the m transitions in the order of their rollouts
        rows, times = np.nonzero(run)
        observations = observations.reshape(n, steps + 1, *task.observation_shape)
        now, actions = tensor(observations[rows, times]), tensor(rollouts.actions[run])
        following = None if self.curiosity is None else tensor(observations[rows, times + 1])
        rewards = np.zeros((n, steps))
        rewards[np.arange(n), rollouts.lengths - 1] = last_rewards
        goes_on = np.zeros(n, bool)  # only curious methods bootstrap, and only at time-outs
        if self.curiosity is not None and following is not None:
            surprise = self.curiosity.surprise(now, actions, following)
            rewards[run] += self.config.curiosity_weight * surprise.cpu().numpy()
            goes_on = ~rollouts.reached
        advantages = gae(rewards, values, rollouts.lengths, self.settings.gamma, self.config.gae_lambda, goes_on)
        legal = task.legal(states[rows, times])
        data = Experience(
            observations=now, next_observations=following, goals=tensor(rollouts.goals[rows]),
            anti_goals=None if anti_goals is None else tensor(anti_goals[rows]), actions=actions,
            legal=None if legal is None else tensor(legal), advantages=tensor(advantages[run]),
            returns=tensor((advantages + values[:, :-1])[run]),
        )  # fmt: skip
        return data, rows // self.config.worker_rollouts

    def last_rewards(self, rollouts: Rollouts) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
        """The reward of each rollout's last step [n], anti-goals [n, ...], and which rollouts are learnt from [n].

        This is where the methods differ.
        """
        task, reached = self.task, rollouts.reached
        if self.rivals:
            result = rivalry(rollouts.ends, rollouts.goals, reached, task.distance, self.settings.epsilon)
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

        Every start and goal is played twice, so that ``apart``, the distance between siblings, is measured for every
        method.
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

    def weights(self) -> dict[str, Any]:
        """Weights of the acting policy."""
        return with_low_level(self.task, self.agent.policy.state_dict())


def train(run: Run, trainer: Trainer) -> dict:
    """Train to the end; returns the last evaluation."""
    while trainer.episodes_done < trainer.total:
        for _ in range(trainer.settings.updates):
            entry = trainer.update()
            run.check_finite(trainer.episodes_done, **{k: value for k, value in entry.items() if k.endswith("loss")})
            run.tick(trainer.episodes_done)
        trainer.agent.slow_down()
        run.log(trainer.episodes_done, trainer.evaluate())
        if trainer.evaluations % SAVE_EVERY == 0:
            run.save(trainer)
    summary = {name: value for name, value in run.last.items() if not name.startswith("end ")}
    return run.finish({"episodes": trainer.episodes_done, **summary}, weights=trainer.weights())


def main(config: Config, run_dir: Path, **options: Any) -> dict:
    """Train in ``run_dir``, or resume there; returns the summary. See `lab.run.runs.execute`."""
    return execute(
        config, run_dir, train, Trainer, total=lambda one: one.total, unit="episode", score="success", **options
    )


if __name__ == "__main__":
    cli(Config, main, __doc__)
