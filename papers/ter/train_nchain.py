"""The order of updates and nothing else: tabular Q-learning on NChain from a fixed data set (Sec. 5.2, Fig. 2).

    .venv/bin/python -m papers.ter.train_nchain --method ter --seed 0

A random policy fills a data set once. Then Q(s, a) is improved by one stored transition at a time; the methods differ
only in which transition comes next. What counts is how many such backups it takes until the greedy policy walks
straight from the start to the goal. Runs of one seed share the data set and the first table, whatever their method.
"""

import random
import re
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np

from common.replay.samplers import PrioritizedSampler
from envs.nchain import BACKWARD, FORWARD, NChain, optimal_q
from lab.run.cli import cli
from lab.run.errors import UserError
from lab.run.runs import Run, Streams, execute
from lab.run.settings import Count, NotNegative, Positive, Share
from papers.ter.replay.graph import TransitionGraph
from papers.ter.topological import TER

SAVE_EVERY = 500
"""Backups between two checkpoints."""


@dataclass(frozen=True)
class Config:
    """Settings of a run. The paper states only the task (Sec. 5.2); values are those of the code released with it, but
    where it is said."""

    env: str = "NChain-20"
    """NChain-<number of states>."""
    method: Literal["uer", "per", "per-proportional", "ebu", "discor", "ter"] = "ter"
    """Which transition comes next: uniform, largest priority, proportional to the priority, episode backwards, DisCor,
    topological."""
    seed: int = 0
    """Seed of the data set, the first table and the draws."""
    transitions: Count = 1_000
    """Steps of the random policy that make the data set."""
    backups: Count = 100
    """Backups of the figure: up to here return and value error are logged."""
    max_backups: Count = 2_000
    """Backups after which a run that still walks the wrong way is given up. Neither in the paper nor in its code."""
    log_every: Count = 2
    """Backups between two rows of metrics. Neither in the paper nor in its code."""
    lr: Share = 0.98
    """Step size."""
    gamma: Share = 0.99
    """Discount."""
    initial_q: NotNegative = 0.1
    """Q starts uniformly random between 0 and this."""
    discor_tau: Positive = 10.0
    """DisCor: temperature (App. B.4). The paper renews it when the target network is; a table has none."""
    discor_error: NotNegative = 100.0
    """DisCor: first entry of the error table, largest reward / (1 - gamma), a bound on what |Q - Q*| can be. Not in
    the paper; the released code has no DisCor here."""

    def check(self) -> None:
        """Raise UserError for settings that cannot work together."""
        episode = 2 * chain_length(self) ** 2
        if self.transitions < episode:
            raise UserError(f"transitions must be at least one episode of {episode} steps, not {self.transitions}")
        if self.max_backups < self.backups:
            raise UserError(f"max_backups must be at least backups ({self.backups}), not {self.max_backups}")


def chain_length(config: Config) -> int:
    """Number of states of ``config.env``. Raises UserError for an unknown one."""
    match = re.fullmatch(r"NChain-(\d+)", config.env)
    if not match or int(match[1]) < 2:
        raise UserError(f"env must be NChain-<states> with at least 2 states, such as NChain-20, not {config.env!r}")
    return int(match[1])


# ---- data ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Dataset:
    """Transitions in the order of time, arrays ``(T,)``."""

    state: np.ndarray
    action: np.ndarray
    reward: np.ndarray
    next_state: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray

    def __len__(self) -> int:
        return len(self.state)

    def episodes(self) -> list[range]:
        """Finished episodes, time-outs included, as ranges of transitions. The unfinished rest is left out."""
        ends = np.flatnonzero(self.terminated | self.truncated) + 1
        return [range(first, end) for first, end in zip([0, *ends[:-1]], ends)]


def collect(n: int, transitions: int, rng: np.random.Generator) -> Dataset:
    """What a uniformly random policy meets in NChain in ``transitions`` steps, drawn again until it meets the goal."""
    env = NChain(n)
    while True:
        rows = []
        state, _ = env.reset()
        for action in rng.integers(2, size=transitions):
            next_state, reward, terminated, truncated, _ = env.step(action)
            rows.append((state, action, reward, next_state, terminated, truncated))
            state = env.reset()[0] if terminated or truncated else next_state
        data = Dataset(*(np.array(column) for column in zip(*rows)))
        if data.terminated.any():
            return data


# ---- learning --------------------------------------------------------------------------------------------------------


def backup(q: np.ndarray, data: Dataset, i: int, lr: float, gamma: float) -> float:
    """Q(s, a) <- Q(s, a) + lr (r + gamma max_a' Q(s', a') - Q(s, a)) in place (Sec. 3). Returns the TD error.

    A terminal s' is worth nothing; a time-out bootstraps, since E(s') (Sec. 3) marks completed tasks only.
    """
    bootstrap = 0.0 if data.terminated[i] else gamma * q[data.next_state[i]].max()
    s, a = data.state[i], data.action[i]
    td = data.reward[i] + bootstrap - q[s, a]
    q[s, a] += lr * td
    return float(td)


def solved(q: np.ndarray) -> bool:
    """Whether the greedy policy walks from the start straight to the goal. One wrong state and it never arrives."""
    return bool((q[:-1, FORWARD] >= q[:-1, BACKWARD]).all())


def normalised_return(q: np.ndarray) -> float:
    """1 - length of a greedy episode / (2 n^2): 0 for an episode that runs out of time."""
    n = len(q)
    return 1 - (n - 1) / (2 * n * n) if solved(q) else 0.0


def value_error(q: np.ndarray, gamma: float) -> float:
    """Mean |Q - Q*| over the actions of all states but the terminal one."""
    return float(np.abs(q - optimal_q(len(q), gamma))[:-1].mean())


# ---- which transition comes next -------------------------------------------------------------------------------------


class Method(Protocol):
    """What every replay method can do."""

    def choose(self) -> int:
        """The transition to back up next."""

    def update(self, i: int, td: float) -> None:
        """Transition ``i`` has been backed up; ``td`` was its TD error."""


class Uniform:
    """UER: any transition."""

    def __init__(self, config: Config, data: Dataset, q: np.ndarray, streams: Streams):
        self.rng = streams.numpy("replay")
        self.size = len(data)

    def choose(self) -> int:
        return int(self.rng.integers(self.size))

    def update(self, i: int, td: float) -> None:
        pass


class GreedyPrioritised:
    """PER as in the paper's own NChain code: the transition with the largest |TD error|, 1 for one never replayed."""

    def __init__(self, config: Config, data: Dataset, q: np.ndarray, streams: Streams):
        self.rng = streams.numpy("replay")
        self.priority = np.ones(len(data))

    def choose(self) -> int:
        largest = np.flatnonzero(self.priority == self.priority.max())
        return int(largest[self.rng.integers(len(largest))])

    def update(self, i: int, td: float) -> None:
        self.priority[i] = abs(td)


class ProportionalPrioritised:
    """PER as in the paper's other experiments. In a batch of one, the importance weight is 1 whatever beta."""

    def __init__(self, config: Config, data: Dataset, q: np.ndarray, streams: Streams):
        self.sampler = PrioritizedSampler(len(data), streams.numpy("replay"), alpha=0.6, beta_steps=1, clip=1.0)
        for i in range(len(data)):
            self.sampler.add(i)

    def choose(self) -> int:
        return int(self.sampler.sample(1).indices[0])

    def update(self, i: int, td: float) -> None:
        self.sampler.update(np.array([i]), {"td_error": np.array([td])})


class EpisodeBackwards:
    """EBU with diffusion factor 0: a random episode, newest transition first; then another one."""

    def __init__(self, config: Config, data: Dataset, q: np.ndarray, streams: Streams):
        self.rng = streams.numpy("replay")
        self.episodes = data.episodes()
        self.queue: deque[int] = deque()

    def choose(self) -> int:
        if not self.queue:
            self.queue.extend(reversed(self.episodes[self.rng.integers(len(self.episodes))]))
        return self.queue.popleft()

    def update(self, i: int, td: float) -> None:
        pass


class DisCor:
    """DisCor: transitions whose target is believed to be right come first, p ~ exp(-gamma Delta(s', a*) / tau).

    Weighting a loss is no choice in a batch of one (the weight would be 1), so the weights choose from the data set.
    A table Delta, learnt beside Q, estimates |Q - Q*|. It starts at a bound on that error: from 0, as a network would,
    it trusts what was never updated, and DisCor is no faster than UER. Of the two, the better start is used.
    """

    def __init__(self, config: Config, data: Dataset, q: np.ndarray, streams: Streams):
        self.rng = streams.numpy("replay")
        self.data, self.q = data, q
        self.error = np.full_like(q, config.discor_error)
        self.lr, self.gamma, self.tau = config.lr, config.gamma, config.discor_tau

    def next_error(self) -> np.ndarray:
        """gamma Delta(s', a*) of every transition, ``(T,)``, a* being the greedy action; 0 at the goal."""
        greedy = self.error[np.arange(len(self.q)), self.q.argmax(axis=1)]
        return np.where(self.data.terminated, 0.0, self.gamma * greedy[self.data.next_state])

    def probabilities(self) -> np.ndarray:
        """p of every transition, ``(T,)``."""
        exponent = -self.next_error() / self.tau
        p = np.exp(exponent - exponent.max())
        return p / p.sum()

    def choose(self) -> int:
        return int(self.rng.choice(len(self.data), p=self.probabilities()))

    def update(self, i: int, td: float) -> None:
        s, a = self.data.state[i], self.data.action[i]
        self.error[s, a] += self.lr * (abs(td) + self.next_error()[i] - self.error[s, a])


class Topological:
    """TER: reverse breadth-first sweeps from the goal, over the very graph that the deep agent uses (Algorithm 1).

    All terminal states are roots and all predecessors are followed. No PER is mixed in (eta = 0).
    """

    def __init__(self, config: Config, data: Dataset, q: np.ndarray, streams: Streams):
        graph = TransitionGraph(capacity=len(data))
        for i in range(len(data)):
            # In NChain a pair (s, s') belongs to one action, so that an edge holds equal transitions. A time-out makes
            # no root.
            graph.add(int(data.state[i]), int(data.next_state[i]), bool(data.terminated[i]))
        rng = random.Random(streams.integer("replay"))
        self.ter = TER(graph, rng, int, roots=len(graph.terminal), predecessors=None)

    def choose(self) -> int:
        return self.ter.sweep(1)[0]

    def update(self, i: int, td: float) -> None:
        pass


METHODS: dict[str, Callable[[Config, Dataset, np.ndarray, Streams], Method]] = {
    "uer": Uniform,
    "per": GreedyPrioritised,
    "per-proportional": ProportionalPrioritised,
    "ebu": EpisodeBackwards,
    "discor": DisCor,
    "ter": Topological,
}


# ---- a run -----------------------------------------------------------------------------------------------------------


class Learner:
    """All that a run consists of; pickled as a whole."""

    def __init__(self, config: Config):
        n, streams = chain_length(config), Streams(config.seed)
        self.config = config
        self.data = collect(n, config.transitions, streams.numpy("data set"))
        self.q = streams.numpy("table").uniform(0.0, config.initial_q, (n, 2))
        self.method: Method = METHODS[config.method](config, self.data, self.q, streams)
        self.count = 0  # backups so far
        self.solved_after: int | None = None

    def step(self) -> None:
        """One backup."""
        i = self.method.choose()
        self.method.update(i, backup(self.q, self.data, i, self.config.lr, self.config.gamma))
        self.count += 1
        if self.solved_after is None and solved(self.q):
            self.solved_after = self.count

    def metrics(self) -> dict[str, float]:
        """Return and value error, rounded to what a figure can show: a sweep makes 25,000 such rows."""
        error = value_error(self.q, self.config.gamma)
        return {"return": round(normalised_return(self.q), 6), "value_error": round(error, 6)}


def learn(run: Run, learner: Learner) -> dict:
    """Back up until the greedy policy is right, or to the end.

    Logs ``return`` and ``value_error`` during the first ``backups`` backups, and with the last of them
    ``backups_to_solve``: after how many the greedy policy was right for the first time, or ``max_backups``.
    """
    config = learner.config
    while True:
        count = learner.count
        if count <= config.backups and count % config.log_every == 0:
            run.log(count, learner.metrics())
        if count == config.max_backups or (count >= config.backups and learner.solved_after is not None):
            break
        learner.step()
        if learner.count % SAVE_EVERY == 0:
            run.save(learner)
    needed = learner.solved_after or config.max_backups
    run.log(config.backups, {"backups_to_solve": needed})
    return run.finish({"backups_to_solve": needed, "solved": learner.solved_after is not None})


def main(config: Config, run_dir: Path, **options: Any) -> dict:
    """Learn in ``run_dir``, or go on there; returns the summary. See `lab.run.runs.execute`."""
    return execute(config, run_dir, learn, Learner, total=lambda _: config.backups, unit="backup", **options)


if __name__ == "__main__":
    cli(Config, main, __doc__)
