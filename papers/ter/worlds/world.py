"""What `train.py` asks of a world: to be played, kept, seen by a network, and judged."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np

from lab.run.runs import Streams
from papers.ter.agents.dqn import Optimizer
from papers.ter.agents.networks import Network
from papers.ter.topological import terminal_roots

Policy = Callable[[np.ndarray], np.ndarray]
"""States (n, ...) -> actions int64 (n,)."""


class Moment(NamedTuple):
    """A point in time of an episode."""

    state: np.ndarray
    """What the memory keeps."""
    seen: np.ndarray
    """What TER's vertices are made of: what the network sees, before it is scaled."""


class World(ABC):
    """The environment of training, ``env``, and all that depends on which world it is.

    config: of the train script. streams: of the run; training levels are drawn from "levels".
    """

    optimizer: ClassVar[Optimizer] = "adam"
    known: list[int] = []
    """Seeds of the levels of training, where they are drawn before it."""

    def __init__(self, config: Any, streams: Streams):
        self.config = config
        self.env = self.make_env()
        self.n_actions = int(self.env.action_space.n)
        self.levels = streams.numpy("levels")

    def choose_roots(self) -> Callable:
        """TER's roots."""
        return terminal_roots

    @abstractmethod
    def make_env(self, training: bool = True) -> Any:
        """A new environment, for training or for evaluation."""

    @abstractmethod
    def make_memory(self) -> Any:
        """The replay memory."""

    @abstractmethod
    def make_network(self, extra: bool = False) -> Network:
        """A Q-network or, with an ``extra`` layer, an error network of DisCor."""

    # --- an episode of training ---------------------------------------------------------------------------------------

    def next_level(self) -> int:
        """Seed of the next level of training. Levels are functions of their seed; training takes even seeds and
        evaluation odd ones: never the same draw."""
        return 2 * int(self.levels.integers(2**31))

    def reset(self) -> Moment:
        """Start an episode of training."""
        return self.first(*self.env.reset(seed=self.next_level()))

    def step(self, moment: Moment, action: int) -> tuple[Moment, float, bool, bool]:
        """Act in ``moment``: what follows, reward, terminated, truncated."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        return self.following(moment, observation, info), reward, terminated, truncated

    @abstractmethod
    def first(self, observation: np.ndarray, info: dict) -> Moment:
        """The start of an episode."""

    @abstractmethod
    def following(self, moment: Moment, observation: np.ndarray, info: dict) -> Moment:
        """What follows ``moment``."""

    # --- evaluation ---------------------------------------------------------------------------------------------------

    def new_level(self, rng: np.random.Generator) -> int:
        """Seed of a level to be evaluated on."""
        return 2 * int(rng.integers(2**31)) + 1

    def play(self, policy: Policy, levels: list[int]) -> tuple[np.ndarray, np.ndarray]:
        """Play the levels of these seeds side by side: undiscounted returns and successes, both (episodes,)."""
        envs = [self.make_env(training=False) for _ in levels]
        moments = [self.first(*env.reset(seed=level)) for env, level in zip(envs, levels)]
        returns, successes = np.zeros(len(envs)), np.zeros(len(envs), dtype=bool)
        running = list(range(len(envs)))
        while running:
            actions, playing = policy(np.stack([moments[i].state for i in running])), running
            running = []
            for i, action in zip(playing, actions):
                observation, reward, terminated, truncated, info = envs[i].step(action)
                returns[i] += reward
                successes[i] |= info.get("success", False)
                moments[i] = self.following(moments[i], observation, info)
                if not (terminated or truncated):
                    running.append(i)
        for env in envs:
            env.close()
        return returns, successes

    @abstractmethod
    def judge(self, returns: np.ndarray, successes: np.ndarray) -> dict[str, float]:
        """Metrics of the evaluation episodes."""

    @abstractmethod
    def judge_q(self, mean_q: float) -> dict[str, float]:
        """Metrics of Q(s, a) averaged over the training batches since the last evaluation."""
