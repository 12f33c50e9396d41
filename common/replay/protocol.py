"""The one protocol of all replay ideas: what a sampler is told, what it answers, and what it needs of a learner.

Storage keeps transitions in slots. A sampler decides which slots are replayed, with which weights in the loss and, if
it has its own, with which targets. It is told of every new transition, of what the learner found out about a batch, of
the ends of episodes, of evaluations and of copies of the target network; it reads of that what it needs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from common.replay.checks import all_finite


class Step(NamedTuple):
    """One environment step. A sampler reads of it what it needs."""

    observation: Any
    """What the step started from, as the sampler is to see it: while an episode goes on, bit by bit the last one's
    `next_observation`. Where it is another, the episode before was given up (trail.py)."""
    action: Any
    reward: float
    next_observation: Any
    terminated: bool
    """The task is over."""
    truncated: bool
    """The episode was cut by the time limit."""
    env_id: int = 0
    """Which of several environments side by side: steps of one episode share it, and follow each other."""

    @property
    def ended(self) -> bool:
        return self.terminated or self.truncated


class Chosen(NamedTuple):
    """A batch: which transitions, how much each counts, and what their values are to become."""

    indices: np.ndarray
    """Slots int64 [n]."""
    weights: np.ndarray
    """Weights of their losses, float32 [n]."""
    targets: np.ndarray | None = None
    """float32 [n]; None: those of the learner."""


Signals = Mapping[str, np.ndarray]
"""What a learner found out about a batch, name -> [n]; see `SIGNALS`."""

SIGNALS = {
    "td_error": "target less Q(s, a), or its size",
    "q": "Q(s, a)",
    "target": "what Q(s, a) was moved to",
    "target_td_error": "the same with the target network's Q(s, a)",
    "ratio": "density of the action today over that when it was taken",
    "divergence": "Kullback-Leibler divergence of the policy then from the policy of today",
}
"""The names that `update` knows."""


class Sampler:
    """What every sampler can do. All news are optional: the defaults here do nothing."""

    needs: frozenset[str] = frozenset()
    """What a learner must provide beside slots: names of `SIGNALS`; "step" (with `add`), "episode" and "evaluation"
    (the news below); "values" and "errors" (it can say what states are worth, and the TD error of any transition);
    "targets" (it accepts the sampler's). A class says what its samplers may need, a sampler what its settings need."""

    def add(self, index: int, step: Step | None = None) -> None:
        """Slot `index` has just been filled, or overwritten, by a new transition."""
        raise NotImplementedError

    def sample(self, n: int) -> Chosen | None:
        """The next batch of n >= 1 transitions; None while the method waits for something.

        Where fewer can be drawn, some come more than once, or the batch is smaller, as the method's law has it.
        ValueError when nothing has been stored.
        """
        raise NotImplementedError

    def update(self, indices: np.ndarray, signals: Signals) -> None:
        """The learner has used the slots `indices` [n] and found `signals`, [n] each.

        ValueError where a signal is missing or is not finite, IndexError where a slot holds no transition; nothing has
        then changed.
        """
        all_finite(signals)

    def cut(self, env_id: int | None = None) -> None:
        """The running episode of an environment (None: of each) was given up: its next step follows nothing.

        Needed only where a step may start in the observation that the last one ended in, though it does not follow.
        """

    def episode(self, total_return: float) -> None:
        """An episode of training is over."""

    def evaluation(self, mean_return: float) -> None:
        """An evaluation has been made."""

    def synced(self) -> None:
        """The Q-network was copied into the target network."""

    def metrics(self) -> dict[str, float]:
        """What the sampler says of itself at an evaluation."""
        return {}

    def probabilities(self) -> np.ndarray | None:
        """Probability of every stored transition in a single draw, float64 [stored]; None where there is no such law,
        because a draw depends on the draws before."""
        return None


def missing(sampler: type[Sampler] | Sampler, provided: frozenset[str]) -> list[str]:
    """What a sampler needs and a learner that provides `provided` cannot give, sorted."""
    return sorted(sampler.needs - provided)
