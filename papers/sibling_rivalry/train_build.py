"""Train an agent to build what it is shown, block by block: construction, with an actor-learner and Sibling Rivalry.

    .venv/bin/python -m papers.sibling_rivalry.train_build --env VoxelBuildSmall --method impala-sr --seed 0

Both methods are paid after every step for what it changed, and 1 for success:

    impala       by how many cells the build came closer to the goal; the agent soon places nothing, as most blocks of a
                 beginner are wrong
    impala-sr    that, less by how many it came closer to the anti-goal, which is the final build of a sibling with the
                 same goal; both siblings are learnt from, and the critic sees the anti-goal

Players play episodes and the learner (impala.py) learns from them `lag` updates later. So the players need not wait for
it: they can be processes of a Ray cluster. Their number changes how long a run takes, and none of its results.

Time is counted in episodes, each sibling as one.
"""

from collections import deque
from dataclasses import dataclass
from functools import partial
from math import inf
from pathlib import Path
from typing import Any, Literal

import numpy as np

from lab.run.cli import cli
from lab.run.runs import Run, Streams, execute
from lab.run.settings import Count, Natural, NotNegative, Positive, Share
from papers.sibling_rivalry.agents.dense_rewards import naive_changes, sibling_changes
from papers.sibling_rivalry.agents.impala import Impala
from papers.sibling_rivalry.agents.rollouts import Rollouts
from papers.sibling_rivalry.construction.players import Alone, Order, Played, Player, Players
from papers.sibling_rivalry.construction.ray_players import RayPlayers, in_ray, need_ray
from papers.sibling_rivalry.construction.task import make_build
from papers.sibling_rivalry.sibling_rivalry import rivalry

METHODS = ("impala", "impala-sr")
SAVE_EVERY = 5
"""Rows of metrics between checkpoints."""
RAY_ACTORS = 2
"""Default number of players where a Ray cluster trains the run; on CPUs, playing takes less time than learning."""


@dataclass(frozen=True)
class Config:
    """Every setting of a run. The paper states only arena, length, discount and who is kept; see the NOTEBOOK."""

    env: str = "VoxelBuild"
    """VoxelBuild, the paper's arena, or VoxelBuildSmall, with 7 x 7 x 2 cells and 40 steps."""
    method: Literal[METHODS] = "impala-sr"  # type: ignore[valid-type]
    """What steps are paid: see the top of this file."""
    seed: int = 0
    """Seed of all random streams of the run."""
    episodes: Count = 700_000
    """Training length (Fig. 5). The last update is completed."""
    device: str = "cpu"
    """Device of the learner: cpu or cuda. Players use the CPU."""
    actors: Natural | None = None
    """Players, as Ray actors; 0: this process plays. None: 0, or 2 if Ray trains the run (LAUNCHER=ray)."""

    pairs: Count = 8
    """Half the episodes of an update: pairs of siblings, if the method has them."""
    lag: Natural = 7
    """Updates by which the playing policy lags behind; also the number of orders that wait behind the next one."""
    lr: Positive = 6e-4
    """Adam's step size."""
    entropy: NotNegative = 0.01
    """Weight of the policy's entropy."""
    gamma: Share = 0.99
    """Discount (App. F)."""

    picture: tuple[int, int] | None = None
    """Rows and columns of the agent's view, 80 and 120 in the paper. None: it sees only cells and its pose."""
    size: int | None = None
    """Cells along a side of the arena. None, here and below: as in `env`."""
    height: int | None = None
    """Layers of the arena."""
    sides: tuple[int, int] | None = None
    """Shortest and longest side of a goal, in cells."""
    heights: tuple[int, int] | None = None
    """Lowest and highest goal, in cells."""
    most_blocks: int | None = None
    """Most blocks of a goal."""
    max_steps: int | None = None
    """Steps of an episode."""

    log_every: Count = 2_000
    """Episodes between rows of metrics; each row covers all since the one before."""

    def check(self) -> None:
        """Raise UserError for settings that cannot work together."""
        make_task(self)
        if self.actors:
            need_ray(self.actors)


def make_task(config: Config):
    """The task of a run."""
    return make_build(
        config.env, config.picture, size=config.size, height=config.height, sides=config.sides, heights=config.heights,
        most_blocks=config.most_blocks, max_steps=config.max_steps,
    )  # fmt: skip


def ray_actors(config: Config) -> int:
    """Number of player processes if a Ray cluster trains the run, which asks for their cores."""
    return RAY_ACTORS if config.actors is None else config.actors


def make_player(config: Config) -> Player:
    """A player for the orders of this run; it plays the same in any process."""
    return Player(make_task(config), config.pairs, config.method == "impala-sr", config.seed)


def make_players(config: Config) -> Players:
    """Ray actors, or this process."""
    count = config.actors if config.actors is not None else ray_actors(config) if in_ray() else 0
    return RayPlayers(partial(make_player, config), count) if count else Alone(make_player(config))


class Trainer:
    """The whole state of a run but its players, pickled as one object: an interrupted run resumes bit for bit."""

    def __init__(self, config: Config):
        self.config, self.task = config, make_task(config)
        self.rivals = config.method == "impala-sr"
        self.learner = Impala(
            self.task, self.rivals, lr=config.lr, entropy=config.entropy, gamma=config.gamma,
            seed=Streams(config.seed).integer("network"), device=config.device,
        )  # fmt: skip
        self.updates_done = 0
        first = self.learner.policy.weights()
        self.orders = deque(Order(number, 0, first) for number in range(config.lag + 1))
        """Orders not learnt from yet. The first ones share their weights: there are no others yet."""
        self._log: list[dict[str, np.ndarray | float]] = []

    @property
    def episodes_done(self) -> int:
        return 2 * self.config.pairs * self.updates_done

    # --- one update ---------------------------------------------------------------------------------------------------

    def update(self, players: Players) -> dict[str, float]:
        """Learn from the oldest order and submit a new one. Returns the losses."""
        played, order = players.next(), self.orders.popleft()
        if played.number != order.number:
            raise RuntimeError(f"order {order.number} is due, but {played.number} was played")
        rewards, anti_goals = self.rewards(played)
        entry = self.learner.learn(played, rewards, anti_goals)
        lag = self.updates_done - order.version
        self.updates_done += 1
        self.orders.append(Order(order.number + len(self.orders) + 1, self.updates_done, self.learner.policy.weights()))
        players.submit(self.orders[-1])
        self._log.append(entry | self.built(played.rollouts, rewards) | {"lag": lag})
        return {name: value for name, value in entry.items() if name.endswith("loss")}

    def rewards(self, played: Played) -> tuple[np.ndarray, np.ndarray | None]:
        """The reward of each step [n, T], and the anti-goals [n, cells]. This is where the methods differ."""
        rollouts, task = played.rollouts, self.task
        n, states = rollouts.states.shape[:2]
        builds = task.achieved(rollouts.states.reshape(n * states, -1)).reshape(n, states, -1)
        lengths, reached = rollouts.lengths, rollouts.reached
        if not self.rivals:
            return naive_changes(builds, rollouts.goals, lengths, reached, task.distance), None
        anti_goals = rivalry(rollouts.ends, rollouts.goals, reached, task.distance, inf).anti_goals  # both are kept
        return sibling_changes(builds, rollouts.goals, anti_goals, lengths, reached, task.distance), anti_goals

    # --- metrics ------------------------------------------------------------------------------------------------------

    def built(self, rollouts: Rollouts, rewards: np.ndarray) -> dict[str, np.ndarray]:
        """The outcome of each episode [n]: see `metrics`."""
        goals, ends, states = rollouts.goals, rollouts.ends, rollouts.states[..., : self.task.cells]
        blocks = (goals > 0).sum(axis=1)
        correct = ((ends > 0) & (ends == goals)).sum(axis=1)
        wrong = ((ends > 0) & (ends != goals)).sum(axis=1)
        more = np.diff((states > 0).sum(axis=2), axis=1) > 0  # a block was placed
        return {
            "success": rollouts.reached,
            "completion": (correct - wrong) / blocks,
            "placed": (more & rollouts.running).sum(axis=1) / blocks,
            "paid": rewards.sum(axis=1),
        }

    def metrics(self) -> dict[str, float]:
        """Of the training episodes since the last call, and means over the updates.

        ``success``: share that ended with the goal built. ``completion``: correct minus incorrect blocks at the end, as
        a share of the goal's; the mean, and ``completion median``, ``completion low`` and ``completion high``: median
        and quartiles. ``placed``: blocks placed in an episode, also those broken again, as a share of the goal's.
        ``paid``: sum of rewards. ``rho``: ratios pi / mu of the steps, cut at 1. ``lag``: updates between playing and
        learning.
        """
        table = {name: np.hstack([entry[name] for entry in self._log]) for name in self._log[0]}
        self._log = []
        found = {name: float(values.mean()) for name, values in table.items()}
        low, median, high = np.quantile(table["completion"], [0.25, 0.5, 0.75])
        found |= {"completion low": low, "completion median": median, "completion high": high}
        return {name: round(float(value), 5) for name, value in found.items()}


def train(run: Run, trainer: Trainer) -> dict:
    """Train to the end; players start with the pending orders. Returns the last row of metrics."""
    config, every = trainer.config, max(1, trainer.config.log_every // (2 * trainer.config.pairs))
    players = make_players(config)
    try:
        for order in trainer.orders:
            players.submit(order)
        while trainer.episodes_done < config.episodes:
            losses = trainer.update(players)
            run.check_finite(trainer.episodes_done, **losses)
            run.tick(trainer.episodes_done)
            if trainer.updates_done % every == 0 or trainer.episodes_done >= config.episodes:
                run.log(trainer.episodes_done, trainer.metrics())
                if trainer.updates_done % (every * SAVE_EVERY) == 0:
                    run.save(trainer)
    finally:
        players.close()
    return run.finish({"episodes": trainer.episodes_done, **run.last}, weights=trainer.learner.policy.state_dict())


def main(config: Config, run_dir: Path, **options: Any) -> dict:
    """Train in ``run_dir``, or resume there; returns the summary. See `lab.run.runs.execute`."""
    return execute(
        config, run_dir, train, Trainer, unit="episode", score="success",
        total=lambda _: 2 * config.pairs * -(-config.episodes // (2 * config.pairs)), **options,
    )  # fmt: skip


if __name__ == "__main__":
    cli(Config, main, __doc__)
